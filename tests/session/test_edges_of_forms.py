"""What sessions are written by, each just below, at and above its edge; each part of the form by itself."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pytest

from tests.session.test_howto import explained
from turnwire import LIMITS, session
from turnwire.errors import DecodeError, Reason
from turnwire.session.composing import Composer
from turnwire.session.encoding import Options, candidates, composed, item_of, items
from turnwire.session.interpreting import Interpreter
from turnwire.session.letters import _Arrangement
from turnwire.session.metering import Guess
from turnwire.session.planning import MOST_MISSED, Event, Planner
from turnwire.session.repeats import ALPHABETS, FEWEST, bare
from turnwire.session.state import order_of

pytestmark = pytest.mark.once

PARTS = {
    "?": "a={x?:1}\na\n",
    "+": "a={x+:1}\na\n",
    "=": "a={y:1 x=y:2}\n",
    "^": "a={x^:1}\n",
    "~": 'a={x~:"2026-01-01T00:00:00Z"}\n',
    "#": 'a={"x#p,q":[[1,2],[3,4]]}\n',
    "$": "a={x$:{y:1}}\n",
    "b=a": "a={x:1}\nb=a{x:2}\n",
    "あ": '!"あhelloあ あ"\n',
    "-": '!"x"\n',
    "": '{"a":1}\n!"x"\n',
}
"""Each part of the form -> records that have it and no other."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sealed", [True, False])
def test_each_part_is_explained_where_a_session_has_it(part: str, sealed: bool) -> None:
    header = "%1" + {"あ": " &あ", "-": " &-"}.get(part, "")
    text = f"{header}\n{PARTS[part]}"
    if sealed:
        text = session.seal(text)
    assert explained(session.prompt(text, sealed=sealed)) == {part, *["checks"] * sealed} - {""}


VALUES = ("", "x", "=", "=x", "&", "+5", "-5", "5", "a|b", "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")
NUMBERS = (None, True, 0, 7, 8, -1, 1767225600, 1767225605)


@pytest.mark.parametrize("mark", ["?", "+", "=k", "^", "~"])
def test_any_value_may_follow_any_other_whatever_a_template_expects(mark: str) -> None:
    """Texts that look like fields, distances and numbers; what is written is read again."""
    shapes: dict[tuple[Any, ...], Any] = {}
    made = {value: item_of({"k": 1, "m": value}, shapes) for value in (*VALUES, *NUMBERS[2:])}
    made |= {str(value): item_of({"k": 1, "m": value}, shapes) for value in NUMBERS[:2]}
    for first, second in product(made.values(), repeat=2):
        assert isinstance(first, Event) and isinstance(second, Event)
        writer, reader = Composer(()), Interpreter(())
        bodies = [writer.define("a", first.shape, ["", mark], first.leaves)]
        bodies += [writer.row("a", each.leaves) for each in (second, first)]
        assert [reader.event(body) for body in bodies] == [each.line for each in (first, second, first)], bodies


@pytest.mark.parametrize("every", [1, 3, 200])
@pytest.mark.parametrize("events", [0, 1, 2, 5, 30])
def test_what_is_sealed_is_what_is_written_with_checks(every: int, events: int) -> None:
    """JSON lines in front of the header are counted, too."""
    written = []
    for checks in (True, False):
        writer = session.Writer(None, every=every, checks=checks, prompt=False)
        texts = [writer.add({"n": number, "text": "some words that come back"}) for number in range(events)]
        written.append("".join([*texts, writer.close()]))
    with_checks, without = written
    assert session.seal(without) == with_checks or "%" not in without


@pytest.mark.parametrize("junk", ["%junk\n", "%1 damaged\n", '%1:;\n!"x"\n'])
def test_a_session_behind_a_header_that_is_none_is_whole(junk: str) -> None:
    """Nothing is lost where nothing stands in front of it; but something is wrong."""
    events = [{"n": number, "text": "some words that come back"} for number in range(30)]
    text = session.encode(events, None)
    found = session.salvage(junk + text)
    assert text[0] == "%" and found.parts == [session.Part(0, events)]
    assert (found.missing, found.doubtful, found.complete, len(found.faults)) == ([], [], False, 1)


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=lambda alphabet: alphabet.first)
def test_every_letter_is_free_or_one_alias_has_it(alphabet: Any) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        aliases = alphabet.used[: chance.choice([2, 5, 30])]
        pairs = ["".join(chance.choices(aliases, k=2)) for _ in range(60)]
        arrangement = _Arrangement([(pair, chance.randrange(1, 9)) for pair in pairs], alphabet)
        for pair in pairs:
            arrangement.join(*pair)
        for alias in aliases * 2:
            arrangement.improve(alias)
        given = list(arrangement.given.values())
        assert sorted([*given, *arrangement.free]) == sorted(alphabet.used), seed


@pytest.mark.parametrize("many", range(FEWEST + 2))
def test_hyphens_are_left_out_of_so_many_uuids(many: int) -> None:
    uuids = [f"{number:08x}-0000-4000-8000-{number:012x}" for number in range(many)]
    word, found = bare([f"a {uuid}" for uuid in uuids])
    assert word == ("-" if many >= FEWEST else "")
    assert found == [f"a {uuid.replace('-', '') if word else uuid}" for uuid in uuids]


def planned(lines: list[dict[str, Any]]) -> list[Event]:
    return [item for item in items(lines) if isinstance(item, Event)]


@pytest.mark.parametrize("size", [MOST_MISSED - 1, MOST_MISSED, MOST_MISSED + 1, 2 * MOST_MISSED - 1, 2 * MOST_MISSED])
@pytest.mark.parametrize("missed", range(4))
def test_a_plan_holds_for_events_of_which_one_in_twenty_misses_it(size: int, missed: int) -> None:
    lines = [{"kind": "a", "n": number} for number in range(size - missed)]
    others = [{f"other{number}": number} for number in range(missed)]
    events = planned(lines + others)
    plan = Planner(events[: size - missed], (), Options().expectations()).plan()
    assert (plan.again(events) is not None) is (missed * MOST_MISSED <= size)


@pytest.mark.parametrize(
    ("values", "may_be"),
    [
        ("ababa", False),
        ("ababab", True),  # six times
        ("aaabbb", False),  # each all at once
        ("aaabba", True),
        ("abcabc", True),  # each twice
        ("abcdabc", False),
        ("abcdabcd", True),
        ("aaaaaa", False),  # one for all
        ("abcdef", False),
    ],
)
def test_which_values_may_name_conversations(values: str, may_be: bool) -> None:
    lines = [{"room": value, "text": f"words {number}"} for number, value in enumerate(values)]
    assert candidates(planned(lines)) == ["room"] * may_be
    lines = [{"two words": value} for value in values]
    assert candidates(planned(lines)) == []


@pytest.mark.parametrize("value", [1, "x", "two words", [1], {"b": 1}])
@pytest.mark.parametrize("key", ["a", "two words", ""])
@pytest.mark.parametrize("mark", ["", "?", "+"])
def test_an_event_that_comes_once_is_told_as_json_unless_that_is_longer(mark: str, key: str, value: Any) -> None:
    shapes: dict[tuple[Any, ...], Any] = {}
    event = item_of({key: value}, shapes)
    assert isinstance(event, Event)
    named = Composer(()).define("a", event.shape, [mark] * event.shape.width, event.leaves)
    told = Composer(()).define("", event.shape, [mark] * event.shape.width, event.leaves, event.line)
    assert told == (named[1:] if len(named) - 1 < len(event.line) else event.line)
    assert Interpreter(()).event(told) == event.line


LONG = "k" * (LIMITS.key + 1)


@pytest.mark.parametrize(
    "event",
    [
        {LONG: 1},
        {"a": {LONG: 1}},
        {"a": [{LONG: 1}]},
        {"a": [{LONG: 1}, {LONG: 2}]},
        {"a": [{"b": 1, LONG: 1}, {"b": 2, LONG: 2}]},
        {"a": [[{LONG: 1}], [{LONG: 2}]]},
    ],
    ids=["object", "in an object", "in a list", "in a table", "beside another", "in lists"],
)
def test_a_key_that_is_too_long_is_refused_wherever_it_stands(event: dict[str, Any]) -> None:
    good = json.loads(json.dumps(event).replace(LONG, LONG[1:]))
    for options in (Options(), Options(aliases=False)):
        assert session.decode(composed(items([good] * 2), (), options, Guess())) == [good] * 2
        text = composed(items([good] * 2), (), options._replace(checks=False), Guess()).replace(LONG[1:], LONG)
        with pytest.raises(DecodeError) as caught:
            session.decode(text, sealed=False)
        assert caught.value.reason is Reason.KEY_TOO_LONG


@pytest.mark.parametrize("space", ["", " ", "\t", "\n", "\r\n  "])
def test_white_space_around_an_object_in_text_is_not_text(space: str) -> None:
    given = f'{space}{{"a": 1.50}}{space}'
    assert session.lines_of(session.encode([given], None)) == ['{"a":1.50}']
    for other in (f"\u00a0{given}", f"\x0c{given}", f'{space}{{"a": 1.50}}{space}x'):
        assert session.decode(session.encode([other], None)) == [other]


@pytest.mark.parametrize("events", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("every", [2, 200])
def test_a_reader_counts_json_lines_too_and_wants_the_end(events: int, every: int) -> None:
    writer = session.Writer(None, every=every, prompt=False)
    given = [{"n": number, "text": "some words that come back"} for number in range(events)]
    text = "".join([*map(writer.add, given), writer.close()])
    assert (session.prompt(text) != "") is ("%" in text)
    for size in (1, 7, len(text) + 1):
        for cut in (text, text[: text.rfind("\n", 0, -1) + 1]):
            reader = session.Reader()
            found = [each for at in range(0, len(cut), size) for each in reader.feed(cut[at : at + size])]
            if "%" in text and cut is not text:
                with pytest.raises(DecodeError) as caught:
                    reader.close()
                assert caught.value.reason is Reason.CUT_OFF
            else:
                found += reader.close()
                assert found == (given if cut is text else given[:-1])


@pytest.mark.parametrize(
    ("paths", "keys", "order"),
    [
        (["a", "b", "c"], (), (None, [0, 1, 2])),
        (["a", "b", "c"], ("x",), (None, [0, 1, 2])),
        (["a", "b", "c"], ("b",), (1, [1, 0, 2])),
        (["a", "b", "c"], ("c", "b"), (2, [2, 0, 1])),  # the first key that is there, not the first leaf
        (["a", "b", "c"], ("x", "a"), (0, [0, 1, 2])),
        ([], ("a",), (None, [])),
    ],
)
def test_the_leaf_that_names_the_conversation_comes_first(paths: list[str], keys: tuple[str, ...], order: Any) -> None:
    assert order_of(paths, keys) == order


@pytest.mark.parametrize(
    "members", ["a:1 a:2", "a:1 a?:2", "a?:1 a+:2", "a:{b:1} a:2", '"a":1 a:2', "a$:{b:1} a:1", "b:1 a?:2 c:1 a:1"]
)
@pytest.mark.parametrize("inside", ["{}", "{{b:{}}}", "{{b:[{}]}}"])
def test_a_member_that_is_told_twice_is_refused_whatever_its_mark(members: str, inside: str) -> None:
    told = inside.replace("{}", f"{{{members}}}").replace("{{", "{").replace("}}", "}") if inside != "{}" else ""
    text = f"%1\na={told or '{' + members + '}'}\n.1\n"
    with pytest.raises(DecodeError, match="appears twice") as caught:
        session.decode(text, sealed=False)
    assert (caught.value.reason, caught.value.line) == (Reason.BAD_ENCODING, 2)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_text_that_ends_behind_its_header_is_read(size: int) -> None:
    """Its line feed is the end of the header's line, not a part of what checks it."""
    writer = session.Writer(None, prompt=False)
    text = "".join(writer.add({"n": n, "text": "some words that come back"}) for n in range(3))
    assert text.endswith("%1:;\n")
    reader = session.Reader()
    events = [event for start in range(0, len(text), size) for event in reader.feed(text[start : start + size])]
    assert [event["n"] for event in events + reader.close(strict=False)] == [0, 1, 2]
