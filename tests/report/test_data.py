"""The data of the page, number by number, without a browser: from rows of a log as the scan gives them."""

from __future__ import annotations

import html
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

import turnwire
from examples.mixed_log import WIRES, entries
from turnwire import csp
from turnwire.errors import DecodeError, Reason
from turnwire.read.coding import ABSENT, MOST_NAME, CodedColumn, Texts, coded, named, texts_of_codes
from turnwire.report import build, records as samples, report
from turnwire.report.build import ANSWER_COLUMNS, Answers, Finding
from turnwire.report.records import (
    COLUMNS,
    EARLIER,
    LATER,
    MOST_FIELDS,
    MOST_RAW,
    MOST_SHOWN,
    MOST_VALUE,
    NO_TIME,
    OTHERS,
    WIDTHS,
    Chunk,
    Cube,
    NameCodes,
    Quarantine,
    _core,
    details,
    fields,
)

pytestmark = pytest.mark.once


class Row(NamedTuple):
    """A record as a chunk gives it. time: microseconds."""

    wire: str = "nslip"
    kind: str | None = "INFORM"
    sender: str | None = "a"
    receiver: str | None = "b"
    conversation: str | None = "1"
    time: int | None = None
    length: int = 10
    raw: bytes = b"raw"
    subject: str | None = None


class Made:
    """The same as ``turnwire.report.records.Chunk``, from rows."""

    names = ()

    def __init__(self, rows: list[Row], first: int = 0) -> None:
        self.rows = rows
        self.batch = self
        self.first = first
        self.lengths = np.array([row.length for row in rows], np.int64)
        self.times = np.array([row.time or 0 for row in rows], np.int64)
        self.timed = np.array([row.time is not None for row in rows], bool)

    def __len__(self) -> int:
        return len(self.rows)

    def coded(self, name: str) -> CodedColumn:
        return coded(getattr(row, name) for row in self.rows)

    @property
    def texts(self) -> dict[str, Texts]:
        names = ("conversation", "kind", "sender", "receiver", "subject")
        return {name: texts_of_codes(*self.coded(name)) for name in names}

    def place(self, row: int) -> tuple[int, str | None, int, int]:
        return self.first + row, "made.log", row + 1, 100 * row

    def raw(self, row: int) -> bytes:
        return self.rows[row].raw

    def raws(self) -> Iterator[bytes]:
        return (row.raw for row in self.rows)

    def message(self, row: int) -> Any:
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"made": True}

    def sequence(self, row: int) -> str | None:
        return None


def shown(cube: Cube) -> SimpleNamespace:
    """The sums of a cube, cells as rows."""
    data = cube.shown()
    return SimpleNamespace(**{**data, **data["time"], "cells": list(zip(*data["cells"], strict=True))})


def chunks(rows: list[Row], size: int) -> list[Made]:
    """The rows in chunks of so many."""
    return [Made(rows[start : start + size], start) for start in range(0, len(rows), size)]


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
    data = report(sources, tokenizer=None, enough=lambda: True).data
    first = report(sources[:1], tokenizer=None).data
    assert [data[name] for name in ("messages", "answers", "rejects")] == [
        first[name] for name in ("messages", "answers", "rejects")
    ]
    assert (data["totals"]["stopped"], first["totals"]["stopped"]) == (True, False)
    assert data["findings"][1:] == first["findings"]
    assert {**data["totals"], "stopped": False} == first["totals"]


@pytest.mark.parametrize(
    "text", ["", "nothing\n", BAD, f"{BAD}\n{BAD}", f"x\n{BAD}\n", f"{GOOD.format(1, 2, 3)}\n{BAD}\nend"]
)
def test_bytes_and_damage_are_those_of_the_log(text: str) -> None:
    """Also behind the last record, and where there is none."""
    data = told(text)
    good, bad = text.count(GOOD.format(1, 2, 3)), text.count(BAD)
    sizes = {"record_bytes": good * len(GOOD.format(1, 2, 3)), "reject_bytes": bad * len(BAD)}
    sums = {"records": good, "rejects": bad, "bytes": len(text), **sizes, "text_bytes": len(text) - sum(sizes.values())}
    assert {name: data["totals"][name] for name in sums} == sums
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
    for kinds, codes in (*met, ([], []), (["b"], [1])):
        assert names.translate(coded(kinds)).tolist() == codes
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


# --- sums per time, wire, kind and parties: nothing is lost however coarse they have to become ------------------------


HOUR = 3600 * 1_000_000


def of_rows(rows: list[Row], size: int = 100) -> Any:
    cube = Cube()
    for chunk in chunks(rows, size):
        cube.add(chunk, None)
    return shown(cube)


def by_names(result: Any) -> Counter[tuple[str, str | None, str | None, str | None]]:
    """Records per wire, kind, sender and receiver, as names."""
    agents = [*result.agents, "(others)", None]  # codes -2 and -1 count from the end
    kinds = [*result.kinds, "(others)", None]
    counts: Counter[tuple[str, str | None, str | None, str | None]] = Counter()
    for _, wire, kind, sender, receiver, records, *_ in result.cells:
        counts[result.wires[wire], kinds[kind], agents[sender], agents[receiver]] += records
    return counts


rows = st.lists(
    st.builds(
        Row,
        wire=st.sampled_from(["nslip", "csp", "sstp", "sap", "kick"]),
        kind=st.sampled_from(["ASK", "TASK", None]),
        sender=st.sampled_from(["a", "b", "", None]),
        receiver=st.sampled_from(["a", "é", None]),
        time=st.none() | st.integers(NOW, NOW + 10**12) | st.integers(-(1 << 61), 1 << 61),
        length=st.integers(0, 10**6),
        conversation=st.none(),
        raw=st.just(b""),
    ),
    max_size=200,
)


@given(rows, st.integers(1, 50))
def test_sums_are_those_of_the_records(made: list[Row], size: int) -> None:
    result = of_rows(made, size)
    assert by_names(result) == Counter((row.wire, row.kind, row.sender, row.receiver) for row in made)
    assert sum(cell[6] for cell in result.cells) == sum(row.length for row in made)
    timed = [row.time for row in made if row.time is not None]
    assert (result.first, result.last) == ((min(timed), max(timed)) if timed else (None, None))
    assert result.buckets <= samples.MOST_SHOWN or result.width == samples.WIDTHS[-1]


@given(rows)
def test_each_record_is_in_the_bucket_of_its_time(made: list[Row]) -> None:
    result = of_rows(made, 7)

    def bucket(time: int | None) -> int:
        if time is None:
            return NO_TIME
        place = (time - result.start) // result.width
        return EARLIER if place < 0 else LATER if place >= result.buckets else place

    found: Counter[int] = Counter()
    for cell in result.cells:
        found[cell[0]] += cell[5]
    assert found == Counter(bucket(row.time) for row in made)


def test_a_stray_time_does_not_squeeze_the_chart() -> None:
    made = [Row(time=NOW + place * 60_000_000) for place in range(2000)] + [Row(time=0), Row(time=4 * NOW)]
    result = of_rows(made)
    assert result.width <= HOUR
    buckets = Counter(cell[0] for cell in result.cells)
    assert buckets[EARLIER] == buckets[LATER] == 1
    assert (result.first, result.last) == (0, 4 * NOW)


def test_agents_beyond_the_busiest_are_counted_together() -> None:
    made = [Row(sender=f"agent {number}") for number in range(100) for _ in range(100 - number)]
    result = of_rows(made)
    assert len(result.agents) == samples.MOST_AGENTS
    assert result.folded_agents == 101 - samples.MOST_AGENTS  # the receiver "b" is the busiest of all
    assert by_names(result)["nslip", "INFORM", "agent 0", "b"] == 100
    assert sum(cell[5] for cell in result.cells) == len(made)
    assert OTHERS in {cell[3] for cell in result.cells}


@pytest.mark.parametrize("spread", [10**3, 10**9, 10**14])
def test_cells_stay_few_while_nothing_is_lost(monkeypatch: pytest.MonkeyPatch, spread: int) -> None:
    for name, most in {"MOST_CELLS": 400, "MOST_CELLS_SHOWN": 150, "MOST_FILLED": 50, "MOST_NAMES": 200}.items():
        monkeypatch.setattr(samples, name, most)
    numbers = random.Random(7)
    cube = Cube()
    made = []
    for first in range(0, 5000, 250):
        some = [
            Row(
                sender=f"s{numbers.randrange(300)}",
                receiver=f"r{numbers.randrange(300)}",
                time=NOW + numbers.randrange(spread),
            )
            for _ in range(250)
        ]
        made += some
        cube.add(Made(some, first), None)
        assert len(cube._cells) <= 400
    result = shown(cube)
    assert len(result.cells) <= 150
    assert sum(cell[5] for cell in result.cells) == 5000
    assert result.more_agents
    named_here = set(result.agents)
    for cell, count in Counter((row.sender, row.receiver) for row in made).items():
        if named_here >= set(cell):
            assert by_names(result)["nslip", "INFORM", *cell] <= count


def test_tokens_are_summed_beside_records() -> None:

    cube = Cube()
    cube.add(Made([Row(wire="csp"), Row(), Row()]), np.array([5, 1, 2]))
    result = shown(cube)
    assert [(result.wires[cell[1]], cell[5], cell[7]) for cell in result.cells] == [("nslip", 2, 3), ("csp", 1, 5)]


# --- the messages that the page holds, of the largest conversations and of those with a fault, and their fields -------


def line(conversation: int, act: str = "0", second: int = 0) -> str:
    ends = "2|d1" if act == "1" else "1|d2"
    return f"2026-11-01T00:00:{second:02} @a{act}|f0|c{conversation}|S{ends}|T1#\n"


def query(session: str | None, question: str) -> str:
    header = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "logical_clock": 1}
    payload = {"content": question, "confidence": 1.0, "evidence_refs": []}
    return json.dumps({"header": header | ({"session_id": session} if session else {}), "payload": payload}) + "\n"


def kept(text: str, most: int, stream: bool = False) -> SimpleNamespace:
    """The conversations that a page holds of a log: id -> (messages in the log, lines of those that are held)."""
    data = report(io.BytesIO(text.encode()) if stream else text.encode(), tokenizer=None, max_messages=most).data
    lines: dict[str, list[int]] = {}
    for row in data["messages"]:
        message = dict(zip(data["message_columns"], row, strict=True))
        lines.setdefault(data["conversations"][message["conversation"]][1], []).append(message["line"])
    held = {name: (count, lines[name]) for _, name, count in data["conversations"]}
    return SimpleNamespace(held=held, total=data["total_conversations"], texts=[row[-2] for row in data["messages"]])


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 60))
def test_what_is_held_is_bounded_and_each_begins_with_its_first_message(made: list[int], most: int) -> None:
    found = kept("".join(map(line, made)), most)
    places: dict[str, list[int]] = {}
    for number, one in enumerate(made, 1):
        places.setdefault(str(one), []).append(number)
    assert found.total == len(places) and sum(len(held) for _, held in found.held.values()) <= most
    for name, (count, held) in found.held.items():
        assert count == len(places[name]) and held == places[name][: len(held)] != []
    if len(made) <= most:
        assert {name: held for name, (_, held) in found.held.items()} == places
    elif made:
        assert all(len(held) <= max(most // 4, 1) for _, held in found.held.values())


@pytest.mark.parametrize("stream", [False, True])
def test_the_largest_conversations_and_those_with_a_fault_are_held(stream: bool) -> None:
    """Wherever they are in the log: one without an answer, one with damage behind it, and the two largest."""
    lines = [line(number % 50) for number in range(150)]
    for at, name in ((149, 41), (100, 42)):
        lines[at:at] = [line(name) for _ in range(9)]
    lines[120:120] = [line(43, "2"), line(44, "2"), line(44, "1", 1), line(45), "@a3|f0|c46|S$|d1|T1#\n"]
    found = kept("".join(lines), 20, stream)
    held = {int(name) - 4 * 62 + 40 for name in found.held}  # 4 is the first digit of two, of base 62
    assert {41, 42, 43, 45} <= held and 46 not in held and found.total == 50


def test_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_BYTES", 20_000)
    found = kept("".join(query(str(number // 3), "x" * 5000) for number in range(60)), 1000)
    assert 0 < sum(map(len, found.texts)) <= 20_000
    assert all("more characters" in text for text in found.texts)


def test_records_without_a_conversation_are_held_as_one() -> None:
    found = kept(query(None, "q") * 40, 20)
    assert found.held == {None: (40, [1, 2, 3, 4, 5])} and found.total == 0


def test_every_kind_of_reject_is_shown_and_all_are_counted() -> None:
    quarantine = Quarantine()
    place = {"file": None, "offset": 0, "length": 4, "line": 1, "fault": 1, "wire": "nslip", "raw": b"@a\xff#" * 100}
    quarantine.add({**place, "reason": "bad_digit"} for _ in range(5000))
    quarantine.add([{**place, "reason": "bad_framing"}])
    assert quarantine.counts == {("nslip", "bad_digit"): 5000, ("nslip", "bad_framing"): 1}
    reasons = Counter(reject[6] for reject in quarantine.kept)
    assert reasons == {"bad_digit": samples.MOST_OF_A_KIND, "bad_framing": 1}
    assert quarantine.kept[0][7] == (b"@a\xff#" * 64).hex()


HEADER = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT "


@pytest.mark.parametrize("wire", WIRES)
def test_every_value_of_a_message_is_among_its_fields(wire: str) -> None:
    for entry in entries(10, seed=2, wires=(wire,)):
        found = dict(fields(turnwire.decode(entry.text)))
        assert entry.sender in found.values()
        if wire in ("sstp", "sap", "kick"):
            assert leaves(json.loads(entry.text)) == list(found.values())


def leaves(value: object) -> list[str]:
    """The values in a JSON value, as the page writes them, in order."""
    if isinstance(value, dict) and value:
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list) and value:
        return [leaf for part in value for leaf in leaves(part)]
    return [value if isinstance(value, str) else json.dumps(value)]


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ("TASK\n\nTASK T1\nREQ find\n", {"block.id": "T1", "block.fields[0]": "REQ find"}),
        (
            "FILE\n\nFILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\n>>>\n",
            {"block.id": "F1", "block.op": "CREATE", "block.fields[1]": "CONTENT x\n"},
        ),
        ("PATCH\n\nPATCH P1\nBASE C1\n+ DEF A = b\nAPPLY -> C2\n", {"block.base": "C1", "block.ops[0]": "+ A b"}),
        ("MEM\n\nMEM M1\nKEY a\n", {"block.kind": "MEM", "block.fields[0]": "KEY a"}),
    ],
)
def test_blocks_of_csp(block: str, wanted: dict[str, str]) -> None:
    found = dict(fields(csp.decode(HEADER + block)))
    assert {"sender": "A", "receiver": "B", "ctx": "C1", **wanted}.items() <= found.items()


def test_a_template_of_csp_has_fields_too() -> None:
    (template,) = csp.parse("CSP/1;R;NO_CHAT\nTASK REQ:x\n").records
    said = {"flags[0]": "R", "flags[1]": "NO_CHAT", "lines[0]": "TASK REQ:x", "mode": "false"}
    assert dict(fields(template)) == said


class Long(Made):
    """A record with more than a page should hold."""

    def to_dict(self) -> dict[str, object]:
        return {"long": "x" * 5000, "n" * 500: None, **{str(number): number for number in range(100)}}


def test_what_is_long_is_cut_and_says_so() -> None:
    found = details(Long([Row(raw=b"\xff" + b"r" * 5000)]), 0)  # type: ignore[arg-type]
    assert found.raw == "\\xff" + "r" * (MOST_RAW - 4) + f"… ({5004 - MOST_RAW:,} more characters)"
    assert found.fields[0][1] == "x" * MOST_VALUE + f"… ({5000 - MOST_VALUE:,} more characters)"
    assert found.fields[1] == ("n" * MOST_NAME + f"… ({500 - MOST_NAME} more characters)", "null")
    assert len(found.fields) == MOST_FIELDS + 1
    assert found.fields[-1] == ("…", f"{102 - MOST_FIELDS} more fields")


def test_long_names_that_differ_stay_different() -> None:
    one, other = "a" * 1000 + "1", "a" * 1000 + "2"
    assert named(one) != named(other) and named(one) == named(one)
    assert len(named(one)) < MOST_NAME + 60
    assert named("a" * MOST_NAME) == "a" * MOST_NAME


class Refused(Made):
    """A record that scanning took and decoding does not."""

    def message(self, row: int) -> object:
        raise DecodeError(Reason.BAD_DIGIT, "'$' is not a digit", offset=3, line=1, wire="nslip")


def test_a_record_that_is_not_decoded_says_why() -> None:
    found = details(Refused([Row()]), 0)  # type: ignore[arg-type]
    assert found.fields == [("not decoded", "nslip: bad_digit at byte 3, line 1: '$' is not a digit")]
