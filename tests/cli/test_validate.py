"""``turnwire validate``: every fault with file, line and byte."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import GOOD, REAL, turnwire
from turnwire import nslip, registry
from turnwire.cli import main
from turnwire.errors import Issue, Reason


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


def test_standard_input_and_several_files(log: Path) -> None:
    done = turnwire("validate", "-", stdin=log.read_bytes())
    assert done.out.startswith(b"<stdin>:2: byte ")
    (log.parent / "b.log").write_bytes(b"first\n@a3|f0|c1#\n")
    done = turnwire("validate", log, log.parent / "b.log", "--json")
    assert [(Path(row["file"]).name, row["line"]) for row in done.records] == [
        ("agents.log", 2),
        ("agents.log", 4),
        ("b.log", 2),
    ]


@pytest.fixture
def doubtful(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A log whose second record the wire's check doubts, with a fault before and after it."""

    def check(message: Any) -> list[Issue]:
        tag = message.get(nslip.Slot.TAG, "")
        return [Issue(Reason.LONG_STRING, "/slots/TAG", "warning", "the tag is long")] if tag == "long" else []

    wire = registry.wire("nslip")
    monkeypatch.setattr(wire, "check", check)
    monkeypatch.setattr(wire, "bulk", wire.bulk._replace(doubtful=(0, ())))
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


def test_a_message_of_several_lines_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"noted\nCSP/1\nFROM A\nTO B C\n\nnoted\n")
    done = turnwire("validate", tmp_path / "a", "--wire", "csp", "--json")
    assert [(one["line"], one["offset"], one["reason"]) for one in done.records] == [(4, 19, "bad_header_value")]
    assert done.code == 1


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
            patched.setattr(nslip, "bulk", nslip.bulk._replace(doubtful=(0, ())))
            assert turnwire("validate", path, *more) == done
        assert found == ["2", "4", *(["5"] * (2 if "keep" in more else 1))]


@pytest.mark.parametrize("mode", [[], ["--wire", "nslip"]], ids=["all", "nslip"])
@pytest.mark.parametrize(
    ("damage", "reason", "offset"),
    [
        (lambda data: data[:-9], "cut_off", -9),
        (lambda data: data + b"junk", "trailing_junk", 0),
        (lambda data: data[:-8] + bytes(4) + data[-4:], "bad_compression", None),
        (lambda data: data[:3], "cut_off", None),
    ],
    ids=["cut", "junk", "checksum", "head"],
)
def test_a_damaged_compressed_file_is_a_fault(
    tmp_path: Path, mode: list[str], damage: Callable[[bytes], bytes], reason: str, offset: int | None
) -> None:
    data = gzip.compress((GOOD + b"\n") * 50)
    path = tmp_path / "log.gz"
    path.write_bytes(damage(data))
    done = turnwire("validate", path, *mode, "--json")
    (row,) = done.records
    assert (done.code, row["wire"], row["reason"], row["severity"]) == (1, "gzip", reason, "error")
    assert "stream" in row["text"]
    if offset is not None:
        assert row["offset"] == len(data) + offset
    assert "Traceback" not in done.err
