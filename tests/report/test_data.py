"""The data of the page, number by number, without a browser."""

from __future__ import annotations

import html
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.report.chunks import Row, chunks, shown
from turnwire.read.coding import ABSENT, coded
from turnwire.report import build, report
from turnwire.report.build import ANSWER_COLUMNS, STOP, Answers, Finding
from turnwire.report.cube import MOST_SHOWN, WIDTHS, Cube, NameCodes, _core
from turnwire.report.records import COLUMNS, OTHERS, Chunk

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


def test_a_report_that_is_stopped_is_about_what_was_read(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"{GOOD.format(1, 0, 0)}\n{BAD}\n{GOOD.format(2, 1, 1)}\n", "utf-8")
    sources = [str(tmp_path / name) for name in "ab"]
    data = report(sources, tokenizer=None, progress=lambda done, records: STOP).data
    first = report(sources[:1], tokenizer=None).data
    assert [data[name] for name in ("messages", "answers", "rejects")] == [
        first[name] for name in ("messages", "answers", "rejects")
    ]
    assert (data["totals"]["stopped"], first["totals"]["stopped"]) == (True, False)
    assert data["findings"][1:] == first["findings"]


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


def test_who_has_no_scripts_reads_what_was_found() -> None:
    data = told(f"x\n{GOOD.format(1, 2, 3)}\n{BAD}\n{BAD}\n")
    assert html.escape(data["findings"][0][0]) in build.render({**data, "messages": []})
    assert html.escape("<&>") in build.render({**data, "messages": [], "title": "<&>"})


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


def test_names_beyond_the_first_are_counted_together() -> None:
    names, unnamed = NameCodes(2), 0
    met = ((["a", "b", "c", "a"], [0, 1, OTHERS, 0]), (["a", None], [0, ABSENT]), (["c", "d"], [OTHERS, OTHERS]))
    for given, codes in (*met, ([], []), (["b"], [1])):
        assert names.translate(coded(given)).tolist() == codes
        unnamed += codes.count(OTHERS)
        assert names.unnamed == unnamed
    assert list(names) == ["a", "b"] and names.records.tolist() == [3, 2]


@pytest.mark.parametrize("width", [1, 2, 25])
@pytest.mark.parametrize("before", [False, True])
def test_strays_are_left_out_where_the_chart_would_be_four_times_as_wide(width: int, before: bool) -> None:
    low, high = 300, 299 + width
    for more in (-1, 0, 1):
        stray = high - 4 * width + 1 - more if before else low + 4 * width - 1 + more
        records = Counter(dict.fromkeys(range(low, high + 1), 1000)) + Counter({stray: 1})
        buckets = sorted(records)
        found = _core(np.array(buckets), np.array([records[one] for one in buckets]))
        assert found == ((low, high) if more >= 0 else (buckets[0], buckets[-1]))


SECOND = 1_000_000


def timed_line(act: str, conversation: int, second: int | None) -> str:
    ends = "S1|d2" if act == "2" else "S2|d1"
    stamp = "" if second is None else f"2026-11-01T00:{second // 60:02}:{second % 60:02}Z "
    return f"{stamp}@a{act}|f0|c{conversation}|{ends}|T1#\n"


def test_answers_are_timed_across_chunks() -> None:
    asked = [timed_line("2", 36 + number, number) for number in range(100)]
    answered = [timed_line("1", 36 + number, 200) for number in range(90)]
    log = "".join([*asked, *answered, timed_line("1", 126, None), timed_line("1", 127, 0)])
    answers = Answers()
    for batch in turnwire.scan(log.encode(), columns=COLUMNS, batch_bytes=400):
        answers.add(Chunk(batch))
    (row,) = answers.rows()
    found = SimpleNamespace(**dict(zip(ANSWER_COLUMNS, row, strict=True)))
    assert (found.wire, found.asks) == ("nslip", ["ASK", "REQUEST"])
    assert (found.requests, found.answered, found.waiting, found.backwards, found.timed) == (100, 92, 8, 1, 90)
    assert (found.min, found.max) == (111 * SECOND, 200 * SECOND)
    for share, exact in ((found.p50, 155), (found.p90, 191), (found.p99, 200)):
        assert share is not None and exact * SECOND <= share <= min(exact * SECOND * 1.1, 200 * SECOND)


# --- the sentences that a page opens with ---------------------------------------------------------------------------


def test_the_page_opens_with_what_is_damaged_unanswered_slow_and_dear() -> None:
    lines = [timed_line("2", 11, 0), timed_line("1", 11, 30), timed_line("2", 12, 5), timed_line("1", 12, 7)]
    lines += [timed_line("2", 13, 9), f"{BAD}\n", *(timed_line("0", 14, 40) for _ in range(9))]
    found = report("".join(lines).encode(), tokenizer=None)
    damaged, unanswered, slow, dear = (Finding(*one) for one in found.data["findings"])
    assert (damaged.part, unanswered.part, slow.part, dear.part) == ("rejects", "answers", "talks", "talks")
    assert "1 record" in damaged.text and "bad_digit" in damaged.text
    assert "1 of 3 requests" in unanswered.text
    assert "30 s" in slow.text and slow.filters.startswith("conversation=")
    size = sum(len(line.partition(" ")[2]) - 1 for line in lines if "|c14|" in line)
    assert f"{size} bytes" in dear.text
    text = found.html()
    for one in (damaged, unanswered, slow, dear):
        assert f'href="#{one.filters or one.part}" data-part="{one.part}"' in text and html.escape(one.text) in text


def test_a_name_of_a_log_is_text_in_a_sentence() -> None:
    name = '"><script>x</script>\u202e'
    header = {"kind": "query", "actor_id": "a", "schema_id": "ioc.query.v0", "session_id": name, "logical_clock": 1}
    record = json.dumps({"header": header, "payload": {"question": "q"}})
    opening = report(f"{record}\n".encode(), tokenizer=None).html().partition('<script type="application/json"')[0]
    assert "<script>" not in opening and "\u202e" not in opening and "&lt;script&gt;" in opening
