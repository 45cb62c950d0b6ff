"""What a comparison found: rows, and ways to look at them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnwire.errors import MissingDependency
from turnwire.tokens.tables import aligned, safe

COLUMNS = ("rank", "format", "tokens", "legend", "ratio", "bytes", "shared", "round trip", "dropped", "note")
NUMBERS = frozenset({"rank", "tokens", "legend", "ratio", "bytes", "shared"})


class Row(NamedTuple):
    """One format with one tokenizer.

    Attributes:
        format: a wire or a reference format; kind says which ("wire", "reference").
        bytes, tokens: of all messages. legend: tokens that a reader must have seen once before; 0 per message.
        shared: tokens of the beginning that all messages have in common.
        dropped: fields that the format could not carry, with how many messages had them.
        round_trip: whether every message came back from its text, equal to what it was.
        ratio: tokens and legend to those of minified JSON; None where that was not measured.
        rank: among the formats with round_trip, 1 is the cheapest; None for the others.
        note: why messages did not come back, or what a reader must know.
    """

    format: str
    kind: str
    tokenizer: str
    messages: int
    bytes: int
    tokens: int
    legend: int
    shared: int
    dropped: tuple[str, ...]
    round_trip: bool
    ratio: float | None
    rank: int | None
    note: str

    @property
    def total(self) -> int:
        """Tokens of the messages and of the legend."""
        return self.tokens + self.legend


class Comparison:
    """Rows of formats for each tokenizer.

    Attributes:
        rows: the rows, tokenizer by tokenizer, in the order in which the formats were named.
        absent: format -> why it was not measured.
        facts: what was compared: messages, wires, per, tokenizers with their provenance, versions of the formats.
    """

    def __init__(self, rows: Sequence[Row], absent: Mapping[str, str], facts: Mapping[str, Any]) -> None:
        self.rows = tuple(rows)
        self.absent = dict(absent)
        self.facts = dict(facts)

    def __repr__(self) -> str:
        return f"<Comparison of {self.facts['messages']} messages, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        from turnwire.showing import table

        return "".join(
            table(f"{tokenizer}, per {self.facts['per']}", COLUMNS, map(_cells, self.sorted(tokenizer)))
            for tokenizer in self.facts["tokenizers"]
        )

    def sorted(self, tokenizer: str) -> list[Row]:
        """The rows of a tokenizer: ranked ones first, the cheapest at the top, then those that leave something out."""
        rows = [row for row in self.rows if row.tokenizer == tokenizer]
        return sorted(rows, key=lambda row: (row.rank is None, row.total))

    def table(self) -> str:
        """Text to look at: a table for each tokenizer, then what was not measured."""
        parts = []
        for tokenizer, provenance in self.facts["tokenizers"].items():
            parts.append(f"{safe(tokenizer)} ({safe(provenance)}), per {self.facts['per']}\n")
            parts.append(aligned(COLUMNS, [_cells(row) for row in self.sorted(tokenizer)], NUMBERS) + "\n")
        parts += [f"not measured: {safe(name)}: {safe(why)}\n" for name, why in self.absent.items()]
        return "".join(parts).rstrip("\n") + "\n"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as JSON-able dicts."""
        return [{**row._asdict(), "dropped": list(row.dropped)} for row in self.rows]

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``, a row each. Raises MissingDependency without the extra ``arrow``."""
        try:
            import pyarrow
        except ImportError as missing:
            raise MissingDependency(
                "to_arrow needs pyarrow: pip install 'turnwire[files]'", name="pyarrow"
            ) from missing
        text, number, floating = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
        types = dict.fromkeys(Row._fields, text) | dict.fromkeys(
            ("messages", "bytes", "tokens", "legend", "shared", "rank"), number
        )
        types |= {"dropped": pyarrow.list_(text), "round_trip": pyarrow.bool_(), "ratio": floating}
        return pyarrow.Table.from_pylist(self.to_dicts(), schema=pyarrow.schema(list(types.items())))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws bars into an .svg, .png or .pdf file. Raises MissingDependency without the extra ``plot``, OSError."""
        from turnwire.tokens.picture import plot

        plot(self, path)

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained page: no script, nothing fetched. Raises OSError."""
        from turnwire.tokens.page import page

        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(page(self))


def _cells(row: Row) -> list[str]:
    return [
        "–" if row.rank is None else str(row.rank),
        row.format,
        f"{row.tokens:,}",
        f"{row.legend:,}" if row.legend else "",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        f"{row.bytes:,}",
        f"{row.shared:,}" if row.shared else "",
        "yes" if row.round_trip else "no",
        ", ".join(row.dropped),
        row.note,
    ]
