"""The tables of docs/token_tables.md: counted, not timed, so that anybody gets the same.

``python -m benchmarks.token_tables`` writes them into the page, between its two marks.
"""

from __future__ import annotations

import json
import random
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

import turnwire
from turnwire import tokens
from turnwire.conversion import Context
from turnwire.tokens.formats import FORMATS, version_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "token_tables.md"
BEGIN, END = "<!-- token-tables: begin -->", "<!-- token-tables: end -->"
TOKENIZERS = ("o200k_base", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "gemma3")
REQUEST = '@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#'


def context() -> Context:
    """What wires with names, UUIDs and times need beside a message of numbers; the same at every run."""
    rnd = random.Random(8)

    def fresh() -> str:
        return str(uuid.UUID(int=rnd.getrandbits(128), version=4))

    return Context(
        agents={"planner": 0, "worker": 1, "critic": 2, "tester": 3},
        uuids={str(number): fresh() for number in range(1, 40)},
        roles={"planner": "Orchestrator", "worker": "PromptEngineer"},
        now="2026-01-01T09:30:00Z",
        new_id=fresh,
        values={
            "csp": {"block.STATUS": {"QUEUED": "PARTIAL", "RUNNING": "PARTIAL", "blocked": "PARTIAL"}},
            "sap": {"status": {"blocked": "PARTIAL"}},
        },
        defaults={
            "sap": {
                "constitutionalContext.pressureLevel": "instant",
                "issuer.agentKind": "agent",
                "producer.agentKind": "agent",
                "target.capability": "task.run",
                "constitutionalEvidence.alignment": "VALID",
                "status": "SUCCEEDED",
            },
            "sstp": {
                "payload.required_capabilities": [],
                "payload.output_schema_id": "ioc.result.v0",
                "payload.evaluation_criteria": "goal reached",
                "payload.assumptions": [],
                "payload.success_criteria": "goal reached",
                "payload.constraints": [],
                "payload.confidence": 0.9,
                "payload.evidence_refs": [],
                "payload.artifacts": [],
                "payload.verdict": "pass",
                "payload.checks_run": [],
            },
            "csp": {"block.STATUS": "OK"},
        },
    )


def real_nslip(count: int) -> list[Any]:
    """The first messages of the real nSLIP traffic."""
    lines = (ROOT / "examples/data/nslip_upstream.txt").read_text("utf-8").split("\n")
    return [turnwire.decode(line) for line in lines[:count]]


def real_sstp() -> list[Any]:
    """The 16 real SSTP messages."""
    lines = (ROOT / "tests/data/sstp_real.jsonl").read_text("utf-8").split("\n")
    return [turnwire.decode(line) for line in lines if line]


def markdown(names: list[str], rows: list[list[str]]) -> str:
    """A table; columns whose name ends in # are numbers."""
    head = " | ".join(name.rstrip("#") for name in names)
    rule = " | ".join("---:" if name.endswith("#") else "---" for name in names)
    return "\n".join(["| " + each + " |" for each in (head, rule, *(" | ".join(row) for row in rows))]) + "\n"


def comparison(messages: Any, given: Context | None, per: str) -> str:
    """A row for each format: tokens of each tokenizer, the cheapest first by the first tokenizer."""
    found = tokens.compare(messages, tokenizers=TOKENIZERS, context=given, per=per)
    by_name = {(row.format, row.tokenizer): row for row in found.rows}
    order = found.sorted(TOKENIZERS[0])
    rows = []
    for row in order:
        counts = []
        for name in TOKENIZERS:
            each = by_name[row.format, name]
            counts.append(f"{each.tokens:,}" + (f" + {each.legend:,}" if each.legend else ""))
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        dropped = ", ".join(f"`{name}`" for name in row.dropped) or row.note
        rank = "–" if row.rank is None else str(row.rank)
        rows.append([rank, row.format, *counts, ratio, f"{row.bytes:,}", "yes" if row.round_trip else "no", dropped])
    names = [
        "rank#",
        "format",
        *(f"{name}#" for name in TOKENIZERS),
        "÷ JSON#",
        "bytes#",
        "comes back",
        "dropped, notes",
    ]
    absent = "".join(f"\nNot measured, {name}: {why}.\n" for name, why in found.absent.items())
    return markdown(names, rows) + absent


def facts() -> str:
    """What the tables were counted with."""
    rows = [[name, tokens.vocabulary(name).models, tokens.vocabulary(name).provenance] for name in TOKENIZERS]
    versions = [f"{FORMATS[name].package} {version_of(FORMATS[name])}" for name in FORMATS if FORMATS[name].package]
    return f"Counted by splintr-rs {version('splintr-rs')}; {', '.join(versions)}.\n\n" + markdown(
        ["tokenizer", "who uses it", "how sure its ids are"], rows
    )


def versions() -> str:
    """The line that names all versions: a page with another one may show other figures."""
    return facts().split("\n")[0]


def tables() -> str:
    """All that stands between the marks."""
    four, hundred = real_nslip(4), real_nslip(100)
    request = turnwire.decode(REQUEST)
    given = context()
    sections = [
        ("What was counted with", facts()),
        (
            "One REQUEST in every format",
            f"Real: the first line of `examples/data/nslip_upstream.txt`, `{REQUEST}`.\n"
            "Names, UUIDs, the time and the fields that a wire wants on top are made up, see `context` of\n"
            "`benchmarks/token_tables.py`.\n\n" + comparison(request, given, "message"),
        ),
        (
            "A short conversation",
            "Real: the first four lines of that file, counted as one text. `a + b`: the messages, and what a reader\n"
            "must have seen once (the prompt of a wire).\n"
            "Ranks and ratios count both.\n\n" + comparison(four, given, "conversation"),
        ),
        (
            "A hundred messages",
            "Real: its first hundred lines as one text.\n\n" + comparison(hundred, given, "conversation"),
        ),
        (
            "Sixteen SSTP messages",
            "Real: `tests/data/sstp_real.jsonl`, each message by itself, no context given.\n\n"
            + comparison(real_sstp(), None, "message"),
        ),
    ]
    return "\n".join(f"### {title}\n\n{text}" for title, text in sections)


def updated(page: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def main() -> None:
    """Writes the tables into the page."""
    PAGE.write_text(updated(PAGE.read_text("utf-8")), encoding="utf-8")
    print(json.dumps({"written": PAGE.relative_to(ROOT).as_posix()}))


if __name__ == "__main__":
    main()
