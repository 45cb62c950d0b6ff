"""Every session comes back as it was: values, types, the order of keys, numbers as they were written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwire
from tests.session.material import KEYS, sessions
from turnwire import session
from turnwire.errors import DecodeError, EncodeError
from turnwire.session._values_py import minified, parsed, restyled, string_of, text_of
from turnwire.session.encoding import Options, composed, items, plain_lines
from turnwire.session.metering import Guess, guessed
from turnwire.session.reading import lines_of

pytestmark = pytest.mark.once


def exact(events: list[Any]) -> str:
    """All that must come back: types and the order of keys, too."""
    return json.dumps(events, ensure_ascii=False)


def written(event: Any) -> str:
    """The line of an event: an object in text as an object, other text as a string."""
    if isinstance(event, str):
        try:
            found = turnwire.json.text.read_object(event, "x") if event.lstrip(" \t\r\n")[:1] == "{" else None
        except DecodeError:
            found = None
        return minified(parsed(event)) if found is not None else minified(event)
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


choices = st.builds(
    Options,
    every=st.sampled_from((1, 3, 200)),
    prompt=st.booleans(),
    counters=st.booleans(),
    before=st.booleans(),
    aliases=st.booleans(),
    checks=st.booleans(),
)


@given(
    sessions, choices, st.lists(st.sampled_from([key for key in KEYS if key.strip() and " " not in key]), max_size=2)
)
def test_blocks(events: list[Any], options: Options, keys: list[str]) -> None:
    """Whatever the options, and whether or not it saves anything; sealed by a host where it has no checks. What is not
    gained is not written in this form."""
    text = composed(items(events), tuple(keys), options, Guess())
    lines = [written(event) for event in events]
    assert lines_of(text, sealed=options.checks) == lines
    if not options.checks:
        assert lines_of(session.seal(text)) == lines
    lines_alone = "\n".join(lines)
    assert lines_of(session.seal(lines_alone)) == lines
    text = session.encode(events, None)
    assert guessed(text) <= guessed(plain_lines(items(events)))
    assert lines_of(text) == lines


@given(sessions, choices, st.integers(1, 40))
def test_streams(events: list[Any], options: Options, step: int) -> None:
    """A writer that knows only what came before, a reader that gets pieces."""
    writer = session.Writer(None, "id", **options._asdict())
    pieces = [writer.add(event) + (writer.anchor() if number == 5 else "") for number, event in enumerate(events)]
    text = "".join([*pieces, writer.close()])
    lines = [written(event) for event in events]
    assert session.lines_of(text, sealed=options.checks) == lines
    reader = session.Reader(sealed=options.checks)
    found = [event for at in range(0, len(text), step) for event in reader.feed(text[at : at + step])]
    found += reader.close()
    assert exact(found) == exact([session.decode(line)[0] for line in lines])


def test_numbers_keep_their_form() -> None:
    given = ['{"a":1.0,"b":1e5,"c":-0,"d":1E+2,"e":12345678901234567890123}'] * 40
    text = session.encode(given, None)
    assert text.startswith("%1")
    assert session.lines_of(text) == given


def test_messages_of_wires() -> None:
    message = turnwire.decode('@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#')
    found = session.decode(session.encode([message] * 30))
    assert (
        found
        == [
            {"act": "REQUEST", "frame": "TASK", "conv_id": 1, "src": 0, "dst": 1, "turn": 1}
            | {"goal_id": 1, "task_id": 1, "priority": 3, "tag": "goal_1"}
        ]
        * 30
    )


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
    with pytest.raises(EncodeError) as caught:
        session.encode([{"a": 1}, event], None)
    assert (caught.value.reason, caught.value.path) == (reason, path)


def test_one_event_is_its_json() -> None:
    assert session.encode([{"b": [1, None], "a": "é"}]) == '{"b":[1,null],"a":"é"}'
    assert session.encode([]) == "" and session.decode("") == []


def test_what_is_found_hard_can_be_left_out() -> None:
    events = [
        {"id": number, "kind": "x", "text": "a long text that comes back again and again"} for number in range(40)
    ]
    plain = session.encode(events, None, counters=False, before=False, aliases=False)
    assert "id?" in plain and "+" not in plain.split("\n")[1] and " &" not in plain.split("\n")[0]
    assert plain.count("\na ") == 39
    assert session.decode(plain) == events
    assert len(session.encode(events, None)) < len(plain)


LEAVES = (
    "plain",
    'a "quote"\\',
    "é\u2028\x7f",
    "\ud83d",
    b"12",
    b"-7",
    b"1e5",
    b"0.50",
    b"null",
    b"[1,{}]",
    b"70000000000000001",
)


@given(
    st.sampled_from(range(5)), st.sampled_from(("a", "é", "70000000000000001", ":,")), st.lists(st.sampled_from(LEAVES))
)
def test_objects_in_strings_are_written_in_their_style(style: int, key: str, leaves: list[str | bytes]) -> None:
    """Piece by piece as ``json.dumps`` writes the whole."""
    pieces: list[str | int] = ["{"]
    for number in range(len(leaves)):
        pieces += [f'{"," if number else ""}"{key}{number}":', number]
    whole = (*pieces, ',"in":{}}') if leaves else ('{"in":{}}',)
    nothing = [None] * len(leaves)
    text = text_of(whole, leaves, nothing)
    assert string_of(whole, style, leaves, nothing) == (restyled(json.loads(text), style) if style else text)
