"""``turnwire bench``: how fast this installation is, beside JSON readers that carry the same fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs
from turnwire.cli.output import complain, standard_output

if TYPE_CHECKING:
    from turnwire.cli.measuring import Effort, Measure

CORES = ("native", "pure")
OTHERS = ("msgspec", "orjson", "json", "memchr")
RATIOS = (("native/msgspec", "native", "msgspec"), ("pure/json", "pure", "json"))
FLOOR = ("% of memchr", "native", "memchr")


@click.command("bench", short_help="Measure both cores beside msgspec, orjson and json.")
@click.option("--quick", is_flag=True, help="A few seconds, and noisier.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines: the machine, then one measurement a line.")
@click.option(
    "--data",
    type=inputs.FILE,
    metavar="FILE",
    help="nSLIP messages of your own, one a line, in place of the real example lines.",
)
def command(quick: bool, as_json: bool, data: str | None) -> None:
    """Measures decode, encode, base62 and bulk scans: medians in nanoseconds, and ratios.

    Both cores run in one process, in turns with msgspec (a Struct of the same fields), orjson and json (dicts). Trust
    the ratios more than the times.
    """
    from turnwire.cli import measuring
    from turnwire.cli.commands.info import facts

    sets = _sets(data)
    found = facts()
    machine = {name: found[name] for name in ("version", "python", "platform", "cpu_features")}
    machine["native"] = "native" in measuring.twins("nslip.codec")
    machine["data"] = {name: note for name, (note, _) in sets.items()}
    output = standard_output()
    if as_json:
        from turnwire.log.output.json_lines import json_line

        output.write(json_line({"machine": machine}))
        for measure in _measures(sets, measuring.QUICK if quick else measuring.FULL):
            output.write(json_line(measure._asdict()))
            output.flush()
        return
    from turnwire.cli.tables import table

    output.write(_heading(machine).encode())
    measures = list(_measures(sets, measuring.QUICK if quick else measuring.FULL))
    output.write(table(*_rows(measures)).encode())
    output.write(b"\nns a message, number or record (medians). A ratio under 1 means that turnwire is faster.\n")
    output.flush()


def _sets(data: str | None) -> dict[str, tuple[str, bytes]]:
    """Name -> (what it is, lines) of each set of messages."""
    from turnwire.cli import measuring

    sets = {}
    path = measuring.REAL_LINES if data is None else Path(data)
    if data is not None or path.exists():
        lines = b"".join(line + b"\n" for line in path.read_bytes().split(b"\n") if line.strip())
        if not lines:
            raise click.UsageError(f"{data} holds no messages")
        count = lines.count(b"\n")
        what = "real messages of the upstream project" if data is None else f"your messages in {path.name}"
        sets["real" if data is None else "yours"] = (f"{count:,} {what}", lines)
    else:
        complain("the real example lines are not part of an installed package; --data FILE takes yours")
    made = measuring.generated()
    count = made.count(b"\n")
    sets["generated"] = (f"{count:,} made-up messages with wide ids", made)
    return sets


def _measures(sets: dict[str, tuple[str, bytes]], effort: Effort) -> Iterator[Measure]:
    from turnwire.cli import measuring

    yield from measuring.single(effort)
    for name, (_, lines) in sets.items():
        yield from measuring.many(name, lines, effort)
    yield from measuring.base62(effort)
    for name, (_, lines) in sets.items():
        yield from measuring.bulk(name, lines, effort)


def _heading(machine: dict[str, Any]) -> str:
    from turnwire.cli.text import printable

    core = "" if machine["native"] else "; the native core is not built here"
    lines = [f"turnwire {machine['version']}, {machine['python']}, {machine['platform']}{core}"]
    lines.append(f"cpu features in use: {', '.join(machine['cpu_features']) or 'none beyond the baseline'}")
    lines.append("short, wide ids, two strings: one made-up message each, of ten fields")
    lines += [printable(f"{name}: {note}") for name, note in machine["data"].items()]
    return "\n".join(lines) + "\n\n"


def _rows(measures: list[Measure]) -> tuple[list[str], list[list[Any]]]:
    """Names and rows of the table: a row for each task and data, a column for each subject and ratio; the ratios, which
    say most, before what goes first on a narrow terminal."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for measure in measures:
        found.setdefault((measure.task, measure.data), {})[measure.subject] = measure.nanoseconds
    cores, others = (
        [name for name in names if any(name in times for times in found.values())] for names in (CORES, OTHERS)
    )
    rows = []
    for (task, data), times in found.items():
        row: list[Any] = [task, data]
        row += [_number(times.get(name)) for name in cores]
        row += [_ratio(times, over, under, 1, ".2f") for _, over, under in RATIOS]
        row += [_number(times.get(name)) for name in others]
        row.append(_ratio(times, FLOOR[2], FLOOR[1], 100, ".1f"))
        rows.append(row)
    return ["task", "data", *cores, *(name for name, _, _ in RATIOS), *others, FLOOR[0]], rows


class _Figure(float):
    """A number with its own way of being written."""

    def __new__(cls, value: float, form: str) -> _Figure:
        figure = super().__new__(cls, value)
        figure.form = form
        return figure

    form: str

    def __format__(self, form: str) -> str:
        return format(float(self), self.form)

    def __str__(self) -> str:
        return format(self)


def _number(value: float | None) -> _Figure | None:
    return None if value is None else _Figure(value, ",.1f")


def _ratio(times: dict[str, float], over: str, under: str, factor: float, form: str) -> _Figure | None:
    if over not in times or under not in times:
        return None
    return _Figure(factor * times[over] / times[under], form)
