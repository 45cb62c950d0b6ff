"""Writing: bytes to standard output or a file, lines to standard error, until the reader is gone; text for terminals:
unsafe characters escaped, widths measured, tables laid out (by rich where it is installed).
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from shutil import get_terminal_size
from typing import Any, BinaryIO, Self

from turnwire.showing import GAP, UNSAFE, aligned, counted, escaped_json, visible, visible_escape, widest_of, width

printable = visible
"""The text on one line, unsafe characters written as escapes; for messages, file names included."""

WIDEST = 48
"""Cells of a terminal beyond which a value is cut."""
NARROW = 12
"""Cells below which no text is cut to make room: then columns go."""
ELLIPSIS = "…"
_PATHS = frozenset({"file", "where"})
"""Columns that are cut at their start: the end of a path says more."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UNSAFE_OR_BACKSLASH = re.compile(rf"[\\\x00-\x1f{UNSAFE}]")
_UNSAFE_IN_LINES = re.compile(rf"[\x00-\x08\x0b-\x1f{UNSAFE}]")


def shown_as_lines(text: str) -> str:
    """As ``printable``, for text of several lines: line feeds and tabs stay."""
    return _UNSAFE_IN_LINES.sub(visible_escape, text)


def escaped(text: str) -> str:
    """As ``printable``, and a backslash is doubled: nothing that is in a field can look like an escape."""
    return _UNSAFE_OR_BACKSLASH.sub(visible_escape, text)


def file_name(name: str | bytes) -> str:
    """The name of a file as text: its bytes read as UTF-8, whatever the locale; others become surrogates."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def milliseconds(time: str | None) -> str | None:
    """A time as tables show it: to the millisecond, where JSON lines and files have microseconds."""
    return None if time is None else f"{time[:-4]}Z"


def shortened(text: str, cells: int, from_start: bool = False) -> str:
    """The text cut to that many cells at its end (or its start), marked where something is missing."""
    if width(text) <= cells:
        return text
    while width(text) >= cells:
        text = text[1:] if from_start else text[:-1]
    return ELLIPSIS + text if from_start else text + ELLIPSIS


def cell(value: Any, path: bool = False) -> str:
    """A value as a table shows it: escaped, cut (a path at its start), nothing if it is absent."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    if path:
        return shortened(escaped(file_name(value)), WIDEST, from_start=True)
    longest = 4 * WIDEST  # what is cut anyway need not be escaped first, however long it is
    return shortened(escaped(value[:longest]) + ELLIPSIS * (len(value) > longest), WIDEST)


def table(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    decimals: Mapping[str, int] | None = None,
    *,
    amounts: bool = True,
    empty: bool = False,
    option: str = "--json",
) -> str:
    """The rows under their names, numbers to the right; ends with a newline.

    On a terminal, where rich is installed, it is no wider than that: texts are cut down to NARROW cells, then whole
    columns are left out from the right, and a line below names them.

    Args:
        decimals: column -> how many its numbers have after the point.
        amounts: whether numbers count something, and so have separators between thousands; those of records are names.
        empty: whether columns that say nothing in any row are there, too.
        option: which option of the command shows the columns that are left out.
    """
    columns = [[row[place] for row in rows] for place in range(len(names))]
    numbers = frozenset(
        name
        for name, column in zip(names, columns, strict=True)
        if any(isinstance(value, int | float) for value in column) and not any(isinstance(one, str) for one in column)
    )
    fixed = decimals or {}
    cells = [
        [
            _number(value, amounts, fixed.get(name)) if isinstance(value, int | float) else cell(value, name in _PATHS)
            for name, value in zip(names, row, strict=True)
        ]
        for row in rows
    ]
    return _laid_out(names, cells, numbers, empty, option)


def text_table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[str]) -> str:
    """As :func:`table`, of cells that are text already, the columns ``numbers`` to the right."""
    return _laid_out(names, [list(map(cell, row)) for row in rows], numbers, False, "--json")


def _laid_out(
    names: Sequence[str], cells: Sequence[Sequence[str]], numbers: frozenset[str], empty: bool, option: str
) -> str:
    kept = [place for place in range(len(names)) if empty or not cells or any(row[place] for row in cells)]
    names, cells = [names[place] for place in kept], [[row[place] for place in kept] for row in cells]
    right = [name in numbers for name in names]
    if sys.stdout is not None and sys.stdout.isatty():
        with suppress(ImportError):  # without rich as in a pipe
            return _on_terminal(names, cells, right, option, get_terminal_size().columns)
    return aligned(names, cells, right)


def _number(value: float, amounts: bool, decimals: int | None = None) -> str:
    separator = "," if amounts and not isinstance(value, bool) else ""
    if decimals is not None:
        return f"{value:{separator}.{decimals}f}"
    return f"{value:{separator}}" if separator else str(value)


def fitted(names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool], room: int) -> list[int]:
    """The widths of as many columns, from the left, as fit into ``room`` cells; of one at least.

    A number is never cut, a text not below NARROW cells; the remaining cells go to the columns that need them.
    """
    widest = widest_of(names, cells)
    widths = [wide if number else min(wide, NARROW) for wide, number in zip(widest, numbers, strict=True)]
    while len(widths) > 1 and sum(widths) + GAP * (len(widths) - 1) > room:
        widths.pop()
    left = room - sum(widths) - GAP * (len(widths) - 1)
    if left < 0:
        return [room]
    wanting = sorted(range(len(widths)), key=lambda place: widest[place] - widths[place])
    for done, place in enumerate(wanting):
        more = min(widest[place] - widths[place], left // (len(wanting) - done))
        widths[place] += more
        left -= more
    return widths


def _on_terminal(
    names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool], option: str, room: int
) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    widths = fitted(names, cells, numbers, room)
    if widths != widest_of(names, cells):
        cells = list(zip(*(_without_day([row[place] for row in cells]) for place in range(len(names))), strict=True))
        widths = fitted(names, cells, numbers, room)
    # The widths are set here, since rich would cut all columns alike. Its line between columns is one cell of the gap.
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, GAP - 1, 0, 0), header_style="bold")
    for name, number, wide in zip(names, numbers, widths, strict=False):
        justify: Any = "right" if number else "left"
        shown.add_column(Text(shortened(name, wide)), width=wide, justify=justify, no_wrap=True, overflow="crop")
    for row in cells:  # as Text, so that rich does not read markup in a field
        cut = (shortened(text, wide, name in _PATHS) for text, wide, name in zip(row, widths, names, strict=False))
        shown.add_row(*map(Text, cut))
    console = Console(width=sum(widths) + GAP * len(widths))
    with console.capture() as captured:
        console.print(shown)
    text = "".join(f"{line.rstrip()}\n" for line in captured.get().strip("\n").split("\n"))
    hidden = names[len(widths) :]
    if not hidden:
        return text
    said = f"--columns {','.join(hidden)}" if option == "--columns" else f"{', '.join(hidden)} ({option})"
    return f"{text}+{counted(len(hidden), 'column')}: {said}\n"  # whole, to be copied, however narrow the terminal is


def _without_day(texts: Sequence[str]) -> Sequence[str]:
    """The texts of a column; times without their day where all are of one, else without their year: what tells rows
    apart is shown."""
    times = [text for text in texts if text]
    if not times or not all(map(_TIME.fullmatch, times)):
        return texts
    start = len("2026-01-05T" if len({time[:10] for time in times}) == 1 else "2026-")
    return [text[start:-1] for text in texts]


STANDARD_OUTPUT = "standard output"


class Output:
    """A binary stream whose errors name it.

    screen: it is a terminal, which a person looks at, so that text of a log must not steer it: controls, characters
    that reverse the direction of writing and invisible ones are written as escapes, also where a format keeps them.
    """

    def __init__(self, stream: BinaryIO, name: str, screen: bool = False) -> None:
        self._stream = stream
        self.name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace") if screen else None

    def write(self, data: bytes) -> None:
        """Writes all of it. Raises OSError with the name of the output, BrokenPipeError if the reader is gone."""
        if self._decoder is not None:  # a character may come in pieces
            data = shown_as_lines(self._decoder.decode(data)).encode("utf-8", "backslashreplace")
        left = memoryview(data)
        try:
            while left:
                # An unbuffered stream (PYTHONUNBUFFERED, python -u) writes as much as the pipe takes, or nothing.
                count = self._stream.write(left)
                if count is None:
                    raise BlockingIOError(errno.EAGAIN, "is not ready for writing, and does not block")
                left = left[count:]
        except OSError as error:
            raise named(error, self.name) from None

    def flush(self) -> None:
        """Hands on what is still held back. Raises as :meth:`write` does."""
        try:
            self._stream.flush()
        except OSError as error:
            raise named(error, self.name) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self.name == STANDARD_OUTPUT:
            return
        try:
            self._stream.close()
        except OSError as failure:
            if error is None:
                raise named(failure, self.name) from None


def named(error: OSError, name: str) -> OSError:
    """The error with the name of what it happened to."""
    error.filename = name
    return error


def standard_output(shown: bool = False) -> Output:
    """Standard output as bytes, for text that is safe to show; ``shown``: also for text of a log in a format that keeps
    all characters. Raises OSError if there is none (``>&-``)."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "is closed", STANDARD_OUTPUT)
    sys.stdout.flush()
    return Output(sys.stdout.buffer, STANDARD_OUTPUT, screen=shown and sys.stdout.isatty())


def write_text(text: str) -> None:
    """Writes text that is safe to show to standard output at once. Raises OSError."""
    output = standard_output()
    output.write(text.encode("utf-8", "backslashreplace"))
    output.flush()


def write_lines(lines: Iterable[str]) -> None:
    """As :func:`write_text`, of lines without their ends."""
    write_text("".join(f"{line}\n" for line in lines))


def write_json(rows: Iterable[Any], output: Any = None) -> None:
    """Values to standard output, or another, each as a line of JSON that is safe to show. Raises OSError."""
    import json

    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    data = escaped_json(text.encode("utf-8", "backslashreplace"))
    if output is not None:
        output.write(data)
    else:
        write_text(data.decode())


def opened(path: str) -> Output:
    """A file to continue, or standard output for "-". Raises OSError."""
    if path == "-":
        return standard_output()
    return Output(open(path, "ab"), path)


def write_whole(path: str | None, pieces: Iterable[bytes]) -> None:
    """Writes text of a log to a file, which is there whole or not at all, or to standard output (None, "-"). Raises
    OSError."""
    from turnwire.atomic import AtomicFile

    with AtomicFile(path) if path not in (None, "-") else standard_output(shown=True) as output:
        for piece in pieces:
            output.write(piece)
        output.flush()


def complain(line: str) -> None:
    """A line for standard error, made printable. Where it cannot be written, nothing can be reported."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{printable(line)}\n")
            sys.stderr.flush()


def tell_left_out(damaged: int, command: str = "scan") -> None:
    """Reports how many damaged records were omitted, if any, and which command shows them."""
    if damaged:
        complain(f"{counted(damaged, 'damaged record')} left out (turnwire {command} shows them)")


class Notes:
    """Prints single records: the first ones, then how many more there are; all: each of them.

    write: takes each; standard error by default. more: what is said of those left out.
    """

    MOST = 20

    def __init__(
        self, all: bool, write: Callable[[str], object] = complain, more: str = "more (-v names each)"
    ) -> None:
        self._all, self._write, self._more = all, write, more
        self._count = 0

    @property
    def told(self) -> bool:
        """True if the next one is written, not only counted."""
        return self._all or self._count < self.MOST

    def add(self, line: str | Callable[[], str]) -> None:
        """One record; a function makes the line only if it is written."""
        if self.told:
            self._write(line if isinstance(line, str) else line())
        self._count += 1

    def close(self) -> None:
        """Says how many were left out."""
        if not self._all and self._count > self.MOST:
            complain(f"... and {self._count - self.MOST:,} {self._more}")


def by_wire(counts: dict[str, int]) -> str:
    """Records by wire, in words: the name alone of the one that was looked for."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{wire} {count:,}" for wire, count in counts.items() if count)


def sums(rows: Iterable[tuple[str, int | None, int, str]]) -> list[str]:
    """Lines of what a scan met: a name, how many, their bytes, and a note."""
    return [
        f"{name:<8}{'' if number is None else f'{number:,}':>12}{size:>18,} bytes   {note}".rstrip()
        for name, number, size, note in rows
    ]


def complain_counts(counts: Any, note: str) -> None:
    """The table of what a scan met, for standard error: records by wire, rejects by reason, and their bytes."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.reasons.items()))
    records = ("records", counts.records, counts.record_bytes, by_wire(counts.wires))
    rejects = ("rejects", counts.rejects, counts.reject_bytes, reasons)
    for line in sums([records, rejects, ("text", None, counts.text_bytes, ""), ("total", None, counts.bytes, note)]):
        complain(line)


FEW = 3
"""So many sources are named in the command to go on with; of more, the first and how many others."""


def conclude(
    counts: Any, worst: Mapping[str, int] | str, name: str, sources: Sequence[str], *options: str, wire: str | None
) -> None:
    """The last line of a command: what was found (counts: None if it was said before), the worst of it (reasons with
    their numbers, or words), and the command to go on with on the same sources, where they can be read again."""
    parts = []
    unselected = counts is not None and counts.records > counts.selected == 0
    if counts is not None:
        parts.append(counted(counts.records, "record") + (f", {counts.rejects:,} damaged" if counts.rejects else ""))
    if unselected:
        parts.append("--where selects none of them")
    if not isinstance(worst, str):
        order = sorted(worst.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{reason} ({count:,})" for reason, count in order[:2]) + ", ..." * (len(order) > 2)
        worst = f"the reasons are {named}" if len(order) > 1 else f"the reason is {order[0][0]}" if order else ""
    parts.append(worst or "nothing is damaged")
    if "-" not in sources and (worst or not unselected):
        shown = list(sources) if len(sources) <= FEW else [sources[0], "..."]
        words = ["turnwire", name, *shown, *(() if wire is None else ("--wire", wire)), *options]
        parts.append("next: " + shlex.join(words).replace("'...'", "..."))
    complain("; ".join(parts))


def abandon() -> None:
    """Discards what standard output has buffered, so that the interpreter does not fail on it at exit.

    After a closed pipe, a full disk or an interruption a last flush would fail again, or wait for a reader for ever.
    """
    if sys.stdout is not sys.__stdout__ or sys.stdout is None:
        return
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
