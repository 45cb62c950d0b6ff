"""Sessions to try: hostile ones, and ones whose events are alike, as those of agents are; by seeds."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

from turnwire.session import writing
from turnwire.session.aliases import Shortener
from turnwire.session.writing import Options, guess, read_events

HOSTILE = (
    *("", "a", "a|b", "|", "\\", "a\\", "\\|", "\\\\|x", "=", "=x", '="x"', "&", "&a", "&&a", "&a=b", "&!null", "+"),
    *("+1", "-5", "+x", "5", "05", "1e5", "true", "null", "{}", "[]", "[1]", '{"a":1}', '{"a": 1}'),
    *('{"a":[1,{"b":"c"}]}', '{"a":{"b":"\\u00e9"}}', '{\n  "a": 1\n}', "x\ny", "\n", "\n\n", "x\n", "\nx", " x"),
    *("x ", "x\n  y\n\n", "\t", "a\tb", "\r", "a\r\nb", "\x00", "\x0b", "\x85", "\u2028", "\ufeff", "é", "日本", "あ"),
    *("aあяbあ", "ночь", "ω", "😀", "%1", "^5", ".5", "!", "a={}", "goal_1", "goal_2", "goal_9", "goal_09", "T-099"),
    *("T-100", "999999999999999999", "x999999999999999999", "2026-01-01T09:30:00Z", "2026-01-01T09:30:05Z"),
    *("2026-01-01T09:30:05.250Z", "2026-01-01 09:30:05+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
    *("2026-02-30T00:00:00Z", "2026-01-01T09:30:60Z", "),", ");"),
)
KEYS = (
    *("a", "b", "id", "turn", "time", "", "a?", "a+", "a=", "=a", "a=b", "$", "$1", "$ref", "#", "#a,b", "a#", "-"),
    *("a-", "!", "a!", "!a", "a!?", "a.b", "b.c", "a b", "~", "^", "é", '"', "\\", "|", "\n", "0", "&a"),
)
NUMBERS = (0, 1, 9, -1, 10**17, 2**64, 1.0, 0.5, 1e22, True, False, None)


def composed(events: list[Any], keys: tuple[str, ...] = (), options: Options = Options()) -> str:  # noqa: B008
    """Events as a session, whether or not that saves anything."""
    return "".join(writing.composed(read_events(events), keys, options, Shortener(guess), None))


def plain(events: list[Any]) -> str:
    """Events as JSON lines."""
    return "\n".join([event.line for event in read_events(events)])


def any_text(rnd: random.Random) -> str:
    """Letters of any kind but lone surrogates, or a hostile text."""
    points = (rnd.randrange(1 << rnd.randrange(1, 21)) for _ in range(rnd.randrange(12)))
    anything = "".join(chr(point) for point in points if not 0xD800 <= point <= 0xDFFF)
    return rnd.choice((anything, rnd.choice(HOSTILE)))


def any_options(rnd: random.Random) -> Options:
    chosen = {name: rnd.random() < 0.6 for name in ("prompt", "plain", "checks")}
    return Options(every=rnd.choice((1, 3, 7, 200)), **chosen)


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


def few_shapes(rnd: random.Random) -> list[Any]:
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


def long_session(rnd: random.Random) -> list[Any]:
    """More events, of the kinds that templates, counters, aliases and times are for."""
    found: list[Any] = []
    names = [rnd.choice(HOSTILE) for _ in range(3)] + ["a text that comes back, long enough for a name"]
    for number in range(rnd.randrange(20, 90)):
        event = {"id": number, "conv": rnd.randrange(3), "text": rnd.choice(names)}
        event["n"] = rnd.choice((number, 1.5, None))
        if rnd.random() < 0.5:
            event["at"] = f"2026-01-01T09:{number % 60:02}:{rnd.randrange(60):02}Z"
            event["call"] = json.dumps({"x": number})
        found.append(event)
    return found
