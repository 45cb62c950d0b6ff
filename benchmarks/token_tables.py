"""The tables of docs/token_tables.md: counted, not timed, so that anybody gets the same.

``python -m benchmarks.token_tables`` writes them into the page, between its two marks.
"""

from __future__ import annotations

import json
import random
import textwrap
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

import turnwire
from turnwire import tokens
from turnwire.conversion import Context
from turnwire.tokens.comparison import FORMATS, version_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "token_tables.md"
BEGIN, END = "<!-- token-tables: begin -->", "<!-- token-tables: end -->"
TOKENIZERS = ("o200k_base", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "gemma3")
REQUEST = '@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#'


def context() -> Context:
    """The names, UUIDs and times that wires need beside a message of numbers; the same at every run."""
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


def markdown(names: list[str], rows: list[list[str]]) -> str:
    """A table; columns whose name ends in # are numbers."""
    head = " | ".join(name.rstrip("#") for name in names)
    rule = " | ".join("---:" if name.endswith("#") else "---" for name in names)
    return "\n".join(["| " + each + " |" for each in (head, rule, *(" | ".join(row) for row in rows))]) + "\n"


def counted(row: Any) -> str:
    """The tokens of a row, and those of the prompt behind them."""
    return f"{row.tokens:,}" + (f" + {row.legend:,}" if row.legend else "")


def ratio(row: Any) -> str:
    return "" if row.ratio is None else f"{row.ratio:.2f}"


def comparison(messages: Any, given: Context) -> str:
    """A row for each format, the cheapest first, with the least and the most that the tokenizers count."""
    found = tokens.compare(messages, tokenizers=TOKENIZERS, context=given, per="message")
    counts: dict[str, list[int]] = {}
    for row in found.rows:
        counts.setdefault(row.format, []).append(row.tokens)
    rows = []
    for row in found.sorted(TOKENIZERS[0]):
        least, most = min(counts[row.format]), max(counts[row.format])
        dropped = "" if row.round_trip else ", ".join(f"`{name}`" for name in row.dropped)
        spread = f"{least:,}" if least == most else f"{least:,}–{most:,}"
        rows.append([row.format, counted(row), spread, ratio(row), dropped])
    return markdown(["format", "o200k_base#", "all six#", "÷ JSON#", "drops"], rows)


def conversations(few: Any, many: Any, given: Context) -> str:
    """A row for each format: few and many messages as one text each, the cheapest of many first."""
    short, long = (
        tokens.compare(each, tokenizers=TOKENIZERS[:1], context=given, per="conversation") for each in (few, many)
    )
    first = {row.format: row for row in short.rows}
    rows = [
        [row.format, counted(row), ratio(row), counted(first[row.format]), ratio(first[row.format])]
        for row in long.sorted(TOKENIZERS[0])
    ]
    return markdown(["format", f"{len(many)} messages#", "÷ JSON#", f"{len(few)} messages#", "÷ JSON#"], rows)


def facts() -> str:
    """The versions that counted the tables."""
    models = [f"{name} ({tokens.vocabulary(name).models})" for name in TOKENIZERS]
    versions = [f"{FORMATS[name].package} {version_of(FORMATS[name])}" for name in FORMATS if FORMATS[name].package]
    counter = f"Counted by splintr-rs {version('splintr-rs')}; {', '.join(versions)}."
    named = textwrap.fill(f"Tokenizers: {'; '.join(models)}.", 120)
    return f"{counter}\n{named}\n"


def versions() -> str:
    """The line that names all versions: a page with another one may show other figures."""
    return facts().split("\n")[0]


def tables() -> str:
    """All that stands between the marks."""
    four, hundred = real_nslip(4), real_nslip(100)
    request = turnwire.decode(REQUEST)
    given = context()
    sections = [
        ("Tokenizers and versions", facts()),
        (
            "One REQUEST in every format",
            f"The first line of `examples/data/nslip_upstream.txt`: `{REQUEST}`.\n"
            "Fields that a wire needs and the message lacks are invented.\n\n" + comparison(request, given),
        ),
        (
            "Conversations",
            "The first lines of that file as one text (o200k_base). `a + b`: the messages and the wire's prompt;\n"
            "ratios include both. Formats that drop fields come last.\n\n" + conversations(four, hundred, given),
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
