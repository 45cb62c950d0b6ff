"""A first look at turnwire: real nSLIP traffic in, messages, columns, rejects and a queried table out.

    make demo                       or: python examples/demo.py [a file of your own]

Needs `pip install "turnwire[sql]"`. The data is described in examples/data/ATTRIBUTION.md.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import polars

import turnwire
from turnwire import slip

DATA = Path(__file__).parent / "data" / "nslip_upstream.txt"
QUERY = """
SELECT act, frame, count(*) AS messages, count(DISTINCT conv_id) AS conversations, max(turn) AS last_turn
FROM messages
GROUP BY act, frame
ORDER BY messages DESC, act
LIMIT 8
"""


def heading(text: str) -> None:
    """Prints a heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def one_message(wire: bytes) -> None:
    """Decodes one message, looks into it, changes it and writes it back."""
    heading("1. One message")
    message = slip.decode(wire)
    print(f"   on the wire   {wire.decode()}")
    print(f"   decoded       act={message.act.name} src={message.src} dst={message.dst} turn={message.turn}")
    print(f"                 {', '.join(f'{slot.name}={value!r}' for slot, value in message.slots.items())}")
    answer = message.replace(act=slip.Act.ACCEPT, src=message.dst, dst=message.src, turn=message.turn + 1)
    print(f"   an answer     {slip.encode(answer)}")


def every_message(lines: list[bytes]) -> None:
    """Decodes all lines and checks that writing them gives the same bytes."""
    heading(f"2. All {len(lines):,} messages, decoded and written back")
    started = time.perf_counter()
    same = sum(slip.encode(slip.decode(line)).encode() == line for line in lines)
    seconds = time.perf_counter() - started
    print(f"   {same:,} of {len(lines):,} came back byte for byte, {seconds / len(lines) * 1e6:.1f} µs for each round trip")


def one_error() -> None:
    """Shows what a refusal says."""
    heading("3. What an error says")
    wire = '@a3|f0|c3|S0|d1|T1|t"never closed#'
    try:
        slip.decode(wire)
    except turnwire.DecodeError as error:
        print(f"   {wire}")
        print(f"   {' ' * (error.offset or 0)}^")
        print(f"   {error}")


def damaged(lines: list[bytes]) -> bytes:
    """The same lines as a log file that has seen some life: other text on the lines, and every 500th message damaged."""
    wounds = (
        lambda line: line[: len(line) // 2],  # cut off in the middle
        lambda line: line.replace(b"|c", b"|c$", 1),  # a digit that is none
        lambda line: line.replace(b"@a", b"@az", 1),  # an act that does not exist
        lambda line: line.replace(b"|d", b"|S", 1),  # the same field twice
    )
    log = []
    for number, line in enumerate(lines):
        if number % 500 == 250:
            line = wounds[number // 500 % len(wounds)](line)
        log.append(b"2026-01-05T09:%02d INFO agent: %s\n" % (number % 60, line))
    return b"".join(log)


def a_damaged_log(lines: list[bytes]) -> None:
    """Scans a damaged log: the good messages arrive, the bad ones are kept with the reason and the place."""
    log = damaged(lines)
    heading(f"4. A damaged log of the same messages ({len(log):,} bytes)")
    scan = turnwire.scan(log, wire="nslip", columns=["act", "src"])
    good = sum(len(batch) for batch in scan)
    rejects = polars.DataFrame(scan.rejects)
    print(f"   {good:,} good, {len(rejects)} rejected; a damaged message never costs its neighbour\n")
    for row in rejects.iter_rows(named=True):
        print(f"   line {row['line']:>5}  {row['reason']:<20} {row['raw'].decode()}")


def a_query(path: Path) -> None:
    """Scans a file into columns and queries them with SQL, once with Polars and once with DuckDB."""
    heading("5. The file as a table")
    started = time.perf_counter()
    messages = polars.DataFrame(turnwire.scan(path, wire="nslip"))
    print(f"   {messages.height:,} rows, {messages.width} columns in {(time.perf_counter() - started) * 1e3:.1f} ms")
    print(QUERY.rstrip().replace("\n", "\n   "), end="\n\n")
    with polars.SQLContext(messages=messages) as context, polars.Config(
        tbl_hide_dataframe_shape=True, tbl_formatting="MARKDOWN", tbl_hide_column_data_types=True
    ):
        table = str(context.execute(QUERY, eager=True))
    print("   " + table.replace("\n", "\n   "))


def main() -> None:
    """Runs the five steps."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    lines = path.read_bytes().splitlines()
    print(f"turnwire {turnwire.__version__}, {turnwire.backend} core, reading {path.name}")
    one_message(lines[0])
    every_message(lines)
    one_error()
    a_damaged_log(lines)
    a_query(path)
    print("\nNext: README.md, docs/index.md, or `turnwire scan --help`.")


if __name__ == "__main__":
    main()
