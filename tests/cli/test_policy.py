"""--policy FILE of conform and validate, and --now of conform."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import clauses
from tests.cli.running import turnwire
from turnwire import kick

pytestmark = pytest.mark.once

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
