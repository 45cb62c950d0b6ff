"""``turnwire session``: messages and events as text of few tokens, and back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, CommandRefused, usage_errors
from turnwire.cli.output import complain, tell_left_out, write_json, write_lines, write_whole
from turnwire.errors import DecodeError
from turnwire.showing import escaped_json

_TEXT = click.argument("file", type=options.SOURCE)
_EVENTS = click.option("--events", is_flag=True, help="Read SOURCES as JSON lines of any objects, not as logs.")
_OUTPUT = options.output_option("The file to write, completely or not at all; - for standard output (the default).")
_RECORD = re.compile(
    r"^(?:%1(?![0-9])"  # a header
    r"|[\^.](?:0|[1-9][0-9]{0,17})(?: [@&]\S+)*(?: [0-9]{3})?[^A-Za-z0-9\s]{0,2}$"  # an anchor, an end
    r"|[A-Za-z\u03b1-\u30f3]{0,6}=[A-Za-z\u03b1-\u30f3]{0,6}\{)",  # a definition, perhaps with aliases
    re.MULTILINE,
).search
"""Finds what only a session has: a line of it is enough, since the others may be damaged."""
_LINES = 100
"""Lines of a session that are read at once."""
LOOKED_AT = 100
"""Lines that tell whether a text is JSON lines."""


@click.group("session", short_help="Pack events into few tokens for a model; unpack and check them.")
def command() -> None:
    """Packs many events into one compact text, without loss."""


@command.command("pack", short_help="Write messages as a session.")
@options.sources_argument
@_EVENTS
@click.option(
    "--tokenizer",
    default="o200k_base",
    type=options.SOURCE,
    metavar="NAME|FILE",
    help="The tokenizer whose tokens to save.",
)
@click.option(
    "--key", multiple=True, metavar="PATH", help="Path of the member that identifies the conversation. Repeatable."
)
@click.option("--every", type=click.IntRange(min=1), default=200, help="Events between two anchors.")
@click.option("--plain", is_flag=True, help="Avoid forms that models find hard: counters, omissions, aliases.")
@_OUTPUT
def pack(sources: tuple[str, ...], events: bool, output: str | None, **settings: Any) -> int:
    """Writes the messages in SOURCES as a session.

    SOURCES are files, directories, globs, URLs, or - for standard input. Damaged records are left out. Exits with 1 if
    a record is damaged, and with 4 if there are no messages.
    """
    import turnwire
    from turnwire.session.writing import packed, paths_of
    from turnwire.tokens.tokenizer import load

    names = inputs.checked(sources, output)
    with usage_errors():
        counter, keys = load(settings["tokenizer"]), paths_of(settings["key"])
    scan = turnwire.scan(list(names), errors="skip", progress=True)
    found = _json_lines(names) if events else (message for message, *_ in scan.messages())
    pieces = packed(found, counter, keys or None, every=settings["every"], plain=settings["plain"])
    first = next(pieces, "")
    write_whole(output, _ended(chain([first], pieces)))
    failed = 0 if events else scan.counts.rejects
    tell_left_out(failed)
    if not first and not failed:
        inputs.tell_none(names, what="event" if events else "message")
    return BAD_RECORDS if failed else GOOD if first else NOTHING


def _ended(pieces: Iterable[str]) -> Iterator[bytes]:
    """The bytes of a text in pieces, with a line feed at its end."""
    piece = ""
    for piece in pieces:
        yield piece.encode()
    if piece and piece[-1] != "\n":
        yield b"\n"


def _json_lines(names: Sequence[str]) -> Iterator[str]:
    """The lines of sources, decompressed, but for empty ones. Raises OSError, CommandRefused for what is not UTF-8 or a
    damaged stream."""
    from turnwire.read.contents import lines

    try:
        for name, number, line in lines(list(names)):
            if line.strip():
                try:
                    yield line.decode()
                except UnicodeDecodeError:
                    raise CommandRefused([f"{inputs.shown(name)}: line {number:,} is not UTF-8"]) from None
    except DecodeError as error:
        raise CommandRefused([str(error)]) from None


@command.command("unpack", short_help="Write the events of a session as JSON lines.")
@_TEXT
@click.option("--salvage", is_flag=True, help="Recover the intact events of a damaged session.")
@_OUTPUT
def unpack(file: str, salvage: bool, output: str | None) -> int:
    """Writes the events of the session FILE as JSON lines, with numbers as they were written.

    FILE is a file, a URL, or - for standard input. Exits with 1 if FILE is not a session, or is damaged or incomplete,
    and with 4 if it is empty.
    """
    from turnwire.session import lines_of, salvage as salvaged

    text = _session(*inputs.checked([file], output))
    if salvage:
        found = salvaged(text)
        lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in found.events]
        _tell_damage(found)
        code = GOOD if found.complete else BAD_RECORDS
    else:
        try:
            lines = lines_of(text)
        except DecodeError as error:
            complain(str(error))
            return BAD_RECORDS
        code = GOOD
    write_whole(output, [escaped_json("".join(line + "\n" for line in lines).encode("utf-8", "replace"))])
    return code


@command.command("check", short_help="Report whether a session is intact, and what is missing.")
@_TEXT
@click.option("--json", "as_json", is_flag=True, help="A line of JSON.")
def check(file: str, as_json: bool) -> int:
    """Reports whether the session FILE is intact, and what is missing.

    FILE is a file, a URL, or - for standard input. Exits with 1 if it is not intact or not a session, and with 4 if
    it is empty.
    """
    from turnwire.session import Salvage, salvage

    [name] = inputs.checked([file])
    count = _count_of_whole(name)
    found = salvage(_session(name)) if count is None else Salvage([], [], [], True, [])
    row = {
        "complete": found.complete,
        "events": len(found.events) if count is None else count,
        "doubtful": sum(len(part.events) for part in found.doubtful),
        "missing": [list(each) for each in found.missing],
        "faults": [str(fault) for fault in found.faults],
    }
    if as_json:
        write_json([row])
    else:
        write_lines([f"{'whole' if found.complete else 'damaged or unfinished'}: {row['events']} events"])
        _tell_damage(found)
    return GOOD if found.complete else BAD_RECORDS


def _count_of_whole(name: str) -> int | None:
    """The number of events of a file that is an intact session, read in bounded memory; None for any other input, of
    which ``salvage`` tells what is wrong."""
    from turnwire.read.contents import lines
    from turnwire.session import Reader

    if not os.path.isfile(name):  # what can be read only once is read at once
        return None
    reader, files = Reader(), set[str | None]()
    found = lines([name])
    try:
        while piece := list(islice(found, _LINES)):
            files.update(file for file, *_ in piece)
            reader.feed("".join([line.decode("utf-8", "surrogateescape") + "\n" for *_, line in piece]))
        reader.close()
    except (DecodeError, OSError):
        return None
    return reader.events if len(files) == 1 and reader.events else None


def _tell_damage(found: Any) -> None:
    """Tell what is wrong with a salvaged session, and which events are missing."""
    for fault in found.faults:
        complain(str(fault))
    for first, behind in found.missing:
        complain(f"missing: events from {first + 1} " + (f"to {behind}" if behind is not None else "on"))


def _session(name: str) -> str:
    """The text of a session, which may be damaged. Raises CommandRefused, and ends the command if it is none."""
    found = inputs.files([name])
    if len(found) != 1:
        raise CommandRefused([f"{inputs.shown(name)}: there are {len(found):,} files; a session is a single file"])
    data = inputs.whole(found[0])
    if not data.strip():
        complain(f"{inputs.shown(name)}: is empty")
        raise click.exceptions.Exit(NOTHING)
    text = data.decode("utf-8", "surrogateescape")
    first = islice((line for line in text.split("\n") if line.strip()), LOOKED_AT)
    if not _RECORD(text) and not any(map(_is_event, first)):
        complain(f"{inputs.shown(name)}: is not a session: its lines are neither JSON nor session records")
        raise click.exceptions.Exit(BAD_RECORDS)
    return text


def _is_event(line: str) -> bool:
    from turnwire.session.reading import json_line

    try:
        return bool(json_line(line))
    except (ValueError, RecursionError):
        return False
