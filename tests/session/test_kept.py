"""What sessions are written of 120 logs of agents, and how damaged ones are refused: kept as a digest and
sentences. It is the same on both cores: the native half sees the one, the pure half the other.

After a change that is meant, ``python -m tests.session.test_kept`` writes tests/session/kept/session.txt anew.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.session.test_vectors import VECTORS
from turnwire import session
from turnwire.errors import DecodeError
from turnwire.session.encoding import Options, composed, items, plain_lines
from turnwire.session.metering import Guess

Chance = random.Random
FOLDER = Path(__file__).parent / "kept"
GIVEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+")
"""What a sentence has from the message: texts in quotes, and numbers."""
WORDS = (
    "find the tests",
    "because customers complained loudly",
    "done",
    "a|b",
    "x\\",
    "=y",
    "&z",
    "é",
    "",
    "line\nline",
    "7",
)
TOOLS = ("search", "read_file", "run", "grep")


def _call(chance: Chance, number: int) -> dict[str, Any]:
    given = {
        "path": f"src/{chance.choice(TOOLS)}.py",
        "line": chance.randrange(90),
        "deep": {"all": chance.random() < 0.5},
    }
    text = json.dumps(given, **chance.choice(({}, {"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False})))
    return {
        "id": f"call_{number:03}",
        "name": chance.choice(TOOLS),
        "arguments": text if chance.random() < 0.7 else given,
    }


def _event(chance: Chance, number: int, moment: datetime, talk: str) -> Any:
    kind = chance.randrange(7)
    made: dict[str, Any] = {
        "id": f"m-{number}",
        "talk": talk,
        "at": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "turn": number,
    }
    if kind < 3:
        return {
            **made,
            "role": chance.choice(("user", "agent")),
            "text": chance.choice(WORDS),
            "cost": 1700 + number // 2 * 3,
        }
    if kind == 3:
        return {**made, "role": "agent", "calls": [_call(chance, number + at) for at in range(chance.randrange(3))]}
    if kind == 4:
        rows = [
            {"file": f"{name}.py", "hits": chance.randrange(9), "new": None} for name in "abc"[: chance.randrange(4)]
        ]
        return {**made, "rows": rows, "part": 0.5 * number, "of": talk}
    if kind == 5:
        return {
            "meta": {
                **dict.fromkeys("abcdefgh", talk),
                "talk": talk,
                "seen": made["at"],
                "n": [number, 2.5, True, None, {}, []],
            },
            "text": chance.choice(WORDS),
        }
    return chance.choice(
        (f"plain text {number}", "@a3|f0|c1|S0|d1|T1#", {"role": "user", "text": "hello", "turn": -number})
    )


def _log(seed: int) -> list[Any]:
    chance = random.Random(seed)
    moment, found = datetime(2026, 1, 15, 10, 0, tzinfo=UTC), []
    talks = ["talk-1", "talk-2", "talk-3"][: chance.randrange(1, 4)]
    for number in range(chance.choice((0, 1, 3, 12, 40, 90))):
        moment += timedelta(seconds=chance.choice((0, 1, 1, 5, 3600, -2)))
        found.append(_event(chance, number, moment, chance.choice(talks)))
    return found


def said() -> Iterator[str]:
    for seed in range(120):
        events, chance = _log(seed), random.Random(-seed)
        chosen = {name: chance.random() < 0.7 for name in ("prompt", "counters", "before", "aliases", "checks")}
        options = Options(every=chance.choice((5, 30, 200)), **chosen)
        keys = chance.choice(((), ("talk",), ("talk", "meta.talk")))
        text = composed(items(events), keys, options, Guess())
        assert session.decode(text, sealed=options.checks) == session.decode(plain_lines(items(events)))
        yield f"session\t{options} {keys}\t{text}\t"
        yield f"encoded\t\t{session.encode(events, None)}\t"
        bent = random.Random(seed)
        for strict in (True, False) * 6:
            at = bent.randrange(len(text)) if text else 0
            yield _read(
                text[:at] + bent.choice('ab|&=+ \n\\é"^%~') + text[at + bent.randrange(3) :], strict, options.checks
            )
    for vector in VECTORS:
        yield _read(vector["text"], True, True)


def _read(text: str, strict: bool, sealed: bool) -> str:
    try:
        return f"lines\t\t{session.lines_of(text, strict, sealed)}\t"
    except DecodeError as error:
        words = "" if error.reason == "bad_json" or "(char " in error.text else error.text  # those are Python's own
        return f"refused {error.reason}\t{error.offset}\t{error.line} {error.path}\t{words}"


def summed(found: list[str]) -> str:
    """The sentences, without what is a message's own, and a digest of all that was said."""
    lines = [line.replace("\n", " ") for line in found]
    sentences = sorted({GIVEN.sub("…", "\t".join(line.split("\t")[::3])) for line in lines})
    digest = hashlib.sha256("\n".join(found).encode("utf-8", "backslashreplace")).hexdigest()
    return "\n".join([f"sha256 {digest} of {len(found)}", *sentences]) + "\n"


def test_what_is_written_and_refused_is_what_is_kept() -> None:
    assert summed(list(said())) == (FOLDER / "session.txt").read_text("utf-8")


if __name__ == "__main__":
    (FOLDER / "session.txt").write_text(summed(list(said())), "utf-8")
