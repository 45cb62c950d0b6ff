"""Results as Markdown: the tables that are printed, and benchmarks/README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from goals import GOALS, Results, groups
from measure import Group, Ratio, ratio
from readme_text import AFTER, BEFORE, NOTES, PICTURE


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose columns line up; the first ``left`` are text, the others are figures."""
    body = [list(row) for row in rows]
    widths = [max(len(line[place]) for line in [head, *body]) for place in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        sized = list(zip(cells, widths, strict=True))
        placed = [cell.ljust(width) for cell, width in sized[:left]] + [
            cell.rjust(width) for cell, width in sized[left:]
        ]
        return f"| {' | '.join(placed)} |"

    rule = ["-" * width if place < left else "-" * (width - 1) + ":" for place, width in enumerate(widths)]
    return "\n".join([line(head), line(rule), *map(line, body)])


def spread(value: Ratio, scale: float = 1, digits: int = 2) -> str:
    """A ratio with the least and the greatest of its rounds."""
    middle, least, most = (f"{one * scale:.{digits}f}" for one in value)
    return f"{middle} ({least}–{most})"


def figure(value: float) -> str:
    """Three significant digits, never an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def single(results: Results, table: str) -> str:
    """decode or encode: each message with nanoseconds and the ratio to msgspec."""
    found = groups(results, "messages", table)
    base = "msgspec JSON"
    head = [table, *(label for group in found for label in (f"{group['case']}, ns", "÷ msgspec JSON"))]
    rows = []
    for name in found[0]["samples"]:
        row = [name]
        for group in found:
            row += [figure(median(group["samples"][name]) * 1e9), spread(ratio(group["samples"], name, base))]
        rows.append(row)
    return markdown(head, rows)


def base62(results: Results) -> str:
    """Millions of integers a second."""
    found = [*groups(results, "messages", "base62 encode"), *groups(results, "messages", "base62 decode")]
    head = ["base62, M integers/s", *(f"{group['table'].removeprefix('base62 ')}, {group['case']}" for group in found)]
    rows = []
    for name in found[0]["samples"]:
        rows.append([name, *(figure(1e-6 / median(group["samples"][name])) for group in found)])
    return markdown(head, rows)


def bulk(results: Results, table: str) -> str:
    """Bytes in memory to batches."""
    rows = []
    for group in groups(results, "bulk", table):
        samples, facts = group["samples"], group["facts"]
        for name, times in samples.items():
            middle = median(times)
            each = [f"{facts['bytes'] / middle / 1e9:.2f}", figure(middle / facts["records"] * 1e9)]
            rows.append([group["case"], name, *each, spread(ratio(samples, "memchr", name), 100, 1)])
    return markdown(["traffic", "what is read", "GB/s", "ns/record", "% of memchr"], rows, left=2)


def against(found: list[Group], rows_of: str, base: Callable[[Group], str], label: str) -> str:
    """Names against one of them: nanoseconds a record and how many times longer than the base."""
    head = [label, *(text for group in found for text in (f"{group['case']}, ns/record", "time ÷ turnwire"))]
    rows = []
    for name in found[0]["samples"]:
        row = [name]
        for group in found:
            each = median(group["samples"][name]) / group["facts"][rows_of] * 1e9
            row += [figure(each), spread(ratio(group["samples"], name, base(group)))]
        rows.append(row)
    return markdown(head, rows)


def in_python(results: Results) -> str:
    """The pure twin and other ways of Python."""
    return against(groups(results, "bulk", "bulk in Python"), "records", lambda _: "all columns", "bytes in memory")


def files(results: Results, section: str, table: str) -> str:
    """Readers of files."""
    found = groups(results, section, table)
    lines = []
    for group in found:
        sizes = {name.removesuffix(" bytes"): size for name, size in group["facts"].items() if name.endswith(" bytes")}
        told = ", ".join(f"{size / 1e6:.1f} MB of {name}" for name, size in sizes.items())
        lines.append(f"{group['case'].capitalize()}: {group['facts']['rows']:,} rows, {told}.")
    return "\n".join([against(found, "rows", lambda _: "turnwire", table), "", " ".join(lines)])


def starts(results: Results) -> str:
    """What each import adds to a bare interpreter."""
    found = {group["case"]: group["samples"] for group in groups(results, "processes", "start")}
    whole, alone = found["whole process"], found["the statement alone"]
    bare = median(whole["bare interpreter"])
    unit = median(whole["msgspec"]) - bare
    rows = [["bare interpreter", f"{bare * 1e3:.1f}", "", "", ""]]
    for name, times in alone.items():
        added = median(whole[name]) - bare
        process, statement = median(whole[name]) * 1e3, median(times) * 1e3
        compared = spread(ratio(alone, name, "msgspec"))
        rows.append([name, f"{process:.1f}", f"{added / unit:.2f}", f"{statement:.1f}", compared])
    head = ["import", "process, ms", "added ÷ msgspec's", "statement, ms", "÷ msgspec's"]
    return markdown(head, rows)


def memory(results: Results) -> str:
    """Peak anonymous memory."""
    rows = []
    for how in ("streamed", "one table"):
        found = groups(results, "processes", f"memory, {how}")
        for name in found[0]["samples"] if found else ():
            rows.append([f"{name}, {how}", *(f"{group['samples'][name][0] / 1e6:.0f}" for group in found)])
    cases = [group["case"] for group in groups(results, "processes", "memory, streamed")]
    return markdown(["memory added at the peak, MB", *cases], rows)


def goals(results: Results) -> str:
    """Each goal with its figure and whether it is reached; what was not measured is left out."""
    rows = []
    for goal in GOALS:
        value = goal.value(results)
        if value is None:
            continue
        verdict = "yes" if goal.reached(value, goal.least) else "**no**"
        if goal.reached(value, goal.moonshot):
            verdict = "moonshot"
        wanted = [f"{goal.sign} {one:g}{goal.unit}" for one in (goal.least, goal.moonshot)]
        rows.append([goal.text, *wanted, figure(value) + goal.unit, verdict])
    return markdown(["goal", "at least", "moonshot", "measured", "reached"], rows)


def facts(result: dict[str, Any]) -> str:
    """What a section was taken on, as a list."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    cpu = f"{machine['cpu']} (family/model/stepping {machine['cpu numbers']})"
    lines = [
        f"- {cpu}, {machine['cores']} cores; {machine['system']}",
        f"- features of the CPU that matter here: {' '.join(machine['features']) or 'none known'}",
        f"- {machine['python']}; turnwire {machine['turnwire']}, the bulk scan uses {machine['simd']}",
        f"- {versions}",
    ]
    return "\n".join(lines)


def wires(results: Results) -> str:
    """The five wires side by side."""
    found = groups(results, "wires", "wires")
    rows: list[list[str]] = []

    def add(name: str, cell: Callable[[Group], str]) -> None:
        rows.append([name, *map(cell, found)])

    def timed(name: str, base: str) -> Callable[[Group], str]:
        return lambda group: (
            f"{median(group['samples'][name]) * 1e9:,.0f} ns, {ratio(group['samples'], name, base).median:.2f}"
        )

    def scanned(name: str) -> Callable[[Group], str]:
        def cell(group: Group) -> str:
            taken = median(group["samples"][name])
            size, count = group["facts"]["log bytes"], group["facts"]["messages"]
            return f"{size / taken / 1e6:,.0f} MB/s, {taken / count * 1e9:,.0f} ns"

        return cell

    def slower(name: str) -> Callable[[Group], str]:
        return lambda group: f"{ratio(group['samples'], name, 'Arrow').median:.1f} ×"

    def pure(name: str, native: Callable[[Group], float]) -> Callable[[Group], str]:
        return lambda group: f"{group['facts']['pure'][name] / native(group):.1f} ×"

    add("bytes of a message", lambda group: f"{group['facts']['bytes']:.0f}")
    for tokenizer in ("o200k_base", "cl100k_base"):
        add(f"tokens, {tokenizer}", lambda group, name=tokenizer: f"{group['facts'][name]:.0f}")
    for name in ("decode", "check", "decode + check"):
        add(f"{name}, ÷ msgspec decode", timed(name, "msgspec decode"))
    add("encode, untouched, ÷ msgspec encode", timed("encode untouched", "msgspec encode"))
    add("encode, made by hand, ÷ msgspec encode", timed("encode made", "msgspec encode"))
    add("scan of this wire, its own columns", scanned("scan"))
    add("scan of all wires, common columns", scanned("scan of all wires"))
    add("file → Arrow: DuckDB ÷ turnwire", slower("DuckDB"))
    add("file → Arrow: Polars ÷ turnwire", slower("Polars"))
    for name in ("decode", "encode made"):
        add(f"pure core ÷ native, {name}", pure(name, lambda group, name=name: median(group["samples"][name])))
    add(
        "pure core ÷ native, scan",
        pure("scan, s/byte", lambda group: median(group["samples"]["scan"]) / group["facts"]["log bytes"]),
    )
    add("peak memory of a scan, MB", lambda group: f"{group['facts']['peak'] / 1e6:.0f}")
    return markdown(["", *(group["case"] for group in found)], rows)


HEADLINE = {
    "tokens, o200k": "tokens",
    "decode + check": "decode + check",
    "encode, made": "encode",
    "scan of this": "scan, MB/s",
    "file → Arrow: DuckDB": "DuckDB ÷ turnwire",
}
"""What the README of the project shows of each wire: how the row above begins, and what the column there is called."""
STATES = {
    "nslip": "[SLIP v0.1](docs/nslip.md): **ready**",
    "csp": "[CSP/1](docs/csp.md): **ready**",
    "sstp": "[SSTP](docs/sstp.md): **ready**",
    "sap": "[UBOS SAP V2.0](docs/sap.md): **ready**",
    "kick": "[KickLang](docs/kick.md): **ready**",
}
"""The specification of each wire, its page, and whether turnwire knows it already."""


def headline(results: Results) -> str:
    """The table of the wires that the README of the project shows: a row for each wire."""
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in wires(results).splitlines())
    chosen = [next(line for line in lines if line[0].startswith(begin)) for begin in HEADLINE]
    rows = [
        [f"`{wire}`", STATES[wire], *(line[place].partition(" MB/s, ")[0] for line in chosen)]
        for place, wire in enumerate(head)
        if wire
    ]
    return markdown(["wire", "specification", *HEADLINE.values()], rows, left=2)


def growth(results: Results) -> str:
    """How reading grows: nanoseconds a byte, by the clock."""
    found = groups(results, "growth", "growth")
    sizes = [name for name in found[0]["facts"] if name not in ("damaged", "refused")]

    def each(group: Group, name: str, size: str) -> float:
        return median(group["samples"][name]) / float(group["facts"][size]) * 1e9

    rows = [
        [f"{size}, one thread: ns a byte", *(f"{each(group, f'{size}, 1', size):.2f}" for group in found)]
        for size in sizes
    ]
    last = sizes[-1]
    quicker = [ratio(group["samples"], f"{last}, 1", f"{last}, 2").median for group in found]
    rows.append([f"{last}: one thread ÷ two", *(f"{one:.2f}" for one in quicker)])
    for name in ("damaged", "refused"):
        told = {"damaged": "each tenth message cut in half", "refused": "every message refused"}[name]
        rows.append(
            [
                f"{told}: ÷ a good log of that size",
                *(f"{each(group, name, name) / each(group, f'{sizes[0]}, 1', sizes[0]):.1f} ×" for group in found),
            ]
        )
    return markdown(["", *(group["case"] for group in found)], rows)


PARTS: dict[str, tuple[tuple[str, Callable[[Results], str]], ...]] = {
    "wires": (("The five wires side by side", wires),),
    "growth": (("How reading grows", growth),),
    "messages": (
        ("Decode one message", lambda results: single(results, "decode")),
        ("Encode one message", lambda results: single(results, "encode")),
        ("base62 columns", base62),
    ),
    "bulk": (
        ("Bytes in memory to batches of columns", lambda results: bulk(results, "bulk")),
        ("The size of a batch", lambda results: bulk(results, "batch size")),
        ("Other ways to read the same bytes in Python", in_python),
    ),
    "files": (
        ("File to batches, one thread each", lambda results: files(results, "files", "file to batches")),
        ("File to one table in memory, one thread each", lambda results: files(results, "files", "file to one table")),
    ),
    "files_all_threads": (
        (
            "File to batches, the others with all threads",
            lambda results: files(results, "files_all_threads", "file to batches"),
        ),
        (
            "File to one table, the others with all threads",
            lambda results: files(results, "files_all_threads", "file to one table"),
        ),
    ),
    "processes": (("Start", starts), ("Memory", memory)),
}


def tables(results: Results) -> str:
    """All tables of these results, the goals first."""
    first = next(iter(results.values()))
    parts = [facts(first)]
    if "wires" in results:
        parts += ["", *_titled("The five wires side by side", wires(results))]
    if any(goal.value(results) is not None for goal in GOALS):
        parts += ["", "## Goals", "", goals(results)]
    quick = ", ".join(section for section, result in results.items() if result["effort"] == "quick")
    if quick:
        parts += [
            "",
            f"**Quick run, not for quoting** (few rounds, too little data for memory to be used again): {quick}.",
        ]
    for section, result in results.items():
        for title, render in PARTS[section] if section != "wires" else ():
            parts += ["", *_titled(title, render(results))]
        load = " to ".join(map(str, result["load"]))
        parts += ["", f"Taken {result['taken']} ({result['effort']} run), load average {load}."]
    return "\n".join(parts)


def _titled(title: str, table: str) -> list[str]:
    """A table under its title, behind the note about it."""
    note = NOTES.get(title)
    return [f"## {title}", "", *([note, ""] if note else []), table]


def readme(results: Results) -> str:
    """benchmarks/README.md."""
    return f"{BEFORE}\n{PICTURE}\n{tables(results)}\n{AFTER}"
