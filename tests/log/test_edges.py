"""Numbers that scans and what is made of them count by, each just below, at and above; and what is kept in between."""

from __future__ import annotations

import copy
import io
import itertools
import json
import os
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import turnwire
from tests.log.test_outputs import MIXED, Rows
from tests.sap.documents import RESULT, TASK
from turnwire import LIMITS, nslip, registry, sap
from turnwire.log import stats, write
from turnwire.log.input.bookmarks import _is_written_over
from turnwire.log.input.resuming import OPENING, Bookmark, Identity
from turnwire.log.input.rotation import beside, is_rotated
from turnwire.log.output.joining import joined
from turnwire.log.output.parts import Parts, later
from turnwire.log.output.rejects import Rejects, table
from turnwire.log.planning.states import HEAD, SAMPLES, is_sampled
from turnwire.pairs import Message, Work
from turnwire.read.located import located
from turnwire.read.pairing import Latencies, Pairing
from turnwire.read.stats import LONGEST, Tally, _tallied

pytestmark = pytest.mark.once

# --- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 18, 33])
def test_texts_that_differ_in_one_letter_are_told_apart_wherever_it_is(size: int) -> None:
    wanted = "abcdefghijklmnopqrstuvwxyz0123456789"[:size]
    others = [f"{wanted[:at]}X{wanted[at + 1 :]}" for at in range(size)]
    lines = [f'@a0|f0|c{number}|S2|d3|T4|t"{text}"#\n' for number, text in enumerate([wanted, *others])]
    for condition in (wanted, wanted.encode(), {wanted}, {wanted, "x" * size}):
        found = list(turnwire.scan("".join(lines).encode(), wire="nslip", where={"tag": condition}))
        assert [number for batch in found for number in batch["conv_id"].tolist()] == [0]


LARGE = 2**64 - 1


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (None, LARGE, [0, 5, LARGE - 1]),
        (0, LARGE, [0, 5, LARGE - 1]),
        (None, LARGE + 1, [0, 5, LARGE - 1, LARGE]),
        (LARGE, None, [LARGE]),
        (LARGE, LARGE + 1, [LARGE]),
        (LARGE + 1, None, []),
        (LARGE, LARGE, []),
        (LARGE - 1, LARGE, [LARGE - 1]),
        (-1, 1, [0]),
        (None, 0, []),
        (5, 5, []),
        (5, 6, [5]),
    ],
)
def test_ranges_of_the_largest_numbers(low: int | None, high: int | None, found: list[int]) -> None:
    messages = [nslip.SlipMessage(number, 1, 2, 3, 0, 0, {}) for number in (0, 5, LARGE - 1, LARGE)]
    data = "".join(f"{nslip.encode(message)}\n" for message in messages).encode()
    scan = turnwire.scan(data, wire="nslip", where={"conv_id": (low, high)})
    assert [number for batch in scan for number in batch["conv_id"].tolist()] == found


# --- files that were read before --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reached", "over"), [(1, True), (OPENING - 1, True), (OPENING, True), (OPENING + 1, False)])
def test_a_file_of_the_same_size_was_written_over_where_no_more_than_its_beginning_was_read(reached, over) -> None:
    size = OPENING + 5000
    mark = Bookmark("a", 1, 2, size, 10, "x", reached, 1, read=reached, still=5)
    for written, larger, told in ((6, 0, over), (5, 0, False), (6, 1, False)):
        assert _is_written_over(mark, Identity(1, 2, size + larger, b"", written=written)) is told
    assert not _is_written_over(mark._replace(still=0), Identity(1, 2, size, b"", written=6))


def test_rotated_files_of_one_moment_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    for number in (1, 2, 3, 10, 100):
        place = tmp_path / f"app.log.{number}"
        place.write_text(str(number))
        os.utime(place, (1e9, 1e9))
    found = [Path(one.path).name for one in beside(str(tmp_path / "app.log"))]
    assert found == [f"app.log.{number}" for number in (100, 10, 3, 2, 1)]
    os.utime(tmp_path / "app.log.100", (2e9, 2e9))  # when it was written counts before that
    assert [Path(one.path).name for one in beside(str(tmp_path / "app.log"))][-1] == "app.log.100"


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_large_blocks_are_digested_in_pieces(more: int) -> None:
    size = HEAD * SAMPLES + more
    for start in (0, 7):
        assert is_sampled(start, start + size, False) is (more > 0) and not is_sampled(start, start + size, True)


# --- rejects ----------------------------------------------------------------------------------------------------------


def task(**changes: str) -> dict[str, Any]:
    document = copy.deepcopy(TASK)
    for name, value in changes.items():
        (document["telemetry"] if name == "deadline" else document)[name] = value
    return document


def test_rejects_that_look_alike_are_each_explained_by_themselves() -> None:
    """The same reason, the same names, another place; names that are written with escapes; and in any order."""
    documents = [task(issuedAt="2026-99-01T00:00:00Z"), task(deadline="2026-99-01T00:00:00Z")]
    paths = ["/issuedAt", "/telemetry/deadline"]
    for order in ((0, 1), (1, 0), (0, 1, 0, 0, 1)):
        data = "".join(f"{json.dumps(documents[number])}\n" for number in order).encode()
        assert [one.error.path for one in located(data) if one.error] == [paths[number] for number in order]
    pressure = json.dumps(task()["constitutionalContext"]["pressure"])
    line = json.dumps(task())
    lines = [line.replace(pressure, f'{{"a\\u00{code}":"x"}}') for code in ("41", "42", "41", "43")]
    found = [one.error.path for one in located("\n".join(lines).encode()) if one.error]
    assert found == [f"/constitutionalContext/pressure/a{letter}" for letter in "ABAC"]


def test_what_was_forgotten_leaves_nothing_to_what_comes_behind_it() -> None:
    scanner = registry.bulk_scanner("nslip")
    rejects = Rejects()
    for size in (9, 3, 5):
        found = table(1)
        for name, value in (("offset", 0), ("length", size), ("line", 1), ("fault", 0), ("reason", 1)):
            found[name][0] = value
        rejects.add(found, 1, memoryview(b"0123456789"), 0, None, scanner, True)
        assert rejects["raw"] == [b"0123456789"[:size]] and len(rejects) == rejects.counts.total()
        rejects.forget()
        assert rejects["raw"] == [] and rejects.rows() == []


# --- folders of outputs -----------------------------------------------------------------------------------------------


def test_days_that_come_again_and_again_keep_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of days that take turns, the one that was not written for longest is closed."""
    monkeypatch.setattr("turnwire.log.output.partitions.MOST_OPEN", 3)

    def batch(*days: int) -> Any:
        times = [datetime(2026, 11, day, tzinfo=UTC) for day in days]
        return pa.record_batch(
            {
                "wire": pa.array([registry.WIRES[0] for _ in days]).dictionary_encode(),
                "time": pa.array(times, pa.timestamp("us", "UTC")),
                "subject": [str(day) for day in days],
            }
        )

    batches = [batch(1, day) for day in range(2, 12)] + [batch(11), batch(10), batch(2)]
    paths = write(Rows(MIXED, batches), tmp_path / "out", partition_by="day", format="ndjson")
    names = [Path(path).relative_to(tmp_path / "out").as_posix() for path in paths]
    assert sorted(names) == sorted(
        [f"day=2026-11-{day:02}/part-0.ndjson" for day in range(1, 12)] + ["day=2026-11-02/part-1.ndjson"]
    )
    assert len(Path(paths[0]).read_text().splitlines()) == 10


@pytest.mark.parametrize("last", [2, 9, 10, 99_999, 100_000, 100_001])
def test_the_last_part_has_the_highest_number(last: int, tmp_path: Path) -> None:
    for number in (1, last - 1, last):
        (tmp_path / f"part-{number:05}.ndjson").write_text("")
        (tmp_path / f"part-{number:05}.position").write_text(json.dumps({"number": number}))
    with Parts(tmp_path, "ndjson") as parts:
        assert parts.position == {"number": last}


# --- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [
        ([1000, 8000], 0.5, 1000),
        ([1000, 8000], 0.51, 8000),
        ([1000, 8000, 64000], 1 / 3, 1000),
        ([1000, 8000, 64000], 0.5, 8000),
        ([1000, 8000, 64000, 512000], 0.75, 64000),
        ([1000], 1.0, 1000),
    ],
)
def test_a_quantile_is_the_first_value_up_to_which_the_share_lies(values: list[int], share: float, value: int) -> None:
    latencies = Latencies()
    for one in reversed(values):
        latencies.add(one)
    told = latencies.quantile(share)
    assert told is not None and value <= told <= value * 1.0906 + 1


def test_an_early_answer_is_the_first_one() -> None:
    """Of several answers that came before their request, the first one is its answer."""

    def answer(moment: int) -> Message:
        return Message("Result", "b", "a", "c", None, moment, Work("t1", True))

    for moments in ([2_000_000], [2_000_000, 9_000_000], [9_000_000, 2_000_000, 3_000_000]):
        pairing = Pairing(registry.wire("sap").pairs[0])
        for moment in moments:
            pairing.take(answer(moment))
        pairing.take(Message("Task", "a", "b", "c", None, 1_000_000, Work("t1")))
        assert pairing.latencies.to_dict()["max"] == (moments[0] - 1_000_000) / 1e6


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_name_is_cut_behind_so_many_letters(more: int) -> None:
    name = "x" * (LONGEST + more)
    data = f"CSP/1\nFROM {name}\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\nGOAL a\n".encode()
    assert list(stats(data).senders.counts) == [("csp", name if more <= 0 else name[:LONGEST] + "…")]


def test_of_conversations_with_as_many_records_the_larger_one_is_the_busier() -> None:
    said = "CSP/1\nFROM A\nTO B\nCTX {}\nINTENT QUERY\n\nQUERY Q1\nGOAL {}\n\n"
    texts = [said.format("C1", "a"), said.format("C2", "a" * 50), said.format("C3", "a")]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        assert stats("".join(texts[number] for number in order).encode()).busiest(1)[0][0] == ("csp", "C2")
        more = "".join([*(texts[number] for number in order), texts[0]])
        assert [key for key, _ in stats(more.encode()).busiest(2)] == [("csp", "C1"), ("csp", "C2")]


# --- records in parts -------------------------------------------------------------------------------------------------


def test_a_message_says_when_it_was_and_its_envelope_only_where_it_does_not() -> None:
    own = json.dumps(task(issuedAt="2020-01-01T00:00:00Z"))
    half = len(own) // 2
    lines = [
        f"2026-01-01T00:00:00.000000000Z stdout {sign} {part}\n"
        for sign, part in (("P", own[:half]), ("F", own[half:]))
    ]
    (batch,) = turnwire.scan("".join(lines).encode(), columns=["time"])
    assert batch["time"].astype("M8[us]").tolist() == [np.datetime64("2020-01-01T00:00:00", "us").tolist()]
    text = nslip.encode(nslip.SlipMessage(1, 1, 2, 3, 0, 0, {}))
    lines = [line.replace(own[:half], text[:5]).replace(own[half:], text[5:]) for line in lines]
    (batch,) = turnwire.scan("".join(lines).encode(), columns=["time"])
    assert batch["time"].astype("M8[us]").tolist() == [np.datetime64("2026-01-01T00:00:00", "us").tolist()]
    assert sap.decode(own).issued_at == "2020-01-01T00:00:00Z"


@pytest.mark.parametrize("more", [-2, -1, 0, 1])
def test_a_frame_of_zstandard_whose_window_is_just_the_limit(more: int) -> None:
    """Made by hand: its size in two bytes, one block that is not compressed."""
    data = b"@a0|f0|c1|S1|d2|T0#\n" * 50
    head = b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(data) - 256) + struct.pack("<I", 1 | len(data) << 3)[:3]
    limits = LIMITS._replace(zstd_window=len(data) + more)
    found = sum(map(len, turnwire.scan(io.BytesIO(head + data), limits=limits, errors="skip")))
    assert found == (50 if more >= 0 else 0)


@pytest.mark.parametrize(
    ("condition", "found"), [(None, 0), ({None, "1"}, 2), ({"1"}, 2), ({None, "2"}, 0), ({None, 1}, 2), ({None}, 0)]
)
def test_none_among_texts_of_numbers_that_are_always_there(condition: Any, found: int) -> None:
    data = b"@a0|f0|c1|S1|d2|T0#\n@a0|f0|c1|S1|d2|T0|g7#\n"
    assert sum(map(len, turnwire.scan(data, wire="nslip", where={"conversation": condition}))) == found


@pytest.mark.parametrize("times", [1, 2, 4])
def test_progress_of_work_that_was_asked_for_several_times_is_counted_once(times: int) -> None:
    asked = json.dumps(task())
    running = {
        **copy.deepcopy(RESULT),
        "taskId": TASK["taskId"],
        "correlationId": TASK["correlationId"],
        "status": "RUNNING",
    }
    running.pop("output", None)
    found = stats("\n".join([*[asked] * times, json.dumps(running)]).encode() + b"\n")
    (pairing,) = found.pairings.values()
    assert (pairing.requests, pairing.progress, pairing.answered) == (times, 1, 0)


def test_of_two_positions_the_one_with_more_records_is_the_later() -> None:
    for first, second in (
        ({"record": 5}, {"record": 9}),
        ({"record": 9}, {"record": 5}),
        ({"record": 5}, {"record": 5}),
    ):
        assert later(first, second)["record"] == max(first["record"], second["record"])


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *(
            (name, True)
            for name in ("app-1.log", "app.1.log", "app.log.1", "app-20260101.log", "app-1", "app.log.1.gz")
        ),
        *((name, False) for name in ("app.log", "app", "1.log", "app1.log", "app_1.log")),
    ],
)
def test_names_of_rotated_files(name: str, is_one: bool) -> None:
    assert is_rotated(name) is is_one


def test_the_first_and_the_last_moment_whatever_the_order_of_inputs_is() -> None:
    def line(day: int) -> bytes:
        return b"2026-01-%02dT00:00:00Z @a0|f0|c1|S1|d2|T0#\n" % day

    for days in itertools.permutations((2, 5, 9)):
        found = stats([line(day) for day in days])
        assert found.first is not None and found.last is not None
        assert found.last - found.first == 7 * 86_400 * 1_000_000


@pytest.mark.parametrize(("number", "others"), [(2, 1), (3, 2), (4, 3), (5, None), (9, None)])
def test_how_many_others_there_are_is_told_while_it_is_known(number: int, others: int | None) -> None:
    """None once some were folded: twice as many as there is room for are counted exactly."""
    tally = Tally(2)
    tally.update([("w", str(one)) for one in range(number)])
    (first, rest) = _tallied("kind", tally, 1)
    assert (first["records"], rest["others"], rest["records"]) == (1, others, number - 1)


def test_batches_without_a_file_are_not_joined() -> None:
    columns = ["record"]
    for source, joins in ((b"@a0|f0|c1|S1|d2|T0#\n" * 30, False),):
        scan = turnwire.scan(source, wire="nslip", columns=columns, batch_bytes=100)
        before = sum(1 for _ in turnwire.scan(source, wire="nslip", columns=columns, batch_bytes=100))
        assert (len(list(joined(iter(scan)))) < before) is joins


@pytest.mark.parametrize("end", ["]\n", "]\r\n", "]]", "\n]", ', "z"]'])
@pytest.mark.parametrize(
    "front", ["", "[", "[7, ", "[[7,", "[null, -1.5e3,", "7, ", "[\n 7, ", "[1,\n2, ", "[]\n[7,", "[main] "]
)
def test_one_wire_reads_arrays_as_all_wires_do(front: str, end: str) -> None:
    """Numbers may be in front of the first string: what stands in it ends with it, and is told by its place there."""
    for text in ("@a3|f0|c1|S0|d", "SLIP v1 a b c"):
        data = f'{front}"{text}"{end}'.encode()
        one, everything = (turnwire.scan(data, wire=wire) for wire in ("nslip", None))
        assert sum(map(len, one)) == sum(map(len, everything))
        assert one.rejects.rows() == everything.rejects.rows(), data
