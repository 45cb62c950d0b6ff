"""Messages in what containers and journals write: found in strings, with the wrapper's time where they have none."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.log.engines import GOOD
from tests.log.mixed_logs import GOOD_JSON, csp_message
from tests.log.test_mixed import everything
from turnwire import scan

pytestmark = pytest.mark.usefixtures("scan_core")
SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
CSP = csp_message(random.Random(3)).decode().rstrip("\n")
DOCKER = "2026-05-04T10:00:00.123456789Z"
JOURNAL = 1_700_000_000_123_456


def micros(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1_000_000)  # type: ignore[arg-type,misc]


DOCKER_MICROS = micros(2026, 5, 4, 10, 0, 0, 123_456)


def times(data: bytes, wire: str | None = None) -> list[Any]:
    columns, rejects, _ = everything(scan(data, wire=wire, columns=["offset", "time", "inner"]))
    assert rejects == []
    return [None if value is None else int(value) for value in columns["time"]]


def docker(text: str, **more: Any) -> bytes:
    return json.dumps({"log": text + "\n", "stream": "stdout", "time": DOCKER, **more}).encode()


def journal(message: Any, **more: Any) -> bytes:
    return json.dumps({"__REALTIME_TIMESTAMP": str(JOURNAL), "MESSAGE": message, "_PID": "7", **more}).encode()


@pytest.mark.parametrize("record", [GOOD, SSTP], ids=["nslip", "sstp"])
def test_the_time_of_the_wrapper(record: bytes) -> None:
    text = record.decode()
    assert times(docker(text)) == [DOCKER_MICROS]
    assert times(journal(text)) == [JOURNAL]
    assert times(journal(list(record))) == [JOURNAL]
    assert times(json.dumps({"time": DOCKER, "deep": {"a": [f"{text} {text}"]}}).encode()) == [DOCKER_MICROS] * 2
    assert times(f"2026-05-04T10:00:00.5Z stdout F {text}".encode()) == [micros(2026, 5, 4, 10, 0, 0, 500_000)]


@pytest.mark.parametrize("wire", [None, "sstp"])
def test_what_stands_closer_comes_first(wire: str | None) -> None:
    text = SSTP.decode()
    assert times(docker("2020-01-01 00:00:00 " + text), wire) == [micros(2020, 1, 1)]
    assert times(b"2019-01-01 00:00:00 " + docker(text), wire) == [DOCKER_MICROS]
    assert times(docker(journal(text).decode()), wire) == [JOURNAL]
    assert times(docker(json.dumps({"msg": text})), wire) == [DOCKER_MICROS]
    sap = next(record for record in GOOD_JSON if b'"issuedAt"' in record).decode()
    assert times(docker(sap)) == times(sap.encode()) != [DOCKER_MICROS]


def test_the_time_of_another_line_of_the_string_is_not_closer() -> None:
    text = f"```\n{CSP}\n```\n2020-01-01 00:00:00 x\n"
    assert times(docker(text)) == times(docker("2021-01-01 00:00:00 y\n" + text)) == [DOCKER_MICROS]
    assert times(json.dumps({"log": text[:-1], "time": DOCKER}).encode()) == [DOCKER_MICROS]
    assert times(docker(text + f"2019-01-01 00:00:00 {GOOD.decode()}")) == [DOCKER_MICROS, micros(2019, 1, 1)]


def test_what_is_in_front_of_the_time_does_not_matter() -> None:
    """Only a member of the wrapper itself is its time."""
    for value in ([], [1, [2, {"a": "]"}], "}"], {"a": [{}]}, "x]", [{"time": "2020-01-01T00:00:00Z"}], {"b": {}}):
        data = json.dumps({"a": value, "log": GOOD.decode(), "b": value, "time": DOCKER, "c": value}).encode()
        assert times(data) == [DOCKER_MICROS], value
        assert times(json.dumps({"a": value, "log": GOOD.decode(), "b": value}).encode()) == [None], value


def test_what_is_no_time() -> None:
    for wrong in ("yesterday", "", 17, None, ["2026-05-04T10:00:00Z"], {"time": DOCKER}, DOCKER + "x"):
        assert times(docker(GOOD.decode(), time=wrong)) == [None], wrong
    for wrong in ("", "-1", "1.5", "1" * 19, 17, "١٢"):
        assert times(journal(GOOD.decode(), __REALTIME_TIMESTAMP=wrong)) == [None], wrong
    assert times(json.dumps({"a": {"time": DOCKER}, "log": GOOD.decode()}).encode()) == [None]
    assert times(b"2026-05-04 10:00:00 " + json.dumps({"log": GOOD.decode()}).encode()) == [micros(2026, 5, 4, 10)]
    assert times(docker(GOOD.decode()) + b"\n" + GOOD) == [DOCKER_MICROS, None], "only in its own line"


def test_a_message_as_an_array_of_bytes() -> None:
    """Its place is that of the array's bracket; `inner` counts in the bytes that it says."""
    for space in (None, 1):
        raw = b"\xff\x00 " + SSTP + b" and " + GOOD + b"\n"
        line = json.dumps({"MESSAGE": list(raw), "__REALTIME_TIMESTAMP": str(JOURNAL)}, indent=space)
        data = line.replace("\n", " ").encode()
        columns, rejects, counts = everything(scan(data))
        assert (columns["raw"], rejects) == ([SSTP, GOOD], [])
        assert columns["inner"] == [3, 3 + len(SSTP) + 5]
        assert columns["offset"] == [data.index(b"[")] * 2
        first, second = (data[at : at + 99] for at in columns["offset"])
        assert first == second
        assert counts.bytes == counts.records + counts.rejects + counts.text
        assert columns["length"][0] < data.index(b"]") - data.index(b"[")


@pytest.mark.parametrize("value", ["[256]", "[1,-2]", "[1.5]", "[[64]]", '["@"]', "[]", "[64,null]", "{}", "64", "1e2"])
def test_other_arrays_are_no_text(value: str) -> None:
    data = f'{{"MESSAGE":{value},"log":{json.dumps(GOOD.decode())}}}'.encode()
    columns, rejects, _ = everything(scan(data))
    assert (columns["raw"], rejects) == ([GOOD], [])


@pytest.mark.parametrize("key", ["message", "MESSAG", "MESSAGES", "_MESSAGE", "", "log"])
def test_only_the_message_is_read_as_an_array_of_bytes(key: str) -> None:
    data = json.dumps({key: list(GOOD), "MESSAGE": list(GOOD), "b": {key: list(GOOD)}}).encode()
    columns, rejects, _ = everything(scan(data))
    assert (columns["offset"], rejects) == ([data.index(b"[", data.index(b'"MESSAGE"'))], [])


def test_rejects_in_an_array_of_bytes() -> None:
    data = json.dumps({"MESSAGE": list(b"see @a3|f0 bad and")}).encode()
    _, (reject,), counts = everything(scan(data))
    assert (reject["inner"], reject["reason"], reject["wire"]) == (4, "bad_digit", "nslip")
    assert data[reject["offset"] :].startswith(b"64, 97, 51")
    assert counts.rejects == reject["length"]


def test_a_record_that_its_wrapper_cut_in_two() -> None:
    """Docker cuts lines at 16 KiB, CRI marks such parts with P, and these are put together. Of a shorter line of Docker
    the first part is a reject where it carries the marks of a wire: nobody takes what is left for all there is."""
    text = SSTP.decode()
    half = text.index('"payload"') + 12
    lines = [docker(text[:half]).replace(b"\\n", b""), docker(text[half:])]
    columns, rejects, _ = everything(scan(b"\n".join([*lines, GOOD])))
    assert columns["raw"] == [GOOD]
    assert [(one["wire"], one["line"]) for one in rejects] == [("sstp", 1)]
    assert rejects[0]["reason"] in ("cut_off", "unterminated_string")
    lines = [f"{DOCKER} stdout P {text[:half]}".encode(), f"{DOCKER} stdout F {text[half:]}".encode()]
    columns, rejects, _ = everything(scan(b"\n".join([*lines, GOOD])))
    assert (columns["raw"], rejects) == ([SSTP, GOOD], [])


def test_each_of_several_wrappers_in_a_line_has_its_own_time() -> None:
    record = GOOD.decode()
    years = 2026, 2027, 2028
    wrapped = [json.dumps({"time": f"{year}-01-01T00:00:00Z", "m": record}) for year in years]
    told = [micros(year, 1, 1) for year in years]
    for between in (" ", ", ", " and "):
        assert times(between.join(wrapped).encode() + b"\n") == told
    assert times(" ".join([*wrapped[:2], json.dumps({"m": record})]).encode() + b"\n") == [*told[:2], None]


@pytest.mark.parametrize("record", ["@a0|f0|c1|xx#", "@a0|f0|c1|S2|d3|T4#", "no record"])
def test_a_damaged_object_that_holds_a_record_is_told_once(record: str) -> None:
    """What it holds is told, and the object itself only where it holds nothing."""
    text = json.dumps({"protocolVersion": "2.0", "taskId": "x", "constitutionalContext": {}, "m": record})
    _, rejects, _ = everything(scan(text.encode() + b"\n"))
    found = [(reject["wire"], reject["reason"]) for reject in rejects]
    wanted = {"@a0|f0|c1|xx#": [("nslip", "unknown_prefix")], "no record": [("sap", "bad_uuid")]}
    assert found == wanted.get(record, [])
