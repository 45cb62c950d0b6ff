"""Comparisons: figures that add up, nothing that wins by leaving out, every stranger's text harmless."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests.conftest import SHARED, raised
from tests.tokens.material import HOSTILE, KICK, PATCH, REQUEST, SAP, SSTP, TEXTS, context, hostile
from turnwire import tokens
from turnwire.conversion import Context
from turnwire.errors import EncodeError, Reason
from turnwire.tokens.advice import FIRST, KEEP, Price, Sample, TokenUse, priced
from turnwire.tokens.comparison import (
    FORMATS,
    OWN,
    Format,
    Row,
    _ranked,
    lossless,
    messages_of,
    minified,
    plain,
    plain_table,
)
from turnwire.tokens.tokenizer import CHUNK

pytest.importorskip("splintr")
pytestmark = pytest.mark.once

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def rows(comparison: tokens.Comparison) -> dict[str, tokens.Row]:
    return {row.format: row for row in comparison.rows}


def test_the_request_that_others_measured() -> None:
    """One REQUEST with o200k: 34 tokens, 43 for JSON with the shortest names."""
    found = rows(tokens.compare(REQUEST, context=context()))
    assert {name: found[name].tokens for name in ("nslip", "json")} == {"nslip": 34, "json": 46}
    short = {"act": "REQUEST", "frame": "TASK", "conv": 1, "src": 0, "dst": 1, "turn": 1}
    assert tokens.count(minified({**short, "goal": 1, "task": 1, "priority": 3, "tag": "goal_1"})) == 43


def test_who_drops_something_is_not_ranked() -> None:
    found = tokens.compare(REQUEST, context=context())
    for row in found.rows:
        assert row.round_trip == (row.rank is not None)
        assert not (row.dropped and row.round_trip)
    assert rows(found)["csp"].dropped == turnwire.convert(turnwire.decode(REQUEST), "csp", context=context()).dropped
    assert rows(found)["nslip"].round_trip and not rows(found)["csp"].round_trip
    ranked = [row for row in found.sorted("o200k_base") if row.rank is not None]
    assert [row.total for row in ranked] == sorted(row.total for row in ranked)
    assert ranked[0].rank == 1


def test_what_a_wire_needs_is_named_and_never_made_up() -> None:
    found = tokens.compare(REQUEST)
    assert "id, timestamp" in found.absent["kick"]
    assert "kick" not in rows(found)
    assert "not measured: kick" in found.table()


@pytest.mark.parametrize("text", [*TEXTS.values(), PATCH], ids=[*TEXTS, "patch"])
def test_every_message_comes_back_from_its_own_wire_and_every_reference(text: str) -> None:
    found = tokens.compare(text, wires=[str(turnwire.detect(text))])
    assert found.absent == {}
    assert len(found.rows) == 1 + len(FORMATS)
    assert all(row.round_trip for row in found.rows), found.table()
    own = found.rows[0]
    assert own.tokens == tokens.count(turnwire.encode(turnwire.decode(text)))
    assert own.bytes == len(turnwire.encode(turnwire.decode(text)).encode())
    assert rows(found)["json"].ratio == 1.0


def test_values_of_messages_are_told_apart() -> None:
    """Two messages with the same plain values would make a reference format look lossless that is not."""
    messages = [turnwire.decode(text) for text in (*TEXTS.values(), PATCH, PATCH.replace("= 1", "= 2"))]
    messages += [turnwire.decode(REQUEST.replace("q3", "s3")), turnwire.decode(REQUEST.replace("f0", "f1"))]
    generic = "CSP/1\nFROM a\nTO b\nCTX C0\nINTENT PLAN\n\nPLAN X1\nA 1\nA 2\n"
    messages += [turnwire.decode(generic), turnwire.decode(generic.replace("A 2", "B 2"))]
    messages += [turnwire.csp.decode("CSP/1\nFROM a\nTO b\nCTX C0\nINTENT FILE\n\nFILEOP F1 DELETE\nPATH x\n")]
    seen = [json.dumps(plain(message), sort_keys=True) for message in messages]
    assert len(set(seen)) == len(messages)


def test_messages_add_up_and_conversations_are_one_text() -> None:
    texts = [REQUEST, REQUEST.replace("T1", "T2"), REQUEST.replace('"goal_1"', '"goal_2"')]
    alone = [rows(tokens.compare(text, wires=["nslip"])) for text in texts]
    together = rows(tokens.compare(texts, wires=["nslip"]))
    for name, row in together.items():
        assert row.tokens == sum(found[name].tokens for found in alone)
        assert row.bytes == sum(found[name].bytes for found in alone)
        assert row.legend == sum(found[name].legend for found in alone)
        assert row.messages == 3
    whole = rows(tokens.compare(texts, wires=["nslip"], per="conversation"))
    assert whole["nslip"].tokens == tokens.count("\n".join(texts))
    assert whole["nslip"].legend == tokens.count(turnwire.prompt("nslip", "short"))
    assert whole["nslip"].total == whole["nslip"].tokens + whole["nslip"].legend
    assert whole["nslip"].shared == tokens.count("@a3|f0|c1|S0|d1|T")
    assert whole["gcf"].tokens < together["gcf"].tokens


def test_what_comes_back_with_a_context_alone_is_not_ranked() -> None:
    text = "CSP/1\nFROM planner\nTO worker\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ fix\n"
    numbers = {"planner": 0, "worker": 1}
    given = Context(agents=numbers, conversations={"C1": 1}, ids={"T1": 1}, defaults={"nslip": {"turn": 0}})
    found = rows(tokens.compare(text, context=given, wires=["csp", "nslip"], formats=["json"]))
    assert found["csp"].rank and found["nslip"].rank is None and not found["nslip"].dropped
    assert found["nslip"].note == "1 of 1 cannot be restored from the text alone"


def test_a_mixed_log_is_also_counted_as_it_is() -> None:
    own = rows(tokens.compare(list(TEXTS.values()), wires=[]))[OWN]
    assert own.tokens == sum(tokens.count(turnwire.encode(turnwire.decode(text))) for text in TEXTS.values())
    assert own.rank is not None and own.round_trip and own.legend == 0
    whole = rows(tokens.compare([REQUEST, SSTP], wires=[], per="conversation"))[OWN]
    assert whole.legend == sum(tokens.count(turnwire.prompt(wire, "short")) for wire in ("nslip", "sstp"))
    assert OWN not in rows(tokens.compare([REQUEST, REQUEST], wires=[]))


def test_several_tokenizers_each_have_their_ranks() -> None:
    found = tokens.compare([REQUEST, SSTP], tokenizers=["o200k_base", "gemma3"], wires=())
    assert [row.tokenizer for row in found.rows] == ["o200k_base"] * (len(FORMATS) + 1) + ["gemma3"] * (
        len(FORMATS) + 1
    )
    assert sum(row.rank == 1 for row in found.rows) >= 2
    assert found.facts["wires"] == {"nslip": 1, "sstp": 1}
    assert found.facts["versions"]["toon"]


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="no message"):
        tokens.compare([])
    with pytest.raises(ValueError, match="no tokenizer"):
        tokens.compare(REQUEST, tokenizers=())
    for wrong in (3, [object()], {"a": 1}):
        with pytest.raises((EncodeError, turnwire.DecodeError)):
            tokens.compare(wrong)


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(EncodeError) as caught:
        tokens.compare(hostile("\ud800"))
    assert caught.value.reason == Reason.LONE_SURROGATE
    assert "cannot write" in lossless(FORMATS["json"], [{"a": "\ud800"}], False)[1]


def test_strange_text_comes_back_from_all_that_are_ranked() -> None:
    strange = [
        "",
        " ",
        "\x00",
        "\u2028\x85\x0b",
        "e\u0301\ufeff",
        "<|endoftext|>",
        "null",
        "1e5",
        "- a: b",
        "'\"\\|#@",
        HOSTILE,
    ]
    for text in strange:
        found = tokens.compare(hostile(text), wires=["nslip"])
        for row in found.rows:
            assert row.round_trip or row.note, text
        assert {"nslip", "json", "msgpack base64"} <= {row.format for row in found.rows if row.round_trip}


@pytest.mark.parametrize("name", list(FORMATS))
@SHARED
@given(values=st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), min_size=1, max_size=4))
def test_a_format_is_believed_only_when_the_values_come_back(name: str, values: list[Any]) -> None:
    for together in (False, True):
        texts, why = lossless(FORMATS[name], values, together)
        if name in ("json", "json pretty", "msgpack base64"):
            assert why == ""
        if texts is not None and not why:
            found = list(map(FORMATS[name].read, texts))
            assert values in (found, found[0]) or (FORMATS[name].always_list and [[one] for one in values] == found)


def test_a_format_that_cheats_is_found_out() -> None:
    cheat = Format("half", None, lambda value: json.dumps({name: value[name] for name in list(value)[:1]}), json.loads)
    assert lossless(cheat, [{"a": 1, "b": 2}], False)[1] == "it returns different values"
    assert lossless(cheat, [{"a": 1}], False)[1] == ""
    for one, other in ((1, True), (1, "1"), (None, "null"), (0, False), ({}, []), (1.5, 1)):
        swapped = Format("swap", None, lambda value: "x", lambda text, new=other: new)
        assert lossless(swapped, [one], False)[1] == "it returns different values"
    assert lossless(Format("same", None, lambda value: "x", lambda text: 1), [1.0], False)[1] == ""
    assert lossless(FORMATS["gcf"], [{"n": 2**63}], False)[0] is None


def test_a_cheat_is_shown_without_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    cheat = Format("cheat", None, lambda value: "x", lambda text: None)
    monkeypatch.setitem(FORMATS, "cheat", cheat)
    found = tokens.compare(REQUEST, wires=["nslip"], formats=list(FORMATS))
    assert rows(found)["cheat"].tokens == 1
    assert (rows(found)["cheat"].rank, rows(found)["cheat"].note) == (None, "it returns different values")
    assert found.sorted("o200k_base")[-1].format == "cheat"


def test_a_session_of_one_message_is_lossless_alone_and_as_a_conversation() -> None:
    for per in ("message", "conversation"):
        (row,) = [
            row
            for row in tokens.compare(REQUEST, wires=[], formats=["session"], per=per).rows
            if row.format == "session"
        ]
        assert row.round_trip, per


def test_packages_that_are_absent_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = ("toon_format", "gcf", "soon_format", "yaml", "msgpack")
    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        monkeypatch.delitem(sys.modules, name)
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)
    found = tokens.compare(REQUEST, wires=["nslip"])
    assert set(found.absent) == {"toon", "gcf", "soon", "yaml", "msgpack base64"}
    assert all("turnwire[formats]" in why for why in found.absent.values())
    assert {row.format for row in found.rows} == {"nslip", "json", "json pretty", "session"}
    assert "not measured: toon: " in found.table()


def test_arrow_and_dicts_hold_the_rows() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    found = tokens.compare([REQUEST, KICK], context=context())
    table = found.to_arrow()
    assert isinstance(table, pyarrow.Table)
    assert table.to_pylist() == found.to_dicts()
    assert json.loads(json.dumps(found.to_dicts())) == found.to_dicts()


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ["o200k_base", "cl100k_base"]
    found = tokens.compare(
        [REQUEST, SAP], tokenizers=names, per="conversation", context=context(), formats=["json", "yaml"]
    )
    for ending, begin in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        found.plot(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_bytes().startswith(begin)
    texts = re.findall(
        "<!-- (.*) -->", (tmp_path / "x.svg").read_text()
    )  # each above its letters, from the axis upwards
    for name in names:
        shown = [row.format if row.round_trip else f"{row.format} (not all)" for row in found.sorted(name)]
        assert [text for text in texts if text in shown][: len(shown)] == shown[::-1], "the cheapest stands on top"
        texts = texts[texts.index(f"{name}: tokens per conversation") + 1 :]


def test_a_page_is_alone_and_escapes(tmp_path: Path) -> None:
    found = tokens.compare([hostile(), hostile("plain")], context=context())
    strange = tokens.Comparison(
        [row._replace(dropped=(HOSTILE,), note=HOSTILE) for row in found.rows],
        {HOSTILE: HOSTILE},
        {**found.facts, "tokenizers": {"o200k_base": HOSTILE}, "wires": {HOSTILE: 1}, "versions": {HOSTILE: HOSTILE}},
    )
    path = tmp_path / "page.html"
    strange.html(path)
    text = path.read_text("utf-8")
    assert text.count("<style>") == text.count("</style>") == 1
    for bad in ("<script", "\x1b", "\u202e", "http:", "https:", "src=", "@import", "url("):
        assert bad not in text
    assert "&lt;script&gt;alert(1)" in text and "\\x1b[31m\\u202e" in text
    assert "\x1b" not in strange.table() and "\u202e" not in strange.table()


def test_columns_line_up_and_are_safe() -> None:
    text = plain_table(("a", "n", "empty"), [["x\ny", "1", ""], ["z", "100", ""]], frozenset({"n"}))
    assert text == "a       n\nx\\ny    1\nz     100\n"


# --- figures about tokens: ranks, means, samples, budgets, prices and changes, each at its limits ---------------------


def row(name: str, count: int, legend: int = 0, whole: bool = True, kind: str = "reference") -> Row:
    return Row(name, kind, "x", 2, 9, count, legend, 0, () if whole else ("a",), whole, None, None, "")


@pytest.mark.parametrize("wholes", list(itertools.product((True, False), repeat=4)))
@pytest.mark.parametrize("counts", [(10, 20, 30, 40), (40, 30, 20, 10), (20, 20, 10, 10), (10, 10, 10, 10)])
def test_who_brings_all_back_is_ranked_among_those_that_do(wholes: tuple[bool, ...], counts: tuple[int, ...]) -> None:
    """By tokens and legend; of as many each has the same rank, and the next one as if they stood one by one."""
    legends, names = (0, 5, 0, 0), ("nslip", "json", "toon", "yaml")
    found = _ranked([row(*each) for each in zip(names, counts, legends, wholes, strict=True)])
    totals = [count + legend for count, legend in zip(counts, legends, strict=True)]
    for each, total, whole in zip(found, totals, wholes, strict=True):
        better = sum(other < total for other, good in zip(totals, wholes, strict=True) if good)
        assert (each.rank, each.ratio) == (better + 1 if whole else None, total / totals[1])
    assert [each.ratio for each in _ranked([row("nslip", 5), row("json", 0)])] == [None, None]
    shown = tokens.Comparison(found, {}, {"tokenizers": {"x": ""}, "messages": 2}).sorted("x")
    order = sorted(range(4), key=lambda place: (not wholes[place], totals[place]))
    assert [each.format for each in shown] == [names[place] for place in order]


@pytest.mark.parametrize(
    "kind", [str, str.encode, lambda text: bytearray(text.encode()), lambda text: memoryview(text.encode())]
)
def test_messages_are_given_in_many_ways(kind: Any) -> None:
    """One, alone or in anything that can be gone through."""
    text, message = kind(REQUEST), turnwire.decode(REQUEST)
    for kinds in (text, message, [text], (message,), iter([text]), {REQUEST: 1}):
        assert messages_of(kinds) == [message]
    assert messages_of([text, message, text]) == [message] * 3 and messages_of([]) == []
    for wrong in (5, None, [5], [message, None], object()):
        caught = raised(EncodeError, messages_of, wrong)
        assert caught.reason is Reason.WRONG_TYPE


@pytest.mark.parametrize(
    ("value", "back", "same"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([1.0, {"a": [2.0]}], [1, {"a": [2]}], True),
        ({"a": None}, {}, False),
        ((1, 2), [1, 2], True),
    ],
)
def test_values_are_the_same_whatever_the_order_of_members(value: Any, back: Any, same: bool) -> None:
    form = Format("x", None, lambda value: "x", lambda text: back)
    assert lossless(form, [value], False)[1] == ("" if same else "it returns different values")


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """A vocabulary of all bytes, and of two letters that are the last token."""
    path = tmp_path / "mine.tiktoken"
    lines = [b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    path.write_bytes(b"".join([*lines, base64.b64encode(b"ab") + b" 256\n"]))
    return path


def test_a_file_of_the_same_size_is_read_again_too(ranks: Path) -> None:
    """It is known by when it was written."""
    os.utime(ranks, ns=(1, 1))
    assert tokens.load(ranks, pattern=r"\S+").ids("abcd") == [256, 99, 100]
    ranks.write_bytes(ranks.read_bytes().replace(base64.b64encode(b"ab"), base64.b64encode(b"cd")))
    os.utime(ranks, ns=(1, 2))
    assert tokens.load(ranks, pattern=r"\S+").ids("abcd") == [97, 98, 256]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_text_that_is_refused_has_its_number_among_all(threads: int, before: int) -> None:
    """However many chunks are before it."""
    texts: list[Any] = ["x" * (CHUNK // 2)] * (2 * before) + ["fine", "é\ud800"]
    for wrong, reason in ((texts, Reason.LONE_SURROGATE), ([*texts[:-1], 5], Reason.WRONG_TYPE)):
        with pytest.raises(EncodeError) as caught:
            tokens.count_many(iter(wrong), threads=threads)
        assert (caught.value.reason, caught.value.path) == (reason, str(2 * before + 1))
        assert caught.value.offset == (2 if reason is Reason.LONE_SURROGATE else None)


def test_prices() -> None:
    assert Price(2.0).of(1_000_000, 1_000_000) == 4.0
    assert Price(2.0, 0.5).of(1_000_000, 1_000_000) == 2.5
    assert Price(2.0, 0.0).of(0, 1_000_000) == 0.0
    same = {"a": Price(2.0, 1.0), "b": (2, 1), "c": {"input": 2, "cached": 1}, "d": [2, 1]}
    assert set(priced(same).values()) == {Price(2.0, 1.0)}
    assert priced({"a": 3})["a"] == Price(3.0) and priced(None) == {}
    for price in ((0.0, 0.0), (1.0, 0.0), (0, 1), (1e-9, 1e-9), (5e-324, 1e308)):
        assert priced({"a": price})["a"][:2] == price
    infinite, none = float("inf"), float("nan")
    for wrong in (
        -1,
        (1, -1),
        (-1e-9, 0.0),
        "x",
        None,
        (1, 2, 3, 4),
        {"in": 1},
        none,
        infinite,
        (infinite, 0.0),
        (0.0, none),
    ):
        with pytest.raises(ValueError, match="price of a"):
            priced({"a": wrong})


class Rows:
    """A batch whose messages are the numbers of their rows."""

    def message(self, row: int) -> int:
        return row

    def raw(self, row: int) -> bytes:
        return str(row).encode()


@pytest.mark.parametrize("size", [0, 1, 2, 10, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST, 9 * FIRST])
def test_the_first_messages_of_a_sample_follow_each_other(size: int) -> None:
    sample = Sample(size)
    sample.offer(Rows(), range(5 * FIRST))
    assert sample.first == list(range(min(size, FIRST)))
    assert len(sample.messages) == min(size, 5 * FIRST) == len(set(sample.messages)) and sample.seen == 5 * FIRST
    assert [str(one) for one in sample.messages] == sample.texts


@pytest.mark.parametrize("size", [400, 1000])
def test_a_sample_is_of_the_whole_log(size: int) -> None:
    """Each tenth of what is offered has about a tenth of the sample."""
    sample = Sample(size)
    sample.offer(Rows(), range(10_000))
    tenths = Counter(number // 1000 for number in sample.messages)
    assert all(size / 20 < tenths[tenth] < 3 * size / 20 for tenth in range(10)), tenths


@pytest.mark.parametrize("budget", [None, 0, 4, 5, 6, 100])
def test_the_dearest_messages_and_those_over_a_budget(budget: int | None) -> None:
    """Of as many tokens, the first ones are kept; a message of just the budget is not over it."""
    counts = [5] * (KEEP + 3) + [6, 4, 6, 5, 100] + [7] * 2 * KEEP
    for size in (1, 3, len(counts)):
        spent = TokenUse("nslip", "x")
        for start in range(0, len(counts), size):
            part = counts[start : start + size]
            spent.add(part, [None] * len(part), "a.log", range(start + 1, start + 1 + len(part)), budget)
        assert spent.over == (0 if budget is None else sum(count > budget for count in counts))
        rows = sorted(range(len(counts)), key=lambda row: (-counts[row], row))[:KEEP]
        assert [(found.tokens, found.line) for found in spent.largest] == [(counts[row], row + 1) for row in rows]
