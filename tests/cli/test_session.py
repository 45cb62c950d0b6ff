"""``turnwire session``: pack, unpack, check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import BAD_DIGIT, REAL, turnwire
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


@pytest.mark.parametrize(("arguments", "code"), [(["--key", "a b"], 2), (["--tokenizer", "none"], 2), ([], 4)])
def test_what_cannot_be_packed(arguments: list[str], code: int) -> None:
    lines = b'{"a":1}\n' if arguments else b""
    assert turnwire("session", "pack", "--events", "-", *arguments, stdin=lines).code == code
