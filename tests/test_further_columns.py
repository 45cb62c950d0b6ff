"""A wire of lines that turnwire does not bring: which columns any wire has can come from its own, and where its records
and its damage are, whatever ends a line, however a string of JSON writes its opening, wherever blocks are cut."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

import turnwire
from turnwire import DecodeError, Reason, registry
from turnwire.contract import LINES, Column, TextPlan, Wire, record_bytes

pytestmark = pytest.mark.usefixtures("registering")

WHOLE = re.compile(rb"(?:DAY|T\xc4\xafG)/([0-9]{1,20}) (\w+)(?=\r?\n|\Z)")
OPENINGS = (b"DAY/", "T\u012fG/".encode())
KINDS = ("text", "u64", "i64", "u8", "f64", "bool", "timestamp", "enum")
FITTING = {
    "kind": {"enum"},
    "sequence": {"u64", "i64", "u8"},
    "time": {"timestamp"},
    "sender": {"text", "u64"},
    "receiver": {"text", "u64"},
    "conversation": {"text", "u64"},
    "subject": {"text"},
}
"""Whole numbers count, and name somebody; a text is a name and a subject; the rest is what it is."""


class Day(NamedTuple):
    """A message of the toy wire."""

    number: int
    text: str


def decode(data: Any) -> Day:
    """A day. Raises DecodeError."""
    raw = (record_bytes(data) or b"").strip()
    found = WHOLE.fullmatch(raw)
    if found is None:
        raise DecodeError(Reason.BAD_FRAMING, "a day has a number", offset=min(4, len(raw)), line=1, wire="day")
    return Day(int(found[1]), found[2].decode())


def damaged(line: bytes) -> bool:
    """True if a line begins a day."""
    return re.fullmatch(rb"(?:DAY|T..G)/[0-9x]+ \w+", line) is not None


def made(
    columns: tuple[Column, ...] = (), common: Any = None, values: Any = None, whole: re.Pattern[bytes] = WHOLE
) -> Wire:
    """The wire, with columns of its own."""
    return Wire(
        "day",
        title="Days",
        package=__name__,
        style=LINES,
        detect=lambda data: (record_bytes(data) or b"").startswith(OPENINGS),
        decode=decode,
        encode=lambda message, strict=True: f"DAY/{message.number} {message.text}\n",
        message=Day,
        check=lambda message: [],
        prompt=str,
        plain=Day._asdict,
        plan=TextPlan(OPENINGS, whole, columns, common or {}, values, damaged),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FITTING)
def test_a_common_column_comes_from_what_fits_it(name: str, kind: str) -> None:
    own = Column("own", kind, names=("a", "b") if kind == "enum" else ())
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    value = {"text": "seven", "enum": "b", "timestamp": moment}.get(kind, 7)
    turnwire.register(made((own,), {name: "own"}, values=lambda message: {"own": value}))
    if kind not in FITTING[name]:
        with pytest.raises(ValueError, match=f"the common column '{name}' of day cannot come from 'own'"):
            turnwire.scan(b"", wire="day")
        return
    for wire in ("day", None):
        [batch] = turnwire.scan(b"DAY/7 x\n", wire=wire)
        (found,) = batch[name]
        if kind == "enum":
            assert found == "b"
        else:
            wanted = int(moment.timestamp() * 1_000_000) if kind == "timestamp" else value
            assert found == (str(wanted) if (name, kind) not in (("sequence", "u64"),) and kind == "u64" else wanted)
        assert batch.valid(name).tolist() == [True]
    asked = {"enum": "b", "timestamp": moment}.get(kind, value)
    for wanted, rows in (({asked}, 1), (None, 0)):
        found = turnwire.scan(b"DAY/7 x\n", wire="day", where={"own": wanted})
        assert sum(map(len, found)) == rows


@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=5, minutes=30))])
def test_a_time_without_a_zone_is_utc(zone: timezone | None) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=zone)
    turnwire.register(made((Column("when", "timestamp"),), {"time": "when"}, values=lambda message: {"when": moment}))
    [batch] = turnwire.scan(b"DAY/7 x\n", wire="day")
    there = moment if zone else moment.replace(tzinfo=UTC)
    assert batch["time"].tolist() == [(there - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)]


def test_a_time_of_its_own_goes_before_that_of_the_line() -> None:
    """And a record without one has that of its line."""
    moment, first = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 5, 9, tzinfo=UTC)
    when = Column("when", "timestamp", nullable=True)
    values: Any = lambda message: {"when": moment if message.number == 2 else None}  # noqa: E731
    turnwire.register(made((when,), {"time": "when"}, values=values))
    lines = [json.dumps({"time": "2026-01-05T09:00:00Z", "log": f"DAY/{number} x"}) for number in (1, 2, 3)]
    data = "".join(f"{line}\n" for line in [*lines, "DAY/4 x"]).encode()
    for some in (data, data.replace(b"DAY/2", b"DAY/5")):
        [batch] = turnwire.scan(some)
        wanted: list[datetime | None] = [first, moment if some is data else first, first, None]
        times = [datetime.fromtimestamp(time / 1e6, UTC) for time in batch["time"].tolist()]
        there = zip(times, batch.valid("time").tolist(), strict=True)
        assert [time if good else None for time, good in there] == wanted


def test_a_fault_is_in_its_range() -> None:
    """Whatever the wire's own reading says: at its end at the latest."""
    turnwire.register(made())
    data = b"prose\nDAY/x a\nprose\n"
    for place in (0, 3, 7, 8, 1000):
        error = DecodeError(Reason.BAD_FRAMING, "no", offset=place, line=1, wire="day")

        def refuse(_: Any, error: DecodeError = error) -> Day:
            raise error

        wire = registry.wire("day")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wire, "decode", refuse)
            found = turnwire.scan(data)
            list(found)
        assert [(row["offset"], row["length"], row["fault"]) for row in found.rejects.rows()] == [
            (6, 7, 6 + min(place, 7))
        ]


LINES_OF_DAYS = (("DAY/1 one", None), ("DAY/2x two", 4), ("prose", None), ("DAY/3 three", None), ("DAY/x4 four", 4))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("batch_bytes", [1, 16, 25, 1 << 20])
@pytest.mark.parametrize("wire", ["day", None])
def test_records_and_damage_are_where_they_are(end: str, batch_bytes: int, wire: str | None) -> None:
    """The byte of a fault counts from the start of the input, not of a block."""
    turnwire.register(made())
    text = "".join(f"{line}{end}" for line, _ in LINES_OF_DAYS)
    starts = [text.index(line) for line, _ in LINES_OF_DAYS]
    found = turnwire.scan(text.encode(), wire=wire, batch_bytes=batch_bytes)
    places = [(one.offset, one.length, one.line) for one in found.messages()]
    assert places == [(starts[row], len(LINES_OF_DAYS[row][0]), row + 1) for row in (0, 3)]
    assert [(one["offset"], one["length"], one["fault"], one["line"]) for one in found.rejects.rows()] == [
        (starts[row], len(LINES_OF_DAYS[row][0]), starts[row] + 4, row + 1) for row in (1, 4)
    ]
