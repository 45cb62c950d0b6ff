"""Text of strangers stays text, wherever it comes from: messages, names, files, titles, damaged bytes."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.report.browser import Browser, Page
from turnwire import nslip
from turnwire.report import report
from turnwire.report.build import island

pytestmark = pytest.mark.once

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
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    log = tmp_path / "<img src=x onerror=window.hacked=1>.log"
    log.write_bytes(b"\n".join(lines))
    page = tmp_path / "report.html"
    report(log, title="</title><script>window.hacked = 1</script>").write(page)
    return page


def test_hostile_text_stays_text(opened: Callable[..., Page], path: Path) -> None:
    page = opened(path)
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


def test_hostile_text_in_filters_finds_itself(opened: Callable[..., Page], path: Path) -> None:
    page = opened(path)
    for text in HOSTILE[:8]:
        page.type("text", text)
        wanted = sum(text.lower() in other.lower() for other in HOSTILE)
        page.until(f"document.getElementById('shown').textContent === '{wanted}'")
        assert len(page.texts("#diagram .step")) == wanted


def test_damaged_bytes_are_shown_as_they_are(opened: Callable[..., Page], path: Path) -> None:
    page = opened(path)
    texts = page.texts("#rejects .reject code")
    assert texts[0] == "@a1|f0|c$|" + HOSTILE[0] + r"\xff\x00#"
    rejects = page.run("JSON.parse(document.getElementById('data').textContent).rejects.length")
    assert rejects == len(HOSTILE)
    assert bytes.fromhex(page.text("#rejects .hex").split("\n")[0][10:58].replace(" ", ""))[:4] == b"@a1|"


def test_a_script_that_got_in_would_not_run(browser: Browser, path: Path) -> None:
    """The policy is the second wall: the page is opened here with holes made on purpose."""
    text = path.read_text("utf-8")
    holed = path.with_name("holed.html")
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


def test_the_page_is_one_document_that_names_no_address(path: Path) -> None:
    text = path.read_text("utf-8")
    data = text[text.index('id="data">') : text.rindex("<script>")]
    rest = text.replace(data, "")
    assert set(re.findall(r"https?://[^\s\"'<]+", rest)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"<(?:link|script|img|iframe)[^>]*\b(?:src|href)=\"?([^\" >]+)", rest) == ["data:,"]
    assert html.escape("</title><script>window.hacked = 1</script>") in rest
