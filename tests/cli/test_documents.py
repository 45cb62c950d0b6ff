"""Commands read a record that is a Space document."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import turnwire
from tests.hostile import KICK, line
from turnwire import kick
from turnwire.cli.commands.validate import Finding, document_findings
from turnwire.kick.documents import DOCUMENTS, read_record

pytestmark = pytest.mark.once

DOCUMENT = "⫻command/run:S/1\ndo it\n⫻alert/violation:V/1\nbad\n"
ENVELOPE = line({**KICK, "content": DOCUMENT}).decode()


def findings(text: str) -> list[Finding]:
    raw = text.encode()
    return document_findings(raw, DOCUMENTS.faults(raw), kick.check(read_record(raw)))


def test_faults_and_issues_stand_at_their_lines() -> None:
    text = "⫻a/b:p/1\nx\n⫻data/obj: \n\n⫻a/b:p/3\n⫻a/b:p/3"
    raw = text.encode()
    found = findings(text)
    assert [(one.line, one.severity, one.reason) for one in found] == [
        (3, "error", "bad_header"),
        (3, "warning", "trailing_space"),
        (5, "info", "index_gap"),
        (6, "info", "duplicate_section"),
    ]
    assert raw[found[0].offset :].startswith(b" \n")
    assert [raw[one.offset :][:3] for one in found[1:]] == [b"\xe2\xab\xbb"] * 3


VERDICTS = {
    "": ["⫻a/b:c/1"],
    "info": ["⫻end/", "⫻data/obj:", "⫻data/spec: Overview of it", "⫻context/file:a/b/c.py", "⫻a/b/c"],
    "error warning": ["⫻a/b:c d", "⫻a/b ", "⫻ a", "⫻a⫻", "⫻/b", "⫻"],
}
"""Severities -> headers of which validate tells something so."""


@pytest.mark.parametrize(("severities", "header"), [(said, one) for said, some in VERDICTS.items() for one in some])
def test_one_verdict_of_validate_and_conform(tmp_path: Path, severities: str, header: str) -> None:
    text = f"Notes.\n\n⫻first\nx\n{header}\nbody\n"
    assert " ".join(one.severity for one in findings(text)) == severities
    path = tmp_path / "notes.md"
    path.write_text(text, "utf-8")
    assert turnwire("validate", path).code == turnwire("conform", "kick", path).code == ("error" in severities)


@pytest.mark.parametrize("text", ["⫻a\n", "⫻a/b:c/1\r\nx\r\n⫻a/b:c/2\r\n"])
def test_of_a_good_one_there_is_nothing_to_say(text: str) -> None:
    assert findings(text) == []


def test_headers_in_fences_are_content_where_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("Intro\n```\n\u2afba/b\nx\n```\n", "utf-8")
    for more, records in (([], 1), (["--fences"], 0)):
        done = turnwire("validate", path, *more)
        assert f"{records} good record" in done.err
        scanned = turnwire("scan", path, "--json", *more)
        assert len(scanned.out.splitlines()) == records
        assert turnwire("conform", "kick", path, *more).code == (0 if records else 4)


COUNTING = [
    ("tokens", "{}"),
    ("tokens", "{}", "--compare"),
    ("tokens", "{}", "--advise"),
    ("session", "pack", "{}"),
    ("stats", "{}"),
    ("report", "{}", "-o", "{page}"),
]


@pytest.mark.parametrize("command", COUNTING, ids=" ".join)
def test_what_counts_messages_takes_documents(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Alone, and beside envelopes."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.txt").write_text(DOCUMENT, "utf-8")
    for _ in range(2):
        arguments = [part.format(logs, page=tmp_path / "page.html") for part in command]
        done = turnwire(*arguments)
        assert done.code in (0, 1) and "Expecting value" not in done.err, done.err
        (logs / "b.log").write_text(ENVELOPE * 3, "utf-8")
