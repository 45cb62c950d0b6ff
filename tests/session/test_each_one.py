"""One by one: when an event comes out of a reader, which texts have aliases, how many shapes are kept from one anchor
to the next, how deep an event is that a reader takes."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire import session
from turnwire.errors import DecodeError, Reason
from turnwire.session import reading, repeats
from turnwire.session.interpreting import Interpreter
from turnwire.session.metering import Guess

pytestmark = pytest.mark.once


@pytest.mark.parametrize("more", [0, 1, 2])
def test_an_event_is_given_with_the_first_letter_of_the_next(more: int) -> None:
    """Also where the piece before ended with it, or with it and some before it."""
    events = [{"at": number, "text": "the same words again"} for number in range(30)]
    lines = session.encode(events).splitlines(keepends=True)
    reader = session.Reader()
    given: list[Any] = []
    cut = lines[:10], lines[10 : 11 + more], [lines[11 + more][:1]]
    told = [len(given := given + reader.feed("".join(piece))) for piece in cut]
    assert lines[0][:1] == "%" and told == [8, 9 + more, 10 + more]
    assert [event["at"] for event in given] == list(range(10 + more))


@pytest.mark.parametrize(("more", "named"), [(0, True), (1, False)])
def test_texts_of_which_a_reader_might_take_none_have_no_aliases(
    monkeypatch: pytest.MonkeyPatch, more: int, named: bool
) -> None:
    """With its aliases filled in a record has twice the letters at most."""
    bodies = [f"a {' '.join(f'word{number}' for number in range(60))}|{last}" for last in (1, 2)]
    monkeypatch.setattr(repeats, "LONGEST", 2 * (len(bodies[0]) - more))
    first, found = repeats.Shortener(Guess()).shortened(bodies)
    assert bool(first) is named and (found == bodies) is not named


@pytest.mark.parametrize(("shapes", "kept"), [(0, True), (reading.MOST_SHAPES, True), (reading.MOST_SHAPES + 1, False)])
def test_so_many_shapes_are_kept_behind_an_anchor(shapes: int, kept: bool) -> None:
    before = Interpreter((), "", True)
    before.shapes.update(((number,), None) for number in range(shapes))  # type: ignore[misc]
    found = reading.ANCHOR("^7")
    assert found is not None
    after = reading.after_anchor(found, True, before)
    assert (after.shapes is before.shapes) is kept and (kept or after.shapes == {})


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 128, 129, 200])
def test_an_event_is_as_deep_as_strict_json_allows(depth: int) -> None:
    """However it is written: as a template or as what it is."""
    text = '{"a":' * depth + "1" + "}" * depth
    for body in (text, f"a={text}"):
        reader = Interpreter((), "", True)
        if depth > 128:
            with pytest.raises(DecodeError) as caught:
                reader.event(body)
            assert caught.value.reason is Reason.TOO_DEEP
        else:
            assert str(reader.event(body)).count("{") == depth
