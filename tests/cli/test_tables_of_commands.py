"""Rows of tables that commands go by, each tried: options that reach the library, errors and their codes, columns."""

from __future__ import annotations

import io
import signal
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
import pytest

import turnwire as library
from tests.cli.running import BAD_DIGIT, GOOD, turnwire
from tests.cli.test_policy import CLAUSES
from turnwire import kick, session
from turnwire.cli import manual, measuring, model_tools, outcome, program, spreading, tables
from turnwire.cli.commands import validate
from turnwire.cli.commands.stats import _decimals
from turnwire.cli.stopping import Terminated
from turnwire.cli.text import width
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


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ([], "wire", None),
        *(one for one in OPTIONS if one[1] not in ("threads", "borrow")),
        (["--errors", "skip"], "errors", "skip"),
        (["--block-bytes", "99"], "block_bytes", 99),
        (["--columns", "act,src", "--wire", "nslip"], "columns", ["act", "src"]),
    ],
)
def test_each_option_of_a_scan_in_blocks_reaches_it(
    given: list[str], name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(GOOD + b"\n")
    asked: list[dict[str, Any]] = []
    counts = library.scan(b"").counts

    def dask_scan(paths: Any, client: Any, **options: Any) -> Any:
        asked.append({"paths": paths, **options})
        return SimpleNamespace(counts=counts, complete=True, rows=[], path=tmp_path)

    monkeypatch.setattr("turnwire.distributed.dask_scan", dask_scan)
    monkeypatch.setattr(spreading, "_client", lambda *_: nullcontext())
    assert turnwire("scan", path, "--dask", "local", "-o", tmp_path / "out", *given).code == 0
    usual = {one: told for one, told in USUAL.items() if one not in ("threads", "borrow")}
    usual |= {"errors": "collect", "block_bytes": 64 << 20, "columns": None, "paths": [str(path)], "resume": False}
    wanted = {**usual, **({"wire": "nslip"} if "nslip" in given else {}), name: value}
    assert {one: asked[0][one] for one in usual} == wanted


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


def test_what_some_messages_lack_is_no_field_that_all_have() -> None:
    """The peers of a measurement read and write just the fields of each message."""
    samples: list[dict[str, Any]] = [{"a": 1, "b": "x"}, {"a": 2}, {"c": 3, "a": 4}]
    record = measuring.record_type(samples)
    for sample in samples:
        written = msgspec.json.encode(record(**sample))
        assert msgspec.json.decode(written) == sample
        assert msgspec.json.decode(written, type=record) == record(**sample)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"b":"x"}', type=record)


@pytest.mark.parametrize("name", ["file", "where", "subject", "sender"])
def test_paths_are_cut_at_their_start(name: str) -> None:
    """The end of a path says more; of any other text the start does."""
    text = "".join(f"/{number:02}" for number in range(30))
    row = tables.table([name], [[text]]).splitlines()[1]
    assert width(row) == tables.WIDEST
    assert (row.startswith("…"), row.endswith("…")) == ((True, False) if name in ("file", "where") else (False, True))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_columns_that_just_fit_are_all_there(more: int) -> None:
    """A number is never cut: the last one goes where one cell is missing."""
    cells = [["12345", "123", "1234567"]]
    room = 5 + 3 + 7 + 2 * tables.GAP + more
    found = tables.fitted(["a", "b", "c"], cells, [True] * 3, room)
    assert found == ([5, 3, 7] if more >= 0 else [5, 3])


def test_a_column_of_nothing_but_zeros_says_something(tmp_path: Path) -> None:
    """It is there in the table; one in which no record has a value is not."""
    path = tmp_path / "a.log"
    path.write_bytes(b"@a0|f0|c0|S0|d0|T0|q0#\n")
    names, row = turnwire("scan", "--wire", "nslip", path).out.decode().splitlines()[:2]
    there = names.split()
    assert {"turn", "src", "dst", "conv_id", "priority"} <= set(there)
    assert not {"goal_id", "tag", "status"} & set(there)
    assert row.split()[there.index("turn")] == "0"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a-b", "a\\-b"),
        (".TH x", "\\&.TH x"),
        ("'br", "\\&'br"),
        ("x.y'z", "x.y'z"),
        ("back\\slash", "back\\eslash"),
        ("\\.", "\\e."),
        ("-", "\\-"),
    ],
)
def test_no_text_is_a_request_of_roff(text: str, line: str) -> None:
    """Lines that begin with a point or an apostrophe are requests, a backslash begins an escape."""
    assert manual._text(text) == line


@pytest.mark.parametrize(
    ("characters", "cells"),
    [
        ("\u0301", 0),
        ("\u20dd", 0),
        ("\u20e3", 0),
        ("\u0488", 0),
        ("\u1160", 0),
        ("\u11ff", 0),
        ("\u115f", 2),
        ("\u0903", 1),
        ("\u1200", 1),
    ],
)
def test_marks_take_no_cell(characters: str, cells: int) -> None:
    """Those of the categories Mn and Me, drawn upon the letter in front of them, and letters of a syllable."""
    assert width(f"a{characters}b") == 2 + cells


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


@pytest.mark.parametrize("ending", [".json", ".JSON", ".Json", ".toml", "", ".json.toml"])
def test_the_ending_of_a_context_says_what_it_is(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"context{ending}"
    form = "JSON" if ending.lower() == ".json" else "TOML"
    path.write_text('{"now": "2026-01-01T00:00:00Z"}' if form == "JSON" else 'now = "2026-01-01T00:00:00Z"')
    log = GOOD + b"\n"
    assert turnwire("convert", "--to", "nslip", "--context", path, "-", stdin=log).code == 0
    path.write_text("=")
    assert f"this is not {form}" in turnwire("convert", "--to", "nslip", "--context", path, "-", stdin=log).err


@pytest.mark.parametrize(
    ("seconds", "digits"),
    [
        ([0.001, 1 / 3], 3),
        ([0.000999, 1 / 3], 6),
        ([0.0, 1 / 3], 3),
        ([None, 0.001], 3),
        ([0.0005], 4),
        ([2.0], 1),
        ([], 1),
    ],
)
def test_below_a_millisecond_there_are_six_digits(seconds: list[float | None], digits: int) -> None:
    assert _decimals(seconds) == digits


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


def test_how_many_events_of_a_session_are_doubtful(tmp_path: Path) -> None:
    """Events, not parts of them."""
    pytest.importorskip("splintr")
    lines = b"".join(b'{"n":%d,"text":"same words %d"}\n' % (number, number % 3) for number in range(20))
    text = turnwire("session", "pack", "--events", "-", "--every", "10", stdin=lines).out.decode()
    counts = set()
    for place in range(2, text.count("\n") - 1, 4):
        kept = text.split("\n")
        del kept[place]
        path = tmp_path / "damaged"
        path.write_text("\n".join(kept), "utf-8")
        (row,) = turnwire("session", "check", path, "--json").records
        found = session.salvage("\n".join(kept))
        assert row["doubtful"] == sum(len(part.events) for part in found.doubtful)
        counts.add((len(found.doubtful), row["doubtful"]))
    assert any(parts < events for parts, events in counts)


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


def test_an_input_by_its_url_is_never_overwritten(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    log = tmp_path / "a.ndjson"
    log.write_bytes(GOOD + b"\n")
    for command in (("scan",), ("report",), ("session", "pack")):
        for source in (str(log), f"file://{log}"):
            done = turnwire(*command, source, "-o", log)
            assert (done.code, "is an input; writing it would destroy" in done.err) == (2, True), (command, source)
    assert log.read_bytes() == GOOD + b"\n"


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b" \n\n"])
def test_white_space_around_a_key_is_none_of_it(end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "key"
    key.write_bytes(end + b"a secret of some length" + end)
    asked: list[dict[str, Any]] = []
    usual = library.Converter

    def converter(target: str, **options: Any) -> Any:
        asked.append(options)
        return usual(target, **options)

    monkeypatch.setattr(library, "Converter", converter)
    for given in ([], ["--carry"], ["--restore"], ["--nearest"], ["--carry", "--restore", "--nearest"]):
        turnwire("convert", "--to", "nslip", *given, "--key", key, "-", stdin=GOOD)
        options = asked.pop()
        assert options["key"] == b"a secret of some length"
        assert {f"--{name}" for name in ("carry", "restore", "nearest") if options[name]} == set(given)


@pytest.mark.parametrize(("complete", "reasons", "code"), [(True, {}, 0), (True, {"x": 1}, 1), (False, {}, 3)])
def test_blocks_that_are_missing_count_before_bad_records(
    complete: bool, reasons: dict[str, int], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan in blocks that is not complete is no scan, whatever was found."""
    counts = library.scan(b"").counts._replace(reasons=reasons)
    row = {"state": "failed", "error": "x", "block": {"file": "a.log", "start": 0, "stop": 9}}
    made = SimpleNamespace(counts=counts, complete=complete, rows=[] if complete else [row], path=tmp_path)
    monkeypatch.setattr("turnwire.distributed.dask_scan", lambda *_, **__: made)
    monkeypatch.setattr(spreading, "_client", lambda *_: nullcontext())
    done = turnwire("scan", "-", "--dask", "local", "-o", tmp_path / "out", stdin=GOOD)
    assert (done.code, "failed: a.log: bytes 0 to 9: x" in done.err) == (code, not complete)


@pytest.mark.parametrize(
    "given",
    [
        ["--json"],
        ["--follow"],
        ["--borrow"],
        ["--partition-by", "wire"],
        ["--rejects", "bad"],
        ["--limit", "5"],
        ["--format", "parquet"],
        ["--errors", "raise"],
    ],
    ids=lambda given: given[0],
)
def test_what_blocks_do_not_take_is_told(given: list[str], tmp_path: Path) -> None:
    place = tmp_path / "manifest.ndjson"
    output = ["--output", str(tmp_path)] if given[0] in ("--partition-by", "--format") else []
    done = turnwire("scan", "-", "--dask", "local", "--resume", str(place), *output, *given, stdin=GOOD)
    assert done.code == 2
    assert f"--dask cannot be combined with {given[0]}" in done.err


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_a_text_in_utf_16_is_told_from_a_binary(coding: str, tmp_path: Path) -> None:
    """By either mark with which it begins."""
    path = tmp_path / "a.log"
    path.write_bytes(("\ufeff" + GOOD.decode()).encode(coding))
    assert "is UTF-16" in turnwire("scan", path).err
    assert "is UTF-16" in turnwire("session", "check", path).err
    path.write_bytes(GOOD.decode().encode(coding))
    assert "looks binary" in turnwire("scan", path).err


@pytest.mark.parametrize("count", [1, 4, 5, 6, 9])
def test_five_binary_files_are_named_at_most(count: int, tmp_path: Path) -> None:
    for number in range(count):
        (tmp_path / f"{number}.db").write_bytes(b"SQLite format 3\0" + bytes(64))
    done = turnwire("scan", tmp_path)
    assert (done.code, done.err.count("looks binary")) == (0, min(count, 5))
