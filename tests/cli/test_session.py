"""``turnwire session``: pack, unpack, check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import BAD_DIGIT, GOOD, REAL, turnwire
from turnwire import session

pytestmark = pytest.mark.once
pytest.importorskip("splintr")


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    log = tmp_path / "some.log"
    log.write_bytes(b"\n".join(REAL.read_bytes().split(b"\n")[:120]) + b"\n")
    done = turnwire("session", "pack", log, "--every", "30")
    assert done.code == 0
    path = tmp_path / "some.session"
    path.write_bytes(done.out)
    return path


def test_a_log_comes_back_as_json_lines(packed: Path) -> None:
    text = packed.read_text("utf-8")
    assert text.startswith("%1 ") and text.count("\n^") == 3
    done = turnwire("session", "unpack", packed)
    assert done.code == 0
    assert done.records == session.decode(text) and len(done.records) == 120
    assert done.records[0] == {
        **{"act": "REQUEST", "frame": "TASK", "conv_id": 1, "src": 0, "dst": 1, "turn": 1},
        **{"goal_id": 1, "task_id": 1, "priority": 3, "tag": "goal_1"},
    }


def test_damage_is_told_and_the_rest_salvaged(packed: Path) -> None:
    assert turnwire("session", "check", packed).code == 0
    lines = packed.read_bytes().split(b"\n")
    del lines[20]
    packed.write_bytes(b"\n".join(lines))
    done = turnwire("session", "check", packed, "--json")
    (row,) = done.records
    ((first, behind),) = row["missing"]
    assert done.code == 1 and not row["complete"] and behind == 30 and row["events"] == 120 - (behind - first)
    assert turnwire("session", "check", packed).err.endswith(f"missing: events from {first + 1} to 30\n")
    assert turnwire("session", "unpack", packed).code == 1
    rest = turnwire("session", "unpack", packed, "--salvage")
    assert rest.code == 1 and len(rest.records) == row["events"]


def test_json_lines_of_any_objects() -> None:
    lines = b"".join(b'{"n":%d.0,"text":"same words"}\n' % number for number in range(40))
    done = turnwire("session", "pack", "--events", "-", "--plain", stdin=lines)
    assert done.code == 0 and done.out.startswith(b"%1 ") and len(done.out) < len(lines)
    assert turnwire("session", "unpack", "-", stdin=done.out).out == lines


def test_damaged_records_of_a_log_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "bad.log"
    log.write_bytes(BAD_DIGIT + b"\n@a3|f0|c1|S0|d1|T1#\n")
    done = turnwire("session", "pack", log)
    assert done.code == 1 and "1 damaged" in done.err
    assert json.loads(done.out)["act"] == "REQUEST"


@pytest.mark.parametrize("command", [["check"], ["check", "--json"], ["unpack"], ["unpack", "--salvage"]])
@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (b"", 4, "is empty"),
        (b" \n\n", 4, "is empty"),
        (b'[{"a":1},{"a":2}]\n', 1, "is not a session: its lines are neither JSON"),
        (b'{\n  "a": 1\n}\n', 1, "is not a session: its lines are neither JSON"),
        (b"17\n", 1, "is not a session: its lines are neither JSON"),
        (BAD_DIGIT + b"\n" + GOOD + b"\n", 1, "is not a session: its lines are neither JSON"),
        (b"\x02\x01\0\0\xff\xfe\xfd\xfc\0" * 9, 1, "is not a session: its lines are neither JSON"),
        ('{"a":1}\n'.encode("utf-16"), 1, "is not a session: its lines are neither JSON"),
        (b"Dear all,\nsee you.\n", 1, "is not a session: its lines are neither JSON"),
    ],
)
def test_what_is_no_session_is_said_to_be_none(
    command: list[str], data: bytes, code: int, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "x"
    file.write_bytes(data)
    for name, stdin in ((str(file), b""), ("-", data)):
        done = turnwire("session", *command, name, stdin=stdin)
        assert (done.code, done.out) == (code, b"")
        assert done.err.startswith(f"{'<stdin>' if name == '-' else file}: {said}")


def test_what_is_damaged_is_still_a_session(packed: Path) -> None:
    """Without its header, its anchors or its end, or with bytes that are not UTF-8."""
    lines = packed.read_bytes().split(b"\n")
    anchors = [number for number, line in enumerate(lines) if line[:1] == b"^"]
    for kept in (lines[1:], lines[: anchors[0]], lines[1 : anchors[0]], lines[-2:], [b"\xff" + lines[0], *lines[1:]]):
        packed.write_bytes(b"\n".join(kept))
        done = turnwire("session", "check", packed, "--json")
        assert done.code == 1 and not done.records[0]["complete"]
    packed.write_bytes(b'{"a":1}\n{"a":\n')
    assert turnwire("session", "unpack", packed).err.startswith("session: bad_json at byte 8, line 2")


def test_what_cannot_be_read_is_told_as_everywhere(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "two").mkdir()
    for name in "ab":
        (tmp_path / "two" / name).write_bytes(b'{"a":1}\n')
    for name, said in (
        ("none", "No such file or directory"),
        ("empty", "the directory contains no files"),
        ("two", "there are 2 files; a session is a single file"),
    ):
        for command in (["check"], ["unpack"], *([["pack", "--events"]] if name != "two" else [])):
            done = turnwire("session", *command, tmp_path / name)
            assert (done.code, done.out, done.err) == (3, b"", f"turnwire: {tmp_path / name}: {said}\n")
    assert len(turnwire("session", "pack", "--events", tmp_path / "two").out.splitlines()) == 2
    done = turnwire("session", "pack", "--events", "-", stdin=b'{"a":1}\n{"a":"\xff"}\n')
    assert (done.code, done.err) == (3, "turnwire: <stdin>: line 2 is not UTF-8\n")


def test_a_file_is_written_whole_or_not_at_all(packed: Path, tmp_path: Path) -> None:
    text, log, out = packed.read_bytes(), tmp_path / "some.log", tmp_path / "out"
    done = turnwire("session", "pack", log, "--every", "30", "-o", out)
    assert (done.code, done.out, out.read_bytes()) == (0, b"", text)
    lines = turnwire("session", "unpack", packed).out
    done = turnwire("session", "unpack", packed, "--output", out)
    assert (done.code, done.out, out.read_bytes()) == (0, b"", lines)
    assert turnwire("session", "unpack", packed, "-o", "-").out == lines
    packed.write_bytes(text[:-9])
    assert turnwire("session", "unpack", packed, "-o", out).code == 1 and out.read_bytes() == lines
