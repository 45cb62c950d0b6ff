"""Plans of JSON wires, row by row: what becomes of what two wires ask of one value, and how much one plan may hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from turnwire.contract import LIMITS, Column
from turnwire.errors import DecodeError, Reason
from turnwire.json import plan as plans
from turnwire.json.agreement import _chosen, _fill, _is_left_open, _need, agreed
from turnwire.json.plan import KINDS, NO_NODE, NO_NUMBER, Ask, Fill, Judgement, Need, Value, Variant, WirePlan
from turnwire.json.scanner import REASONS, bits
from turnwire.json.text import reader

pytestmark = pytest.mark.once


def planned(*variants: Variant, values: tuple[Value, ...] = (), **more: Any) -> WirePlan:
    """A plan of which nobody reads anything."""
    given: dict[str, Any] = dict.fromkeys(("detect", "decode", "claims", "marked", "variant_of"))
    given |= {"wire": "x", "choose": "only", "clues": (), "inside": (), "torn": (), **more}
    return WirePlan(values=values, variants=variants or (Variant("v", (), ()),), **given)


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize(
    ("form", "merged", "kinds", "words", "wanted", "left"),
    [
        # own words: those that the need names, else all of the plan; never those of others
        ("word", "word", ("good",), (), (("good",), ("x", "y")), False),
        ("word", "word", ("good",), ("y",), (("good",), ("y",)), False),
        ("word", "word", ("good", "null"), (), (("good", "null"), ("x", "y")), False),
        # the form that is looked at is the own one
        ("uuid", "uuid", ("good",), (), (("good",), ()), False),
        # it is another one: only reading can tell
        ("uuid", "time", ("good",), (), ((), ()), True),
        ("time", "word", ("good", "null"), (), (("null",), ()), True),
        # what does not ask for the form does not care
        ("uuid", "time", ("string",), (), (("string",), ()), False),
        ("word", "word", ("string", "null"), (), (("string", "null"), ()), False),
    ],
)
def test_needs_of_a_value_of_which_others_ask_more(
    needed: bool, form: str, merged: str, kinds: tuple[str, ...], words: tuple[str, ...], wanted: Any, left: bool
) -> None:
    own, all_of_it = Value("a", form, ("x", "y") if form == "word" else ()), Value("a", merged, ("p", "x", "q", "y"))
    need = Need("a", kinds, needed, words)
    assert _need(need, {"a": own}, {"a": all_of_it}) == Need("a", wanted[0], needed, wanted[1])
    assert _is_left_open(need, {"a": own}, {"a": all_of_it}) is left
    assert _need(need, {}, {}) == need == _need(need, {"b": own}, {"b": all_of_it})
    assert not _is_left_open(need, {}, {})


@pytest.mark.parametrize("constant", [0, 1, 5])
@pytest.mark.parametrize("numbers", [(), (4, 2), (0, NO_NUMBER), (9, 9, 9)])
@pytest.mark.parametrize("every", [("x", "y"), ("y", "x"), ("p", "y", "q", "x"), ("x", "y", "p")])
def test_a_word_keeps_its_number_among_those_of_others(
    constant: int, numbers: tuple[int, ...], every: tuple[str, ...]
) -> None:
    fill = Fill("c", "word", "a", constant=constant, numbers=numbers)
    own = dict(zip(("x", "y"), numbers or (constant, constant + 1), strict=False))
    made = _fill(fill, {"a": Value("a", "word", ("x", "y"))}, {"a": Value("a", "word", every)})
    assert made == Fill("c", "word", "a", numbers=tuple(own.get(word, NO_NUMBER) for word in every))
    for other in (fill._replace(how="text"), fill._replace(path="b")):
        assert _fill(other, {"a": Value("a", "word", ("x", "y"))}, {"a": Value("a", "word", every)}) == other


@pytest.mark.parametrize("every", list(itertools.permutations(("x", "y", "p"))))
def test_a_kind_keeps_its_variant_among_those_of_others(every: tuple[str, ...]) -> None:
    variants = tuple(Variant(word, (Need(word, ("null",)),), ()) for word in "xy")
    plan = planned(*variants, choose="word", word="kind", variant_of=lambda fields: fields["n"])
    made = _chosen(plan, ("x", "y"), every)
    for number, word in enumerate("xy"):
        place = made.variant_of({"n": number})
        assert every[place] == word and made.variants[place] == variants[number]
    (foreign,) = (variant for word, variant in zip(every, made.variants, strict=True) if word == "p")
    assert foreign.needs == (Need("kind", ("object",), True),) and foreign.fills == ()


def test_plans_that_agree_stay_as_they_are() -> None:
    same = tuple(planned(values=(Value("a", "uuid"), Value("b")), wire=wire) for wire in "xy")
    assert all(one is other for one, other in zip(agreed(same), same, strict=True))
    first, second = planned(values=(Value("a", "word", ("x",)),)), planned(values=(Value("a", "word", ("y",)),))
    for plan in agreed((first, second, planned(values=(Value("b"),)))):
        assert plan.values in ((Value("a", "word", ("x", "y")),), (Value("b"),))


@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize("words", list(itertools.product((0, 1, 2, 3), repeat=2)))
@pytest.mark.parametrize("constant", [0, 1])
def test_each_number_of_an_enum_has_a_name(number: int, words: tuple[int, int], constant: int) -> None:
    """Of the words at either place."""
    values = tuple(Value(path, "word", tuple("xyz")[:count]) for path, count in zip("ab", words, strict=True))
    plan = planned(Variant("v", (), (Fill("c", "word", "a", "b", constant),)), values=values)
    most = constant + max(*words, 1)
    accepted(plan, Column("c", "enum", names=tuple("pqrstu")[:number]), number >= most)


@pytest.mark.parametrize(
    ("how", "numbers", "good"),
    [("word", (0, 1), True), ("word", (1, 1), True), ("word", (NO_NUMBER, 0), True), ("word", (0,), False),
     ("word", (0, 2), False), ("word", (0, 1, 1), True), ("constant", (0, 1), False), ("constant", (), True)],
)  # fmt: skip
def test_numbers_are_those_of_words(how: str, numbers: tuple[int, ...], good: bool) -> None:
    values = (Value("a", "word", ("x", "y")),)
    plan = planned(Variant("v", (), (Fill("c", how, "a", numbers=numbers),)), values=values)
    accepted(plan, Column("c", "enum", names=("p", "q")), good)


def accepted(plan: WirePlan, column: Column, good: bool) -> None:
    """Whether the plan is taken, is as it should be."""
    try:
        plans.check_plans([plan], [column])
    except ValueError:
        assert not good
    else:
        assert good


@pytest.mark.parametrize(
    ("kind", "how"), [(kind, how) for kind in [*plans.FILLS_OF, "u64", "binary"] for how in plans.FILLS if how]
)
def test_a_column_takes_what_fits_it(kind: str, how: str) -> None:
    """As docs say: an i64 an integer, an f64 a number, an enum a word, a timestamp a time, a text a text; and the
    further ways of the built-in wires."""
    fits = {
        "text": {"text", "family", "digits"}, "enum": {"word", "constant"}, "u8": {"word", "constant"},
        "bool": {"word", "constant"}, "i64": {"integer", "count", "sections"}, "f64": {"number"}, "timestamp": {"time"},
    }  # fmt: skip
    column = Column("c", kind, names=("p",) if kind == "enum" else ())
    accepted(planned(Variant("v", (), (Fill("c", how, "a"),)), values=(Value("a"),)), column, how in fits.get(kind, ()))


@pytest.mark.parametrize(("inner", "good"), [(63, True), (64, True), (65, False)])
def test_how_many_members_an_object_of_a_plan_may_have(inner: int, good: bool) -> None:
    for before in ("", "a/"):
        flattened(tuple(Value(f"{before}n{number}") for number in range(inner)), good)


@pytest.mark.parametrize(("last", "good"), [(62, True), (63, True), (64, False)])
def test_how_many_values_a_plan_may_have(last: int, good: bool) -> None:
    """256, with the objects that hold them."""
    sizes = [63, 63, 63, last]
    paths = [f"o{place}/n{number}" for place, size in enumerate(sizes) for number in range(size)]
    flattened(tuple(map(Value, paths)), good)


def flattened(values: tuple[Value, ...], good: bool) -> None:
    if good:
        assert len(plans.flat([planned(values=values)], []).nodes) >= len(values)
    else:
        with pytest.raises(ValueError, match="too many values"):
            plans.flat([planned(values=values)], [])


@pytest.mark.parametrize(
    ("asks", "how"),
    [
        ((), 0),
        ((Ask("a", ("x",)),), 1),
        ((Ask("a", opening="x"),), 2),
        ((Ask("a"),), 3),
        ((Ask("a", ("x",)), Ask("a", ("y",))), 3),
        ((Ask("a", opening="x"), Ask("a", ("y",))), 3),
        ((Ask("a"), Ask("a", ("y",))), 3),
        ((Ask("b", ("x",)),), 0),
    ],
)
def test_what_is_asked_of_a_value_by_several_is_asked_of_all_of_it(asks: tuple[Ask, ...], how: int) -> None:
    """1: whether it is one of some words; 2: how it begins; 3: all that it says."""
    values = (Value("a"), Value("b"))
    for several in ([planned(values=values, asks=asks)], [planned(values=values, asks=(ask,)) for ask in asks]):
        if several:
            found = plans.flat(several, []).asks
            assert found is not None and found[0][1] == how
    assert plans.flat([planned(values=values, asks=asks), planned(values=values)], []).asks is None


def test_needs_and_fills_are_numbers() -> None:
    values = (Value("a/b", "word", ("x", "y", "z")), Value("c"))
    needs = (Need("a/b", ("good", "null"), True, ("x", "z")), Need("c", ("count",)))
    fills = (Fill("n", "integer", "c"), Fill("time", "time", "c", "a/b"), Fill("gone", "text", "c"),
             Fill("k", "constant", constant=2), Fill("w", "word", "a/b", constant=1))  # fmt: skip
    columns = [Column("n", "i64"), Column("k", "enum", names=tuple("pqr")), Column("w", "enum", names=tuple("pqrs"))]
    found = plans.flat([planned(Variant("v", needs, fills), values=values)], columns)
    numbers = {"a": 0, "a/b": 1, "c": 2}
    good, null, count = (KINDS[name] for name in ("good", "null", "count"))
    assert found.needs == [(numbers["a/b"], numbers["a"], good | null, 1, 0b101), (numbers["c"], NO_NODE, count, 0, 0)]
    how = {name: number for number, name in enumerate(plans.FILLS)}
    assert found.fills == [
        (0, numbers["c"], NO_NODE, how["integer"], 0, b""),
        (plans.TIME_COLUMN, numbers["c"], numbers["a/b"], how["time"], 0, b""),
        (1, 0, NO_NODE, how["constant"], 2, b""),
        (2, numbers["a/b"], NO_NODE, how["word"], 1, b""),
    ]
    assert found.variants == [(0, 2, 0, 4)] and found.words == [b"x", b"y", b"z"]


@pytest.mark.parametrize(("texts", "others", "good"), [(32, 0, True), (31, 2, True), (32, 1, False), (0, 64, True),
                                                       (0, 65, False), (1, 62, True), (1, 63, False)])  # fmt: skip
def test_columns_fit_into_one_mask(texts: int, others: int, good: bool) -> None:
    """A bit for each, and one more for each text."""
    columns = [Column(f"t{number}", "text") for number in range(texts)]
    columns += [Column(f"n{number}", "i64") for number in range(others)]
    if not good:
        with pytest.raises(ValueError, match="one mask"):
            bits(columns)
        return
    valid, escaped = bits(columns)
    assert list(valid.values()) == list(range(texts + others))
    assert list(escaped.values()) == list(range(texts + others, 2 * texts + others))


def refusing(reason: Reason | None) -> Callable[..., Any]:
    def decode(raw: bytes, *, limits: Any) -> None:
        if reason is not None:
            raise DecodeError(reason, "no", offset=7, line=1, wire="x")

    return decode


@pytest.mark.parametrize("limit", [10, LIMITS.message - 1, LIMITS.message, LIMITS.message + 1])
def test_a_judgement_goes_by_the_limit_it_was_given(limit: int) -> None:
    plan = planned(detect=lambda raw: True, decode=refusing(Reason.BAD_JSON), marked=lambda raw: b"x" in raw)
    judge = Judgement((plan,), REASONS, reader("x"), limit)
    assert judge.limits == LIMITS._replace(message=limit)
    code = judge.codes[Reason.MESSAGE_TOO_LARGE]
    assert judge.torn(b"x", True) == (plans.REJECT, 0, code, limit) and judge.torn(b"y", True) == (plans.OTHER, 0, 0, 0)


@pytest.mark.parametrize("found", list(itertools.product((None, True, False), (True, False), repeat=2)))
def test_which_wire_has_a_good_object(found: tuple[Any, ...]) -> None:
    """Of each of two wires: whether it detects it (None: no) and takes it, and whether it claims it. The first that
    takes it has it; else the first that claims and refuses it rejects it."""
    given = [found[:2], found[2:]]
    several = [
        planned(
            detect=lambda raw, takes=takes: takes is not None,
            decode=refusing(None if takes else Reason.WRONG_TYPE),
            claims=lambda fields, claims=claims: claims,
        )
        for takes, claims in given
    ]
    judge = Judgement(several, REASONS, reader("x"), LIMITS.message)
    wanted = plans.OTHER, 0, 0, 0
    for place, (_, claims) in reversed(list(enumerate(given))):
        if claims:
            wanted = plans.REJECT, place, judge.codes[Reason.WRONG_TYPE], 7
    for place, (takes, _) in reversed(list(enumerate(given))):
        if takes:
            wanted = plans.RECORD, place, 0, 0
    assert judge.whole(b'{"a":1}') == wanted
