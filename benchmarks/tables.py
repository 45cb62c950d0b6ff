"""Writes the tables of benchmarks/README.md and of the README: measured here and now.

python benchmarks/tables.py            prints them; some minutes
python benchmarks/tables.py --quick    few rounds and little data, for a look
python benchmarks/tables.py --write    also writes them into both pages: on a quiet machine
"""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"  # before anything imports Polars: one thread is compared with one

import messages
import readers
import scans
from measure import machine

from turnwire import tokens

HERE = Path(__file__).parent
MARK, END = "<!-- written by `python benchmarks/tables.py --write` -->", "<!-- end -->"
"""Between them stand the tables of a page."""
SPECIFICATIONS = {
    "nslip": "[SLIP v0.1](docs/nslip.md)",
    "csp": "[CSP/1](docs/csp.md)",
    "sstp": "[SSTP](docs/sstp.md)",
    "sap": "[UBOS SAP V2.0](docs/sap.md)",
    "kick": "[KickLang](docs/kick.md)",
}


def headline(single: list[messages.Row], files: list[readers.Row]) -> str:
    """The table of the README: a line for each wire."""
    by_case, by_wire = {row.case: row for row in single}, {row.wire: row for row in files}
    lines = [
        "| wire | specification | tokens | decode + check | encode | `Decoder.feed` | `extract` | file to Arrow |"
        " DuckDB ÷ turnwire |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for wire, name in SPECIFICATIONS.items():
        row, file = by_case[wire], by_wire[wire]
        texts = [text.decode() for text in messages.texts_of(wire)]
        count = sum(tokens.count_many(texts, "o200k_base")) / len(texts)
        timed = ("decode + check", "encode made", "feed", "extract")
        cells = [f"{row.times[what]:,.0f} ns, {row.ratios[what]:.2f}" for what in timed]
        cells += [f"{file.speed:,.0f} MB/s", f"{file.duckdb:.1f} ×"]
        lines.append(f"| `{wire}` | {name} | {count:.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def put(page: Path, text: str) -> None:
    """Writes a text between the marks of a page."""
    before, mark, rest = page.read_text("utf-8").partition(MARK)
    page.write_text(f"{before}{mark}\n{text}\n{rest[rest.index(END) :]}", "utf-8")


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds and little data")
    parser.add_argument("--write", action="store_true", help="write them into the pages")
    options = parser.parse_args()
    rounds, size = (2, 2 << 20) if options.quick else (9, 64 << 20)
    load = os.getloadavg()[0]
    single, files = list(messages.measure(rounds)), list(readers.measure(rounds, size))
    taken = f"Measured on {datetime.now(UTC):%Y-%m-%d} at a load average of {load:.1f} on\n{machine()}."
    parts = [taken, messages.table(single), readers.table(files), scans.tables(size >> 2, rounds)]
    text = "\n\n".join(parts)
    print(text)
    if options.write:
        put(HERE / "README.md", text)
        put(HERE.parent / "README.md", headline(single, files))


if __name__ == "__main__":
    main()
