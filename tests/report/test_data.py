"""What the page is given, number by number, without a browser."""

from __future__ import annotations

import html
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.report.chunks import Made, Row, chunks, shown
from turnwire.report import cube as cubes
from turnwire.report import page, report
from turnwire.report.cube import MOST_SHOWN, WIDTHS, Cube, Names
from turnwire.report.records import ABSENT, OTHERS, coded
from turnwire.report.sample import DamageTimes, Sample

pytestmark = pytest.mark.once

NOW = 1_767_600_000_000_000
GOOD = "@a3|f0|c{}|S{}|d1|T{}#"
BAD = "@a3|f0|c1|S$|d1|T1#"


def told(text: str, **options: Any) -> dict[str, Any]:
    """The data of a page, its messages as dicts."""
    data = report(text.encode(), tokenizer=None, **options).data
    data["messages"] = [dict(zip(data["message_columns"], row, strict=True)) for row in data["messages"]]
    return data


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


def test_who_has_no_scripts_reads_the_same_figures() -> None:
    data = told(f"x\n{GOOD.format(1, 2, 3)}\n{BAD}\n{BAD}\n")
    amounts = "1 record, 1 conversation, 2 agents, 2 rejects, 62 bytes"
    assert data["totals"]["bytes"]["all"] == 62 and page._summary(data) == amounts
    assert amounts in page.render({**data, "messages": []})
    assert html.escape("<&>") in page.render({**data, "messages": [], "title": "<&>"})


@pytest.mark.parametrize("more", range(-2, 3))
@pytest.mark.parametrize("width", range(3))
def test_a_chart_has_so_many_bars_and_no_more(more: int, width: int) -> None:
    number = MOST_SHOWN + more
    cube, rows = Cube(), [Row(time=NOW + place * WIDTHS[width]) for place in range(number)]
    for chunk in chunks(rows, 1000):
        cube.add(chunk, None)  # type: ignore[arg-type]
    found = shown(cube)
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
    for _, wire, number in shown(cube).reject_cells:
        found[wire] += number
    assert found == wanted and cube._width > 4


def some(file: str, *times: int | None) -> Any:
    """Records of a file, a hundred bytes each, with these times."""
    timed = np.array([time is not None for time in times], bool)
    offsets = np.arange(len(times), dtype=np.int64) * 100
    return SimpleNamespace(file=file, timed=timed, times=np.array([time or 0 for time in times]), offsets=offsets)


def test_damage_waits_for_the_first_time_of_its_file_and_no_longer() -> None:
    when = DamageTimes()
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
    cells = shown(cube).cells
    for column, nobody in ((3, 2), (4, 2), (2, 1)):
        assert sum(cell[5] for cell in cells if cell[column] == ABSENT) == nobody
        assert any(cell[column] == OTHERS for cell in cells) is (column != 2)


def test_names_beyond_the_first_are_counted_together() -> None:
    names, unnamed = Names(2), 0
    met = ((["a", "b", "c", "a"], [0, 1, OTHERS, 0]), (["a", None], [0, ABSENT]), (["c", "d"], [OTHERS, OTHERS]))
    for given, codes in (*met, ([], []), (["b"], [1])):
        assert names.translate(coded(given)).tolist() == codes
        unnamed += codes.count(OTHERS)
        assert names.unnamed == unnamed
    assert list(names) == ["a", "b"] and names.records.tolist() == [3, 2]


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
