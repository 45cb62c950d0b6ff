"""One headless Chromium for all tests of the page, and the page that most of them open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples.mixed_log import log
from tests.report.browser import Browser, Page, chromium
from turnwire.report import report

WHY = "there is no Chromium that starts on this machine (apt install chromium, or name one with TURNWIRE_CHROMIUM)"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A running browser. Where there is none the test is skipped; in CI it fails."""
    path = chromium() if os.name == "posix" else None
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(WHY)
        pytest.skip(WHY)
    started = Browser(path, tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """Opens pages; none of them may complain or ask for anything, which is looked at when the test is over."""
    pages: list[tuple[Page, Path]] = []

    def open_page(path: Path, width: int = 1280, scheme: str = "light") -> Page:
        page = Page(browser, width)
        page.prefer(scheme)
        page.open(path)
        pages.append((page, path))
        return page

    yield open_page
    for page, path in pages:
        assert page.errors == []
        assert [url for url in page.requests if not url.startswith("data:")] == [path.as_uri()]
        page.close()


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a mixed log with some damage."""
    made = tmp_path_factory.mktemp("page") / "report.html"
    report(log(40, seed=9, every=8).text.encode(), tokenizer=None).write(made)
    return made
