"""A reader uses the page: keeps a view by its address; reads axes, many lanes, on a phone, by keys."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import Page

pytestmark = pytest.mark.once

Open = Callable[..., Page]
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
