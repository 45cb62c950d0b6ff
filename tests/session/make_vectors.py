"""Makes tests/vectors/session.jsonl: 200 sessions with the events that they hold, 200 damaged ones with the reason.

``python -m tests.session.make_vectors`` writes the file anew. A good vector is ``{"id", "text", "sealed", "lines"}``:
the events as minified JSON. A damaged one has ``reason`` and ``line`` in place of ``lines``.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.session.material import HOSTILE, KEYS
from turnwire.errors import DecodeError
from turnwire.session.encoding import Options, composed, items, plain_lines
from turnwire.session.metering import Guess
from turnwire.session.reading import lines_of

PATH = Path(__file__).parent.parent / "vectors" / "session.jsonl"
NUMBERS = (0, 1, 9, -1, 10**17, 2**64, 1.0, 0.5, 1e22, True, False, None)
EACH = 200


def value(rnd: random.Random, depth: int = 0) -> Any:
    kind = rnd.randrange(9 if depth < 2 else 6)
    if kind < 2:
        return rnd.choice(NUMBERS)
    if kind < 6:
        return rnd.choice(HOSTILE)
    inner = {rnd.choice(KEYS): value(rnd, depth + 1) for _ in range(rnd.randrange(3))}
    if kind == 6:
        return inner
    if kind == 7:
        return json.dumps(inner)
    return [{"k": rnd.choice(NUMBERS), "v": rnd.choice(HOSTILE)} for _ in range(rnd.randrange(4))]


def events(rnd: random.Random) -> list[Any]:
    """Events of a few shapes: some members count, some stay, some are anything."""
    forms = [{rnd.choice(KEYS): value(rnd) for _ in range(rnd.randrange(1, 5))} for _ in range(rnd.randrange(1, 4))]
    uuids = rnd.random() < 0.2
    found: list[Any] = []
    for number in range(rnd.randrange(1, 12)):
        event = dict(rnd.choice(forms))
        event["id"] = rnd.choice([number, f"T-{number:03}", number % 3])
        if rnd.random() < 0.3:
            event["time"] = f"2026-01-01T09:{number:02}:{rnd.randrange(60):02}Z"
        if uuids:
            event["task"] = str(uuid.UUID(int=rnd.getrandbits(128), version=4))
            event["text"] = rnd.choice((f"of {event['task']}.", f"_{event['task']}", event["task"].upper()))
        if rnd.random() < 0.3:
            key = rnd.choice(list(event))
            event[key] = value(rnd)
        found.append(event)
    return [*found, rnd.choice(HOSTILE)] if rnd.random() < 0.1 else found


def sessions(rnd: random.Random) -> Iterator[tuple[str, bool]]:
    """Texts of sessions, and whether they are sealed."""
    while True:
        given = items(events(rnd))
        if rnd.random() < 0.05:
            yield plain_lines(given), True
            continue
        options = Options(every=rnd.choice((4, 200)), checks=rnd.random() < 0.8, prompt=rnd.random() < 0.5)
        options = options._replace(aliases=rnd.random() < 0.6)
        yield composed(given, rnd.choice(((), ("id",))), options, Guess()), options.checks


def damage(rnd: random.Random, text: str) -> str:
    lines = text.split("\n")
    one, other = rnd.randrange(len(lines) - 1), rnd.randrange(len(lines) - 1)
    kind = rnd.randrange(5)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 2:
        lines.insert(one, lines[other])
    else:
        at = rnd.randrange(len(text))
        return text[:at] if kind == 3 else text[:at] + rnd.choice("a0|&= \n{%あ") + text[at + 1 :]
    return "\n".join(lines)


def vectors() -> Iterator[dict[str, Any]]:
    """All of them; the same at every run."""
    rnd = random.Random(20)
    made = sessions(rnd)
    for number in range(EACH):
        text, sealed = next(made)
        yield {"id": f"good-{number:03}", "text": text, "sealed": sealed, "lines": lines_of(text, sealed=sealed)}
    number = 0
    while number < EACH:
        text, sealed = next(made)
        if not sealed or not text.startswith("%"):
            continue
        broken = damage(rnd, text)
        if broken.rstrip("\n") == text.rstrip("\n") or not broken.strip("\n"):
            continue
        try:
            lines_of(broken)
        except DecodeError as error:
            place = {"reason": str(error.reason), "line": error.line}
            yield {"id": f"damaged-{number:03}", "text": broken, "sealed": True, **place}
            number += 1


def written() -> str:
    """The file."""
    return "".join(json.dumps(vector, ensure_ascii=True) + "\n" for vector in vectors())


if __name__ == "__main__":
    PATH.write_text(written(), encoding="utf-8", newline="\n")
