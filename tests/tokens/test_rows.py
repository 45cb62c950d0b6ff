"""Rows of tables about tokens: ranks, means, pages, parts and changes, each by what it is made of."""

from __future__ import annotations

import base64
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.tokens.material import CSP, KICK, REQUEST, SAP, SSTP, TEXTS, UUID, context
from turnwire import registry, tokens
from turnwire.errors import EncodeError, Reason
from turnwire.tokens.advice import Advice, Change, Cost, untried
from turnwire.tokens.comparison import Row, _joined, _ranked
from turnwire.tokens.fields import messages_of
from turnwire.tokens.formats import Format, Written, lossless
from turnwire.tokens.means import REFERENCES, Mean, _mean, _rows, _sorted
from turnwire.tokens.page import advice_page
from turnwire.tokens.parts import spans
from turnwire.tokens.rewriting import _edited, _lean, _whole_seconds
from turnwire.tokens.tables import aligned
from turnwire.tokens.tokenizer import CHUNK

pytestmark = pytest.mark.once

pytest.importorskip("splintr")


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


def test_entries_of_contexts_are_joined_at_every_level() -> None:
    parts: list[dict[str, Any]] = [{"a": {"x": 1, "y": {"p": 1}}, "b": 1}, {"a": {"y": {"q": 2}, "z": 3}}, {}]
    parts += [{"c": {}, "a": {"x": 1}}]
    assert _joined(parts) == {"a": {"x": 1, "y": {"p": 1, "q": 2}, "z": 3}, "b": 1, "c": {}}
    assert _joined([]) == {}


def test_what_leaves_something_out_says_what_and_no_more() -> None:
    """It is no news that it does not come back."""
    found = {each.format: each for each in tokens.compare([REQUEST, REQUEST], context=context(), formats=["json"]).rows}
    assert found["csp"].dropped and all(name.endswith(" ×2") for name in found["csp"].dropped)
    assert [each.note for each in found.values() if each.dropped] == [""] * sum(
        bool(each.dropped) for each in found.values()
    )


def means(name: str, together: float | None, alone: float | None) -> Mean:
    return Mean(name, alone, None, together, None, None, (), None, "")


def test_the_cheapest_together_stand_first() -> None:
    """What was not measured together stands where it is alone, and what was not measured at all stands last."""
    rows = [means("a", 5, 1), means("b", None, 3), means("c", None, None), means("d", 2, 9), means("e", 4, None)]
    for order in itertools.permutations(rows):
        assert [each.format for each in _sorted(list(order))] == ["d", "b", "e", "a", "c"]


@pytest.mark.parametrize("alone", [None, True, False])
@pytest.mark.parametrize("together", [None, True, False])
@pytest.mark.parametrize("kind", ["wire", "reference"])
def test_a_mean_is_of_what_was_measured(alone: bool | None, together: bool | None, kind: str) -> None:
    """A prompt is no part of the messages: of a wire its legend is left out where they are one text."""
    one = None if alone is None else row("x", 10, 4, alone, kind)
    whole = None if together is None else row("x", 6, 2, together, kind)
    found = _mean("x", one, whole, row("json", 20, 8), row("json", 12), {"x": "why not"})
    size = 6 if kind == "wire" else 8
    assert (found.alone, found.ratio) == ((None, None) if one is None else (7, 7 / 14))
    assert (found.together, found.ratio_together) == ((None, None) if whole is None else (size / 2, size / 12))
    given = [back for back in (alone, together) if back is not None]
    assert found.round_trip == (all(given) if given else None)
    assert found.note == ("" if given else "why not") and found.bytes == (None if one is None else 4.5)
    bare = _mean("x", one, whole, None, None, {})
    assert (bare.ratio, bare.ratio_together, bare.note) == (None, None, "")


def test_what_was_not_measured_says_why_by_itself_else_together() -> None:
    first, second, *_ = REFERENCES
    missing: list[dict[str, str]] = [{first: "no"}, {first: "none", second: "not"}]
    alone, together = (tokens.Comparison([], absent, {}) for absent in missing)
    notes = {mean.format: mean.note for mean in _rows("nslip", (), alone, together)}
    assert (notes[first], notes[second]) == ("no", "not")


def test_logs_that_want_a_context_are_told_in_one_line() -> None:
    rest = "they need what this log does not say; pass a Context (--context FILE) with it"
    for names, told in (
        (["nslip as csp"], "nslip as csp"),
        (["nslip as csp", "nslip as sap"], "nslip as csp, sap"),
        (["nslip as csp", "csp as nslip"], "nslip, csp as each other"),
        (["nslip as csp", "csp as sap"], "nslip as csp; csp as sap"),
    ):
        assert untried(dict.fromkeys(names, "missing_field: x"), False) == [f"{told}: {rest}"]


@pytest.mark.parametrize("priced", [True, False])
def test_the_page_of_the_advice_has_a_table_for_each_tokenizer(priced: bool) -> None:
    """With its own costs and changes, and with prices where there are any."""

    def cost(name: str, wire: str, count: int) -> Cost:
        once, growing, uncached = (1.25, 2.5, 3.75) if priced else (None, None, None)
        return Cost("nslip", wire, name, 3, count, 7, once, growing, uncached, "EUR", (), True, wire != "nslip")

    costs = [cost(name, wire, count) for name, count in (("one", 1111), ("two", 2222)) for wire in ("nslip", "csp")]
    changes = [Change("nslip", name, "x", f"do {name}", 5, 0.5, 9.5 if priced else None) for name in ("one", "two")]
    facts = {"messages": {"nslip": 3}, "damaged": 2, "tokenizers": {"one": "sure", "two": "unsure"}, "context": False}
    text = advice_page(Advice(costs, changes, {"csp": "why"}, facts))
    first, second = text.split("<h2>two ")
    for part, own, other in ((first, "one", "two"), (second, "two", "one")):
        assert part.count(f"nslip: do {own}") == 1 and f"do {other}" not in part
        assert part.count("1,111" if own == "one" else "2,222") == 4 - 2
        assert part.count("<table>") == 2
    for name, value in (("once", "1.2500 EUR"), ("every turn", "2.5000 EUR"), ("without a cache", "3.7500 EUR")):
        assert text.count(f'<th class="number">{name}</th>') == (2 if priced else 0)
        assert text.count(f'<td class="number">{value}</td>') == (4 if priced else 0)
    for name in ("messages", "tokens", "read again"):
        assert f'<th class="number">{name}</th>' in text
    assert "<li>csp: why</li>" in second
    assert [part.count("width: 100.0%") for part in (first, second)] == [2, 2], "of the most of that tokenizer"
    assert text.count("≈ ") == 2 and '<th class="text">dropped</th>' in text


TIMES = [f"2026-01-31T23:59{second}{zone}" for second in ("", ":01", ":01.5", ":01.123456")
         for zone in ("", "Z", "+01:00", "-11:30", "+0100", "-0000")]  # fmt: skip
NO_TIMES = ["2026-01-31", "23:59", "2026-01-31 23:59", "2026-01-31T23", "2026-01-31T23:59:01.", "2026-01-31T23:59+01",
            "2026-01-31T23:59ZZ", "2026-1-31T23:59", "x2026-01-31T23:59Z"]  # fmt: skip


@pytest.mark.parametrize("wire", ["sstp", "sap", "kick"])
def test_what_is_in_a_string_of_json(wire: str) -> None:
    """Times and ids are parts of their own where they are all of it."""
    for part, values in (
        ("timestamps", TIMES),
        ("uuids", [UUID, UUID.upper()]),
        ("text", [*NO_TIMES, f"{UUID}0", UUID[1:]]),
    ):
        for value in values:
            found = [(name, end - start) for name, start, end in spans(f'{{"a":"{value}"}}', wire)]
            assert found == [("separators", 1), ("names", 3), ("separators", 1), ("quotes", 1), (part, len(value)),
                             ("quotes", 1), ("separators", 1)], value  # fmt: skip


def test_a_document_has_no_parts() -> None:
    for text in ("⫻a/b\nx\n", '⫻a/b:c/1\n"x": {}\n'):
        assert registry.wire("kick").writes_as_document(text) and list(spans(text, "kick")) == []
    assert all(list(spans(text, wire)) for wire, text in TEXTS.items())


def test_parts_are_taken_out_at_once_where_there_are_both() -> None:
    bare = json.loads(SSTP)
    for wire, text, both in (
        ("sap", SAP, True),
        ("kick", KICK, True),
        ("sstp", json.dumps(bare), False),
        ("csp", CSP, False),
    ):
        found = [part.part for part in tokens.ablate([text])]
        assert ("uuids and timestamps" in found) is both, wire
        assert both or not {"uuids", "timestamps"} <= set(found)
    bare["payload"]["question"] = UUID
    assert "uuids and timestamps" not in [part.part for part in tokens.ablate([json.dumps(bare)])]


@pytest.mark.parametrize(
    ("time", "short"),
    [
        *(
            (f"2026-01-31T23:59:01{zone}", "2026-01-31T23:59:01Z")
            for zone in ("Z", "+00:00", "-00:00", "+0000", "-0000")
        ),
        *((f"2026-01-31T23:59:01.{digits}Z", "2026-01-31T23:59:01Z") for digits in ("0", "5", "123456789")),
        ("2026-01-31T23:59:01.5+00:00", "2026-01-31T23:59:01Z"),
        ("2026-01-31T23:59:01.5+01:00", "2026-01-31T23:59:01+01:00"),
        *((kept, kept) for kept in ("2026-01-31T23:59:01", "2026-01-31T23:59-00:30", "2026-01-31T23:59:01+10:00")),
    ],
)
def test_times_in_whole_seconds(time: str, short: str) -> None:
    assert _whole_seconds(time) == short
    assert (
        _edited(f'{{"a":"{time}","b":"{time}x"}}', "sap", "timestamps", _whole_seconds)
        == f'{{"a":"{short}","b":"{time}x"}}'
    )


def test_members_that_say_nothing_are_left_out_at_every_level() -> None:
    """Items of lists stay, and so does what is 0 or false."""
    nothing: dict[str, Any] = {"a": None, "b": "", "c": [], "d": {}}
    said = {"e": 0, "f": False, "g": " ", "h": [None, "", [], {}], "i": 0.0}
    assert _lean({**nothing, **said}) == said
    assert _lean({"x": {**nothing, **said}, "y": [{**nothing, **said}, [nothing]]}) == {"x": said, "y": [said, [{}]]}


@pytest.mark.parametrize(
    "kind", [str, str.encode, lambda text: bytearray(text.encode()), lambda text: memoryview(text.encode())]
)
def test_messages_are_given_in_many_ways(kind: Any) -> None:
    """One, alone or in anything that can be gone through."""
    text, message = kind(REQUEST), turnwire.decode(REQUEST)
    for given in (text, message, [text], (message,), iter([text]), {REQUEST: 1}):
        assert messages_of(given) == [message]
    assert messages_of([text, message, text]) == [message] * 3 and messages_of([]) == []
    for wrong in (5, None, [5], [message, None], object()):
        with pytest.raises(EncodeError) as caught:
            messages_of(wrong)
        assert caught.value.reason is Reason.WRONG_TYPE


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
    form = Format("x", None, lambda values, together: Written(["x"]), lambda written, together: [back])
    assert lossless(form, [value], False)[1] == ("" if same else "other values come back")


def test_names_of_columns_stand_there_without_rows() -> None:
    numbers = frozenset({"n"})
    assert aligned(("a", "n"), [], numbers) == "a  n\n"
    assert aligned(("a", "n", "b"), [["", "1", ""], ["", "20", ""]], numbers) == " n\n 1\n20\n"


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """A vocabulary of all bytes, and of two letters that are the last token."""
    path = tmp_path / "mine.tiktoken"
    lines = [b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    path.write_bytes(b"".join([*lines, base64.b64encode(b"ab") + b" 256\n"]))
    return path


def test_the_last_token_of_a_file_is_a_token_as_any_other(ranks: Path) -> None:
    counter = tokens.load(ranks, pattern=r"\S+|\s+")
    for texts in (["ab"], ["ab", "c", "ab"], ["x"] * 70 + ["ab"] * 70, ["", "abab", "bab"]):
        assert (
            counter.count_many(texts)
            == [counter.count(text) for text in texts]
            == [len(counter.ids(text)) for text in texts]
        )
        assert counter.count_many(texts) == [text.count("ab") + len(text.replace("ab", "")) for text in texts]


def test_a_file_of_the_same_size_is_read_again_too(ranks: Path) -> None:
    """It is known by when it was written."""
    os.utime(ranks, ns=(1, 1))
    assert tokens.load(ranks, pattern=r"\S+").ids("abcd") == [256, 99, 100]
    ranks.write_bytes(ranks.read_bytes().replace(base64.b64encode(b"ab"), base64.b64encode(b"cd")))
    os.utime(ranks, ns=(1, 2))
    assert tokens.load(ranks, pattern=r"\S+").ids("abcd") == [97, 98, 256]


def test_a_pattern_is_for_files_without_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("{}")
    for source in (path, str(path), "o200k_base", "gpt-oss"):
        with pytest.raises(ValueError, match=r"a pattern of its own; pattern= is for \.tiktoken files"):
            tokens.load(source, pattern="o200k_base")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_text_that_is_refused_has_its_number_among_all(threads: int, before: int) -> None:
    """However many chunks are before it."""
    texts: list[Any] = ["x" * (CHUNK // 2)] * (2 * before) + ["fine", "é\ud800"]
    for wrong, reason in ((texts, Reason.LONE_SURROGATE), ([*texts[:-1], 5], Reason.WRONG_TYPE)):
        with pytest.raises(EncodeError) as caught:
            tokens.count_many(iter(wrong), threads=threads)
        assert (caught.value.reason, caught.value.path) == (reason, str(2 * before + 1))


@pytest.mark.parametrize(
    "text",
    ["\u6f22'\u017f'Sa", "'LL\u6f22'\u017f'ree\u0301", "K'\u017f'SK'\u017f'LL's", "r'\u017f'STl", "'S'\u017f'STT"],
)
def test_a_long_s_is_counted_by_both_names_alike(text: str) -> None:
    """One vocabulary has two names; what the quick expressions cut wrongly is wrong in both."""
    ids = tokens.load("o200k_base").ids(text)
    assert tokens.load("o200k_harmony").ids(text) == tokens.load("gpt-oss").ids(text) == ids
    for name in ("o200k_base", "o200k_harmony"):
        assert tokens.count(text, name) == len(ids)
        for more in (1, 2, 80):
            assert tokens.count_many([text, *["a"] * more], name) == [len(ids), *[1] * more]
