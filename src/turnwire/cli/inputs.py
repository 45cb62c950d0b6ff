"""The inputs of a command: opened before anything is read, so that every unreadable one is named; read whole; and
described if nothing was found in them.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from turnwire import registry
from turnwire.cli.outcome import CommandRefused
from turnwire.cli.output import by_wire, complain, file_name, named
from turnwire.contract import FORMATS, LIMITS
from turnwire.errors import FileRefused, Reason, UnknownName
from turnwire.showing import counted

if TYPE_CHECKING:
    from turnwire.log import Scan
    from turnwire.log.input.sources import Source

STANDARD_INPUT = "-"
SETTINGS = 64 << 20
"""Most bytes of a file that is not a log: a position, a context, a kept head."""
BEGINNING = 4096
"""Bytes of a file that tell whether it is text."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The marks with which such a text begins."""
_UTF_16 = re.compile(rb"(?:[\x09-\x7e]\0){8}|(?:\0[\x09-\x7e]){8}")
"""Such a text within bytes of another encoding."""
_CHAT = re.compile(
    rb'"role"\s*:\s*"(?:user|assistant|system)"\s*,\s*"content"\s*:(\s*\[\s*\{\s*"type"\s*:\s*"(?:in|out)put_text")?'
)
_EMPTY = "the directory contains no files"
SHOWN = 5
"""Files that are named because they look binary, or hold something else."""
LOOKED_AT = 4 << 20
"""Bytes of a file in which other wires are looked for."""
_GLANCE = 1 << 16
"""Bytes in which most files of the five wires have two records, and no more is looked at then."""


def checked(names: Sequence[str], output: str | None = None) -> tuple[str, ...]:
    """The sources, once each is seen to be readable, and the file ``output`` to be writable and no source. Raises
    CommandRefused with a line for each that cannot be read, and as :func:`check_output` does. A folder without files
    among others is told as a file in a folder is that cannot be read."""
    if names.count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input ('-') can be read only once")
    found = {name: what for name in names if (what := problem(name))}
    if found and (len(found) == len({*names}) or {*found.values()} != {_EMPTY}):
        raise CommandRefused([f"{shown(name)}: {what}" for name, what in found.items()])
    for name in found:
        warnings.warn(FileRefused(OSError(errno.ENOENT, _EMPTY, name)), stacklevel=2)
    check_output(output, names)
    return tuple(names)


def problem(name: str) -> str | None:
    """The reason that a source cannot be read, or None. A named pipe is refused: opening it could wait for ever. Raises
    MissingDependency and UnknownName for a URL as :func:`turnwire.scan` does."""
    if name == STANDARD_INPUT:
        return "is closed" if sys.stdin is None else None
    try:
        found = _sources([name])
        for one in found:
            if one.mappable and not one.listed and (what := _problem_of_file(name)):
                return what
            if not one.mappable and one.size is None:  # the storage does not know of it, or not how long it is
                one.open().close()
    except OSError as error:
        return str(error.strerror)
    except UnknownName:
        raise
    except ValueError as error:  # an empty name, a NUL byte
        return str(error)
    return None if found else _EMPTY


def _problem_of_file(name: str) -> str | None:
    mode = os.stat(name).st_mode
    if stat.S_ISSOCK(mode):
        return "is a socket"
    if stat.S_ISFIFO(mode):
        # A shell's <(command) is a pipe without a place in the file system, already open for writing: no danger there.
        placed = os.path.lexists(os.path.realpath(name))
        return "is a named pipe; pass it as standard input: - < pipe" if placed else None
    return os.strerror(errno.EACCES) if stat.S_ISREG(mode) and not os.access(name, os.R_OK) else None


def _sources(names: Sequence[str]) -> list[Source]:
    """The inputs that these names stand for, in the order in which they are scanned. Raises OSError, ValueError."""
    from turnwire.log.input.sources import sources

    return list(sources(list(names)))


def is_url(name: str) -> bool:
    """True if a name has the scheme of a URL; "C:/x" and "::" do not."""
    if ":/" not in name and "::" not in name:  # no reader of logs is loaded to see that a file is not there
        return False
    from turnwire.log.input.sources import URL

    return URL.match(name) is not None


def shown(name: str | None) -> str:
    """The name of an input as messages give it (still to be made printable)."""
    if name is None:
        return "<bytes>"
    return "<stdin>" if name == STANDARD_INPUT else file_name(name or "''")


def files(names: Sequence[str]) -> list[str]:
    """Every file that the sources name, in the order in which they are scanned; "-" stays. Raises OSError."""
    return [found.name for found in _sources(names) if found.name is not None]


def looks_binary(name: str | None) -> bool:
    """A regular file that begins as no text does: with NULs among bytes that are not UTF-8, or with many of them.

    One NUL in a log of text is a fault of some record; a compressed log is looked at by who reads it.
    """
    from turnwire.log.input.compression import format_of

    if name is None or name == STANDARD_INPUT or not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        first = file.read(BEGINNING)
    return format_of(first) is None and is_binary(first)


def is_binary(first: bytes) -> bool:
    """True for bytes that begin a file and are those of no text, as :func:`looks_binary` judges them."""
    if b"\0" not in first:
        return False
    cut = first.decode("utf-8", "ignore").encode()  # without what is not UTF-8; a character may be cut at the end
    return len(first) - len(cut) > 3 or first.count(0) > len(first) // 16


def tell_none(names: Sequence[str], wire: str | None = None, what: str = "message", option: str = "--wire") -> None:
    """Tell that none of these inputs holds a message (of that wire), or whatever ``what`` names; then tell what they
    hold, as :func:`tell_nothing` does."""
    more = f" and {counted(len(names) - 1, 'more source')}" if len(names) > 1 else ""
    wanted = what if wire is None else f"{wire} {what}"
    complain(f"{shown(names[0])}{more}: no {wanted} found")
    tell_nothing(names, wire, size(names) != 0, option)


def tell_nothing(names: Sequence[str], wire: str | None, read: bool, option: str = "--wire") -> None:
    """Tell what an input without records and without damage holds: nothing at all, another encoding, or records of
    other wires than the one that was asked for, by ``option``. ``read``: whether any byte was read."""
    if not read:
        more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        complain(f"{shown(names[0])}{more}: {'are' if more else 'is'} empty")
        return
    there = [name for name in files(names) if name != STANDARD_INPUT]
    for name in there[:SHOWN]:
        if what := _hint(name, wire, option):
            complain(f"{shown(name)}: {what}")


def _hint(name: str, wire: str | None, option: str) -> str | None:
    """The reason, in words, for which there is no record in a file, where its beginning tells."""
    beginning = _beginning(name)
    if beginning[:2] in UTF_16 or (wide := _UTF_16.search(beginning)):
        start = 0 if beginning[:2] in UTF_16 or wide is None else wide.start()
        where = f"is, from byte {start:,}," if start else "is"
        return f"{where} UTF-16; logs are read as UTF-8 (iconv -f utf-16 -t utf-8)"
    if is_binary(beginning[:BEGINNING]):
        return "looks binary"
    if wire is not None and (counts := wires_in(beginning)):
        first = f" in the first {LOOKED_AT >> 20} MiB" if len(beginning) == LOOKED_AT else ""
        return f"there are records of other wires: {counts}{first} (without {option}: all)"
    if counts := wires_in(beginning, FORMATS):
        asked = f"{option} formats, " if _takes_formats() else ""
        return f"there are records of other formats: {counts} ({asked}turnwire usage, turnwire show)"
    if len(beginning) == LOOKED_AT and b"\n" not in beginning:
        return f"its first line has more than {LOOKED_AT >> 20} MiB; a message has at most {LIMITS.message >> 20}"
    chat = _CHAT.search(beginning)
    what = "damaged items of Codex, or of OpenAI's Responses API" if chat and chat[1] else "a chat transcript"
    return f"looks like {what}, not like a message of these wires" if chat else None


def _takes_formats() -> bool:
    """True if the command that runs can be told to read formats."""
    context = click.get_current_context(silent=True)
    return context is None or any(FORMATS in getattr(one.type, "choices", ()) for one in context.command.params)


def wire_of(names: Sequence[str], wire: str | None) -> str | None:
    """The wire for which every command reads these inputs: the one that was asked for, or else all wires (None) or all
    ``FORMATS``, which is told: if no beginning of a file has a message of a wire, and records of formats are most of
    one, or these beginnings are all there is and nothing in them is damaged."""
    if wire is not None:
        return wire
    inside = files(names)
    for name in inside[:SHOWN]:  # what stands before another record is no record that the cut has made
        if os.path.isfile(name) and _scanned(_beginning(name, _GLANCE)).counts.records > 1:
            return None
    beginnings = {name: _beginning(name) for name in inside[:SHOWN]}
    whole = len(inside) <= SHOWN
    for data in beginnings.values():
        counts = _scanned(data).counts
        if counts.records:
            return None
        whole = whole and not counts.rejects and len(data) < LOOKED_AT
    for name, data in beginnings.items():
        met, most = _met(data, FORMATS)
        if any(met.values()) and (whole or most):
            said = f"there are records of other formats: {by_wire(met)} (read as with --wire formats)"
            complain(f"{shown(name)}: {said}")
            return FORMATS
    return None


def _beginning(name: str, most: int = LOOKED_AT) -> bytes:
    """The first bytes of a file or of standard input, decompressed; none of other pipes, or of what is no log."""
    from turnwire.read.contents import beginning

    if name != STANDARD_INPUT and os.path.exists(name) and not os.path.isfile(name):
        return b""
    try:
        return beginning(_standard_beginning() if name == STANDARD_INPUT else name, most)
    except OSError:  # the scan tells of it
        return b""


def _standard_beginning() -> bytes:
    """The first bytes of standard input as they are. It is then read from its start again."""
    stream: Any = sys.stdin.buffer
    place, data = stream.tell() if stream.seekable() else None, bytearray()
    while len(data) < LOOKED_AT and (piece := stream.read1(LOOKED_AT - len(data))):
        data += piece
    if place is None:
        sys.stdin = io.TextIOWrapper(_ReplayedInput(stream.raw, bytes(data)))
    else:
        stream.seek(place)
    return bytes(data)


class _ReplayedInput(io.BufferedReader):
    """A stream from which ``data`` was read: gives that first."""

    def __init__(self, raw: Any, data: bytes) -> None:
        super().__init__(raw)
        self._data = data

    def read1(self, size: int = -1, /) -> bytes:
        """As many bytes as are there. Raises OSError."""
        data = self._data[: None if size < 0 else size]
        self._data = self._data[len(data) :]
        return data or super().read1(size)

    def readinto(self, view: Any, /) -> int:
        """The number of bytes read into ``view``. Raises OSError."""
        data = self.read1(len(view))
        view[: len(data)] = data
        return len(data)


def wires_in(data: bytes, wire: str | None = None) -> str:
    """The wires, or with ``FORMATS`` the formats, that bytes of a log have records of, with their numbers; or ""."""
    return by_wire(_met(data, wire)[0])


def _scanned(data: bytes, wire: str | None = None) -> Scan:
    import turnwire

    found = turnwire.scan(data, wire=wire, columns=["wire"])
    for _ in found:
        pass
    return found


def _met(data: bytes, wire: str | None) -> tuple[dict[str, int], bool]:
    """The records by wire, and whether they are most of the bytes. If so, damaged objects of formats count, too: of one
    that is longer than what is looked at the beginning alone is there."""
    found, formats = _scanned(data, wire), registry.formats()
    torn = [one for one in found.rejects.since(0) if one["wire"] in formats and one["reason"] != Reason.NOT_OBJECT]
    most = 2 * (found.counts.record_bytes + sum(one["length"] for one in torn)) >= len(data)
    met = Counter(found.counts.wires)
    met.update(one["wire"] for one in torn if most)
    return met, most


def content(name: str) -> bytes:
    """All bytes of a file that is not a log, or of standard input. Raises OSError, and CommandRefused if there are more
    than ``SETTINGS``: a device may have no end."""
    from turnwire.log.input.compression import HEAD, refuse_binary

    try:
        with nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else open(name, "rb") as file:
            data: bytes = file.read(SETTINGS + 1)
    except OSError as error:
        raise named(error, name) from None
    if len(data) > SETTINGS:
        raise CommandRefused([f"{shown(name)}: more than {SETTINGS >> 20:,} MiB cannot be read at once"])
    refuse_binary(data[:HEAD], name)
    return data


def whole(name: str) -> bytes:
    """All bytes of one input, decompressed, for what is judged as one history. Raises OSError, and CommandRefused if
    there are too many, or a compressed stream is damaged."""
    from turnwire.read.contents import contents

    try:
        found = list(contents(name))
    except OSError as error:
        raise named(error, error.filename or name) from None
    except ValueError as error:
        raise CommandRefused([f"{shown(name)}: {error}"]) from None
    if len(found) != 1:
        raise CommandRefused([f"{shown(name)}: {counted(len(found), 'file')} in this archive; exactly one is expected"])
    return found[0][1]


def size(names: Sequence[str]) -> int | None:
    """Bytes of all inputs together; None if one of them is not a regular file, or a storage does not say."""
    sizes = [None if found.name == STANDARD_INPUT else found.bytes() for found in _sources(names)]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def check_output(path: str | None, names: Sequence[str], written: bool = True) -> None:
    """Raises UsageError if writing the file ``path`` would destroy an input, and OSError if it cannot be written:
    before a long log is read, not after. Nothing is wrong with None, "-", and what is not ``written`` in place."""
    from turnwire.atomic import AtomicFile

    if path is None or path == STANDARD_INPUT:
        return
    if os.path.isfile(path):
        for name in (name.removeprefix("file://") for name in files(names)):
            if os.path.isfile(name) and os.path.samefile(name, path):
                raise click.UsageError(f"{path!r} is an input; writing to it would destroy it")
    if written:
        AtomicFile(path).expect()
