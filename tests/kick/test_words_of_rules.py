"""What policies, the rules of envelopes, times and monitors say, of all that their fields can hold: kept as sentences
and a digest, as ``tests/test_words.py`` has it.

After a change that is meant, ``python -m tests.kick.test_words_of_rules`` writes tests/data/words/kick-*.txt anew.
"""

from __future__ import annotations

import itertools
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import turnwire
from tests.test_histories import _envelope
from tests.test_words import FOLDER, summed
from turnwire import kick
from turnwire.kick.policy import DEFAULT_POLICY, Policy, Row
from turnwire.kick.rules import lint
from turnwire.kick.spec import FAULTS, EventKind
from turnwire.kick.times import seconds

Said = Iterator[str]
IDS = [str(uuid.UUID(int=number << 64, version=4)) for number in range(1, 4)]


def _told(issues: Any) -> Said:
    for one in issues:
        yield f"{one.severity}\t{one.reason}\t{one.where}\t{one.text}"


def _asked(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    try:
        return f"gives\t\t{call(*given, **named)!r}"
    except (turnwire.RuleError, turnwire.DecodeError) as error:
        return f"raises\t{error.reason}\t{getattr(error, 'rule', '')} {error.wire} {error.path}\t{error}"
    except (TypeError, ValueError, AttributeError) as error:
        return f"raises\t{type(error).__name__}\t\t{error}"


# --- policies ---------------------------------------------------------------------------------------------------------

ROW = {"channel": "a/b", "type": "Info", "senders": ["A"], "receivers": ["*", "!C"], "correlation": True}
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    "",
    "x",
    "a/b",
    "a/b/c",
    "⫻a/*",
    "/b",
    "a/",
    "*",
    "Query",
    [],
    {},
    ["A", ""],
    [1],
)
TABLES = [
    Policy.from_dict({"row": [ROW]}),
    DEFAULT_POLICY,
    DEFAULT_POLICY.with_rows(Row("command/*", "*", ("*",), ("B",))),
]
TABLES.append(Policy([Row("command/escalate", "*", ("*",), ("Board",)), Row("alert/*", "Alert", ("!A", "B"), ("!C",))]))
TABLES.append(Policy([Row("a/b/c", "*", ("*", "!A"), ("A", "!B", "C")), *DEFAULT_POLICY.rows], ["A", "B"]))
CHANNELS = ("⫻a/b", "⫻a/b/c", "⫻a/c", "⫻a", "a/b", "⫻command/dispatch", "⫻command/escalate", "⫻command/x", "⫻query/x")
CHANNELS += ("⫻alert/violation", "⫻report/status", "⫻odd/x", "", "⫻/", "⫻a/", "⫻/b", "⫻query/answer", "⫻*/*")
ROLES = ("A", "B", "C", "Orchestrator", "Supervisor", "Broadcast")


def _of(sender: str, receiver: str, kind: Any, channel: Any, correlation: Any = None, **fields: Any) -> kick.Envelope:
    made = {"id": IDS[0], "timestamp": "2026-01-15T00:00:00Z", "content": "⫻a/b:c/1\nx\n", **fields}
    return kick.Envelope(made["id"], made["timestamp"], sender, receiver, kind, channel, made["content"], correlation)


def policies() -> Said:
    for name, value in itertools.product(ROW, (*ODD, ...)):
        row = {**ROW, name: value}
        if value is ...:
            del row[name]
        yield _asked(lambda row=row: Policy.from_dict({"row": [ROW, row]}).to_toml())
    for table in (*ODD, {"row": []}, {"row": [1]}, {"row": [{**ROW, "odd": 1}]}, {"row": [ROW], "odd": 1}):
        yield _asked(Policy.from_dict, table)
    for roles in ODD:
        yield _asked(lambda roles=roles: Policy.from_dict({"row": [ROW], "roles": roles}).to_toml())
    for source in (7, None, b"row", "roles = 1"):
        yield _asked(Policy.from_toml, source)
    for table in TABLES:
        assert Policy.from_toml(table.to_toml()) == table
        yield from (f"row\t\t{table.row_for(channel)}\t" for channel in CHANNELS)
        several = itertools.product(ROLES, ROLES, ("Info", "Alert", "Odd"), CHANNELS)
        for sender, receiver, kind, channel in itertools.islice(several, 0, None, 7):
            fresh = Policy(table.rows, table.roles)
            before: dict[Any, Any] = {}
            for correlation in (None, IDS[1], None, IDS[1]):  # the second time it is remembered
                envelope = _of(sender, receiver, kind, channel, correlation)
                found = kick.check(envelope, policy=fresh)
                assert before.setdefault(correlation, found) == found
                assert found == kick.check(envelope, policy=table)
                assert [one for one in found if one.reason != "unknown_role"] or fresh.verdicts(envelope) == []
            yield from _told(found)
            for one in fresh.verdicts(_of(sender, receiver, kind, channel)):
                yield f"verdict\t{one.reason}\t{one.field} {one.row}\t{one.text}"


# --- envelopes and documents ------------------------------------------------------------------------------------------

CONTENTS = ("", "x", "⫻a/b:c/1\nx\n", "⫻a/b:c/1\n⫻a/b:c/1\n", " ⫻a\n", "⫻a/b:c/1\n⫻a/b:c/9\n⫻a/b:c/3", "⫻a/b\n```\n")
CONTENTS += ("pre\n⫻a/b:c/1\nx\n⫻a/b:c/3\n⫻a/b:c/3\n", "⫻\n⫻a/b:c\n", "⫻a//b::c\n", "⫻a/b:c/1\n⫻a/b:d/5\n⫻a/b:c/2\n")
HALF = "⫻a/b:c/1\nhalf a pair \ud800\n"
FIELDS = ("id", "timestamp", "sender", "receiver", "type", "channel", "content", "correlation_id")


def envelopes() -> Said:
    usual = dict(zip(FIELDS, (IDS[0], "2026-01-15", "A", "B", "Info", "⫻a/b", CONTENTS[2], None), strict=True))
    odd = (None, 7, b"x", "", "x", IDS[1], IDS[1].upper(), IDS[1].replace("-4", "-1"), "2026-01-15T24:00Z", *CONTENTS)
    for one, value in itertools.product(FIELDS, odd):
        for other in (FIELDS[0], FIELDS[4], FIELDS[7]):
            fields = {**usual, other: 8 if isinstance(value, int) else usual[other], one: value}
            for strict in (False, True):
                yield _asked(lambda given=fields, strict=strict: kick.check(kick.Envelope(**given), strict=strict))
    for text, mode, strict in itertools.product(CONTENTS, ("strict", "lenient"), (False, True)):
        yield _asked(
            lambda text=text, mode=mode, strict=strict: kick.check(kick.parse_space(text, mode=mode), strict=strict)
        )
        yield _asked(lambda text=text, mode=mode: lint(kick.parse_space(text, mode=mode)))
    yield from _told(kick.check(_of("A", "B", "Info", "⫻a/b", content=HALF)))
    for call in (kick.check, lint, kick.Monitor().feed, kick.Monitor, lambda one: [*kick.Monitor().feed_many([one])]):
        yield from (_asked(call, one) for one in (7, "text"))
    yield from (_asked(kick.Monitor, deadlines=one) for one in (7, (1, 2), kick.Deadlines("x")))  # type: ignore[arg-type]


# --- times ------------------------------------------------------------------------------------------------------------

DAYS = (
    "2026-01-15",
    "20260115",
    "2024-02-29",
    "2023-02-29",
    "2026-W01-1",
    "2020W537",
    "2026-W53-7",
    "2026-366",
    "2024366",
)
DAYS += ("2026-001", "2026000", "0000-01-01", "9999-12-31", "2026-1-1", "2026-13-01", "2026-00-10")
HOURS = (
    "00",
    "24",
    "25",
    "12:30",
    "1230",
    "12:30:45",
    "123045",
    "24:00:00",
    "24:00:01",
    "23:59:60",
    "22:59:60",
    "12:58:60",
)
HOURS += ("12:60", "12:30:61", "00:00:00", "23:59:59", "19:05:09")
FRACTIONS, ZONES = ("", ".5", ",25", "."), ("", "Z", "+01", "-01:30", "+0545", "+23:59", "-24:00", "+23:60", "z", "-23")


def times() -> Said:
    for parts in itertools.product(DAYS, ("T", " "), HOURS, FRACTIONS, ZONES):
        text = "".join(parts)
        yield f"time\t{seconds(text)}\t{text}\t"


def test_times_are_those_that_python_reads() -> None:
    """Of what both read: neither the hour 24, nor leap seconds, nor days by their number."""
    count = 0
    for day, hour, fraction, zone in itertools.product(DAYS, HOURS, ("", ".5", ",25"), ZONES):
        text = f"{day}T{hour}{fraction}{zone}"
        found = seconds(text)
        if (
            found is None
            or (fraction and len(hour.replace(":", "")) < 6)
            or hour.startswith("24")
            or hour.endswith("60")
        ):
            continue
        if day[:4] == "0000" or day in ("2026-001", "2024366", "2026-366"):
            continue
        moment = datetime.fromisoformat(text)
        expected = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        whole = expected.replace(tzinfo=None) - expected.utcoffset() if expected.year < 9999 else None  # type: ignore[operator]
        assert whole is None or found == whole.replace(tzinfo=UTC).timestamp(), text
        count += 1
    assert count > 100


# --- monitors ---------------------------------------------------------------------------------------------------------


def monitors() -> Said:
    """Envelopes that are judged first, unless they are doubted, and fed then; and what the monitor knows after that."""
    for number in range(150):
        chance = random.Random(f"monitor {number}")
        table = chance.choice(TABLES[1:])
        limits = kick.Deadlines(*(chance.choice((None, 10.0)) for _ in range(4)))
        monitor, other = (kick.Monitor(table, deadlines=limits, remember=50) for _ in range(2))
        now = 0.0
        unwanted = frozenset(chance.sample(sorted(FAULTS - {EventKind.OVERDUE}), chance.randrange(1, 6)))
        for _ in range(chance.randrange(1, 12)):
            now += chance.choice((0.0, 1.0, 11.0))
            envelope = _envelope(chance, now)
            if chance.random() < 0.2:
                envelope = envelope.replace(id="x")
            issues = kick.check(envelope, policy=table)
            found = monitor.judged(envelope, now, issues, unwanted)
            stopped = len(found) == 1 and found[0].kind in unwanted
            if not stopped:
                assert found == other.feed(envelope, now)
                assert not any(one.kind in unwanted for one in found)
            for one in found:
                yield f"{one.kind}\t{one.task}\t{stopped} {one.envelope_id} {one.subject}\t{one.text}"
                yield from _told(one.issues)
            tasks = [
                [(one.name, one.id, str(one.state), one.paused) for one in each.tasks] for each in (monitor, other)
            ]
            assert tasks[0] == tasks[1] and monitor.unfinished == other.unfinished
        seen = list(kick.Monitor(table, deadlines=limits).feed_many([envelope, envelope]))
        yield from (f"{one.kind}\t{one.task}\tmany\t{one.text}" for one in seen)


KEPT: dict[str, Callable[[], Said]] = {
    "policies": policies,
    "envelopes": envelopes,
    "times": times,
    "monitors": monitors,
}


@pytest.mark.parametrize("name", KEPT)
def test_the_words_are_those_that_are_kept(name: str) -> None:
    assert summed(list(KEPT[name]())) == (FOLDER / f"kick-{name}.txt").read_text("utf-8")


if __name__ == "__main__":
    for kind, call in KEPT.items():
        (FOLDER / f"kick-{kind}.txt").write_text(summed(list(call())), "utf-8")
