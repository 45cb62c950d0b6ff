"""Makes tests/vectors/session.jsonl: 200 sessions with the events that they hold, 200 damaged ones with the reason.

``python -m tests.session.make_vectors`` writes the file anew. A good vector is ``{"id", "text", "sealed", "lines"}``:
the events as minified JSON. A damaged one has ``reason`` and ``line`` in place of ``lines``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.session.material import composed, few_shapes, plain
from turnwire.errors import DecodeError
from turnwire.session import Options, lines_of

PATH = Path(__file__).parent.parent / "vectors" / "session.jsonl"
EACH = 200


def sessions(rnd: random.Random) -> Iterator[tuple[str, bool]]:
    """Texts of sessions, and whether they are sealed."""
    while True:
        given = few_shapes(rnd)
        if rnd.random() < 0.05:
            yield plain(given), True
            continue
        options = Options(every=rnd.choice((4, 200)), checks=rnd.random() < 0.8, prompt=rnd.random() < 0.5)
        options = options._replace(aliases=rnd.random() < 0.6)
        yield composed(given, rnd.choice(((), ("id",))), options), options.checks


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
