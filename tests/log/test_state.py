"""The state of a search behind a cut can be kept as JSON: it goes on from there as if there were no cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.found import everything
from turnwire.errors import DecodeError, Reason
from turnwire.log.search.state import SearchState

MESSAGE = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\nGOAL x\n"
FENCED = f"So:\n```\n{MESSAGE}```\nthen\n````\n{MESSAGE}\n```\n{MESSAGE}````\n"
UNCLOSED = f"{MESSAGE.replace('GOAL x', 'NOTE')}<<<<\ntext\n{MESSAGE}\nend\n{MESSAGE}\n" + 70 * f"{'x' * 90}\n"
TAIL = f"{MESSAGE}\n<<<\n{MESSAGE}>>>\n@a3|f0|c1|S0|d1|T1#\n"
TEXTS = {"fences": FENCED, "a heredoc that never closes": UNCLOSED, "heredocs in trailing text": TAIL}
TIME = "2026-01-02T03:04:05Z"
FORMS = {
    "lines": lambda lines: "".join(f"{line}\n" for line in lines),
    "cri": lambda lines: "".join(f"{TIME} stdout F {line}\n{TIME} stderr F other\n" for line in lines),
    "docker": lambda lines: "".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout", "time": TIME}) + "\nother\n" for line in lines
    ),
    "journald": lambda lines: "".join(
        json.dumps({"MESSAGE": line, "_PID": 3, "__REALTIME_TIMESTAMP": "1767322800000000"}) + "\n" for line in lines
    ),
}

LIMITS = {"limits": turnwire.LIMITS._replace(message=4000)}  # an open heredoc is one that never closes


def two_scans(path: Path, data: bytes, cut: int) -> tuple[Any, Any]:
    """The records and the rejects of a log that is read up to a place and then to its end."""
    path.write_bytes(data[:cut])
    first = turnwire.scan(path, resume={}, **LIMITS)
    one = everything(first)
    path.write_bytes(data)
    second = turnwire.scan(path, resume=json.loads(json.dumps(first.position)), **LIMITS)
    two = everything(second)
    assert first.counts.bytes + second.counts.bytes == cut_off(data, second)
    return {name: one[0][name] + two[0][name] for name in one[0]}, one[1] + two[1]


def cut_off(data: bytes, scan: turnwire.Scan[Any]) -> int:
    """The bytes of a log that a scan does not leave for the next one."""
    return int(scan.position["files"][0]["offset"]) if data else 0


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_position_at_each_line_goes_on_as_without_it(tmp_path: Path, text: str, form: str) -> None:
    path = tmp_path / "a.log"
    data = FORMS[form]([*TEXTS[text].splitlines(), "", "end"]).encode()
    path.write_bytes(data)
    whole = everything(turnwire.scan(path, resume={}, **LIMITS))[:2]
    assert len(whole[0]["offset"]) > 1
    for cut in [at for at, byte in enumerate(data, 1) if byte == 10][::11]:
        path.unlink()
        assert two_scans(path, data, cut) == whole, cut


@pytest.mark.usefixtures("scan_core")
def test_an_object_that_the_end_of_a_scan_cut_off_is_read_again(tmp_path: Path) -> None:
    """Also behind a scan that told it as a reject, since it was not to wait for more."""
    path = tmp_path / "a.log"
    header = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "session_id": "s"}
    message = {"header": {**header, "logical_clock": 1}, "payload": {"content": "c", "confidence": 1}}
    data = (json.dumps(message, indent=1) + "\n").encode()
    for cut in [at for at, byte in enumerate(data, 1) if byte == 10][6:-1]:
        path.write_bytes(data[:cut])
        first = turnwire.scan(path)
        assert (sum(map(len, first)), [one["reason"] for one in first.rejects.rows()]) == (0, ["cut_off"])
        path.write_bytes(data)
        assert everything(turnwire.scan(path, resume=first.position))[0]["raw"] == [data[:-1]], cut
        path.unlink()


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("cut", [8, 11, 20, 33, 50])
def test_what_is_open_behind_a_scan_that_does_not_wait_is_read_again_in_its_fence(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.log"
    path.write_text(FENCED, "utf-8")
    whole = everything(turnwire.scan(path))[0]
    path.write_text(FENCED[:cut], "utf-8")
    first = turnwire.scan(path)
    assert sum(map(len, first)) == 0
    path.write_text(FENCED, "utf-8")
    assert everything(turnwire.scan(path, resume=first.position))[0]["raw"] == whole["raw"]


DAMAGED: list[Any] = [
    [0, 3, 0],
    "text",
    {},
    {"version": 2},
    {"version": 1, "fence": "``"},
    {"version": 1, "fence": "```x"},
    {"version": 1, "fence": 3},
    {"version": 1, "touched": 1},
    {"version": 1, "runs": [2]},
    {"version": 1, "runs": [True]},
    {"version": 1, "runs": "333"},
    {"version": 1, "runs": [1 << 70]},
    {"version": 1, "other": True},
    {"version": 1, "streams": {}},
    {"version": 1, "streams": [["cri", {}]]},
    {"version": 1, "streams": [[["cri", 1], {}]]},
    {"version": 1, "streams": [[[], {}]]},
    {"version": 1, "streams": [[["cri", "stdout"], {"fence": "x"}]]},
    {"version": 1, "streams": [[["cri", "stdout"], []]]},
    {"version": 1, "foreign": {"cri": [1]}},
    {"version": 1, "foreign": {"cri": [1, -1]}},
    {"version": 1, "foreign": [1, 2]},
]


@pytest.mark.parametrize("said", DAMAGED, ids=repr)
def test_a_damaged_state_is_refused_in_words(tmp_path: Path, said: Any) -> None:
    with pytest.raises(ValueError, match="search state"):
        SearchState.restored(said)
    path = tmp_path / "a.log"
    path.write_text(FENCED, "utf-8")
    first = turnwire.scan(path, resume={})
    list(first)
    token = first.position
    token["files"][0]["carried"] = said
    with pytest.raises(DecodeError, match="not a position of a scan") as caught:
        list(turnwire.scan(path, resume=token))
    assert caught.value.reason is Reason.BAD_POSITION


@pytest.mark.once
def test_what_is_known_stays_known_where_nothing_of_a_block_is_decided(tmp_path: Path) -> None:
    """A run of lines, and behind the cut a part of one: also where another thread read that by itself."""
    path, lines = tmp_path / "a.log", f"{TIME} stdout F text\n".encode()
    path.write_bytes(lines + f'{TIME} stdout P {{\n{TIME} stdout P "a": 1\n'.encode())
    for options in ({}, {"batch_bytes": len(lines)}, {"batch_bytes": len(lines), "threads": 2}):
        scan = turnwire.scan(path, resume={}, **options)  # type: ignore[arg-type]
        scan.read()
        (mark,) = scan.position["files"]
        assert (mark["offset"], mark["carried"]["foreign"]) == (len(lines), {"cri": [0, 0]}), options
