"""``turnwire bench``: how fast this installation is, beside JSON readers that carry the same fields."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from timeit import Timer
from typing import Any

import click

from turnwire.cli import options
from turnwire.cli.output import write_json, write_lines, write_text
from turnwire.cli.terminal import printable, table

REAL_LINES = Path(__file__).parents[4] / "examples" / "data" / "nslip_upstream.txt"
"""The real messages in a source tree; an installed package does not have them."""
SHORT = b'@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#'
RATIOS = (("native/msgspec", "native", "msgspec"), ("pure/json", "pure", "json"))

Work = tuple[Callable[[Any], Any], Any, int]
"""A function, its argument, and how many bytes one call takes."""


@click.command("bench", short_help="Measure both cores beside msgspec and json.")
@click.option("--quick", is_flag=True, help="A few seconds, and noisier.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines: the machine, then one measurement a line.")
@click.option(
    "--data",
    type=options.FILE,
    metavar="FILE",
    help="nSLIP messages of your own, one a line, in place of the real example lines.",
)
def command(quick: bool, as_json: bool, data: str | None) -> None:
    """Measures decode, encode and bulk scans: medians in nanoseconds, and ratios.

    Both cores run in one process, in turns with msgspec (a Struct of the same fields) and json (dicts). Trust the
    ratios more than the times.
    """
    from turnwire import _backend
    from turnwire.cli.commands.info import facts

    sets = _sets(data)
    found = facts()
    machine = {name: found[name] for name in ("version", "python", "platform", "cpu_features")}
    machine["native"] = not _backend.MISSING and "native" in _cores("nslip.codec")
    machine["data"] = {name: note for name, (note, _) in sets.items()}
    measures = (row for name, (_, lines) in sets.items() for row in _measures(name, lines, quick))
    if as_json:
        write_json([{"machine": machine}])
        for row in measures:
            write_json([row])
        return
    core = "" if machine["native"] else "; the native core is not built here"
    head = [f"turnwire {machine['version']}, {machine['python']}, {machine['platform']}{core}"]
    head += [f"{name}: {note}" for name, note in machine["data"].items()]
    write_lines(map(printable, head))
    write_text("\n" + _table(list(measures)))
    write_lines(["", "ns a message or record (medians). A ratio under 1 means that turnwire is faster."])


def _sets(data: str | None) -> dict[str, tuple[str, bytes]]:
    """Name -> (what it is, lines) of each set of messages."""
    sets = {"short": ("one made-up message of ten fields", SHORT + b"\n")}
    path = REAL_LINES if data is None else Path(data)
    if data is not None or path.exists():
        lines = b"".join(line + b"\n" for line in path.read_bytes().split(b"\n") if line.strip())
        if not lines:
            raise click.UsageError(f"{data} holds no messages")
        what = "real messages of the upstream project" if data is None else f"your messages in {path.name}"
        count = len(lines.splitlines())
        sets["real" if data is None else "yours"] = (f"{count:,} {what}", lines)
    return sets


def _cores(name: str) -> dict[str, Any]:
    """The cores there are of a module, by backend."""
    from turnwire import _backend

    found = {}
    for backend in ("native", "pure"):
        try:
            found[backend] = _backend.core_module(backend, name)
        except ImportError:
            if backend == "pure":
                raise
    return found


def _measures(data: str, lines: bytes, quick: bool) -> Iterator[dict[str, Any]]:
    """The measurements of a set of lines, each a row of --json."""
    rounds, seconds, most = (3, 0.004, 400) if quick else (9, 0.02, 100_000)
    works, units = _works(b"".join(lines.splitlines(keepends=True)[:most]))
    for task, subjects in works.items():
        times = _medians(subjects, rounds, seconds)
        for subject, (_, _, size) in subjects.items():
            row = {"task": task, "data": data, "subject": subject, "unit": "record" if task == "scan" else "message"}
            yield {**row, "nanoseconds": times[subject] / units * 1e9, "bytes": round(size / units)}


def _works(lines: bytes) -> tuple[dict[str, dict[str, Work]], int]:
    """Task -> subject -> what it does, and how many messages each of them takes; the peers read and write JSON of the
    same fields."""
    import json

    import msgspec

    from turnwire import nslip

    values = [_fields(message) for message in nslip.decode_many(lines)]
    names = {name: type(value) for each in values for name, value in each.items()}
    record = msgspec.defstruct("Record", [(name, kind | None, None) for name, kind in names.items()])
    packed = [json.dumps(each, separators=(",", ":")).encode() for each in values]
    joined = b"\n".join(packed)
    cores = _cores("nslip.codec")
    readers: dict[str, Work] = {name: (core.decode_many, lines, len(lines)) for name, core in cores.items()}
    writers: dict[str, Work] = {name: (core.encode_many, core.decode_many(lines), 0) for name, core in cores.items()}
    scans: dict[str, Work] = {name: (_scan(core), lines, len(lines)) for name, core in _cores("log.search").items()}
    readers["msgspec"] = msgspec.json.Decoder(record).decode_lines, joined, len(joined)
    writers["msgspec"] = msgspec.json.Encoder().encode_lines, [record(**each) for each in values], 0
    readers["json"] = lambda items: [json.loads(item) for item in items], packed, len(joined)
    writers["json"] = lambda items: [json.dumps(item) for item in items], values, 0
    return {"decode": readers, "encode": writers, "scan": scans}, len(values)


def _fields(message: Any) -> dict[str, Any]:
    header = ("act", "frame", "conv_id", "src", "dst", "turn")
    slots = {slot.name.lower(): value for slot, value in message.slots.items()}
    return {**{name: int(getattr(message, name)) for name in header}, **slots}


def _scan(core: Any) -> Callable[[bytes], int]:
    """A scan on this core, whichever is the usual one."""
    import turnwire
    from turnwire.log.engine import all_wires

    def scan(data: bytes) -> int:
        usual, all_wires._core = all_wires._core, core
        try:
            return sum(len(batch) for batch in turnwire.scan(data, wire="nslip"))
        finally:
            all_wires._core = usual

    return scan


def _medians(subjects: dict[str, Work], rounds: int, seconds: float) -> dict[str, float]:
    """Seconds a call for each subject; the rounds of all take turns, so that a slow moment hits them alike."""
    timers = {name: Timer(partial(work[0], work[1])) for name, work in subjects.items()}
    loops = {name: max(1, round(seconds / max(timer.timeit(1), 1e-8))) for name, timer in timers.items()}
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, timer in timers.items():
            times[name].append(timer.timeit(loops[name]) / loops[name])
    return {name: statistics.median(found) for name, found in times.items()}


def _table(measures: list[dict[str, Any]]) -> str:
    """A row for each task and data, a column for each subject and ratio."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in measures:
        found.setdefault((row["task"], row["data"]), {})[row["subject"]] = row["nanoseconds"]
    subjects = ("native", "pure", "msgspec", "json")
    rows = []
    for key, times in found.items():
        ratios = [times[a] / times[b] if a in times and b in times else None for _, a, b in RATIOS]
        rows.append([*key, *(times.get(name) for name in subjects), *ratios])
    names = ["task", "data", *subjects, *(name for name, _, _ in RATIOS)]
    return table(names, rows, dict.fromkeys(subjects, 1) | dict.fromkeys((name for name, _, _ in RATIOS), 2))
