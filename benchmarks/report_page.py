"""The page of a long log: what making it costs, how large it is, and how soon a browser has drawn it.

python benchmarks/report_page.py [records] [agents] [--keep FOLDER]

The log is real nSLIP traffic again and again, with new conversations each time, a time in front of each record (137 ms
apart) and, where ``agents`` is given, so many senders. The page is opened in a headless Chromium, which counts from the
navigation to the second frame behind the load. Log and page are in a temporary folder, or in the one that is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from turnwire.nslip import decode, encode
from turnwire.report import report

HERE = Path(__file__).resolve().parent
TRAFFIC = HERE.parent / "examples" / "data" / "nslip_upstream.txt"
START, STEP = datetime(2026, 1, 5, 9), timedelta(milliseconds=137)
OPENINGS = 5
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"


def lines(agents: int) -> Iterator[str]:
    """The lines of the log, without an end."""
    numbers = Random(1)
    messages = [decode(line) for line in TRAFFIC.read_text().splitlines() if line.startswith("@")]
    width = max(message.conv_id for message in messages) + 1
    time, shift = START, 0
    while True:
        for one in messages:
            src = numbers.randrange(agents) if agents else one.src
            new = one.replace(conv_id=one.conv_id + shift, src=src)
            yield f"{time.isoformat(timespec='milliseconds')}Z {encode(new)}\n"
            time += STEP
        shift += width


def opened(page: Path, folder: Path) -> list[float]:
    """Seconds until the page is drawn, each time it is opened; empty where there is no Chromium."""
    sys.path.insert(0, str(HERE.parent))  # the tests' browser
    from tests.report.browser import Browser, Page, chromium

    path = chromium()
    if path is None:
        return []
    browser = Browser(path, folder)
    try:
        found = []
        for _ in range(OPENINGS):
            tab = Page(browser)
            tab.open(page)
            found.append(tab.run(DRAWN) / 1e3)
            tab.close()
        return found
    finally:
        browser.close()


def measure(records: int, agents: int, folder: Path) -> None:
    """Makes log and page in a folder, and prints what they took."""
    log, page = folder / "long.log", folder / "long.html"
    with log.open("w") as file:
        file.writelines(islice(lines(agents), records))
    print(f"log: {records:,} records, {log.stat().st_size / 1e6:,.0f} MB")
    before = process_time()
    made = report(log)
    made.write(page)
    taken = process_time() - before
    memory = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    print(f"page made: {taken:.1f} CPU s, {taken / records * 1e6:.1f} µs a record; at most {memory:,.0f} MB of memory")
    print(f"page: {page.stat().st_size / 1e6:.2f} MB, {len(made.data['cells'][0]):,} sums")
    times = opened(page, folder)
    if times:
        print(f"drawn after {median(times):.2f} s ({min(times):.2f} to {max(times):.2f}, {OPENINGS} times)")
    else:
        print("there is no Chromium to open it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=int, nargs="?", default=1_000_000)
    parser.add_argument("agents", type=int, nargs="?", default=0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    chosen = parser.parse_args()
    if chosen.keep is not None:
        chosen.keep.mkdir(parents=True, exist_ok=True)
        measure(chosen.records, chosen.agents, chosen.keep)
        return
    with TemporaryDirectory() as folder:
        measure(chosen.records, chosen.agents, Path(folder))


if __name__ == "__main__":
    main()
