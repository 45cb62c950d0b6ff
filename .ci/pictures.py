"""Makes the pictures of docs/images. The report as a Chromium shows it, the terminal as rich draws it.

The same log gives the same pictures, but for how long a scan took. None has more than MOST bytes, and none fetches
anything.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT))
os.environ["TERM"] = "xterm-256color"

from examples.mixed_log import log  # noqa: E402
from tests.cli.running import on_terminal  # noqa: E402
from tests.report.browser import Browser, Page, chromium  # noqa: E402
from turnwire.report import report  # noqa: E402

MOST = 150_000
ANSI = [(40, 40, 40), (200, 40, 40), (30, 130, 60), (150, 110, 0), (30, 90, 200), (140, 50, 170), (0, 120, 130)]
LIGHT = TerminalTheme((255, 255, 255), (26, 31, 39), [*ANSI, (90, 100, 112)])
DARK = TerminalTheme((22, 27, 34), (230, 234, 240), [(200, 205, 212), (255, 156, 147), (79, 196, 141), (240, 190, 90),
                     (138, 180, 248), (201, 155, 250), (90, 200, 210), (163, 173, 187)])  # fmt: skip
SVG = """<svg xmlns="http://www.w3.org/2000/svg" class="rich-terminal" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""
"""rich's own names a font that a reader would fetch."""
WHITE_LINE, DARK_LINE = "rgba(255,255,255,0.35)", "rgba(0,0,0,0.2)"
"""rich frames a terminal in white, whatever the ground is."""
SCREENS = {
    "terminal-scan": ("scan", "examples/data/damaged.log"),
    "terminal-tokens": ("tokens", "examples/data/nslip_upstream.txt", "--compare"),
    "terminal-validate": ("validate", "examples/data/damaged.log"),
}


def terminal() -> None:
    """Prints the output of commands on a terminal of 100 columns."""
    for name, arguments in SCREENS.items():
        code, sent = on_terminal(*arguments, COLUMNS="100", TERM="xterm-256color")
        assert code in (0, 1), (arguments, code, sent)
        said = Text.from_ansi(f"$ turnwire {' '.join(arguments)}\n" + sent.decode().replace("\r\n", "\n").rstrip())
        for scheme, theme in (("light", LIGHT), ("dark", DARK)):
            console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor")
            console.print(said)
            drawn = console.export_svg(title="turnwire", theme=theme, code_format=SVG, unique_id=f"t{scheme}")
            if scheme == "light":
                drawn = drawn.replace(WHITE_LINE, DARK_LINE)
            keep(f"{name}-{scheme}.svg", drawn.encode())


def pages(folder: Path) -> None:
    """The report about the example log, as far as a window of 1280 by 900 shows it, and on a phone."""
    path = chromium()
    if path is None:
        raise SystemExit("there is no Chromium: sh .ci/browser")
    made = folder / "report.html"
    report(log(200, seed=7).text.encode(), title="mixed.log").write(made)
    browser = Browser(path, folder)
    try:
        for name, width, height in (("report", 1280, 900), ("report-phone", 400, 800)):
            for scheme in ("light", "dark"):
                page = Page(browser, width, height)
                page.prefer(scheme)
                page.open(made)
                keep(f"{name}-{scheme}.png", page.shot())
                page.close()
    finally:
        browser.close()


def keep(name: str, data: bytes) -> None:
    """Writes a picture; one that is too large is an error."""
    if len(data) > MOST:
        raise SystemExit(f"{name} has {len(data):,} bytes, more than {MOST:,}")
    (IMAGES / name).write_bytes(data)
    print(f"{name}: {len(data):,} bytes")


if __name__ == "__main__":
    os.chdir(ROOT)
    IMAGES.mkdir(exist_ok=True)
    terminal()
    with tempfile.TemporaryDirectory() as place:
        pages(Path(place))
