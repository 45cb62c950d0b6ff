"""Writing: bytes to standard output or a file, lines to standard error, until the reader is gone."""

from __future__ import annotations

import codecs
import errno
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Self

from turnwire.characters import escaped_json
from turnwire.cli.terminal import printable, shown_as_lines
from turnwire.phrases import counted

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
