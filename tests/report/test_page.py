"""The page in a browser: the figures are those of the log, counted here from what the generator wrote."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from examples.mixed_log import Entry, Log, log
from tests.conftest import PURE_ONLY, put
from tests.formats import samples
from tests.report.browser import Browser, Page
from turnwire import WIRES, nslip
from turnwire.report import report
from turnwire.report.build import island

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


# --- a reader uses the page: keeps a view by its address; reads axes, many lanes, on a phone, by keys -----------------


ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "node" / "node_modules" / "axe-core" / "axe.min.js"


def shown(page: Page) -> str:
    return page.text("#shown")


def at(path: Path, fragment: str) -> Any:
    """A path whose address has this fragment."""

    class Address:
        def as_uri(self) -> str:
            return f"{path.as_uri()}{fragment}"

    return Address()


# ---- the address


def test_the_filters_stand_in_the_address_and_come_back(opened: Open, path: Path) -> None:
    page = opened(path)
    page.click(".chip.wire-nslip")
    kind = page.run("[...document.getElementById('kind').options].find(one => one.text === 'INFORM').value")
    page.type("kind", kind)
    page.type("text", "a b&c=d#é")
    page.until("location.hash.includes('text=')")
    fragment = page.run("location.hash")
    assert fragment == "#wire=nslip&kind=INFORM&text=a+b%26c%3Dd%23%C3%A9"
    found = page.text("#active")
    page.click("#reset")
    page.until("location.hash === ''")
    page.run(f"location.hash = {json.dumps(fragment)}")
    page.until(f"document.getElementById('active').innerText === {json.dumps(found)}")
    assert page.run("document.getElementById('text').value") == "a b&c=d#é"
    assert page.run("document.querySelector('.chip.wire-nslip').getAttribute('aria-pressed')") == "true"


def test_a_page_opens_with_the_view_of_its_address(browser: Any, path: Path) -> None:
    page = Page(browser)
    page.open(path)
    page.type("from", "2026-01-05T12:00:00")
    page.type("receiver", "-1")
    page.until("location.hash.includes('after=')")
    fragment, count = page.run("location.hash"), shown(page)
    assert "to=%7Enone" in fragment and "2026-01-05T" in fragment
    other = Page(browser)
    other.open(at(path, fragment))
    assert shown(other) == count
    assert other.errors == page.errors == []
    other.close()
    page.close()


@pytest.mark.parametrize(
    "fragment", ["#wire=none&kind=no%20such&from=x&after=never", "#%", "#a=b&&=", "#" + "x" * 5000]
)
def test_an_address_from_elsewhere_does_no_harm(browser: Any, path: Path, fragment: str) -> None:
    page = Page(browser)
    page.open(at(path, fragment))
    assert page.text("#active").startswith("All ")
    assert page.errors == []
    page.close()


def test_tables_are_cards_on_a_phone(opened: Open, path: Path) -> None:
    page = opened(path, width=400)
    assert page.run("document.documentElement.scrollWidth") <= 400
    boxes = page.run(
        "[...document.querySelectorAll('#answers tbody tr:first-child td')].map(one => {"
        "const box = one.getBoundingClientRect(); return [box.left, box.right, one.dataset.label ?? ''] })"
    )
    assert all(left >= 0 and right <= 400 for left, right, _ in boxes)
    assert [label for *_, label in boxes][:4] == ["Wire", "Request", "Asked", "Answered"]
    wide = page.run(
        "[...document.querySelectorAll('.stacks')]"
        ".filter(one => one.scrollWidth > one.parentElement.clientWidth).length"
    )
    assert wide == 0
    page.until("document.querySelector('#parties .scroll.wide') !== null")  # the matrix is wider, and says so
    said = "getComputedStyle(document.querySelector('#parties .scroll'), '::before').content"
    assert page.run(said) != "none"
    page.resize(1280)
    page.until("document.querySelector('#parties .scroll.wide') === null")
    assert page.run(said) == "none"


# ---- keyboard and screen readers


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing(opened: Open, path: Path, width: int, scheme: str) -> None:
    if not AXE.exists():
        if os.environ.get("CI") and shutil.which("npm"):
            pytest.fail("sh .ci/browser installs axe-core")
        pytest.skip("axe-core is not there (sh .ci/browser, with npm)")
    page = opened(path, width=width, scheme=scheme)
    page.click(".step")
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    page.run(AXE.read_text("utf-8") + "; 0")
    run = "axe.run(document, {resultTypes: ['violations']})"
    found = page.run(f"{run}.then(all => [all.passes.length, all.violations.map(one => [one.id, one.nodes[0].html])])")
    assert found[0] > 30
    assert found[1] == []


def test_a_reject_opens_with_the_keyboard(opened: Open, path: Path) -> None:
    page = opened(path)
    page.run("document.querySelectorAll('#rejects summary')[1].focus()")
    page.press("Enter")
    page.until("document.querySelectorAll('#rejects details')[1].open")


# --- how the page looks and reads: colours, narrow windows, names for those who listen, empty logs --------------------


CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")


def page_of(opened: Open, folder: Path, data: bytes, **options: object) -> Page:
    path = folder / "report.html"
    report(data, **{"tokenizer": None, **options}).write(path)
    return opened(path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(opened: Open, path: Path, scheme: str) -> None:
    page = opened(path, scheme=scheme)
    page.click(".step")
    page.click(".chip")
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(14, 17, 22)"}[scheme]
    found = page.run(CONTRAST)
    assert len(found) > 200
    assert [entry for entry in found if entry[0] < 4.5] == []


def test_nothing_sticks_out_of_the_window(opened: Open, path: Path) -> None:
    page = opened(path)
    wide = (
        "[...document.querySelectorAll('main > *, .filters > *')]"
        ".filter(one => one.getBoundingClientRect().right > innerWidth + 1).length"
    )
    for width in (320, 390, 768, 1024, 1280, 1920):
        page.resize(width)
        assert page.run("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]
        assert page.run(wide) == 0


def test_those_who_listen_hear_what_everything_is(opened: Open, path: Path) -> None:
    page = opened(path)
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    wanted = {"button", "textbox", "searchbox", "combobox", "img", "region", "group", "search", "DateTime"}
    named = [node for node in nodes if not node.get("ignored") and node["role"]["value"] in wanted]
    assert len(named) > 60
    nameless = [node["role"]["value"] for node in named if not node.get("name", {}).get("value", "").strip()]
    assert nameless == []
    assert page.run("document.documentElement.lang") == "en"
    assert page.run("document.querySelectorAll('h1').length") == 1
    assert page.run("document.querySelectorAll('table').length") == page.run(
        "document.querySelectorAll('table:has(thead th[scope])').length"
    )
    assert page.run("new Set([...document.querySelectorAll('[id]')].map(one => one.id)).size") == page.run(
        "document.querySelectorAll('[id]').length"
    )


def test_what_the_page_does_not_hold_is_named(opened: Open, tmp_path: Path) -> None:
    lines = [b"@a1|f0|c%d|S1|d2|T%d#" % (number // 5, number % 5) for number in range(1000)]
    page = page_of(opened, tmp_path, b"\n".join(lines), max_messages=100, wire="nslip")
    assert page.text("#tile-records .figure") == "1,000"
    held = page.run("JSON.parse(document.getElementById('data').textContent).messages.length")
    assert 90 <= held <= 100
    assert f"{held} of 1,000 messages" in page.text("#talks .note")
    assert f"{held // 5} of {len({line.split(b'|')[2] for line in lines})} conversations" in page.text("#talks .note")
    page.type("text", "@a1")
    page.until(f"document.getElementById('shown').textContent === '{held}'")
    assert "the log has 1,000" in page.text("#active")


@pytest.mark.parametrize("amount", [2_000 if PURE_ONLY else 20_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_a_page_about_many_records_opens(opened: Open, tmp_path: Path, amount: int) -> None:
    lines = (
        b"2026-01-05T%02d:%02d:%02dZ @a%d|f0|c%d|S%d|d%d|T1#\n"
        % (place // 3600 % 24, place // 60 % 60, place % 60, place % 10, place // 4, place % 7, place % 5)
        for place in range(amount)
    )
    path = tmp_path / "many.log"
    with path.open("wb") as stream:
        stream.writelines(lines)
    made = report(path, tokenizer=None)
    made.write(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 12 << 20
    page = opened(tmp_path / "report.html")
    assert page.run("document.getElementById('shown').textContent") == f"{amount:,}"
    counted = [int(value.split()[0].replace(",", "")) for value in page.texts("#kinds .value")]
    assert sum(counted) == amount and len(counted) == 10
    page.run("document.getElementById('kind').selectedIndex = 1")
    page.run("document.getElementById('kind').dispatchEvent(new Event('change'))")
    page.until(f"document.getElementById('shown').textContent === '{amount // 10:,}'")


# --- text of strangers stays text, wherever it comes from: messages, names, files, titles, damaged bytes --------------


HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<!--<script>window.hacked = 1//-->",
    '"><img src=x onerror="window.hacked = 1">',
    "<svg onload=window.hacked=1><a xlink:href='javascript:window.hacked=1'>",
    "javascript:window.hacked=1",
    "{{data}} {{script}} ${window.hacked = 1} `",
    "]]></style><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "\u202egnp.exe \u2066left\u2069 \u200bnothing\u2028line\u2029paragraph\ufeff",
    "\x1b[31mred\x1b[0m \x07 \x9b31m \x7f",
    "&lt;b&gt; &amp;amp; &#x3c;script&#x3e;",
    "\\u003cscript\\u003e \\x3c",
    "__proto__",
    "constructor",
)
ESCAPED = {8238: r"\u202e", 8294: r"\u2066", 8297: r"\u2069", 8203: r"\u200b", 8232: r"\u2028", 8233: r"\u2029"}
ESCAPED |= {0xFEFF: r"\ufeff", 27: r"\x1b", 7: r"\x07", 0x9B: r"\x9b", 0x7F: r"\x7f"}


VALUES = "[...document.querySelectorAll('#diagram .fields dd')].map(one => one.textContent)"


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a log whose every text is hostile, in a file of a hostile name."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    lines = []
    for number, text in enumerate(HOSTILE):
        message = nslip.SlipMessage(
            conv_id=1, turn=number, src=1, dst=2, act=nslip.Act.INFORM, frame=nslip.FrameType.TASK,
            slots={nslip.Slot.TAG: text, nslip.Slot.STATUS: text[::-1]},
        )  # fmt: skip
        lines.append(nslip.encode(message).encode())
        lines.append(b"@a1|f0|c$|" + text.encode() + b"\xff\x00#")
    log = put(tmp_path / "<img src=x onerror=window.hacked=1>.log", b"\n".join(lines))
    page = tmp_path / "report.html"
    report(log, title="</title><script>window.hacked = 1</script>").write(page)
    return page


def test_hostile_text_stays_text(opened: Callable[..., Page], strangers: Path) -> None:
    page = opened(strangers)
    tags = []
    for step in range(len(HOSTILE)):
        page.run(f"document.querySelectorAll('#diagram .step')[{step}].dispatchEvent(new MouseEvent('click'))")
        names, values = page.texts("#diagram .fields dt"), page.run(VALUES)
        tags += [value for name, value in zip(names, values, strict=True) if name.endswith("TAG")]
    assert page.run("window.hacked") is None
    assert page.text("h1") == "</title><script>window.hacked = 1</script>"
    assert page.run("document.querySelectorAll('script').length") == 2
    assert (
        page.run(
            "document.querySelectorAll('img, iframe, object, embed, form, foreignObject, "
            'a:not(.skip, #findings a[href^="#"])\').length'
        )
        == 0
    )
    handlers = (
        "[...document.querySelectorAll('*')]"
        ".filter(one => [...one.attributes].some(each => each.name.startsWith('on'))).length"
    )
    assert page.run(handlers) == 0
    assert tags == [text.translate(ESCAPED) for text in HOSTILE]


def test_hostile_text_in_filters_finds_itself(opened: Callable[..., Page], strangers: Path) -> None:
    page = opened(strangers)
    for text in HOSTILE[:8]:
        page.type("text", text)
        wanted = sum(text.lower() in other.lower() for other in HOSTILE)
        page.until(f"document.getElementById('shown').textContent === '{wanted}'")
        assert len(page.texts("#diagram .step")) == wanted


def test_damaged_bytes_are_shown_as_they_are(opened: Callable[..., Page], strangers: Path) -> None:
    page = opened(strangers)
    texts = page.texts("#rejects .reject code")
    assert texts[0] == "@a1|f0|c$|" + HOSTILE[0] + r"\xff\x00#"
    rejects = page.run("JSON.parse(document.getElementById('data').textContent).rejects.length")
    assert rejects == len(HOSTILE)
    assert bytes.fromhex(page.text("#rejects .hex").split("\n")[0][10:58].replace(" ", ""))[:4] == b"@a1|"


def test_a_script_that_got_in_would_not_run(browser: Browser, strangers: Path) -> None:
    """The policy is the second wall: the page is opened here with holes made on purpose."""
    text = strangers.read_text("utf-8")
    holed = strangers.with_name("holed.html")
    holes = "<script>window.hacked = 1</script><p onclick='window.hacked = 1' id=hole style='color: red'>x</p>"
    holed.write_text(text.replace("<main ", f"{holes}<main "), "utf-8")
    page = Page(browser)
    page.open(holed)
    page.run("document.getElementById('hole').click()")
    assert page.run("window.hacked") is None
    assert page.run("getComputedStyle(document.getElementById('hole')).color") != "rgb(255, 0, 0)"
    refused = page.run("(() => { try { document.body.innerHTML = '<b>x</b>'; return false } catch { return true } })()")
    assert refused and len(page.errors) >= 3
    page.close()


@given(st.recursive(st.text() | st.integers() | st.none() | st.characters(categories=["Cs"]), st.lists, max_leaves=9))
def test_nothing_can_break_out_of_the_island(value: object) -> None:
    text = island(value)
    assert json.loads(text) == value
    assert text.isascii() and not set("<>&") & set(text)


def test_the_page_is_one_document_that_names_no_address(strangers: Path) -> None:
    text = strangers.read_text("utf-8")
    data = text[text.index('id="data">') : text.rindex("<script>")]
    rest = text.replace(data, "")
    assert set(re.findall(r"https?://[^\s\"'<]+", rest)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"<(?:link|script|img|iframe)[^>]*\b(?:src|href)=\"?([^\" >]+)", rest) == ["data:,"]
    assert html.escape("</title><script>window.hacked = 1</script>") in rest
