"""``turnwire validate`` and ``conform``: every fault with file, line and byte; policies, moments, documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import clauses
from tests.cli.running import GOOD, REAL, turnwire
from tests.conftest import put
from tests.hostile import KICK, line
from turnwire import kick, nslip, registry
from turnwire.cli import main
from turnwire.cli.commands.validate import Finding, document_findings
from turnwire.errors import Issue, Reason
from turnwire.kick.space import DOCUMENTS, read_record

pytestmark = pytest.mark.once


def test_good_messages_pass() -> None:
    done = turnwire("validate", "--wire", "nslip", REAL)
    assert (done.code, done.out) == (0, b"")
    assert "4,356 good nslip records, 0 faults" in done.err


def test_every_fault_of_a_log_has_a_place_a_reason_and_words(log: Path) -> None:
    done = turnwire("validate", "--wire", "nslip", log)
    first, second = done.out.decode().splitlines()
    data = log.read_bytes()
    assert first == f"{log}:2: byte {data.index(b'$')}: bad_digit: '$' is not a base62 digit"
    assert second == f"{log}:4: byte {data.index(0xFF)}: bad_utf8: the string is not valid UTF-8"
    assert done.code == 1
    assert "2 good nslip records, 2 faults" in done.err


def test_a_fault_that_only_a_log_has_is_explained_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'@a3|f0|c1|S0|d1|T1|t"a\nb"#\n')
    (finding,) = turnwire("validate", "--wire", "nslip", tmp_path / "a", "--json").records
    assert (finding["reason"], finding["text"], finding["offset"]) == ("newline_in_string", "newline in string", 22)


@pytest.fixture
def doubtful(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A log whose second record the wire's check doubts, with a fault before and after it."""

    def check(message: Any) -> list[Issue]:
        tag = message.get(nslip.Slot.TAG, "")
        return [Issue(Reason.LONG_STRING, "/slots/TAG", "warning", "the tag is long")] if tag == "long" else []

    wire = registry.wire("nslip")
    monkeypatch.setattr(wire, "check", check)
    monkeypatch.setattr(wire, "scanner", wire.scanner._replace(doubtful=(0, ())))
    path = tmp_path / "doubtful"
    bad = b"@a3|f0|c1#"
    path.write_bytes(b"\n".join([GOOD, bad, b'@a3|f0|c1|S0|d1|T1|t"long"#', bad]))
    return path


def test_issues_of_the_check_stand_where_their_records_stand(
    doubtful: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["validate", str(doubtful), "--json"]) == 1
    rows = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [(row["line"], row["severity"]) for row in rows] == [(2, "error"), (3, "warning"), (4, "error")]
    assert main(["validate", "--wire", "nslip", str(doubtful)]) == 1
    captured = capfdbinary.readouterr()
    place = doubtful.read_bytes().index(b'@a3|f0|c1|S0|d1|T1|t"long"')
    assert f"{doubtful}:3: byte {place}: warning: long_string: /slots/TAG: the tag is long".encode() in captured.out
    assert b"2 faults, 1 warning" in captured.err


def test_warnings_count_only_when_strict(doubtful: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    doubtful.write_bytes(doubtful.read_bytes().replace(b"@a3|f0|c1#", GOOD))
    assert main(["validate", str(doubtful)]) == 0
    assert b"warning: long_string" in capfdbinary.readouterr().out
    assert main(["validate", str(doubtful), "--strict"]) == 1


def test_records_that_are_too_short_to_be_doubted_are_not_decoded_and_nothing_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, exact = ('@a0|f0|c0|S0|d0|T0|t"' + "x" * count + '"#' for count in (65, 64))
    path = tmp_path / "long.log"
    inside = json.dumps({"log": f"{GOOD.decode()} {long} {exact}"})
    path.write_text("\n".join([GOOD.decode(), long, exact, inside, long.replace("|t", "|xA|t")]) + "\n")
    for more in ([], ["--unknown", "keep"], ["--wire", "nslip"], ["--wire", "nslip", "--unknown", "keep"]):
        done = turnwire("validate", path, *more)
        found = [line.split(": ")[0].rpartition(":")[2] for line in done.out.decode().splitlines()]
        with monkeypatch.context() as patched:
            nslip = registry.wire("nslip")
            patched.setattr(nslip, "scanner", nslip.scanner._replace(doubtful=(0, ())))
            assert turnwire("validate", path, *more) == done
        assert found == ["2", "4", *(["5"] * (2 if "keep" in more else 1))]


# --- --policy FILE of conform and validate, and --now of conform ------------------------------------------------------


CLAUSES = clauses.CLAUSES / "kick"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy by which Dima dispatches, too."""
    path = tmp_path / "policy.toml"
    rows = [kick.DEFAULT_POLICY.rows[0]._replace(senders=("Orchestrator", "Dima")), *kick.DEFAULT_POLICY.rows[1:]]
    path.write_text(kick.Policy(rows).to_toml(), "utf-8")
    return path


def test_who_may_send_what(policy: Path) -> None:
    log = CLAUSES / "roles.fail"
    assert turnwire("conform", "kick", log).code == 1
    assert turnwire("conform", "kick", log, "--policy", policy).code == 5, "a task that nobody has reported on"
    assert turnwire("validate", log, "--strict").code == 1
    assert turnwire("validate", log, "--strict", "--policy", policy).code == 0
    assert turnwire("validate", log, "--strict", "--wire", "kick", "--policy", policy).code == 0


def test_to_whom_violations_go(tmp_path: Path) -> None:
    path, log = tmp_path / "policy.toml", tmp_path / "log"
    log.write_bytes((CLAUSES / "escalation.pass").read_bytes().replace(b'"Human"', b'"Auditor"'))
    row = kick.DEFAULT_POLICY.rows[0]._replace(channel="command/escalate", receivers=("Auditor",))
    path.write_text(kick.DEFAULT_POLICY.with_rows(row).to_toml(), "utf-8")
    assert turnwire("conform", "kick", log).code == 1
    assert turnwire("conform", "kick", log, "--policy", path).code == 0
    assert turnwire("conform", "kick", CLAUSES / "escalation.pass", "--policy", path).code == 1


def test_what_is_no_policy(tmp_path: Path) -> None:
    log = CLAUSES / "roles.fail"
    assert turnwire("conform", "kick", log, "--policy", tmp_path / "none").code == 3
    bad = tmp_path / "bad.toml"
    for text in (b"rows = 7", b"\xff\xfe\x00", b""):
        bad.write_bytes(text)
        for command in (("conform", "kick"), ("validate",)):
            done = turnwire(*command, log, "--policy", bad)
            assert done.code == 2 and "bad_policy" in done.err


def test_as_of_a_moment() -> None:
    log = CLAUSES / "loop.open"
    assert turnwire("conform", "kick", log).code == 5
    assert turnwire("conform", "kick", log, "--now", "2026-01-01T10:00:30Z").code == 5
    done = turnwire("conform", "kick", log, "--now", "2026-01-01T11:00:30")
    assert done.code == 1 and "overdue: " in done.out.decode()
    assert turnwire("conform", "kick", log, "--now", "now").code == 1
    task = CLAUSES.parent / "sap" / "processing.open"
    assert turnwire("conform", "sap", task).code == 5
    assert turnwire("conform", "sap", task, "--now", "2025-09-28T11:00:01Z").code == 1
    open_query = CLAUSES.parent / "sstp" / "response.open"
    assert turnwire("conform", "sstp", open_query, "--now", "now").code == 5, "SSTP has no clock"


def test_a_directory_is_one_table(tmp_path: Path) -> None:
    for name in ("loop.open", "loop.fail", "loop.pass"):
        (tmp_path / name).write_bytes((CLAUSES / name).read_bytes())
    (tmp_path / "other").write_text("nothing\n")
    done = turnwire("conform", "kick", tmp_path)
    lines = done.out.decode().splitlines()
    assert done.code == 1
    assert lines[0].split() == ["file", "verdict", "records", "rejects", "pass", "fail", "open"]
    verdicts = [line.split("  ")[1].strip() for line in lines[1:5]]
    assert verdicts == ["does not conform", "is open", "conforms", "nothing found"]
    assert len([line for line in lines[5:] if "[ ]" in line or "[?]" in line]) == len(lines[5:]) == 2
    (tmp_path / "twice").write_bytes((CLAUSES / "loop.fail").read_bytes() * 2)
    told = turnwire("conform", "kick", tmp_path).out.decode()
    assert "\\n" not in told and len(told.splitlines()) > len(lines) + 2, "each place on a line of its own"
    (tmp_path / "twice").unlink()
    rows = turnwire("conform", "kick", tmp_path, "--json").records
    assert [row["verdict"] for row in rows] == verdicts
    assert [row["conforms"] for row in rows] == [False, False, True, False]
    (places,) = (clause["open"] for clause in rows[1]["clauses"] if clause["status"] == "open")
    (place,) = places
    assert place == {
        "file": str(tmp_path / "loop.open"),
        "line": 1,
        "offset": 0,
        "since": "2026-01-01T10:00:00Z",
        "text": "the task T-7 of WePlan is dispatched",
    }


# --- commands read a record that is a Space document ------------------------------------------------------------------


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
    path = put(tmp_path / "notes.md", text)
    assert turnwire("validate", path).code == turnwire("conform", "kick", path).code == ("error" in severities)


@pytest.mark.parametrize("text", ["⫻a\n", "⫻a/b:c/1\r\nx\r\n⫻a/b:c/2\r\n"])
def test_of_a_good_one_there_is_nothing_to_say(text: str) -> None:
    assert findings(text) == []


def test_headers_in_fences_are_content_where_that_is_asked(tmp_path: Path) -> None:
    path = put(tmp_path / "notes.md", "Intro\n```\n\u2afba/b\nx\n```\n")
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
