"""The tables of docs/convert.md, made from turnwire.conversion.tables; ``python -m`` this module to see them."""

from __future__ import annotations

from turnwire import WIRES
from turnwire.conversion.tables import ACTS, FACTS, PLACES, PRIORITIES, STATUSES, Counterpart

TITLES = {"nslip": "nSLIP", "csp": "CSP/1", "sstp": "SSTP", "sap": "SAP", "kick": "KickLang"}


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def acts() -> str:
    """Act by wire: the exact kind, or ≈ and the nearest one with its status, or nothing."""
    rows = [[act, *(_cell(forms.get(wire)) for wire in WIRES)] for act, forms in ACTS.items()]
    return _table(["act", *(TITLES[wire] for wire in WIRES)], rows)


def _cell(form: Counterpart | None) -> str:
    if form is None:
        return ""
    status = f", {form.status}" if form.status else ""
    return f"`{form.kind}`" if form.own else f"≈ `{form.kind}`{status}"


def words(table: dict[str, dict[str, str]] | dict[str, dict[str, str | int]], title: str, wires: list[str]) -> str:
    """Words by wire."""
    rows = [[name, *(f"`{row[wire]}`" if wire in row else "" for wire in wires)] for name, row in table.items()]
    return _table([title, *(TITLES[wire] for wire in wires)], rows)


def facts() -> str:
    """Fact by wire: the fields that say it."""
    return _table(["fact", *(TITLES[wire] for wire in WIRES)], [_fact_row(fact) for fact in FACTS if fact != "act"])


def _fact_row(fact: str) -> list[str]:
    cells = []
    for wire in WIRES:
        found: dict[str, None] = {}
        for places in PLACES[wire].values():
            found.update({f"`{place.path}`": None for place in places if place.fact == fact})
        if wire == "kick" and fact in ("task", "status"):
            found["in `content`"] = None
        cells.append(", ".join(found))
    return [fact, *cells]


def everything() -> list[str]:
    """The tables in the order of the page."""
    return [
        acts(),
        facts(),
        words(STATUSES, "status", list(WIRES)),
        words(PRIORITIES, "priority", ["nslip", "csp", "sap"]),
    ]


if __name__ == "__main__":
    print("\n".join(everything()))
