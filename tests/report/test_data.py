"""What the page is given, number by number, without a browser."""

from __future__ import annotations

import html
import itertools
import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.report.chunks import Made, Row, chunks
from turnwire.report import answers, page, report, sessions
from turnwire.report import cube as cubes
from turnwire.report.columns import ABSENT, OTHERS, Coded, Different, Names, coded, grouped
from turnwire.report.cube import MOST_SHOWN, STRAY, WIDTHS, Cube, _core
from turnwire.report.details import fields
from turnwire.report.measuring import Meter
from turnwire.report.records import Records
from turnwire.report.rejected import When
from turnwire.report.sample import Sample

pytestmark = pytest.mark.once

NOW = 1_767_600_000_000_000
GOOD = "@a3|f0|c{}|S{}|d1|T{}#"
BAD = "@a3|f0|c1|S$|d1|T1#"


def told(text: str, **options: Any) -> dict[str, Any]:
    """The data of a page, its messages as dicts."""
    data = report(text.encode(), tokenizer=None, **options).data
    data["messages"] = [dict(zip(data["message_columns"], row, strict=True)) for row in data["messages"]]
    return data


@pytest.mark.parametrize("hours", [-11, -1, 0, 2, 14])
def test_the_page_tells_when_it_was_made_in_utc(hours: int) -> None:
    now = datetime(2026, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=hours)))
    assert told("", now=now)["made"] == now.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def test_messages_stand_in_the_order_of_the_log() -> None:
    """However conversations are interleaved; each with its number in the conversation, which may be 0."""
    order = [1, 2, 1, 3, 2, 1, 3, 3]
    lines = [GOOD.format(conversation, place % 3, place) for place, conversation in enumerate(order)]
    data = told("\n".join(lines))
    assert [data["conversations"][one["conversation"]][1] for one in data["messages"]] == list(map(str, order))
    assert [one["sequence"] for one in data["messages"]] == [str(place) for place in range(len(order))]
    assert [one["line"] for one in data["messages"]] == list(range(1, len(order) + 1))
    assert [one[1:] for one in data["conversations"]] == [["1", 3], ["2", 2], ["3", 3]]


def test_messages_of_a_second_file_stand_behind_those_of_the_first(tmp_path: Path) -> None:
    """Whatever their places in their files are, and also where a conversation goes on in it."""
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text("x" * 500 + f"\n{GOOD.format(1, 0, 0)}\n{GOOD.format(2, 1, 1)}\n")
    second.write_text(f"{GOOD.format(2, 0, 2)}\n{GOOD.format(1, 1, 3)}\n")
    data = report([str(first), str(second)], tokenizer=None).data
    place = data["message_columns"].index("sequence")
    assert [row[place] for row in data["messages"]] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "text", ["", "nothing\n", BAD, f"{BAD}\n{BAD}", f"x\n{BAD}\n", f"{GOOD.format(1, 2, 3)}\n{BAD}\nend"]
)
def test_bytes_and_damage_are_those_of_the_log(text: str) -> None:
    """Also behind the last record, and where there is none."""
    data = told(text)
    good, bad = text.count(GOOD.format(1, 2, 3)), text.count(BAD)
    sizes = {"records": good * len(GOOD.format(1, 2, 3)), "rejects": bad * len(BAD)}
    rest = len(text) - sum(sizes.values())
    assert data["totals"]["bytes"] == {"all": len(text), **sizes, "text": rest}
    assert data["totals"]["records"] == good
    assert data["reject_counts"] == ([["nslip", "bad_digit", bad]] if bad else [])
    assert len(data["rejects"]) == bad and data["totals"]["agents"] == (2 if good else 0)
    records = Records(text.encode(), None)
    assert sum(len(chunk) for chunk in records) == good
    assert records.counts == (len(text), sizes["records"], sizes["rejects"], rest)


def test_a_record_without_a_number_has_none() -> None:
    csp = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nTEXT x\n\n"
    (chunk,) = Records(f"{GOOD.format(1, 2, 3)}\n{csp}".encode(), None)
    assert [chunk.sequence(row) for row in range(len(chunk))] == ["3", None]


def test_who_has_no_scripts_reads_the_same_figures() -> None:
    data = told(f"x\n{GOOD.format(1, 2, 3)}\n{BAD}\n{BAD}\n")
    amounts = "1 record, 1 conversation, 2 agents, 2 rejects, 62 bytes"
    assert data["totals"]["bytes"]["all"] == 62 and page._summary(data) == amounts
    assert amounts in page.render({**data, "messages": []})
    assert html.escape("<&>") in page.render({**data, "messages": [], "title": "<&>"})


def test_an_island_holds_any_text_and_no_markup() -> None:
    value = {chr(number): chr(number) for number in [*range(128), 0x85, 0x2028, 0x2029, 0xFEFF, 0x1F642, 0xD800]}
    text = page.island([value])
    assert text.isascii() and not set(text) & set("<>&\n\r") and json.loads(text) == [value]


def test_each_figure_of_the_answers_is_its_own() -> None:
    names = ("requests", "answered", "waiting", "given_up", "backwards", "progress", "orphans", "ahead", "further")
    counts = {name: number for number, name in enumerate(names, 10)}
    times = SimpleNamespace(count=1, least=2, most=3, quantile=lambda share: share, steps=lambda: [(5, 6)])
    rule = SimpleNamespace(name="rule", requests=frozenset({"b", "a"}))
    found = answers._told("wire", SimpleNamespace(**counts, latencies=times, rule=rule))  # type: ignore[arg-type]
    assert found._asdict() == {
        "wire": "wire", "rule": "rule", "asks": ["a", "b"], **counts, "timed": 1, "min": 2, "p50": 0.5, "p90": 0.9,
        "p99": 0.99, "max": 3, "steps": [(5, 6)],
    }  # fmt: skip


@pytest.mark.parametrize("whole", list(itertools.product((True, False, None), repeat=2)))
def test_a_session_is_told_where_both_come_back(whole: tuple[bool | None, ...]) -> None:
    """json, session: whether each comes back; None where it is absent."""
    names = ("json", "session")
    rows = [
        SimpleNamespace(format=name, total=size, round_trip=back)
        for name, size, back in zip(names, (20, 5), whole, strict=True)
        if back is not None
    ]
    absent = {name: f"no {name}" for name, back in zip(names, whole, strict=True) if back is None}
    tokens = SimpleNamespace(compare=lambda *_, **__: SimpleNamespace(rows=rows, absent=absent))
    held = sessions._Held()
    held.messages, held.tokens = ["a", "b"], 9
    found = sessions._counted("nslip", held, tokens, "x")
    if all(whole):
        assert found == ("nslip", 2, 9, 20, 5, "")
    else:
        assert found[:5] == ("nslip", 2, 9, None, None)
        assert found.why == ("; ".join(absent.values()) or "they do not come back")


@pytest.mark.parametrize("more", range(-2, 3))
@pytest.mark.parametrize("width", range(3))
def test_a_chart_has_so_many_bars_and_no_more(more: int, width: int) -> None:
    number = MOST_SHOWN + more
    cube, rows = Cube(), [Row(time=NOW + place * WIDTHS[width]) for place in range(number)]
    for chunk in chunks(rows, 1000):
        cube.add(chunk, None)  # type: ignore[arg-type]
    found = cube.shown()
    fine = 0
    while number * WIDTHS[width] > MOST_SHOWN * WIDTHS[fine]:
        fine += 1
    assert found.width == WIDTHS[fine] and found.buckets <= MOST_SHOWN
    assert found.buckets == -(-((number - 1) * WIDTHS[width] + 1) // WIDTHS[fine])


def test_damage_is_counted_however_wide_the_bars_become(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cubes, "MOST_FILLED", 4)
    cube, wanted = Cube(), Counter[str]()
    for step in range(12):
        time = NOW + 4**step * 1000
        cube.add(Made([Row(time=time), Row(time=time + 7000)]), None)  # type: ignore[arg-type]
        for wire, number in (("nslip", step), ("kick", 1)):
            cube.damaged([(time, wire, number), (time + 7000, wire, 1)])
            wanted[wire] += number + 1
    found = Counter[str]()
    for _, wire, number in cube.shown().rejects:
        found[wire] += number
    assert found == wanted and cube._width > 4


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("before", [True, False])
def test_strays_at_either_end_are_one_record_in_two_hundred(more: int, before: bool) -> None:
    """In one place of time or in several, together."""
    for places in ((0,), (0, 100), (0, 50, 100))[: 3 if more <= 0 else 1]:
        strays = Counter(dict.fromkeys([place if before else 1000 - place for place in places], 2))
        many = int(sum(strays.values()) / STRAY) - sum(strays.values()) - more
        records = Counter({500: many}) + strays
        found = _core(sorted(records), records)
        assert found == ((500, 500) if more <= 0 else (min(records), max(records)))


def some(file: str, *times: int | None) -> Any:
    """Records of a file, a hundred bytes each, with these times."""
    timed = np.array([time is not None for time in times], bool)
    offsets = np.arange(len(times), dtype=np.int64) * 100
    return SimpleNamespace(file=file, timed=timed, times=np.array([time or 0 for time in times]), offsets=offsets)


def test_damage_waits_for_the_first_time_of_its_file_and_no_longer() -> None:
    when = When()
    assert list(when.of([{"file": file, "wire": "nslip", "offset": 0} for file in "aab"])) == []
    assert list(when.add(some("a", None, None))) == []
    assert list(when.add(some("a", None, 7))) == [(7, "nslip", 2)]
    assert list(when.add(some("a", 9))) == [] == list(when.add(some("a", 11, 12)))
    assert list(when.of([{"file": "a", "wire": "kick", "offset": 150}])) == [(12, "kick", 1)]
    assert list(when.add(some("b", 3, 4))) == [(3, "nslip", 1)]
    assert list(when.of([{"file": "b", "wire": "kick", "offset": 99}])) == [(3, "kick", 1)]


def test_nobody_is_somebody_else_than_all_the_others() -> None:
    """Records without a sender or a receiver beside more agents than a page names."""
    rows = [Row(sender=f"s{number}", receiver=f"r{number}") for number in range(60)]
    rows += [Row(sender=None), Row(receiver=None), Row(sender=None, receiver=None), Row(kind=None)]
    cube = Cube()
    cube.add(Made(rows), None)  # type: ignore[arg-type]
    cells = cube.shown().cells
    for column, nobody in ((3, 2), (4, 2), (2, 1)):
        assert sum(cell[5] for cell in cells if cell[column] == ABSENT) == nobody
        assert any(cell[column] == OTHERS for cell in cells) is (column != 2)


@pytest.mark.parametrize(("room", "more"), [(1, True), (2, False)])
def test_pairs_of_agents_without_a_name_of_their_own_may_be_more(room: int, more: bool) -> None:
    cube = Cube()
    cube.agents = Names(room)
    cube.add(Made([Row(sender="a", receiver="b")]), None)  # type: ignore[arg-type]
    assert cube.pairs == (1, more)


def test_names_beyond_the_first_are_counted_together() -> None:
    names, unnamed = Names(2), 0
    met = ((["a", "b", "c", "a"], [0, 1, OTHERS, 0]), (["a", None], [0, ABSENT]), (["c", "d"], [OTHERS, OTHERS]))
    for given, codes in (*met, ([], []), (["b"], [1])):
        assert names.translate(coded(given)).tolist() == codes
        unnamed += codes.count(OTHERS)
        assert names.unnamed == unnamed
    assert list(names) == ["a", "b"] and names.records.tolist() == [3, 2]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_different_numbers_are_counted_to_one_more_than_the_most(most: int) -> None:
    for number in range(6):
        different = Different(most, np.int64)
        for value in range(number):
            different.add(np.array([value, value], np.int64))
            different._merge()
        assert different.count() == (min(number, most + 1), number > most)


def test_groups_are_the_different_rows() -> None:
    columns = [[1, 1, 2, -1, 2, 1], [5, 5, 5, 5, -9, 6], [0, 0, 0, 0, 0, 0]]
    keys, group = grouped([np.array(column, np.int64) for column in columns])
    rows = list(zip(*columns, strict=True))
    assert [keys[place] for place in group.tolist()] == rows and len(keys) == len(set(rows))
    assert coded(["a", None, "b", "a"]).codes.tolist() == [0, ABSENT, 1, 0]
    assert isinstance(coded([]), Coded)


def test_what_is_empty_is_a_field_too() -> None:
    value: dict[str, Any] = {"a": {}, "b": [], "c": {"d": {}, "e": [[], {}]}, "f": "", "g": None, "h": [True, False, 0]}
    message = SimpleNamespace(to_dict=lambda: value)
    assert list(fields(message)) == [
        ("a", "{}"), ("b", "[]"), ("c.d", "{}"), ("c.e[0]", "[]"), ("c.e[1]", "{}"), ("f", ""), ("g", "null"),
        ("h[0]", "true"), ("h[1]", "false"), ("h[2]", "0"),
    ]  # fmt: skip


def test_a_meter_says_why_it_cannot() -> None:
    assert told(GOOD.format(1, 2, 3))["totals"] | {"bytes": None, "pairs": 1} == {
        "records": 1, "bytes": None, "agents": 2, "pairs": 1, "more_pairs": False, "tokenizer": None,
        "why_no_tokens": "tokens were not requested",
    }  # fmt: skip
    assert Meter("x", None).why_not is None


@pytest.mark.parametrize("most", range(4, 20))
def test_a_conversation_that_was_given_up_does_not_come_back(most: int) -> None:
    """Also where room was left by it, in the same chunk: what is shown begins with its first message."""
    rows = [Row(conversation=name) for name in "aabbccddeeff" * 3]
    sample = Sample(most)
    for chunk in chunks(rows, len(rows)):
        sample.add(chunk, None)  # type: ignore[arg-type]
    for one in sample.kept().conversations:
        places = [place for place, row in enumerate(rows) if row.conversation == one.key[1]]
        assert one.count == len(places)
        assert [message.number for message in one.messages] == places[: len(one.messages)]
