"""``turnwire tokens``: figures, budgets, prices, pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import GOOD, WIDE, turnwire
from turnwire import tokens

pytest.importorskip("splintr")

pytestmark = pytest.mark.once


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.log"
    path.write_bytes(b"a " + GOOD + b"\n" + WIDE + b"\nnothing\n" + GOOD + b"\n")
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
    empty = tmp_path / "empty.log"
    empty.write_text("nothing here\n")
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


def test_standard_input() -> None:
    done = turnwire("tokens", "-", "--json", stdin=GOOD + b"\n")
    assert [(row["wire"], row["tokens"]) for row in done.records] == [("nslip", count(GOOD)[0])]


def test_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing")
    done = turnwire("tokens", tmp_path / "x", "--price", "1")
    assert (done.code, done.out, done.err) == (0, b"", f"{tmp_path / 'x'}: no message found\n")
    deep = tmp_path / ("d" * 60)
    deep.mkdir()
    (deep / "log").write_bytes(GOOD + b"\n")
    assert turnwire("tokens", deep / "log").out.decode().split()[-1].endswith("ddd/log:1"), "the line is not cut off"
