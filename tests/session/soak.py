"""Random and hostile sessions, there and back, and damage that nobody may miss: as many as one has time for.

``python -m tests.session.soak --sessions 100000 --damages 10000 --seed 1`` prints what was tried and what failed, and
exits with 1 where anything did. The suite runs a few, ``-m soak`` all.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from tests.session.make_vectors import events
from tests.session.material import HOSTILE
from turnwire import session
from turnwire.errors import DecodeError
from turnwire.session.encoding import Options, composed, items, plain_line
from turnwire.session.metering import Guess, guessed

KINDS = ("drop", "swap", "double", "edit", "insert", "cut", "behead", "old", "moved", "twice")
"""old: a record that came before is the last one of a text that has no end. moved: a run of records stands elsewhere.
twice: the beginning of a session stands in front of it."""


def long_session(rnd: random.Random) -> list[Any]:
    """More events, of the kinds that templates, counters, aliases and times are for."""
    found: list[Any] = []
    names = [rnd.choice(HOSTILE) for _ in range(3)] + ["a text that comes back, long enough for a name"]
    for number in range(rnd.randrange(20, 90)):
        event = {
            "id": number,
            "conv": rnd.randrange(3),
            "text": rnd.choice(names),
            "n": rnd.choice((number, 1.5, None)),
        }
        if rnd.random() < 0.5:
            event |= {
                "at": f"2026-01-01T09:{number % 60:02}:{rnd.randrange(60):02}Z",
                "call": json.dumps({"x": number}),
            }
        found.append(event)
    return found


def there_and_back(count: int, seed: int) -> list[str]:
    """Sessions that do not come back as they were, by block and event by event."""
    rnd, failed = random.Random(seed), []
    for number in range(count):
        given = long_session(rnd) if number % 16 == 0 else events(rnd)
        options = Options(
            every=rnd.choice((2, 7, 200)),
            prompt=rnd.random() < 0.5,
            counters=rnd.random() < 0.8,
            before=rnd.random() < 0.8,
            aliases=rnd.random() < 0.8,
            checks=rnd.random() < 0.8,
        )
        keys = rnd.choice(((), (), ("id",), ("conv",), ("b.c", "id")))
        found = items(given)
        lines = [plain_line(item) for item in found]
        values = [session.decode(line)[0] for line in lines]
        texts = [composed(found, keys, options, Guess())]
        writer = session.Writer(None, keys, **options._asdict())
        texts.append("".join([*map(writer.add, given), writer.close()]))
        for text in texts:
            if session.lines_of(text, sealed=options.checks) != lines:
                failed.append(f"seed {seed}, session {number}: other lines")
            if repr(session.decode(text, sealed=options.checks)) != repr(values):
                failed.append(f"seed {seed}, session {number}: other values")
        if guessed(session.encode(given, None)) > guessed("\n".join(lines)):
            failed.append(f"seed {seed}, session {number}: above JSON lines")
    return failed


def damaged(text: str, count: int, rnd: random.Random) -> Iterator[tuple[str, str]]:
    """Lines dropped, swapped, doubled and moved, characters changed, ends and beginnings cut."""
    lines = text.split("\n")[:-1]
    while count:
        kind = rnd.choice(KINDS)
        changed = list(lines)
        one, other = rnd.randrange(len(lines)), rnd.randrange(len(lines))
        found = text
        if kind == "drop":
            del changed[one]
        elif kind == "swap":
            changed[one], changed[other] = changed[other], changed[one]
        elif kind == "double":
            changed.insert(one, changed[one])
        elif kind == "old":
            end = max(one, other) + 1
            changed[end:] = [changed[min(one, other)]]
        elif kind == "moved":
            run = changed[min(one, other) : max(one, other)]
            del changed[min(one, other) : max(one, other)]
            place = rnd.randrange(len(changed) + 1)
            changed[place:place] = run
        elif kind == "twice":
            changed[:0] = changed[: one + 1]
        elif kind == "cut":
            found = text[: rnd.randrange(1, len(text))]
        elif kind == "behead":
            found = text[rnd.randrange(1, len(text)) :]
        else:
            at = rnd.randrange(len(text))
            found = text[:at] + rnd.choice('ab019|&=+ \n{}"%^.あい') + text[at + (kind == "edit") :]
        if kind not in ("edit", "insert", "cut", "behead"):
            found = "\n".join(changed) + "\n"
        checked = text[0] == "%" or "\n%1" in f"\n{found}"  # JSON lines alone have no checks
        if checked and found.rstrip("\n") != text.rstrip("\n") and found.strip("\n"):  # nothing is a log, too
            count -= 1
            yield kind, found


def unseen(events_: list[Any], text: str, count: int, rnd: random.Random) -> list[str]:
    """Damages that were not seen, or of which ``salvage`` gave a wrong event as whole."""
    failed = []
    for kind, found in damaged(text, count, rnd):
        try:
            session.decode(found)
        except DecodeError:
            pass
        else:
            failed.append(f"{kind}: not seen")
        saved = session.salvage(found)
        if saved.complete or not saved.faults or not (saved.missing or saved.events == events_):
            failed.append(f"{kind}: salvaged as complete")
        for part in saved.parts:
            if part.events != events_[part.first : part.first + len(part.events)]:
                failed.append(f"{kind}: wrong events from {part.first}")
    return failed


def damages(count: int, seed: int) -> list[str]:
    """What went unseen in many sessions, 50 damages to each."""
    rnd, failed = random.Random(seed), []
    for _ in range(0, count, 50):
        given = long_session(rnd)
        values = [session.decode(plain_line(item))[0] for item in items(given)]
        keys, every = rnd.choice(((), ("conv",))), rnd.choice((3, 15, 40, 200))
        text = composed(items(given), keys, Options(every=every), Guess())
        if rnd.random() < 0.3:
            writer = session.Writer(None, keys, every=every)
            written = "".join([*map(writer.add, given), writer.close()])
            text = written if "\n%1" in f"\n{written}" else text
        failed += unseen(values, text, min(50, count), rnd)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--damages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = 0
    for name, run, count in (("damages", damages, given.damages), ("sessions", there_and_back, given.sessions)):
        done = 0
        while done < count:
            step = min(1000, count - done)
            found = run(step, given.seed * 1_000_003 + done)
            done += step
            failed += len(found)
            print(*found[:20], sep="\n", end="\n" if found else "")
            print(f"{done} {name}, {failed} failures so far", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
