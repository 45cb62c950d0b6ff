"""Options, names and settings: what reaches the library, what is refused, and with which exit code."""

from __future__ import annotations

import io
import json
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import click
import pytest

import turnwire as library
from tests.cli.running import BAD_DIGIT, GOOD, turnwire
from tests.cli.test_validate import CLAUSES
from tests.conftest import put
from turnwire import kick, nslip
from turnwire.cli import options, outcome
from turnwire.cli.commands import mcp as model_tools, scan as spreading
from turnwire.cli.commands.scan import TableSink
from turnwire.cli.outcome import Terminated
from turnwire.cli.output import Notes, Output
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
    path = put(tmp_path / "a.log", GOOD + b"\n")
    asked: list[dict[str, Any]] = []
    usual = library.scan

    def scan(source: Any, **options: Any) -> Any:
        asked.append(options)
        return usual(source, **options)

    monkeypatch.setattr(library, "scan", scan)
    assert turnwire(command, path, *given).code == 0
    [chosen] = [options for options in asked if "threads" in options]  # others look for the wires in a beginning
    assert {one: chosen[one] for one in USUAL} == {**USUAL, name: value}


ERRORS: list[tuple[BaseException, int]] = [
    (click.exceptions.Exit(5), 5),
    (click.UsageError("x"), 2),
    (click.BadParameter("x"), 2),
    (outcome.CommandRefused(["a", "b"]), 3),
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

    assert outcome._guarded(fail) == code


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


def test_a_policy_that_forbids_more_is_asked_of_each_record(tmp_path: Path) -> None:
    """Also of those in which the specification's own table surely finds nothing."""
    policy, log = tmp_path / "policy.toml", CLAUSES / "roles.pass"
    first, *others = kick.DEFAULT_POLICY.rows
    policy.write_text(kick.Policy([first._replace(senders=("Nobody",)), *others]).to_toml(), "utf-8")
    for wire in ([], ["--wire", "kick"]):
        assert turnwire("validate", log, "--strict", *wire).code == 0
        done = turnwire("validate", log, "--strict", *wire, "--policy", policy)
        assert (done.code, done.out.decode().count("allows senders Nobody")) == (1, 1)


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


DEEP = "[" * 200_000
FILES = {
    **{"deep.json": DEEP, "deep.toml": f"a = {DEEP}", "objects.json": '{"a":' * 200_000, "half.json": "{"},
    **{
        "half.JSON": "{",
        "half.toml": "{",
        "list.json": "[]",
        "null.json": "null",
        "false.json": "false",
        "empty.json": "",
    },
    **{"half": "\udcff", "agents.toml": "agents = 1", "twice.toml": "[agents]\nA = 1\nB = 1\n", "dir/x": ""},
}
"""Files that are no context, no position and no kept head, beside the log."""
NO_JSON, NO_TOML = "this is not JSON", "this is not TOML"
WRONG = {
    case["words"]: case["says"]
    for case in map(json.loads, (Path(__file__).parent / "wrong_use.jsonl").read_text("utf-8").splitlines())
}
"""Wrong use -> words of the line that names it."""


@pytest.fixture
def wrong_files(log: Path) -> dict[str, bytes]:
    """The folder of the log, with what is no context, no position and no head in it."""
    (log.parent / "dir").mkdir()
    for name, text in FILES.items():
        (log.parent / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return contents(log.parent)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_use_is_named_and_nothing_is_written(
    words: str, log: Path, wrong_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    given = [part.replace("LOG", log.name).replace("URL", "s3://bucket/a") for part in shlex.split(words)]
    done = turnwire(*given)
    assert (done.code, done.out) == (2, b"")
    assert WRONG[words] in done.err and "Traceback" not in done.err
    assert not WRONG[words].endswith("\n") or done.err.endswith(WRONG[words])
    assert contents(log.parent) == wrong_files


@pytest.mark.parametrize(
    "command", ["scan", "stats", "validate", "tokens", "conform nslip", "convert --to csp", "replay"]
)
def test_an_empty_source_is_not_this_directory(log: Path, command: str) -> None:
    done = turnwire(*command.split(), "", log)
    assert (done.code, done.out) == (3, b"")
    assert done.err == "turnwire: '': a source has an empty name; write '.' for this directory\n"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone is the system's")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_moment_without_a_zone_is_of_utc_wherever_that_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for text in ("2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+09:00"):
            assert options.moment(text) == 1767225600.0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_bytes_that_are_no_text_are_shown_on_a_terminal_as_what_they_are() -> None:
    stream = io.BytesIO()
    screen = Output(stream, "a terminal", screen=True)
    for piece in (b"a\xffb \xc3", b"\xa4 \xf0\x9f", b"x\n"):
        screen.write(piece)
    assert stream.getvalue() == "a\\xffb ä \\xf0\\x9fx\n".encode()


@pytest.mark.parametrize("name", ["src", " src", "src ", "\tsrc "])
def test_spaces_around_the_name_of_a_column_say_nothing(name: str) -> None:
    log = b"@a3|f0|c1|S7|d1|T1#\n@a3|f0|c1|S8|d1|T2#\n"
    done = turnwire("scan", "--wire", "nslip", "--json", "--columns", "src", "--where", f"{name}=8", "-", stdin=log)
    assert (done.code, done.records) == (0, [{"src": 8}])


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_table_is_shown_as_soon_as_it_has_its_rows(limit: int) -> None:
    """A log that is followed may have no end."""
    stream = io.BytesIO()
    found = library.scan(GOOD + b"\n" + GOOD, wire="nslip", columns=["src"])
    sink = TableSink(found, Output(stream, "a file"), limit, None)
    for batch in found:
        sink.take(batch)
    assert sink.full is (limit <= 2)
    before = stream.getvalue()
    sink.finish()
    assert bool(before) is sink.full and stream.getvalue().count(b"\n") >= 1 + min(limit, 2)
    assert before in (b"", stream.getvalue())


@pytest.mark.parametrize(
    ("output", "manifest", "fits"),
    [
        ("out", "out/m", True),
        ("out/", "out/m", True),
        ("./out", "out/m", True),
        ("out", "out/../out/m", True),
        ("link", "out/m", True),
        ("out", "link/m", True),
        ("out", "m", False),
        ("out", "out/below/m", False),
    ],
)
def test_a_manifest_is_in_the_directory_however_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, manifest: str, fits: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    settings = {**dict.fromkeys(spreading.REFUSED), "dask": "local", "errors": "skip"}
    settings |= {"output": output, "resume": manifest}
    if fits:
        spreading._check_dask(settings)
    else:
        with pytest.raises(click.UsageError, match="the manifest in the --output directory"):
            spreading._check_dask(settings)


# --- the last line of a command leads on, notes about single records end, and --exit-zero fails no script -------------


RECORD = "@a3|f0|c1|S1|d2|T1#\n"


@pytest.mark.parametrize("command", ["scan", "stats", "validate"])
@pytest.mark.parametrize("bad", [False, True])
def test_the_last_line_names_the_damage_and_a_command_that_runs(
    command: str, bad: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = put(tmp_path / "a log.txt", RECORD + ("@a3|f0|c$\n" * 2 + "@a3|f0\n") * bad)
    done = turnwire(command, path)
    last = done.err.splitlines()[-1]
    assert done.code == bad
    assert ("bad_digit (2)" in last) == bad
    following = shlex.split(last.partition("next: ")[2])
    assert following[0] == "turnwire" and following[1] != command
    assert turnwire(*following[1:]).code == bad


@pytest.mark.parametrize("command", ["scan", "stats", "usage"])
def test_a_condition_that_nothing_meets_leads_nowhere(command: str) -> None:
    line = b'{"sessionId":"s","timestamp":"2025-09-01T10:00:00Z","message":{"id":"m","usage":{"input_tokens":1}}}\n'
    done = turnwire(command, "-", "--where", "conversation=t", "--wire", "claude_code", stdin=line)
    assert done.err.count("--where") == 1 and "next: " not in done.err


@pytest.mark.parametrize("command", ["scan", "stats", "validate", "tokens"])
def test_exit_zero_is_for_bad_records_alone(command: str, tmp_path: Path) -> None:
    path = put(tmp_path / "log", RECORD + "@a3|f0|c$\n")
    assert turnwire(command, path).code == 1
    assert turnwire(command, path, "--exit-zero").code == 0


def test_what_is_dropped_is_named_for_the_first_messages(tmp_path: Path) -> None:
    path, context = tmp_path / "log", tmp_path / "context.json"
    message = nslip.SlipMessage(1, 1, 1, 2, nslip.Act.INFORM, nslip.FrameType.TASK, {nslip.Slot.SCORE: 7})
    path.write_text("".join(f"{nslip.encode(message.replace(turn=turn))}\n" for turn in range(Notes.MOST + 30)))
    context.write_text("{}")
    few = turnwire("convert", path, "--to", "csp", "--context", context).err.splitlines()
    all_of_them = turnwire("convert", path, "--to", "csp", "--context", context, "-v").err.splitlines()
    assert len(all_of_them) >= Notes.MOST + 30 and len(few) <= len(all_of_them) - 29
    assert few[: Notes.MOST] == all_of_them[: Notes.MOST]
