"""``turnwire tokens``: figures, budgets, prices, pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import BAD_DIGIT, GOOD, REAL, WIDE, turnwire
from tests.conftest import put
from turnwire import nslip, session, tokens
from turnwire.log import stats

pytest.importorskip("splintr")
pytestmark = pytest.mark.once


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = put(tmp_path / "good.log", b"a " + GOOD + b"\n" + WIDE + b"\nnothing\n" + GOOD + b"\n")
    return path


def count(*messages: bytes, name: str = "o200k_base") -> list[int]:
    return tokens.count_many([message.decode() for message in messages], name)


def test_a_table_says_what_messages_cost(good: Path) -> None:
    done = turnwire("tokens", good, "--wire", "nslip")
    one, wide = count(GOOD, WIDE)
    words = done.out.decode().split("\n")[1].split()
    assert words == ["nslip", "o200k_base", "3", str(2 * len(GOOD) + len(WIDE)), str(2 * one + wide), *words[5:]]
    assert words[6] == str(max(one, wide))
    assert done.code == 0


def test_json_lines_and_several_tokenizers(good: Path) -> None:
    done = turnwire("tokens", good, "--wire", "nslip", "--json", "--tokenizer", "gemma3", "--tokenizer", "o200k_base")
    assert [row["tokenizer"] for row in done.records] == ["gemma3", "o200k_base"]
    for row in done.records:
        one, wide = count(GOOD, WIDE, name=row["tokenizer"])
        assert (row["tokens"], row["messages"], row["file"]) == (2 * one + wide, 3, str(good))


@pytest.mark.parametrize("below", [0, 1])
def test_a_budget_of_messages(good: Path, below: int) -> None:
    most = max(count(GOOD, WIDE))
    done = turnwire("tokens", good, "--wire", "nslip", "--max", most - below)
    assert done.code == below
    assert ("1 over" in done.err) == bool(below)
    if below:
        assert f"{good}:1: {most} tokens (o200k_base), 1 over {most - 1}" in done.err


@pytest.mark.parametrize("below", [0, 1])
def test_a_budget_of_conversations(good: Path, below: int) -> None:
    most = max(2 * count(GOOD)[0], count(WIDE)[0])
    done = turnwire("tokens", good, "--wire", "nslip", "--by", "conversation", "--max", most - below, "--json")
    assert done.code == below
    assert ("nslip conversation 1: " in done.err) == bool(below)
    assert (len(done.records), done.records[0]["tokens"], done.records[0]["conversation"]) == (2, most, "1")


def test_a_budget_of_nothing_is_not_kept(tmp_path: Path) -> None:
    """A log of the wrong name, or of messages without conversations, does not pass."""
    empty = put(tmp_path / "empty.log", "nothing here\n")
    assert turnwire("tokens", empty).code == 0
    done = turnwire("tokens", empty, "--max", 10)
    assert done.code == 4 and "no message" in done.err
    alone = tmp_path / "alone.log"
    alone.write_text(
        '{"id":"7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a","timestamp":"2026-01-15T00:00:00Z","sender":"A","receiver":"B",'
        '"type":"Info","channel":"⫻report/progress","content":"done"}\n'
    )
    assert turnwire("tokens", alone, "--wire", "kick", "--max", 1000).code == 0
    done = turnwire("tokens", alone, "--wire", "kick", "--by", "conversation", "--max", 1000)
    assert done.code == 4 and "no message has a conversation" in done.err
    with alone.open("a") as file:
        file.write('{"id":1,"channel":"⫻report/progress"}\n')
    done = turnwire("tokens", alone, "--wire", "kick", "--by", "conversation", "--max", 1000)
    assert done.code == 1 and "no message has a conversation" in done.err, "what is damaged counts more"


def test_damaged_records_are_not_counted(log: Path) -> None:
    done = turnwire("tokens", log, "--wire", "nslip", "--json")
    assert done.code == 1
    assert done.records[0]["tokens"] == sum(count(GOOD, WIDE))
    assert "2 damaged records left out" in done.err
    for option in ("-q", "--quiet"):
        quiet = turnwire("tokens", log, "--wire", "nslip", "--json", "--max", 1, option)
        assert quiet == (1, done.out, "")


def test_advice_a_price_and_a_page(good: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = turnwire("tokens", good, "--wire", "nslip", "--price", "2.5,1.25", "--html", page)
    text = done.out.decode()
    assert done.code == 0 and "USD" in text
    [refused] = [line for line in text.splitlines() if "not tried" in line]
    assert "nslip as csp, nslip as sstp, nslip as sap, nslip as kick" in refused and "--context" in refused
    assert all(name in text for name in ("once", "growing", "uncached"))
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    row, advice = turnwire("tokens", good, "--wire", "nslip", "--advise", "--json").records
    assert advice["advice"]["absent"]["nslip as kick"].startswith("missing_field"), "each, with its reason"
    shown = turnwire("tokens", good, "--wire", "nslip", "--advise").out.decode()
    assert not any(name in shown for name in ("once", "growing", "uncached", "every turn"))
    own = advice["advice"]["costs"][0]
    assert (own["wire"], own["tokens"]) == ("nslip", row["tokens"])


def test_a_context_lets_other_wires_be_tried(good: Path, tmp_path: Path) -> None:
    given = tmp_path / "context.toml"
    given.write_text('now = "2026-01-01T00:00:00Z"\n[uuids]\n1 = "00000001-1111-4111-8111-111111111111"\n')
    good.write_bytes(GOOD + b"\n")
    records = turnwire("tokens", good, "--wire", "nslip", "--advise", "--json", "--context", given).records
    assert {cost["wire"] for cost in records[1]["advice"]["costs"]} == {"nslip", "kick", "json", "toon", "session"}
    shown = turnwire("tokens", good, "--wire", "nslip", "--advise", "--context", given).out.decode()
    untried = [line for line in shown.splitlines() if line.startswith("not tried")]
    assert [line.split(":")[1].strip() for line in untried] == ["nslip as csp", "nslip as sstp", "nslip as sap"]


def test_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing")
    done = turnwire("tokens", tmp_path / "x", "--price", "1")
    assert (done.code, done.out, done.err) == (0, b"", f"{tmp_path / 'x'}: no message found\n")
    deep = tmp_path / ("d" * 60)
    deep.mkdir()
    (deep / "log").write_bytes(GOOD + b"\n")
    assert turnwire("tokens", deep / "log").out.decode().split()[-1].endswith("ddd/log:1"), "the line is not cut off"


# --- turnwire session: pack, unpack, check ----------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    log = put(tmp_path / "some.log", b"\n".join(REAL.read_bytes().split(b"\n")[:120]) + b"\n")
    done = turnwire("session", "pack", log, "--every", "30")
    assert done.code == 0
    path = put(tmp_path / "some.session", done.out)
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
    log = put(tmp_path / "bad.log", BAD_DIGIT + b"\n@a3|f0|c1|S0|d1|T1#\n")
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
    file = put(tmp_path / "x", data)
    for name, stdin in ((str(file), b""), ("-", data)):
        done = turnwire("session", *command, name, stdin=stdin)
        assert (done.code, done.out) == (code, b"")
        assert done.err.startswith(f"{'<stdin>' if name == '-' else file}: {said}")


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


# --- turnwire stats: the same as the library says, safe for terminals -------------------------------------------------


def test_json_lines_are_the_rows_of_the_library() -> None:
    done = turnwire("stats", REAL, "--json", "--top", "3")
    assert done.code == 0
    assert done.records == [json.loads(json.dumps(row)) for row in stats(str(REAL), wire="nslip").rows(3)]


def test_only_what_is_wanted_counts() -> None:
    rows = turnwire("stats", "--wire", "nslip", REAL, "--json", "--where", "act=INFORM").records
    lines = [line for line in REAL.read_bytes().splitlines() if nslip.decode(line).act == nslip.Act.INFORM]
    size = sum(map(len, lines))
    assert [(row["records"], row["record_bytes"]) for row in rows if row["stat"] == "wire"] == [(1089, size)]
    assert (rows[0]["records"], rows[0]["selected"]) == (4356, 1089)
    kinds = [(row["kind"], row["records"]) for row in rows if row["stat"] == "kind"]
    assert kinds == [("INFORM", 1089)]
    text = turnwire("stats", "--wire", "nslip", REAL, "--where", "act=INFORM").out.decode()
    assert text.splitlines()[0].split() == ["selected", "1,089", f"{size:,}", "bytes"]
    assert ["nslip", "1,089", f"{size:,}"] in [line.split() for line in text.splitlines()]
    none = turnwire("stats", "--wire", "nslip", REAL, "--where", "conv_id=987654321").out.decode()
    assert none.split()[:2] == ["selected", "0"] and "\nwires\n" not in none
    assert b"selected" not in turnwire("stats", REAL).out
