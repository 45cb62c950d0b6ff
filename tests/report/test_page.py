"""The page in a browser: the figures are those of the log, counted here from what the generator wrote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.mixed_log import Entry, Log, log
from tests.formats import samples
from tests.report.browser import Page
from turnwire import WIRES
from turnwire.report import report

pytestmark = pytest.mark.once

Open = Callable[..., Page]
TRAFFIC = log(60, seed=5)
NO_TIME_WIRES = {"csp"}
"""Their records carry no time, and stand on lines of their own."""


def written(made: Log, folder: Path, **options: object) -> Path:
    path = folder / "report.html"
    report(made.text.encode(), **{"tokenizer": None, **options}).write(path)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a small day in all five wires."""
    return written(TRAFFIC, tmp_path_factory.mktemp("page"), title="A small day")


@pytest.fixture
def page(opened: Open, path: Path) -> Page:
    return opened(path)


def figure(page: Page, tile: str) -> str:
    return page.text(f"#tile-{tile} .figure")


def test_the_figures_are_those_of_the_log(page: Page) -> None:
    sound = TRAFFIC.sound
    assert figure(page, "records") == f"{len(sound):,}"
    assert figure(page, "conversations") == str(len({(entry.wire, entry.conversation) for entry in sound}))
    assert figure(page, "rejects") == str(TRAFFIC.damaged)
    agents = {name for entry in sound for name in (entry.sender, entry.receiver)} - {None}
    assert figure(page, "agents") == str(len(agents))
    assert page.text("h1") == "A small day"


def test_the_bars_over_time_hold_each_record_that_has_a_time(page: Page) -> None:
    timed = Counter(entry.wire for entry in TRAFFIC.sound if entry.wire not in NO_TIME_WIRES)
    for wire in WIRES:
        drawn = page.run(
            f"[...document.querySelectorAll('#volume .part.wire-{wire}')]"
            ".reduce((sum, bar) => sum + +bar.dataset.records, 0)"
        )
        assert drawn == timed[wire], wire
    untimed = sum(entry.wire in NO_TIME_WIRES for entry in TRAFFIC.sound)
    assert page.text("#volume .note") == f"Not drawn: {untimed} records without a time."


def test_the_matrix_says_who_talks_to_whom(page: Page) -> None:
    said = set(
        page.run("[...document.querySelectorAll('.matrix button')].map(cell => cell.getAttribute('aria-label'))")
    )
    pairs = Counter((entry.sender, entry.receiver or "(none)") for entry in TRAFFIC.sound)
    wanted = {f"{a} to {b}: {n} record{'' if n == 1 else 's'}" for (a, b), n in pairs.items()}
    assert said and said <= wanted
    shown = page.run(
        "[...document.querySelectorAll('.matrix button')].map(cell => +cell.innerText).reduce((a, b) => a + b)"
    )
    hidden = sum(pairs.values()) - shown
    notes = page.texts("#parties .note")
    assert (hidden == 0) == (notes == []) and (hidden == 0 or f"Not shown: {hidden} record" in notes[0])


def test_kinds_are_counted_per_wire(page: Page) -> None:
    for wire in WIRES:
        names, values = page.texts(f"#kinds .wire-{wire} .name"), page.texts(f"#kinds .wire-{wire} .value")
        found = {name: int(value.split()[0]) for name, value in zip(names, values, strict=True)}
        assert found == Counter(entry.kind for entry in TRAFFIC.sound if entry.wire == wire)


def test_every_damaged_range_is_shown_with_its_bytes(page: Page) -> None:
    assert len(page.texts("#rejects .reject")) == TRAFFIC.damaged
    place, fault = TRAFFIC.text.encode().index(b"|c$") + 2, b"$".hex()
    assert page.texts("#rejects .hex mark")[0] == fault
    assert f"reading failed at byte {place:,}" in page.text("#rejects .reject")
    assert "bad_digit" in page.text("#rejects .reject")


def choose(page: Page, field: str, label: str) -> None:
    """Chooses the option of a list that says this."""
    value = page.run(f"[...document.getElementById('{field}').options].find(one => one.text === {label!r}).value")
    page.type(field, value)


def holds(page: Page, wanted: list[Entry]) -> None:
    """The page shows exactly these records, everywhere."""
    page.until(f"document.getElementById('shown').textContent === '{len(wanted):,}'")
    assert figure(page, "records") == f"{len(wanted):,}"
    kinds = Counter(int(value.split()[0]) for value in page.texts("#kinds .value"))
    assert kinds == Counter(Counter((entry.wire, entry.kind) for entry in wanted).values())
    talks = {entry.conversation for entry in wanted}
    assert len(page.texts("#talks .talk-list li")) == min(12, len(talks))
    assert page.run("document.querySelector('#talks .pager span')?.textContent.split(' of ')[1] ?? null") == (
        f"{len(talks):,}" if len(talks) > 12 else None
    )


def test_filters_by_wire_kind_and_parties(page: Page) -> None:
    for wire in WIRES:
        page.click(f".chip.wire-{wire}")
        holds(page, [entry for entry in TRAFFIC.sound if entry.wire == wire])
        page.click(f".chip.wire-{wire}")
    choose(page, "kind", "INFORM")
    holds(page, [entry for entry in TRAFFIC.sound if entry.kind == "INFORM"])
    choose(page, "kind", "All")
    choose(page, "sender", "planner")
    holds(page, [entry for entry in TRAFFIC.sound if entry.sender == "planner"])
    choose(page, "receiver", "(none)")
    holds(page, [entry for entry in TRAFFIC.sound if entry.sender == "planner" and entry.receiver is None])
    page.click("#reset")
    holds(page, TRAFFIC.sound)


def test_filters_by_conversation_and_text(page: Page) -> None:
    one = TRAFFIC.sound[0]
    page.type("conversation", one.conversation)
    holds(page, [entry for entry in TRAFFIC.sound if entry.conversation == one.conversation])
    page.click("#reset")
    holds(page, TRAFFIC.sound)
    page.type("text", "  RECHNUNGEN ")
    holds(page, [entry for entry in TRAFFIC.sound if "rechnungen" in entry.text.lower()])
    page.type("text", "no such text anywhere")
    page.until("document.getElementById('shown').textContent === '0'")
    assert page.text("#talks .empty") == "No message in this page matches these filters."
    assert page.text("#kinds .empty") == "No records match these filters."


def test_filters_by_time(page: Page) -> None:
    start, width = page.run(
        "(() => { const time = JSON.parse(document.getElementById('data').textContent).time;"
        "return [time.start, time.width] })()"
    )
    middle = start + 40 * width
    page.type("from", page.run(f"new Date({middle / 1000}).toISOString().slice(0, 19)"))
    timed = [entry for entry in TRAFFIC.sound if entry.wire not in NO_TIME_WIRES]
    later = [entry for entry in timed if moment(entry) >= middle]
    assert 0 < len(later) < len(timed)
    holds(page, later)
    page.type("to", page.run(f"new Date({(middle + 10 * width) / 1000}).toISOString().slice(0, 19)"))
    holds(page, [entry for entry in later if moment(entry) < middle + 10 * width])


def moment(entry: Entry) -> int:
    """The time of a record as its log says it: SAP and KickLang carry whole seconds, log lines milliseconds."""
    return int(entry.time) * 1_000_000 if entry.wire in ("sap", "kick") else int(entry.time * 1000) * 1000


def test_a_bar_of_the_chart_is_a_filter(page: Page) -> None:
    hit = "document.querySelectorAll('#volume .hit')[document.querySelector('#volume .part').dataset.bucket]"
    page.run(f"{hit}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    page.until("document.getElementById('from').value !== ''")
    data = "JSON.parse(document.getElementById('data').textContent).time"
    low, high = page.run("['from', 'to'].map(id => Date.parse(document.getElementById(id).value + 'Z') * 1000)")
    assert high - low == page.run(f"{data}.width")
    timed = [entry for entry in TRAFFIC.sound if entry.wire not in NO_TIME_WIRES]
    holds(page, [entry for entry in timed if low <= moment(entry) < high])


def test_a_cell_of_the_matrix_is_a_filter(page: Page) -> None:
    sender, receiver = page.run("document.querySelector('.matrix button').title.split(': ')[0].split(' → ')")
    page.click(".matrix button")
    wanted = [entry for entry in TRAFFIC.sound if (entry.sender, entry.receiver or "(none)") == (sender, receiver)]
    holds(page, wanted)
    page.click(".matrix button")
    holds(page, TRAFFIC.sound)


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_is_drawn_and_its_messages_are_decoded(page: Page, wire: str) -> None:
    one = next(entry for entry in TRAFFIC.sound if entry.wire == wire)
    own = [entry for entry in TRAFFIC.sound if entry.conversation == one.conversation]
    page.type("conversation", one.conversation)
    holds(page, own)
    assert page.texts("#diagram .step .kind") == [entry.kind for entry in own]
    parties = dict.fromkeys(name for entry in own for name in (entry.sender, entry.receiver))
    names = page.texts("#diagram .actor title")
    assert names == [name for name in parties if name] + ["(nobody named)"] * (None in parties)
    page.run("document.querySelector('#diagram .step').focus()")
    page.press("Enter")
    page.until("document.querySelector('#diagram .detail') !== null")
    assert page.text("#diagram .raw").strip() == one.text.strip()
    fields = dict(zip(page.texts("#diagram .fields dt"), page.texts("#diagram .fields dd"), strict=True))
    known = {
        "nslip": ("act", one.kind),
        "csp": ("ctx", one.conversation),
        "sstp": ("header.actor_id", one.sender),
        "sap": ("correlationId", one.conversation),
        "kick": ("correlation_id", one.conversation),
    }
    name, value = known[wire]
    assert fields[name] == value


def test_conversations_are_turned_page_by_page(page: Page) -> None:
    first = page.texts("#talks .talk-list li")
    page.click("#talks .pager button:last-of-type")
    page.until("document.querySelector('#talks .pager span').textContent.startsWith('Conversations 13')")
    assert len(first) == 12 and page.texts("#talks .talk-list li") != first


def test_latencies_are_those_between_question_and_answer(page: Page) -> None:
    asks = {"nslip": "REQUEST", "csp": "TASK", "sstp": "query", "sap": "Task", "kick": "Command"}
    told = {row[0]: row for row in page.run("JSON.parse(document.getElementById('data').textContent).answers")}
    columns = page.run("JSON.parse(document.getElementById('data').textContent).answer_columns")
    for wire, kind in asks.items():
        assert told[wire][columns.index("requests")] == sum(
            (entry.wire, entry.kind) == (wire, kind) for entry in TRAFFIC.sound
        )
    for wire, answer in (("sap", "Result"), ("sstp", "knowledge"), ("kick", "Info")):
        first: dict[str, int] = {}
        exact = []
        for entry in TRAFFIC.sound:
            if (entry.wire, entry.kind) == (wire, asks[wire]):
                first[entry.conversation] = moment(entry)
            elif (entry.wire, entry.kind) == (wire, answer) and entry.conversation in first:
                if wire == "kick" and not re.search(r"\\n(Completed|Failed)\\n", entry.text):
                    continue  # "Accepted" and "In Progress" are no answers
                exact.append(moment(entry) - first.pop(entry.conversation))
        exact.sort()
        found = dict(zip(columns, told[wire], strict=True))
        assert (found["timed"], found["min"], found["max"]) == (len(exact), exact[0], exact[-1])
        median = exact[(len(exact) - 1) // 2]
        assert median <= found["p50"] <= median * 1.1


def test_tools_stand_beside_the_latencies_and_in_the_sequence(opened: Open, tmp_path: Path) -> None:
    """Of sessions: how many calls of each tool failed; a step names the tool that it calls."""
    report(samples.text(samples.claude_code()), wire="claude_code", tokenizer=None).write(tmp_path / "tools.html")
    page = opened(tmp_path / "tools.html")
    cells = page.texts("#answers .scroll:last-child td")
    assert {tuple(cells[at + 1 : at + 4]) for at in (0, 5)} == {("Bash", "15", "15"), ("Read", "15", "15")}
    assert any("tool_call Bash" in step for step in page.texts("#diagram .step .said"))
