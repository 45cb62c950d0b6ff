"""How the page looks and reads: colours, narrow windows, names for those who listen, empty logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import PURE_ONLY
from tests.report.browser import Page
from turnwire.report import report

pytestmark = pytest.mark.once

Open = Callable[..., Page]
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
