"""A first look at turnwire: real nSLIP traffic in, messages, columns, rejects and a queried table out.

    make demo

By hand: `pip install "turnwire[sql]"`, then `python examples/demo.py`. Where the data comes from:
examples/data/ATTRIBUTION.md.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb
import polars

import turnwire
from turnwire import nslip

DATA = Path(__file__).parent / "data" / "nslip_upstream.txt"
QUERY = """
SELECT tag AS verdict, count(*) AS messages, min(score) AS lowest, round(avg(score), 2) AS mean, max(score) AS highest
FROM messages
WHERE act = 'EVAL'
GROUP BY tag
ORDER BY messages DESC
"""


def heading(text: str) -> None:
    """Prints a heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def one_message(wire: bytes) -> None:
    """Decodes one message, looks into it, changes it and writes it back."""
    heading("1. One message")
    message = nslip.decode(wire)
    print(f"   on the wire   {wire.decode()}")
    print(f"   decoded       act={message.act.name} src={message.src} dst={message.dst} turn={message.turn}")
    print(f"                 {', '.join(f'{slot.name}={value!r}' for slot, value in message.slots.items())}")
    answer = message.replace(act=nslip.Act.ACCEPT, src=message.dst, dst=message.src, turn=message.turn + 1)
    print(f"   an answer     {nslip.encode(answer)}")


def every_message(lines: list[bytes]) -> None:
    """Decodes all lines and checks that writing them gives the same bytes."""
    heading(f"2. All {len(lines):,} messages, decoded and written back")
    started = time.perf_counter()
    same = sum(nslip.encode(nslip.decode(line)).encode() == line for line in lines)
    each = (time.perf_counter() - started) / len(lines) * 1e6
    print(f"   {same:,} of {len(lines):,} came back byte for byte, {each:.1f} µs for each round trip")


def one_error() -> None:
    """Shows what a refusal says."""
    heading("3. What an error says")
    wire = '@a3|f0|c3|S0|d1|T1|t"never closed#'
    try:
        nslip.decode(wire)
    except turnwire.DecodeError as error:
        print(f"   {wire}")
        print(f"   {' ' * (error.offset or 0)}^")
        print(f"   {error}")


def damaged(lines: list[bytes]) -> bytes:
    """The same lines as a log that has seen some life: other text around them, and every 500th message damaged."""
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
    bad, counts = scan.rejects, scan.counts
    print(f"   {good:,} good, {len(bad)} rejected: a damaged message never costs its neighbour")
    print(
        f"   bytes: {counts.record_bytes:,} records + {counts.reject_bytes:,} rejects + {counts.text_bytes:,} text "
        f"= {counts.bytes:,}\n"
    )
    for reject in bad.rows():
        print(
            f"   line {reject['line']:>5}, byte {reject['offset']:>7}  {reject['reason']:<12}  {reject['raw'].decode()}"
        )


def a_query(path: Path) -> None:
    """Scans a file into columns and queries them with SQL, once through Polars and once through DuckDB."""
    heading("5. The file as a table: how were the results judged?")
    started = time.perf_counter()
    table = polars.DataFrame(turnwire.scan(path, wire="nslip"))
    print(f"   {table.height:,} rows, {table.width} columns in {(time.perf_counter() - started) * 1e3:.1f} ms")
    print(QUERY.rstrip().replace("\n", "\n   "), end="\n\n")
    with polars.SQLContext(messages=table) as context:
        answer = context.execute(QUERY, eager=True)
    with polars.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        print("   " + str(answer).replace("\n", "\n   "))

    messages = turnwire.scan(path, wire="nslip")  # DuckDB finds it by its name in the query
    verdict = "the same" if duckdb.execute(QUERY).fetchall() == answer.rows() else "otherwise"
    print(f"   DuckDB, reading the scan of {messages.counts.bytes:,} bytes itself, says {verdict}.")


def main() -> None:
    """Runs the five steps."""
    lines = DATA.read_bytes().splitlines()
    print(f"turnwire {turnwire.__version__}, {turnwire.backend} core, reading {DATA.name}")
    one_message(lines[0])
    every_message(lines)
    one_error()
    a_damaged_log(lines)
    a_query(DATA)
    print("\nNext: README.md, docs/index.md, or `turnwire scan --help`.")


if __name__ == "__main__":
    main()
