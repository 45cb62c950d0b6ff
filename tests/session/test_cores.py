"""Both cores say the same of every event, and each reads what the other writes."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from itertools import pairwise, product
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import BACKENDS
from tests.session.material import sessions
from turnwire.errors import DecodeError
from turnwire.session import _times_py as times
from turnwire.session import definitions
from turnwire.session._fields_py import leaf_of, split
from turnwire.session._repeats_py import alphabet_of
from turnwire.session._values_py import Doubtful
from turnwire.session.definitions import key_of
from turnwire.session.encoding import Options, composed, items
from turnwire.session.howto import settings_of
from turnwire.session.interpreting import Interpreter, inner_value
from turnwire.session.metering import Guess
from turnwire.session.planning import Event, _tellable
from turnwire.session.records import record_at
from turnwire.session.state import order_of

pytestmark = [pytest.mark.once, pytest.mark.skipif(len(BACKENDS) < 2, reason="compares the cores")]

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII).fullmatch
MARKS = ("", "?", "+", "=", "=id", "^", "~")
TIMES = st.from_regex(
    r"[0-9]{3,4}-[0-9]{2}-[0-3][0-9][T ][0-2][0-9]:[0-9]{2}:[0-9]{2}(\.[0-9]{0,10})?(Z|[+-]\d\d:\d\d|)"
)


def both(name: str) -> list[ModuleType]:
    return [import_module(f"turnwire._{core}.session.{name}") for core in ("native", "pure")]


def result(call: Any, *given: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        return call(*given)
    except (ValueError, Doubtful, DecodeError) as error:
        return type(error), str(error)


def read_by(core: ModuleType, text: str) -> Any:
    """A definition as a session reads it."""
    try:
        return core.read(text, definitions.cut)
    except ValueError:
        pass
    return definitions._any(text)


def events_of(given: list[Any]) -> list[Event]:
    return [item for item in items(given) if isinstance(item, Event)]


@given(sessions, st.booleans())
def test_structures_leaves_and_judgements(given: list[Any], plain: bool) -> None:
    judge_the_same(given, plain)
    native, pure = both("values")
    for event, value in zip(
        events_of(given), [each for each in given if isinstance(each, dict) and each], strict=False
    ):
        assert native.flatten(value) == pure.flatten(value)
        shape = event.shape
        assert native.text_of(shape._text, event.leaves, shape.columns) == shape.text(event.leaves)
        found = [result(core.built, shape.node, event.leaves, inner_value) for core in (native, pure)]
        assert repr(found[0]) == repr(found[1])


@given(
    st.text(max_size=30)
    | TIMES
    | st.sampled_from(("2024-02-29T00:00:00Z", "1900-02-29 00:00:00", "0001-01-01T00:00:00"))
)
def test_times(text: str) -> None:
    native, _ = both("state")
    assert native.time_of(text) == times.read(text)


@given(st.integers(-(10**19), 10**20), st.integers(0, 9), st.sampled_from(("Z", "", "+02:00")))
@example(86400, 0, "Z")
@example(3652059 * 86400 + 86399, 0, "Z")
@example(3652060 * 86400, 0, "Z")
def test_times_that_far_away(units: int, digits: int, zone: str) -> None:
    form = times.Form("T", digits, zone)
    texts = []
    for core in both("state"):
        state = core.State()
        own = core.Expected("~", "", "t", "", True, form)
        state.put("t", times.written(form, 10**digits * 86400), True)
        texts.append(state.moved(own, units))
    assert texts[0] == texts[1]


@given(
    st.text(max_size=4)
    | st.from_regex(r"[a0-9\n]{0,22}", fullmatch=True)
    | st.from_regex(rb"-?[0-9.]{0,20}", fullmatch=True)
    | st.none()
)
def test_one_more(leaf: Any) -> None:
    assert len({core.one_more(leaf) for core in both("state")}) == 1


@given(sessions, st.data())
def test_rows(given: list[Any], data: st.DataObject) -> None:
    """The events of one structure by one template, whatever it expects."""
    events = events_of(given)
    structures = {event.shape: [each for each in events if each.shape is event.shape] for event in events}
    for alike in structures.values():
        shape, first = alike[0].shape, alike[0].leaves
        marks = [data.draw(st.sampled_from(MARKS)) for _ in first]
        marks = ["?" if all_ is not None else mark for mark, all_ in zip(marks, shape.columns, strict=True)]
        paths = [path for path in shape.paths if data.draw(st.booleans())][:1]
        rows = [written(core, shape, marks, alike, tuple(paths)) for core in both("state")]
        assert rows[0] == rows[1]


@given(sessions, st.data())
def test_definitions(given: list[Any], data: st.DataObject) -> None:
    """Each event defines a template, told by those before it."""
    events, before = events_of(given)[:5], data.draw(st.booleans())
    marks = [
        [data.draw(st.sampled_from(MARKS)) if data.draw(st.booleans()) else "" for _ in each.leaves] for each in events
    ]
    keys = tuple(path for each in events[:1] for path in each.shape.paths if data.draw(st.booleans()))[:1]
    told = []
    for state, drafts in zip(both("state"), both("drafts"), strict=True):
        present = state.State()
        templates: list[Any] = []
        found: list[Any] = []
        for number, (event, own) in enumerate(zip(events, marks, strict=True), 1):
            template = template_of(state, number, event, own, keys)
            texts, known = state.tell(present, template, templates, event.leaves, before, definitions.told)
            found.append([texts, known, drafts.written(template.draft, texts, key_of)])
            for base, same in zip(templates, known, strict=True):
                change = drafts.changes(base.draft, template.draft, same)
                found[-1] += [state.likeness(template, base, event.leaves), change]
                if change is not None:
                    found[-1].append(drafts.written(change, texts, key_of))
            templates.append(template)
        told.append(found)
    assert told[0] == told[1]


SIMPLE = (
    "{a:1 b+:x}",
    '{a:"x y\nz" b?}',
    '{"a":-1.5,"b":null,c~:"-5"}',
    "{$1:{a:b} c$2:{d:[{e:1} {f?:2}]}}",
    '{a:["x","é"] b:[] #a,b:[[1,2]]}',
    "{a:{} b:[{}]}",
    '{a:"\\u00e9\\n" b:"\\"}',
    "{a:1e5 b:01 c:- d:+5}",
    "{a:1 a?:2}",
    "{a: 1}",
    '{a:[1] b:["x" "y"] c:["x",1]}',
    "{a:1}}",
    "{a:" * 40 + "1" + "}" * 40,
    "{act ASK b word}",
    "{a? x b:1}",
    "{a 5 b:⫻x/y:z c:a:b}",
    "{a b:1}",
    "{a {b:1}}",
    '{a "x" b}',
    "{t~:2026-01-07T00:38:41Z u:89e b:1e5x}",
    "{a:[1,2.5,[true,null],[[]]] b:[01]}",
    '{a:[["x",-1],["y",+1]]}',
    "{é:ü ñ ö}",
    "{a,b c}",
    "{a\u2028:1}",
)


@given(
    st.sampled_from(SIMPLE),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from('ab19|&=+ ,:"[]{}$#?-\n\\é!\ud800')), max_size=2),
)
def test_texts_of_definitions(text: str, changes: list[tuple[int, str]]) -> None:
    for at, letter in changes:
        text = text[:at] + letter + text[at + 1 :]
    found = [result(read_by, core, text) for core in both("drafts")]
    assert found[0] == found[1]


ROWS = st.lists(st.text('"a1-0.[,]te', max_size=4) | st.sampled_from(("-0", "0.5", "1.", "01", "true", "nul", '"é"')))
FIELDS = st.builds(lambda rows, end: "[[" + ",".join(rows) + end, ROWS, st.sampled_from(("]]", "],[1]]", "]", "]]x")))
FIELDS |= st.text('ab1"[],\\é=&-', max_size=9) | st.sampled_from(
    ('["a","b"]', '="x"', '=["é"]', '"a\\nb"', '"\\ud800"', '["a", "b"]', '["a"]x', "[]", "=[]", '=["a",1]', '"a" ')
)


@given(st.lists(FIELDS, min_size=1, max_size=3), st.booleans())
def test_fields_of_json(fields: list[str], text: bool) -> None:
    """Whatever is in a field, both read the same leaves."""

    def rare(field: str, own: Any) -> Any:
        if field[0] == "&":
            raise ValueError("a field does not begin with &")
        return leaf_of(field, own.text)

    event = events_of([{str(at): "first" if text else 1 for at in range(len(fields))}])[0]
    found = []
    for core in both("state"):
        template, state = template_of(core, 1, event, ["?"] * len(fields), ()), core.State()
        state.close(1, event.leaves)
        found.append(result(core.read, state, template, fields, rare))
    assert found[0] == found[1]


STRINGS = st.sampled_from(
    (b'["a","b"]', b"-0", b"0", b"-12", b"[]", b"{}", b"1e5", b"[1]", b'["\xc3\xa9"]', b'["a\\n"]')
) | st.text(max_size=4)


CELLS = st.sampled_from(
    ('"x"', '""', '"é"', '"a\\n"', '"a', "0", "-0", "12", "-7", "01", "1.5", "9" * 19, "true", "null", "nul", "[]")
)


@given(
    st.lists(st.lists(CELLS, max_size=3), max_size=3),
    st.sampled_from((",", ", ")),
    st.sampled_from(("", "]", ",", " ")),
    st.integers(1, 3),
)
def test_tables(rows: list[list[str]], comma: str, end: str, width: int) -> None:
    leaf = ("[" + ",".join(f"[{comma.join(row)}]" for row in rows) + "]")[: -1 if end == "," else None]
    node = ("#", 0, ("a", "b", "c")[:width])
    found = [result(core.built, node, [(leaf + end.strip(",")).encode()], inner_value) for core in both("values")]
    assert repr(found[0]) == repr(found[1])


@given(st.lists(STRINGS, min_size=2, max_size=2), st.integers(0, 4))
def test_strings_that_hold_json(leaves: list[Any], style: int) -> None:
    native, pure = both("values")
    pieces = ('{"a":', 0, ',"é":', 1, "}")
    found = [result(core.string_of, pieces, style, leaves, [None, None]) for core in (native, pure)]
    assert found[0] == found[1]
    found = [result(core.built, (("a", "b"), (0, 1)), leaves, inner_value) for core in (native, pure)]
    assert repr(found[0]) == repr(found[1])


def template_of(core: ModuleType, number: int, event: Event, marks: list[str], keys: tuple[str, ...]) -> Any:
    """A template of one core."""
    shape = event.shape
    key, order = order_of(shape.paths, keys)
    owns = [core.expected(mark, path, leaf) for mark, path, leaf in zip(marks, shape.paths, event.leaves, strict=True)]
    places = [place for place, mark in enumerate(marks) if mark]
    return SimpleNamespace(
        number=number,
        shape=shape,
        marks=marks,
        leaves=owns,
        key=key,
        order=order,
        open=places,
        spots={place: at for at, place in enumerate(places)},
        places=shape.places,
        draft=definitions.drafted(shape.root, marks, int),
    )


def written(core: ModuleType, shape: Any, marks: list[str], alike: list[Event], keys: tuple[str, ...]) -> Any:
    """The rows of all events after the first, as one core writes them; it reads them again."""
    first = alike[0].leaves
    template = template_of(core, 1, alike[0], marks, keys)
    key = template.key
    states = [core.State() for _ in range(2)]
    for state in states:
        state.enter(None if key is None else first[key])
        for path, leaf, mark in zip(shape.paths, first, marks, strict=True):
            state.put(path, leaf, mark == "~")
        state.close(1, first)

    def rare(field: str, own: Any) -> Any:
        if own.mark == "~" and NUMBER(field):
            return states[1].moved(own, int(field))
        return leaf_of(field, own.text or (own.mark == "~" and field[0] == "="))

    found = []
    for event in alike[1:]:
        leaves = [leaf if mark else own for leaf, mark, own in zip(event.leaves, marks, first, strict=True)]
        fields = core.written(states[0], template, leaves, True)
        found.append(fields)
        told = split(fields) if fields else []
        assert core.read(states[1], template, told, rare) == leaves
    return found


@given(sessions, st.data())
def test_runs_of_rows(given: list[Any], data: st.DataObject) -> None:
    """Both stop at the same record with the same events, also where one letter is another."""
    checks = data.draw(st.booleans())
    text = composed(items([*given, *given, *given]), (), Options(checks=checks, every=7), Guess())
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text) - 1))
        text = text[:at] + data.draw(st.sampled_from('ab|&=+ \n\\éあいя"^%\ud800')) + text[at + 1 :]
    try:
        header = record_at(text, checks, at_ := [0, 1])
        found = [read_on(core, text, list(at_), header.raw, checks) for core in both("rows")]
    except ValueError:
        return  # the header is damaged
    assert found[0] == found[1]


def read_on(core: ModuleType, text: str, at: list[int], header: str, checks: bool) -> Any:
    """What one core reads of the records behind the header, and where; what is no event is passed by."""
    name = core.__name__.replace("rows", "{}")
    chain = import_module(name.format("checks")).Chain() if checks else None
    if chain is not None:
        chain.pair(header)
    interpreter = Interpreter(*settings_of(header), True)
    found: list[Any] = []
    told: list[Any] = []
    while at[0] < len(text):
        before = (chain.since, chain.all) if chain is not None else None
        told.append((list(at), len(found), before))
        try:
            expand = interpreter._expander.expand if interpreter._expander.first else None
            run = (expand, interpreter._rare, interpreter._given_back, interpreter._event)
            core.rows(text, at, chain, interpreter.templates, interpreter.state, *run, found)
            told.append((list(at), len(found)))
            record = record_at(text, checks, at)
            if chain is not None and not chain.follows(record.raw, record.pair):
                break
        except (ValueError, DecodeError) as error:
            told.append((list(at), str(error)))
            break
    return told, repr(found)


SWAPPED = {"あ": "い", "い": "う", "う": "あ", "え": "ン"}


@given(st.sampled_from("あаα"), st.text("abあいンяαω\0", max_size=20))
def test_letters_side_by_side(first: str, text: str) -> None:
    alphabet = alphabet_of(first)
    assert alphabet is not None
    found = [core.neighbours(text, alphabet.first, alphabet.last) for core in both("repeats")]
    assert found[0] == found[1] and list(found[0]) == list(found[1])
    assert sum(found[0].values()) == sum(
        alphabet.first <= one <= alphabet.last and alphabet.first <= other <= alphabet.last
        for one, other in pairwise(text)
    )


@given(
    st.text("ab\0é", max_size=80),
    st.dictionaries(st.text("abé", min_size=2, max_size=6), st.sampled_from((0.5, 1.0, 2.0, 3.0)), max_size=12),
    st.sets(st.text("ab", min_size=2, max_size=3), max_size=3),
    st.sampled_from(("", "あ", "あいうえおかき")),
)
@example("abab\0abab\0aabb", {"ab": 2.0, "abab": 3.0, "ba": 2.0}, set(), "あい")
def test_texts_are_chosen(text: str, savings: dict[str, float], seen: set[str], used: str) -> None:
    told = []
    for letters in ({}, {each: chr(0x3042 + number) for number, each in enumerate(savings)}):
        for core in both("repeats"):
            index = core.Index(text)
            asked: list[Any] = []

            def saving(part: str, index: Any = index, asked: list[Any] = asked) -> float:
                asked.append((part, index.around(part, 8, 4)))
                return len(part) / 2

            told.append(
                (index.choose(savings, used, letters, seen, saving, 1.0), asked, index.named({}), index.named(SWAPPED))
            )
    assert told[0] == told[1] and told[2] == told[3]
    assert [list(each[0][0]) for each in told[::2]] == [list(each[0][0]) for each in told[1::2]]


SCALARS = st.sampled_from(
    ('""', '"x y"', '"{"', '"a\\nb"', '"é"', '"\x7f"', "0", "-0", "12", "-7", "01", "1.0", "1e5", "9" * 18, "9" * 19)
) | st.sampled_from(("true", "false", "null", "nul", "NaN", "{}", "[]", '{"a":1}', "", '"', " 1", "-"))


@given(
    st.lists(st.tuples(st.sampled_from(('"a"', '"b"', '""', '"é"', '"a\\""', "a")), SCALARS), max_size=4),
    st.sampled_from((":", ": ", " :")),
    st.sampled_from((",", ", ", ",  ")),
    st.sampled_from(("}", "", "} ", ",}", "]")),
)
def test_an_object_in_a_string(members: list[tuple[str, str]], colon: str, comma: str, end: str) -> None:
    text = "{" + comma.join([key + colon + value for key, value in members]) + end
    found = [core.flatten({"it": text, "end": 1}) for core in both("values")]
    assert found[0] == found[1]
    assert list(map(type, found[0][1])) == list(map(type, found[1][1]))


@given(st.text("ab\0éж", max_size=60), st.lists(st.text("abéж", min_size=2, max_size=5), max_size=8))
@example("aaaaa\0aaa", ["aa", "aaa", "ab"])
@example("abab\0ab", ["ab", "ba"])
def test_texts_are_counted_and_replaced(text: str, parts: list[str]) -> None:
    parts = list(dict.fromkeys([*parts, *(text[at : at + 3] for at in range(len(text) - 2) if text[at + 1] != "\0")]))
    told = []
    for core in both("repeats"):
        index = core.Index(text)
        assert [index.count(part) for part in parts] == [text.count(part) for part in parts]
        found: list[Any] = []
        for part, alias in zip(parts[:9], "あいうえおかきくけ", strict=False):
            found.append(([index.count(each) for each in parts], index.around(part, 3, 4)))
            index.replace(part, alias)
            found.append(index.named({}))
            found.append(index.named(SWAPPED))
        told.append(found)
        for call in (index.count, partial(index.around, places=1, letters=1), partial(index.replace, alias="あ")):
            with pytest.raises(ValueError):
                call("a")
    assert told[0] == told[1]


@given(st.sampled_from("あаα"), st.lists(st.text("abéあいяαω", max_size=12), max_size=6))
@example("あ", ["あ" + "x" * 1000 + "あ", "あ" * 1100])
def test_aliases_are_put_back(first: str, bodies: list[str]) -> None:
    found = []
    for core in both("repeats"):
        expander = core.Expander(first)
        found.append([result(expander.expand, body) for body in bodies])
    assert found[0] == found[1]


UUID = "0f8fad5b-d9cb-469F-a165-70867728950e"
PARTS = (UUID, UUID[:8], UUID[8:], UUID.replace("-", ""), "-", "_", "g", "7", "é", "|", " ", "0" * 40, UUID[:-1] + "g")


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join))
@example("x" + UUID.replace("-", ""))
@example("-" + UUID + "-" + UUID)
@example("a" * 31 + " " + "b" * 32)
@example("12345678-" + UUID + "g " + UUID)
def test_hyphens_of_uuids(text: str) -> None:
    """They come back wherever they are left out."""
    told = []
    for core in both("repeats"):
        bare, many = core.unhyphened(text)
        if many:
            assert len(text) - len(bare) == 4 * many and core.hyphened(bare) == text
        else:
            assert bare == text
        expanded = [core.Expander(first).expand(bare) for first in ("-", "あ-", "あ")]
        told.append((bare, many, core.hyphened(text), core.hyphened(bare), expanded))
    assert told[0] == told[1]


def judge_the_same(given: list[Any], plain: bool) -> None:
    events = events_of(given)
    orders = [order_of(event.shape.paths, ("id",)) for event in events]
    allowed = Options(counters=not plain, before=not plain).expectations()
    native, pure = [core.Judge(events, orders, allowed, _tellable) for core in both("judging")]
    structures: dict[Any, list[int]] = {}
    for number, event in enumerate(events):
        structures.setdefault(event.shape, []).append(number)
    for members in structures.values():
        assert native.judged(members) == pure.judged(members)
        for place, most in product(range(len(events[members[0]].leaves)), (1, 3)):
            assert native.parted(members, place, most) == pure.parted(members, place, most)
        costs, marks = native.judged(members)
        for base in (marks, ["?"] * len(marks)):
            one, other = members[-1], members[0]
            found = [core.derived(1.0, one, other, costs, marks, base) for core in (native, pure)]
            assert found[0] == found[1]


def test_no_events_and_more_than_there_are_cannot_be_judged() -> None:
    events = events_of([{"x": 1}, {"x": 2}])
    orders = [order_of(event.shape.paths, ()) for event in events]
    native, _ = [core.Judge(events, orders, Options().expectations(), _tellable) for core in both("judging")]
    for members in ([], [0, 1, 0]):
        with pytest.raises(ValueError, match="some of the events are judged, each once"):
            native.judged(members)
    assert len(native.judged([0, 1])) == 2


def test_an_empty_key_is_no_source() -> None:
    """``=`` and no path is what a leaf expects of its own path."""
    number = 12345678901
    given = [{"x": 1, "": 2}, {"": number, "a": number}, {"x": number, "": 3}]
    judge_the_same(given, False)
    judge_the_same([{"x": 1, "": 2}, {"": number, "z": 1}, {"x": number, "": 3}], False)
    events = events_of(given)
    orders = [order_of(event.shape.paths, ()) for event in events]
    for core in both("judging"):
        judge = core.Judge(events, orders, Options().expectations(), _tellable)
        assert judge.judged([0, 2])[1] == ["=a", "+"]
