"""Every session comes back as it was: values, types, the order of keys, numbers as they were written."""

from __future__ import annotations

import hashlib
import json
import random
from enum import IntEnum
from typing import Any

import pytest

import turnwire
from tests.conftest import raised
from tests.session.material import any_options, any_text, composed, few_shapes, long_session, plain
from turnwire import LIMITS, session
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.session import Options, lines_of
from turnwire.session.shapes import MOST_PATH, minified, parsed
from turnwire.session.writing import guess, read_events

pytestmark = pytest.mark.once


def tokens(text: str) -> int:
    return guess([text])[0]


def line_of(event: Any) -> str:
    """The line of an event: an object in text as an object, other text as a string."""
    if isinstance(event, str):
        try:
            found = turnwire.json.text.read_object(event, "x") if event.lstrip(" \t\r\n")[:1] == "{" else None
        except DecodeError:
            found = None
        return minified(parsed(event)) if found is not None else minified(event)
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.soak] * (seed > 0)) for seed in range(100)])
def test_many_random_sessions(seed: int) -> None:
    """At once, and by a writer that knows only what came before, read in pieces; whatever the options, and whether or
    not it saves anything; sealed by a host where there are no checks. What is not gained is not written in this form.
    ``-m soak``: a hundred thousand."""
    rnd = random.Random(seed)
    for number in range(1000 if seed else 32):
        events = long_session(rnd) if number % 16 == 0 else few_shapes(rnd)
        events += [{"any": any_text(rnd), any_text(rnd): 1}, any_text(rnd)]
        chosen, keys = any_options(rnd), rnd.choice(((), (), ("id",), ("conv",), ("b.c", "id")))
        lines = [line_of(event) for event in events]
        values = [session.decode(line)[0] for line in lines]
        writer = session.Writer(None, keys, **chosen._asdict())
        pieces = [writer.add(event) + (writer.anchor() if place == 5 else "") for place, event in enumerate(events)]
        for written in (composed(events, keys, chosen), "".join([*pieces, writer.close()])):
            assert lines_of(written, sealed=chosen.checks) == lines
            assert chosen.checks or lines_of(session.seal(written)) == lines
            step = rnd.randrange(1, 40)
            for wanted, expected in ((True, values), (False, lines)):
                reader = session.Reader(chosen.checks, wanted)
                found = [one for at in range(0, len(written), step) for one in reader.feed(written[at : at + step])]
                assert repr(found + reader.close()) == repr(expected)
        assert lines_of(session.seal("\n".join(lines))) == lines
        gained = session.encode(events, None)
        assert tokens(gained) <= tokens(plain(events)) and lines_of(gained) == lines


def test_the_same_events_are_the_same_text() -> None:
    """Of one version and the next: what a model was shown is written so again. A change that is meant changes the
    digest; what is read never does (the vectors)."""
    digest = hashlib.sha256()
    for seed in range(16):
        rnd = random.Random(seed)
        events = long_session(rnd) if seed % 3 else few_shapes(rnd)
        writer = session.Writer(None, ("conv",), every=30)
        texts = [*map(writer.add, events), writer.close()]
        options = Options(every=rnd.choice((5, 30, 200)), plain=rnd.random() < 0.3, checks=rnd.random() < 0.7)
        texts += [composed(events, ("conv",), options), session.encode(events, None)]
        digest.update("\0".join(texts).encode("utf-8"))
    assert digest.hexdigest()[:16] == "c3f90f482a37ffaf"


def test_numbers_keep_their_form() -> None:
    given = ['{"a":1.0,"b":1e5,"c":-0,"d":1E+2,"e":12345678901234567890123}'] * 40
    text = session.encode(given, None)
    assert text.startswith("%1")
    assert lines_of(text) == given


@pytest.mark.parametrize(("strings", "depth"), [(3, 100), (8, 120)])
def test_objects_in_strings_are_opened_up_to_a_depth(strings: int, depth: int) -> None:
    """They could be as deep as a hundred kilobytes of backslashes let them be."""
    text = "x"
    for _ in range(strings):
        text = '{"a":' * depth + json.dumps(text) + "}" * depth
    for events in ([text] * 3, [{"e": text, "f": number} for number in range(3)]):
        assert session.lines_of(composed(events)) == list(map(line_of, events))
        writer = session.Writer(None)
        assert session.lines_of("".join([*map(writer.add, events), writer.close()])) == list(map(line_of, events))


def test_an_object_in_a_string_of_a_string_has_an_end() -> None:
    """Each string doubles the backslashes of those in it."""
    text = "%1\n={{{}a:1{}}}\n.1\n"
    assert len(session.lines_of(text.format("a$:{" * 15, "}" * 15), sealed=False)[0]) > 1 << 16
    caught = raised(DecodeError, session.lines_of, text.format("a$:{" * 40, "}" * 40), sealed=False)
    assert (caught.reason, caught.line) == (Reason.BAD_ENCODING, 2)


def test_an_event_may_be_larger_than_a_message() -> None:
    event = {"text": " " * LIMITS.message}
    assert session.decode(session.encode([event], None)) == [event]


def test_messages_of_wires() -> None:
    message = turnwire.decode('@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#')
    found = session.decode(session.encode([message] * 30))
    head = {"act": "REQUEST", "frame": "TASK", "conv_id": 1, "src": 0, "dst": 1, "turn": 1}
    assert found == [head | {"goal_id": 1, "task_id": 1, "priority": 3, "tag": "goal_1"}] * 30


@pytest.mark.parametrize(
    ("event", "reason", "path"),
    [
        ({"a": float("nan")}, "not_finite", "1/a"),
        ({1: 2}, "wrong_type", "1"),
        ({"a": {"b": "\ud800"}}, "lone_surrogate", "1/a/b"),
        (5, "wrong_type", "1"),
        ("\ud800", "lone_surrogate", "1/"),
    ],
)
def test_what_json_cannot_carry(event: Any, reason: str, path: str) -> None:
    caught = raised(EncodeError, session.encode, [{"a": 1}, event], None)
    assert (caught.reason, caught.path) == (reason, path)


def test_one_event_is_its_json() -> None:
    assert session.encode([{"b": [1, None], "a": "é"}]) == '{"b":[1,null],"a":"é"}'
    assert session.encode([]) == "" and session.decode("") == []


def test_what_is_found_hard_can_be_left_out() -> None:
    text = "a long text that comes back again and again"
    events = [{"id": number, "kind": "x", "text": text} for number in range(40)]
    plain = session.encode(events, None, plain=True)
    assert "id?" in plain and "+" not in plain.split("\n")[1] and " &" not in plain.split("\n")[0]
    assert plain.count("\na ") == 39
    assert session.decode(plain) == events
    assert len(session.encode(events, None)) < len(plain)


class Word(str):
    """A kind of text."""


class Level(IntEnum):
    HIGH = 7


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, 2**63, -(2**63) - 1, 10**30, 0.0, -0.0, 1.5, 1e22, 1e-7, True, False, None, Level.HIGH, Word("w")),
        *((1, "x"), [[], {}], [{"b": 1, "c": 'é"'}, {"b": 2.5, "c": None}], [["x", {"b": [1]}]], [Word("x")]),
        *([{"=": 1}, {"=": 2}], [{"a": 1}, {"a": [1]}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [{"a": 1}] * 9, [{}, {}]),
        *("\x00", "\x7f", "\x80", "\x9f", "\xa0", "\u2028", "\ufeff", "\uffff", "\U0010ffff", "あ", "x" * 600),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_values_of_each_kind(value: Any) -> None:
    """As members, in arrays, in texts that hold JSON of each style, beside others and again and again."""
    for made in (value, [{"k": value}] * 3, [{"k": value, "l": 1}, {"k": value, "l": 2}]):
        line = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
        styles: tuple[dict[str, Any], ...] = ({}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": 2})
        held = [json.dumps({"it": made}, **style) for style in styles]
        events = [{"n": n, "v": made, "held": held[n % 4], "again": held[n // 4]} for n in range(8)]
        texts = [composed(events)]
        if made is value:
            texts += [composed(events, (), Options(plain=True)), session.encode(events, None)]
        for text in texts:
            lines = lines_of(text)
            assert [json.loads(each)["held"] for each in lines] == held * 2
            assert all(f'"v":{line},"held"' in each for each in lines)


@pytest.mark.parametrize(
    "text",
    ['{"a":"b","c":1}', '{"a": "b", "c": 1}', '{"a":"","b":null}', '{"":""}', '{"a":"{","b":"{}"}', '{"a": 1.50}'],
)
def test_objects_in_texts_that_are_cut_or_changed_anywhere(text: str) -> None:
    events = []
    for at in range(len(text) + 1):
        events += [{"o": text[:at] + sign + text[at + more :]} for sign in ("", *'"{}[]: ,\\1xé') for more in (0, 1)]
    assert session.decode(composed(events)) == events


@pytest.mark.parametrize("space", ["", " ", "\t", "\n", "\r\n  "])
def test_white_space_around_an_object_in_text_is_not_text(space: str) -> None:
    given = f'{space}{{"a": 1.50}}{space}'
    assert lines_of(session.encode([given], None)) == ['{"a":1.50}']
    for other in (f"\u00a0{given}", f"\x0c{given}", f'{space}{{"a": 1.50}}{space}x'):
        assert session.decode(session.encode([other], None)) == [other]


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
    for options in (Options(checks=False), Options(plain=True, checks=False)):
        text = composed([good] * 2, (), options)
        assert session.decode(text, sealed=False) == [good] * 2
        caught = raised(DecodeError, session.decode, text.replace(LONG[1:], LONG), sealed=False)
        assert caught.reason is Reason.KEY_TOO_LONG
    assert raised(EncodeError, session.encode, [good, event]).reason is Reason.KEY_TOO_LONG


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 128, 129, 200])
def test_an_event_is_as_deep_as_strict_json_allows(depth: int) -> None:
    """However it is written: as a template or as what it is."""
    event = '{"a":' * depth + "1" + "}" * depth
    for body in (event, f"a={event}"):
        text = f"%1\n{body}\n.1\n"
        if depth > 128:
            assert raised(DecodeError, session.decode, text, sealed=False).reason is Reason.TOO_DEEP
        else:
            assert str(session.decode(text, sealed=False)).count("{") == depth


def test_long_names_are_not_in_the_path_of_all_that_is_below_them() -> None:
    """A digest of them is: paths and the text take no more than they do."""
    below = {f"m{number}": [{"a": 1}, {"b": number}] for number in range(40)}
    event = {"k" * 3000: {"l" * 600: below, "n": "x"}}
    (made,) = read_events([event])
    assert len(set(made.shape.paths)) == 81 and max(map(len, made.shape.paths)) < MOST_PATH + 700
    text = composed([event, event], (), Options(plain=True))
    assert len(text) < 3 * len(json.dumps(event))


def test_one_path_alone_tells_conversations_apart() -> None:
    """The sessions of all others are far longer, so that there is nothing more to choose from."""
    rnd = random.Random(1)
    turns = dict.fromkeys("abc", 0)
    events = []
    for _ in range(60):
        name = rnd.choice("abc")
        turns[name] += 1
        events.append(
            {"word": rnd.choice("xy"), "conv_id": name, **{f"n{size}": turns[name] * 10**size for size in range(8)}}
        )
    text = session.encode(events, None)
    assert text.startswith("%1 @")
    assert session.decode(text) == events
