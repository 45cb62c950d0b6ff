"""What a reader does with the page: keeps a view by its address; reads axes, many lanes, on a phone, by keys."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from examples.mixed_log import log
from tests.report.browser import Page
from turnwire.cli.terminal import width as cells
from turnwire.report import report

pytestmark = pytest.mark.once

Open = Callable[..., Page]
ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "node" / "node_modules" / "axe-core" / "axe.min.js"
MINUTE = 60_000_000
START = 1_767_571_200_000_000  # 2026-01-05T00:00:00Z


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reading") / "report.html"
    report(log(40, seed=9, every=8).text.encode(), tokenizer=None).write(made)
    return made


def made(folder: Path, lines: list[str]) -> Path:
    path = folder / "report.html"
    report("\n".join([*lines, ""]).encode(), tokenizer=None).write(path)
    return path


def line(minute: float, sender: int = 0, receiver: int = 1, talk: int = 1) -> str:
    whole = int(minute * 60)
    stamp = f"2026-01-{5 + whole // 86400:02}T{whole // 3600 % 24:02}:{whole // 60 % 60:02}:{whole % 60:02}Z"
    return f'{stamp} @a3|f0|c{talk}|S{sender}|d{receiver}|T1|t"tell"#'


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


# ---- axes


@pytest.mark.parametrize(
    ("minutes", "form", "step"),
    [(0.2, r"\d\d:\d\d:\d\d(\.\d{3})?", None), (9, r"\d\d:\d\d", 1), (100, r"\d\d:\d\d", 15), (600, r"\d\d:\d\d", 60)],
)
def test_ticks_of_time_are_round_and_of_one_notation(
    opened: Open, tmp_path: Path, minutes: float, form: str, step: int | None
) -> None:
    page = opened(made(tmp_path, [line(7 + minutes * place / 99) for place in range(100)]))
    labels = page.texts("#volume .tick")
    assert 3 <= len(labels) <= 11
    assert all(re.fullmatch(form, label) for label in labels), labels
    assert len({len(label) for label in labels}) == 1
    if step:
        values = [int(label[:2]) * 60 + int(label[3:]) for label in labels]
        assert all(value % step == 0 for value in values)
        assert len({second - first for first, second in pairwise(values)}) == 1
    assert page.texts("#volume .date") == ["2026-01-05"]


def test_ticks_of_many_days_are_days(opened: Open, tmp_path: Path) -> None:
    page = opened(made(tmp_path, [line(7 + 60 * 24 * 20 * place / 99) for place in range(100)]))
    labels = page.texts("#volume .tick")
    assert len(labels) >= 3 and all(re.fullmatch(r"2026-01-\d\d", label) for label in labels)


def test_the_numbers_of_an_axis_are_of_one_notation(opened: Open, tmp_path: Path) -> None:
    lines = [line(0)] * 12_500 + [line(1)] * 300
    page = opened(made(tmp_path, lines))
    numbers = [text for text in page.texts("#volume .chart > text:not(.tick):not(.date)") if text != "0"]
    assert len(numbers) >= 3 and all(re.fullmatch(r"\d+K", number) for number in numbers), numbers


def test_percentiles_are_called_so_and_their_axis_is_round(opened: Open, path: Path) -> None:
    page = opened(path)
    heads = page.texts("#answers thead th")
    assert heads[5:9] == ["Median (p50)", "p90", "p99", "Longest"]
    marks = page.texts("#answers .marks > span")
    assert len(marks) >= 2 and all(re.fullmatch(r"(1|10|100) (µs|ms|s|min|h|d)", mark) for mark in marks), marks


# ---- rejects over time


def test_damage_stands_in_the_chart_at_the_time_around_it(opened: Open, tmp_path: Path) -> None:
    bad = "@a3|f0|c$|S1#"
    lines = [bad, line(0), line(1), bad, bad, *(line(minute) for minute in range(2, 60)), f"x {bad} {line(60)} {bad}"]
    path = made(tmp_path, lines)
    data = report("\n".join([*lines, ""]).encode(), tokenizer=None).data
    width, start = data["time"]["width"], data["time"]["start"]
    minutes = Counter(
        {(start + bucket * width - START) // MINUTE: number for bucket, _, number in data["reject_cells"]}
    )
    assert sum(minutes.values()) == sum(number for *_, number in data["reject_counts"]) == 5
    assert minutes[0] == 1 and minutes[1] == 2, "before the first record at its time, else at that of the one before"
    page = opened(path)
    drawn = page.run("[...document.querySelectorAll('#volume rect.damage')].map(one => +one.dataset.rejects)")
    assert sum(drawn) == 5
    assert "5" in page.text("#volume .legend .damage")
    order = page.run("[...document.querySelectorAll('main > section')].map(one => one.id)")
    assert order[:2] == ["volume", "rejects"]


def test_damage_without_any_time_is_counted_and_not_drawn() -> None:
    data = report(b"@a3|f0|c$|S1#\n@a3|f0|c1|S0|d1|T1#\n", tokenizer=None).data
    assert data["reject_cells"] == [] and data["reject_counts"] == [["nslip", "bad_digit", 1]]


# ---- many lanes, narrow windows


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines, names = [line(place) for place in range(40)], "0123456789AB"
    lines = [
        re.sub(r"S\w+\|d\w+", f"S{names[place % 12]}|d{names[(place * 5 + 1) % 12]}", one)
        for place, one in enumerate(lines)
    ]
    return made(tmp_path_factory.mktemp("twelve"), lines)


def test_twelve_lanes_fit_and_their_names_stay_in_sight(opened: Open, twelve: Path) -> None:
    page = opened(twelve, width=1280)
    assert len(page.texts("#diagram .actor")) == 12
    assert page.run("document.querySelector('#diagram .lanes.scroll')") is None
    holder, drawn = page.run(
        "['#diagram', '#diagram svg.sequence'].map(one => document.querySelector(one).getBoundingClientRect().right)"
    )
    assert drawn <= holder + 1
    page.run("document.querySelectorAll('#diagram .step')[25].scrollIntoView()")
    bar, heads = page.run(
        "[document.getElementById('filters').getBoundingClientRect().bottom,"
        "document.querySelector('#diagram .heads').getBoundingClientRect().top]"
    )
    assert abs(bar - heads) <= 1, "the names stick below the bar of filters"


def test_what_is_said_stays_inside_the_drawing(opened: Open, twelve: Path) -> None:
    for width in (400, 1280):
        page = opened(twelve, width=width)
        outside = page.run(
            "[...document.querySelectorAll('#diagram .said')].filter(one => { const box = one.getBBox();"
            "const all = one.ownerSVGElement.viewBox.baseVal;"
            "return box.x < 0 || box.x + box.width > all.width + 4 }).length"
        )
        assert outside == 0


def named(sender: str, receiver: str, place: int, talk: str = "s") -> str:
    """A query of SSTP: its parties have names."""
    head = {"kind": "query", "actor_id": sender, "schema_id": "ioc.query.v0", "logical_clock": place + 1}
    payload = {"question": "what next?", "required_fields": ["cost"], "uncertainty": 0.5}
    whole = {"header": {**head, "session_id": talk, "directed_to": receiver}, "payload": payload}
    return f"2026-01-05T00:{place // 60:02}:{place % 60:02}Z {json.dumps(whole, ensure_ascii=False)}"


def test_sixteen_parties_stand_in_the_matrix_without_scrolling(opened: Open, tmp_path: Path) -> None:
    parties = [f"worker-{number:02}" for number in range(20)]
    lines = [named(parties[place % 20], parties[(place * 7 + 1) % 20], place) for place in range(200)]
    page = opened(made(tmp_path, lines), width=1280)
    assert len(page.texts("#parties .matrix thead th")) == 16 + 1, "and all of them together"
    held, room = (
        page.run(f"document.querySelector('#parties .scroll').{name}") for name in ("scrollWidth", "clientWidth")
    )
    assert held <= room
    cut = page.run(
        "[...document.querySelectorAll('#parties button')].filter(one => one.scrollWidth > one.clientWidth).length"
    )
    assert cut == 0


def test_narrow_lanes_tell_numbered_names_apart(opened: Open, tmp_path: Path) -> None:
    parties = [f"worker-of-the-night-{number:02}" for number in range(12)]
    lines = [named(parties[place % 12], parties[(place + 1) % 12], place) for place in range(24)]
    page = opened(made(tmp_path, lines), width=1280)
    labels = page.texts("#diagram .actor text")
    assert len(set(labels)) == 12 and all("…" in label for label in labels), labels


def test_wide_characters_are_cut_to_the_room_they_take(opened: Open, tmp_path: Path) -> None:
    parties = ["规划者", "執行器エージェント", "조사원 두 번째", "🤖🤖🤖🤖🤖🤖", "นักวิจารณ์", "e\u0301clair", *"abcdef"]
    lines = [named(parties[place % 12], parties[(place + 1) % 12], place) for place in range(24)]
    page = opened(made(tmp_path, lines), width=1280)
    labels = page.texts("#diagram .actor text")
    lane = page.run("document.querySelector('#diagram .actor rect').getBoundingClientRect().width")
    assert len(labels) == 12
    assert all(cells(label) <= (lane - 8) / 7.2 for label in labels), labels
    assert {"规划者", "นักวิจารณ์", "e\u0301clair"} & set(labels) >= {"规划者", "e\u0301clair"}
    assert sum("…" in label for label in labels) >= 3


def test_text_from_right_to_left_has_its_ellipsis_where_it_ends(opened: Open, tmp_path: Path) -> None:
    long = "مساعد المراجعة الليلية للإصدار"
    lines = [named(name, f"other-{name}", place) for place, name in enumerate((long, "a-name-of-no-few-letters" * 3))]
    page = opened(made(tmp_path, lines), width=1280)
    labels = [label for label in page.texts("#diagram .actor text") if "…" in label]
    assert [label.startswith("\u2068") and label.endswith("\u2069") for label in labels] == [True, True, False, False]


def test_the_marks_of_the_latencies_stand_below_their_lines(opened: Open, path: Path) -> None:
    page = opened(path, width=1280)
    marks = page.run(
        "[...document.querySelectorAll('#answers .marks > span')]"
        ".map(one => { const box = one.getBoundingClientRect(); return (box.left + box.right) / 2 })"
    )
    lines = page.run(
        "[...document.querySelector('#answers td.shape svg').querySelectorAll('.tick')]"
        ".map(one => one.getBoundingClientRect().left)"
    )
    inner = marks[1:-1] if len(marks) > 2 else marks[:1]
    assert inner and all(min(abs(mark - place) for place in lines) <= 2 for mark in inner), (marks, lines)


def test_one_record_is_a_bar_and_not_a_wall(opened: Open, tmp_path: Path) -> None:
    page = opened(made(tmp_path, [line(1)]), width=1280)
    assert page.run("+document.querySelector('#volume .part').getAttribute('width')") <= 96
    assert page.text("#lede").endswith(", 2026-01-05 00:01:00 UTC")


def test_tables_are_cards_on_a_phone(opened: Open, path: Path) -> None:
    page = opened(path, width=400)
    assert page.run("document.documentElement.scrollWidth") <= 400
    boxes = page.run(
        "[...document.querySelectorAll('#messages tbody tr:first-child td')].map(one => {"
        "const box = one.getBoundingClientRect(); return [box.left, box.right, one.dataset.label ?? ''] })"
    )
    assert all(left >= 0 and right <= 400 for left, right, _ in boxes)
    assert [label for *_, label in boxes][:5] == ["Time (UTC)", "Wire", "Kind", "From", "To"]
    assert page.run("document.querySelectorAll('#messages tbody tr').length") == 15, "a phone turns pages"
    empty = (
        "[...document.querySelectorAll('#messages td')].filter(one => one.innerText === '–' && one.offsetHeight).length"
    )
    assert page.run(empty) == 0, "what a message does not say takes no room"
    wide = page.run(
        "[...document.querySelectorAll('.stacks')]"
        ".filter(one => one.scrollWidth > one.parentElement.clientWidth).length"
    )
    assert wide == 0


# ---- keyboard and screen readers


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing(opened: Open, path: Path, width: int, scheme: str) -> None:
    if not AXE.exists():
        if os.environ.get("CI") and shutil.which("npm"):
            pytest.fail("sh .ci/browser installs axe-core")
        pytest.skip("axe-core is not there (sh .ci/browser, with npm)")
    page = opened(path, width=width, scheme=scheme)
    page.click(".step")
    page.click("#messages .open")
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
