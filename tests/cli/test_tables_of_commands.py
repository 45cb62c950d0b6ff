"""Rows of tables that commands go by, each tried: options that reach the library, errors and their codes, columns."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import Any

import click
import pytest

import turnwire as library
from tests.cli.running import BAD_DIGIT, GOOD, turnwire
from tests.cli.test_policy import CLAUSES
from turnwire import kick
from turnwire.cli import outcome, program
from turnwire.cli.commands import mcp as model_tools
from turnwire.cli.commands import validate
from turnwire.cli.outcome import Terminated
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, MissingDependency, Reason, UnknownName

pytestmark = pytest.mark.once

OPTIONS: list[tuple[list[str], str, Any]] = [
    (["--threads", "3"], "threads", 3),
    (["--unknown", "keep"], "unknown", "keep"),
    (["--fences"], "fences", True),
    (["--borrow"], "borrow", True),
    (["--batch-bytes", "77"], "batch_bytes", 77),
    (["--where", "sender=0"], "where", {"sender": {"0"}}),
    (["--wire", "nslip"], "wire", "nslip"),
]
USUAL = {
    "threads": 1,
    "unknown": "error",
    "fences": False,
    "borrow": False,
    "batch_bytes": 2 << 20,
    "where": None,
    "wire": None,
}


@pytest.mark.parametrize("command", ["scan", "stats"])
@pytest.mark.parametrize(("given", "name", "value"), [([], "wire", None), *OPTIONS])
def test_each_option_of_a_scan_reaches_it(
    command: str, given: list[str], name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is not given is what help says."""
    path = tmp_path / "a.log"
    path.write_bytes(GOOD + b"\n")
    asked: list[dict[str, Any]] = []
    usual = library.scan

    def scan(source: Any, **options: Any) -> Any:
        asked.append(options)
        return usual(source, **options)

    monkeypatch.setattr(library, "scan", scan)
    assert turnwire(command, path, *given).code == 0
    assert {one: asked[0][one] for one in USUAL} == {**USUAL, name: value}


ERRORS: list[tuple[BaseException, int]] = [
    (click.exceptions.Exit(5), 5),
    (click.UsageError("x"), 2),
    (click.BadParameter("x"), 2),
    (outcome.Refused(["a", "b"]), 3),
    (Terminated(signal.SIGTERM), 143),
    (Terminated(signal.SIGINT), 130),
    (KeyboardInterrupt(), 130),
    (click.Abort(), 130),
    (BrokenPipeError(), 0),
    (FileNotFoundError(2, "none", "x"), 3),
    (OSError("x"), 3),
    (MemoryError(), 3),
    (MissingDependency("x"), 2),
    (UnknownName("wire", "x", ["y"], "x"), 2),
    (DecodeError(Reason.BAD_FRAMING, "x"), 1),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda one: repr(one))
def test_each_error_has_its_exit_code(error: BaseException, code: int) -> None:
    """As the help of the program and docs/cli.md have them."""

    def fail() -> int:
        raise error

    assert program._guarded(fail) == code


def test_a_column_of_nothing_but_zeros_says_something(tmp_path: Path) -> None:
    """It is there in the table; one in which no record has a value is not."""
    path = tmp_path / "a.log"
    path.write_bytes(b"@a0|f0|c0|S0|d0|T0|q0#\n")
    names, row = turnwire("scan", "--wire", "nslip", path).out.decode().splitlines()[:2]
    there = names.split()
    assert {"turn", "src", "dst", "conv_id", "priority"} <= set(there)
    assert not {"goal_id", "tag", "status"} & set(there)
    assert row.split()[there.index("turn")] == "0"


def test_what_is_doubtful_is_no_reject_for_models() -> None:
    """A record that a check doubts is a good one."""
    doubtful = (CLAUSES / "roles.fail").read_text("utf-8")
    broken = "@a3|f0|c$|S0|d1|T1#\n"
    found = model_tools._validate(f"{doubtful}\n{broken}")
    records = (
        len(library.check_log(doubtful)) if hasattr(library, "check_log") else model_tools._scan(doubtful)["records"]
    )
    assert (found["records"], found["rejects"]) == (records, 1)
    assert {fault["severity"] for fault in found["faults"]} > {"error"}
    assert (found["more"], len(found["faults"])) == (0, len(found["faults"]))


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_a_line_is_as_long_as_the_limit_at_most(more: int, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its end; what is longer is told, and the next line is read."""
    monkeypatch.setattr(validate, "LIMITS", LIMITS._replace(message=10))
    long = b"x" * (10 + more)
    found = list(validate._lines(io.BytesIO(b"one\n" + long + (end + b"two" if end else b""))))
    kept = long + end if more <= 0 else None
    rest = [(3, 4 + len(long) + 1, b"two", 3)] if end else []
    assert found == [(1, 0, b"one\n", 4), (2, 4, kept, len(long) + len(end)), *rest]


def test_a_policy_that_forbids_more_is_asked_of_each_record(tmp_path: Path) -> None:
    """Also of those in which the specification's own table surely finds nothing."""
    policy, log = tmp_path / "policy.toml", CLAUSES / "roles.pass"
    first, *others = kick.DEFAULT_POLICY.rows
    policy.write_text(kick.Policy([first._replace(senders=("Nobody",)), *others]).to_toml(), "utf-8")
    for wire in ([], ["--wire", "kick"]):
        assert turnwire("validate", log, "--strict", *wire).code == 0
        done = turnwire("validate", log, "--strict", *wire, "--policy", policy)
        assert (done.code, done.out.decode().count("takes senders Nobody")) == (1, 1)


def test_rejects_of_a_scan_that_goes_on_are_added(tmp_path: Path) -> None:
    log, rejects, place = tmp_path / "a.log", tmp_path / "bad.ndjson", tmp_path / "place"
    log.write_bytes(BAD_DIGIT + b"\n")
    for count in (1, 2, 3):
        turnwire("scan", log, "--resume", place, "--rejects", rejects, "-q")
        assert len(rejects.read_bytes().splitlines()) == count
        with log.open("ab") as file:
            file.write(BAD_DIGIT + b"\n")
    turnwire("scan", log, "--rejects", rejects, "-q")
    assert len(rejects.read_bytes().splitlines()) == 4, "another scan writes it anew, whole or not at all"


@pytest.mark.parametrize(("gap", "bad"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_gap_counts_before_bad_records(gap: bool, bad: bool, tmp_path: Path) -> None:
    log, place = tmp_path / "a.log", tmp_path / "place"
    log.write_bytes((GOOD + b"\n") * 3)
    assert turnwire("scan", log, "--resume", place, "-q").code == 0
    with log.open("wb" if gap else "ab") as file:
        file.write((BAD_DIGIT if bad else GOOD) + b"\n")
    assert turnwire("scan", log, "--resume", place, "-q").code == (6 if gap else 1 if bad else 0)
