"""Objects of SAP as classes, marks of their kinds, secrets, times and ids."""

from __future__ import annotations

import copy
import itertools
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations
from typing import Any

import pytest

from tests import vectors
from tests.sap.documents import TASK
from turnwire import sap
from turnwire.errors import DecodeError
from turnwire.sap import messages
from turnwire.sap.access import signed_message, verify_message
from turnwire.sap.builders import unreadable
from turnwire.sap.bulk import PLAN
from turnwire.sap.codec import kind_of
from turnwire.sap.messages import JsonObject
from turnwire.sap.spec import RESULT_MARKS, TASK_MARKS, read_time, write_time

pytestmark = pytest.mark.once
ONE, OTHER = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
CLASSES = [
    cls for cls in vars(messages).values() if isinstance(cls, type) and issubclass(cls, JsonObject) and cls.MEMBERS
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_none_is_null_where_null_means_something_and_takes_any_other_field_away(cls: Any) -> None:
    nullable = {field.name for field in cls.TABLE.fields if field.nullable}
    assert {member.name for member in cls.MEMBERS.values()} == {field.name for field in cls.TABLE.fields}
    for attribute, member in cls.MEMBERS.items():
        record = cls.of({member.name: "x"})
        setattr(record, attribute, None)
        assert record.fields == ({member.name: None} if member.name in nullable else {}), attribute
        delattr(record, attribute)
        assert record.fields == {}
    assert {"Task": {"parentTaskId"}, "Result": {"output"}}.get(cls.__name__, nullable) == nullable


def test_the_marks_of_a_task_win_where_there_are_as_many_of_a_result() -> None:
    for tasks in range(len(TASK_MARKS) + 1):
        for results in range(len(RESULT_MARKS) + 1):
            for some in combinations(TASK_MARKS, tasks):
                for others in combinations(RESULT_MARKS, results):
                    found = kind_of(dict.fromkeys([*some, *others], 1))
                    wanted = None if not tasks and not results else sap.Task if tasks >= results else sap.Result
                    assert found is wanted or (
                        {"issuer", "target"} <= {*some} and not {"status", "producer"} & {*others}
                    )


@vectors.cases("sap_forms", kind="zone")
def test_zones_at_their_edges(case: dict[str, Any]) -> None:
    assert (read_time(f"2025-09-28T10:15:23{case['zone']}") is not None) is case["good"]


@pytest.mark.parametrize("body", [None, ONE, "x"])
@pytest.mark.parametrize("header", [None, OTHER, "x"])
def test_the_ids_of_what_cannot_be_read_are_those_of_the_body_then_those_of_the_header(
    body: str | None, header: str | None
) -> None:
    data = json.dumps({"taskId": body, "correlationId": body})
    found = unreadable(data, DecodeError("bad_json", "x"), message_id=header or "", correlation=header)  # type: ignore[arg-type]
    assert found.message_id == (ONE if body == ONE else header or "")
    assert found.correlation_id == (ONE if body == ONE else OTHER if header == OTHER else None)


def test_a_signature_does_not_sign_the_one_before_it() -> None:

    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    keys = {name: Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number, name in enumerate("ab", 1)}
    public = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    for document in (TASK, {**TASK, "meta": {}}, {name: value for name, value in TASK.items() if name != "meta"}):
        message = sap.Task.from_dict(copy.deepcopy(document))
        once = signed_message(message, "a", keys["a"])
        twice = signed_message(once, "b", keys["b"])
        assert [verify_message(each, public) for each in (once, twice)] == ["a", "b"]
        assert signed_message(twice, "a", keys["a"]) == once


DAYS = ("2025-09-28", "2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "2025-00-10", "2025-13-01", "2025-06-31")
HOURS = ("00:00:00", "10:15:23", "23:59:59", "23:59:60", "22:59:60", "24:00:00", "12:60:00", "12:59:61", "12:30:60")


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
    """The place of the machine, by its local time."""
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


FURTHER = ("taskId", "correlationId", "issuedAt", "reportedAt", "issuer", "producer", "target")


@pytest.mark.parametrize(
    "strong", [(), ("constitutionalContext",), ("constitutionalContext", "constitutionalEvidence")]
)
@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("further", range(5))
@pytest.mark.parametrize("first", [0, 1])
def test_what_claims_to_be_a_task_or_a_result(strong, versioned, further, first):
    names = [*strong, *["protocolVersion"] * versioned, *FURTHER[first : first + further]]
    wanted = bool(strong) and len(names) >= 2
    wanted = wanted or (versioned and (further >= 3 or "taskId" in names))
    assert PLAN.is_claimed(dict.fromkeys(names, 1)) is wanted


@pytest.mark.parametrize("more", range(4))
def test_what_claims_to_be_a_receipt_has_one_other_key_at_most(more):
    fields = {"messageId": 1, "correlationId": 1, "status": "ACK"}
    others = {f"other{number}": 1 for number in range(more)}
    for status in ("ACK", "NACK"):
        assert PLAN.is_claimed(fields | others | {"status": status}) is (more <= 1)
    assert not PLAN.is_claimed(fields | {"status": "DONE"}) and not PLAN.is_claimed({"messageId": 1, "status": "ACK"})


STAMP = "2025-09-28T10:15:23Z"


@pytest.mark.parametrize("place", range(len(STAMP) + 1))
def test_moments_of_which_one_letter_is_another(place):
    """They are told where they are none, however quickly they are looked at."""
    for sign in "-:TZtz0129 /.+x\u00e9":
        for stamp in (STAMP[:place] + sign + STAMP[place + 1 :], STAMP[:place] + sign + STAMP[place:], STAMP[:place]):
            message = sap.Task.of({**copy.deepcopy(TASK), "issuedAt": stamp})
            found = read_time(stamp)
            good = found is not None and found[1]
            assert ("/issuedAt" in [issue.where for issue in sap.check(message)]) is not good, stamp
