"""What the twin's judge, the rules between fields and the reader of times say, kept as sentences and a digest, as
``tests/test_words.py`` has it: each field of each message in turn says each of the values that a rule looks for."""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.sap.documents import RESULT, TASK, changed
from tests.sap.test_conformance import pointers
from tests.test_words import FOLDER, summed
from turnwire import sap
from turnwire._pure.json import sap as twin
from turnwire.sap import rules
from turnwire.sap.conditions import conditions
from turnwire.sap.times import read_time, write_time

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 100, 101, 0.5, 1e300, "", "x", "x" * 300, [], {}, ["a", 1], [{}], {"a": "b"}, {"a": 101}),
    *("https://user:word@host/", "a@b", "http://host/", "HTTPS://host/", "ubos:x", "file", "sha256:" + "0" * 64),
    *(
        "sha256:" + "0" * 63,
        "7FBB32B6-0D2C-4C1A-9B75-2A4B3B0B6C0A",
        "2.1",
        "FAILED",
        "PARTIAL",
        "ESCALATED",
        "SUCCEEDED",
    ),
    *(
        "NON_CONSTITUTIONAL",
        "2025-09-28t10:15:23Z",
        "2025-09-28T23:59:60Z",
        "sk-" + "a1B2" * 12,
        ["https://a:b@c/", "x"],
    ),
    *([{"uri": "https://a:b@c/"}, {"uri": "odd:x"}, {}], {"password": "a"}, {"message": "m", "code": "ODD"}),
)
MORE = {
    "/attachments": [{"uri": "https://host/", "kind": "md", "digest": "sha256:" + "0" * 64}],
    "/error": {"code": "INTERNAL", "message": "m"},
    "/nextActions": ["a"],
    "/output": {"a": 1},
}


def _bent() -> Iterator[dict[str, Any]]:
    for whole in (TASK, RESULT):
        full = {**copy.deepcopy(whole), **{name[1:]: value for name, value in MORE.items()}}
        for document in (whole, full):
            yield document
            places = pointers(document, "")
            for place, value in itertools.product(places, (*VALUES, ...)):
                yield changed(document, place, value)


def _said(one: Any) -> str:
    return f"{one.severity}\t{one.reason}\t{getattr(one, 'where', '')}\t{one.text}"


def judged() -> Iterator[str]:
    plain = {**TASK, "outputContract": {"format": "json"}}  # what a schema finds is said by another package
    task, other = sap.Task.from_dict(plain), sap.Task.from_dict({**plain, "taskId": "x", "correlationId": "y"})
    for document in _bent():
        if not isinstance(document, dict):
            continue
        for shape in (sap.Task, sap.Result):
            found = list(twin.judge(document, shape.TABLE))
            yield from (f"judge {shape.__name__} " + _said(one) for one in found[:3])
            if found:
                continue
            message = shape.from_dict(document)
            yield from ("rule " + _said(one) for one in (*conditions(message), *rules.lint(message)))
            if isinstance(message, sap.Result):
                yield from ("answer " + _said(one) for asked in (task, other) for one in rules._answers(message, asked))


DAYS = ("2025-09-28", "2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "2025-00-10", "2025-13-01", "2025-06-31")
HOURS = ("00:00:00", "10:15:23", "23:59:59", "23:59:60", "22:59:60", "24:00:00", "12:60:00", "12:59:61", "12:30:60")
FRACTIONS = ("", ".0", ".5", ".05", ".1234567", ".000001", ".999999", ".")
ZONES = ("Z", "z", "+00:00", "-00:00", "+01:00", "-01:30", "+23:59", "+24:00", "+01:60", "", "+1:00")


def times() -> Iterator[str]:
    for day, letter, hour, fraction, zone in itertools.product(DAYS, "Tt ", HOURS, FRACTIONS, ZONES):
        text = f"{day}{letter}{hour}{fraction}{zone}"
        found = read_time(text)
        yield f"time\t{None if found is None else found[1]}\t{text}\t{None if found is None else found[0].isoformat()}"


@pytest.mark.parametrize(("name", "found"), [("rules", judged), ("times", times)])
def test_the_words_are_those_that_are_kept(name: str, found: Any) -> None:
    assert summed(list(found())) == (FOLDER / f"sap-{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("zone", ["Z", "+01:00", "-01:30", "+23:59"])
def test_times_are_those_that_python_reads(day: str, zone: str) -> None:
    """Python reads what RFC 3339 and ISO 8601 share; neither leap seconds nor the hour 24."""
    for hour, fraction in itertools.product(HOURS, ("", ".5", ".05", ".000001", ".999999")):
        text = f"{day}T{hour}{fraction}{zone}"
        found = read_time(text)
        if ":60" in hour or hour.startswith("24"):
            continue
        try:
            expected = datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            assert found is None, text
            continue
        assert found is not None and found[0] == expected and found[0].tzinfo is UTC, text
        assert found[1] == (zone == "Z" and not fraction), text


@pytest.fixture(params=["UTC0", "IST-5:30"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the machine is, by its local time."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("where")
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the local time is the system's alone here")
@pytest.mark.parametrize("hours", [-23, -1, 0, 1, 14])
def test_times_are_written_in_utc(hours: int) -> None:
    moment = datetime(2026, 1, 15, 12, 30, 45, 999_999, tzinfo=timezone(timedelta(hours=hours)))
    written = write_time(moment)
    assert written == (datetime(2026, 1, 15, 12, 30, 45) - timedelta(hours=hours)).isoformat() + "Z"
    assert read_time(written) == (moment.replace(microsecond=0), True)


if __name__ == "__main__":
    for kind, call in (("rules", judged), ("times", times)):
        (FOLDER / f"sap-{kind}.txt").write_text(summed(list(call())), "utf-8")
