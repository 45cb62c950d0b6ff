"""What writers make of logs event by event, what is salvaged of that where it is damaged, and what a quiz asks: kept as
a digest and sentences. Both cores are compared elsewhere.

After a change that is meant, ``python -m tests.session.test_kept_streams`` writes tests/session/kept/streams.txt anew.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from typing import Any

import pytest

from tests.session.test_kept import FOLDER, _log, summed
from turnwire import session
from turnwire.session.quiz import LONGEST, questions
from turnwire.session.streaming import MOST_TEMPLATES

pytestmark = pytest.mark.once


def phases(number: int) -> list[Any]:
    """So many times what a template of its own pays for."""
    chance = random.Random(1)
    return [
        {"n": chance.randrange(10**6), "who": f"agent-{letter}", "text": f"constant text of this phase {letter * 8}"}
        for letter in string.ascii_letters[:number]
        for _ in range(30)
    ]


def shapes(number: int, times: int) -> list[Any]:
    """Objects with keys of their own, so many times each, then the last of them on and on."""
    names = [f"key{at}" for at in range(number) for _ in range(times)] + [f"key{number - 1}"] * 100
    return [{name: at % 7, "who": "ann", "text": "some text that is long"} for at, name in enumerate(names)]


LOGS = (
    *map(_log, range(40)),
    *(phases(number) for number in (2, MOST_TEMPLATES, MOST_TEMPLATES + 2)),
    *(shapes(number, times) for number, times in ((3, 2), (10, 1), (10, 2), (12, 3))),
    [{"id": number, "who": ["ann", "bob"][number % 2], "text": f"line {number * 7}"} for number in range(150)],
)


def damaged(text: str, chance: random.Random) -> Iterator[str]:
    """The text with lines that are another, gone, twice, or the last; around its anchors, and anywhere."""
    lines = text.split("\n")
    anchors = [at for at, line in enumerate(lines) if line.startswith(("^", "%"))]
    places = {anchor + more for anchor in anchors for more in range(-3, 5)} | set(
        chance.choices(range(len(lines)), k=3)
    )
    for at in sorted(place for place in places if 0 <= place < len(lines)):
        yield "\n".join([*lines[:at], "damaged", *lines[at + 1 :]])
        yield "\n".join([*lines[:at], *lines[at + 1 :]])
        yield "\n".join(lines[:at])
        behind = [anchor for anchor in anchors if anchor > at]
        if behind:
            yield "\n".join([*lines[:at], "damaged", *lines[behind[-1] :]])
        if lines[at].startswith("^"):
            for more in range(5):
                yield "\n".join([*lines[: at + more], "damaged", *lines[at:]])
        if anchors:
            yield "\n".join([*lines[:at], "damaged", *lines[anchors[-1] :]])


def salvaged(text: str) -> str:
    found = session.salvage(text)
    parts, doubtful = ([(part.first, len(part.events)) for part in some] for some in (found.parts, found.doubtful))
    faults = [(str(fault.reason), fault.offset, fault.line) for fault in found.faults]
    return f"salvaged {found.complete}\t{parts} {doubtful} {found.missing}\t{faults}\t"


def said() -> Iterator[str]:
    for number, events in enumerate(LOGS):
        chance = random.Random(number)
        every = 10**6 if len(events) > 200 else chance.choice((1, 2, 5, 20, 200))
        keys = chance.choice((None, "talk", ("talk", "who")))
        writer = session.Writer(None, keys, every=every, before=chance.random() < 0.7, checks=number % 4 > 0)
        text = "".join(map(writer.add, events)) + writer.close()
        yield f"written\t{every} {keys}\t{text}\t"
        if number % 4:
            chosen = list(damaged(text, chance))
            for one in chance.sample(chosen, min(len(chosen), 12)):
                yield salvaged(one)
    for events in (*LOGS[:20], *([{"n": at, "who": "ann"} for at in range(most)] for most in (2, 6, 7))):
        for question in questions(events, 40, 7) if events else ():
            yield f"asked {question.kind}\t{question.text}\t{question.answer}\t"
    for size in (LONGEST - 1, LONGEST, LONGEST + 1):
        yield f"asked\t{len(questions([{'text': 'x' * size}]))}\t{size}\t"


def test_what_is_written_salvaged_and_asked_is_what_is_kept() -> None:
    assert summed(list(said())) == (FOLDER / "streams.txt").read_text("utf-8")


if __name__ == "__main__":
    (FOLDER / "streams.txt").write_text(summed(list(said())), "utf-8")
