"""``turnwire stats``: what logs are made of, as tables or as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import conclude, milliseconds, sums, table, write_json, write_text
from turnwire.showing import counted

if TYPE_CHECKING:
    from turnwire.read.grouping import Aggregation, Grouped

TITLES = {
    "wire": "wires",
    "kind": "kinds",
    "sender": "senders",
    "receiver": "receivers",
    "reason": "damaged, by reason",
    "conversation": "busiest conversations",
    "answers": "answers",
    "tool": "tools",
    "tree": "trees of spans",
}
MOST_IN_BUDGET = 1_000_000
"""Values that are told apart at least where a budget is kept."""
ODD = {"others": "(others)", "without": "(none)"}
"""Members of rows that have no value, and what stands in its place."""
LATENCIES = ("min s", "p50 s", "p90 s", "p99 s", "max s")
RARE = frozenset({"progress", "orphans", "ahead", "further"})
"""Columns of answers that are shown where there are any."""
LAST = ("timed", "given_up", "backwards", "progress", "orphans", "ahead", "further")
"""Columns of answers that go before latencies do, where a terminal has no room for all."""


@click.command("stats", short_help="Count records, damage and conversations; measure answer times.")
@options.sources_argument
@options.format_option
@options.scan_options
@options.by_options
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of tables.")
@options.exit_zero_option
def command(sources: tuple[str, ...], **settings: Any) -> int:
    """Counts bytes, records, kinds, senders, receivers, damage and conversations in SOURCES; measures answer times.

    SOURCES are files, directories, globs, URLs, or - for standard input. With --by, prints records, bytes and answers
    of each value, those with the most bytes first. Exits with 1 if a record is damaged.
    """
    from turnwire.read.grouping import STATISTICS, Aggregation, columns_of, statistics

    names = inputs.checked(sources)
    settings["wire"] = wire = inputs.wire_of(names, settings["wire"])
    if settings["by"] is not None:
        found, gathered, stopped = show_groups(names, None, settings)
        counts = found.counts
    else:
        gathered = Aggregation(STATISTICS)
        counts, stopped = options.read_all(names, wire, columns_of(wire), settings, gathered.take)
        rows = list(statistics(gathered, counts).rows(settings["top"]))
        if settings["as_json"]:
            write_json(rows)
        else:
            write_text("\n".join(_tables(rows)))
    if stopped is None and not counts.records + counts.rejects:
        inputs.tell_nothing(names, wire, bool(counts.bytes))
    elif not settings["as_json"]:
        _conclude(counts, gathered.pairs.found.values(), names, wire)
    if stopped is not None:
        raise stopped
    return BAD_RECORDS if counts.reasons else GOOD


def _conclude(counts: Any, pairings: Iterable[Any], names: Sequence[str], wire: str | None) -> None:
    """The last line: the damage, else the requests that wait for an answer, and what shows them."""
    if counts.reasons:
        conclude(counts, counts.reasons, "validate", names, wire=wire)
        return
    waiting, asked = sum(one.waiting for one in pairings), sum(one.requests for one in pairings)
    worst = f"{waiting:,} of {counted(asked, 'request')} without an answer" if waiting else ""
    conclude(counts, worst, "report", names, "-o", "report.html", wire=wire)


def show_groups(
    names: Sequence[str], counter: Any, settings: dict[str, Any], more: Any = None, title: str = ""
) -> tuple[Grouped, Aggregation, KeyboardInterrupt | None]:
    """Shows the records of each value of --by, with the tokens of a tokenizer (None: without). more: the function that
    receives each row. Returns the groups, what they are of, and the interruption that ended the scan."""
    from turnwire.read.grouping import ROOM, Aggregation, Grouped, columns_of

    wire, by = settings["wire"], settings["by"]
    room = ROOM if settings.get("budget") is None else MOST_IN_BUDGET  # which a rare value may go over
    gathered = Aggregation([by], counter, room, latencies=True)
    counts, stopped = options.read_all(names, wire, columns_of(wire), settings, gathered.take)
    found = Grouped(by, gathered.groups[by], counts, counter is not None)
    rows = [row if more is None else more(row) for row in found.rows(settings["top"])]
    if settings["as_json"]:
        write_json(rows)
    elif rows:
        write_text(title + group_table(rows))
    return found, gathered, stopped


def group_table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of statistics, or of :meth:`turnwire.read.grouping.Grouped.rows`, as a table."""
    names = [name for name in rows[0] if name not in ("stat", *ODD)]
    names = [name for name in names if name not in RARE or any(row[name] for row in rows)]
    names.sort(key=lambda name: name in LAST)
    cells = [
        [milliseconds(row.get(name)) if name in ("first", "last") else row.get(name) for name in names] for row in rows
    ]
    for row, shown in zip(rows, cells, strict=True):
        shown[0] = next((word for mark, word in ODD.items() if mark in row), shown[0])
    decimals = {name: _decimals([row.get(name) for row in rows]) for name in (*LATENCIES, "p50", "p95", "cost")}
    return table(names, cells, decimals)


def _tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    selected = sum(row["record_bytes"] for row in rows if row["stat"] == "wire")
    yield _overview({**rows[0], "selected_bytes": selected})
    for stat, title in TITLES.items():
        if chosen := [_flat(row) for row in rows if row["stat"] == stat]:
            yield f"{title}\n{group_table(chosen)}"


def _decimals(seconds: list[float | None]) -> int:
    """The digits after the point that show every number of a column: three at most, or six where one is below 1 ms."""
    known = [one for one in seconds if one]
    most = 6 if any(one < 0.001 for one in known) else 3
    return max([1, *(len(f"{one:.{most}f}".rstrip("0").partition(".")[2]) for one in known)])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the numbers of its latencies beside the others."""
    seconds = row.pop("seconds", None)
    if seconds is None:
        return row
    return {**row, "timed": seconds["count"], **{name: seconds[name.removesuffix(" s")] for name in LATENCIES}}


def _overview(total: dict[str, Any]) -> str:
    names = {"selected": "selected", "records": "record", "rejects": "reject", "text": "text"}
    if total["selected"] == total["records"]:
        del names["selected"]
    rows = [(name, total.get(name), total[f"{word}_bytes"], "") for name, word in names.items()]
    lines = sums([*rows, ("total", None, total["bytes"], "")])
    if total["first"] is not None:
        lines.append(f"time    {milliseconds(total['first'])} to {milliseconds(total['last'])}")
    return "".join(f"{line}\n" for line in lines)
