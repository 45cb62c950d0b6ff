"""``turnwire session``: messages and events as text of few tokens, and back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import click

from turnwire.characters import escaped_json
from turnwire.cli import inputs, sessions
from turnwire.cli.groups import Group
from turnwire.cli.outcome import BAD_RECORDS, GOOD, INPUT_OUTPUT, NOTHING, misused
from turnwire.cli.output import complain, standard_output, write_whole
from turnwire.cli.text import printable
from turnwire.errors import DecodeError, UnknownName
from turnwire.phrases import counted

_TEXT = click.argument("file", type=inputs.SOURCE)
_OUTPUT = click.option(
    "-o",
    "--output",
    type=inputs.FILE,
    metavar="FILE|-",
    help="The file to write, whole or not at all; - for standard output, which is the default.",
)


@click.group("session", cls=Group, short_help="Pack events into few tokens for a model, unpack and check them.")
def command() -> None:
    """Sessions: many events as one text that a model reads with few tokens, nothing lost and loss detected."""


@command.command("pack", short_help="Write messages as a session.")
@inputs.sources_argument
@click.option("--events", is_flag=True, help="SOURCES are JSON lines of any objects, not logs with messages.")
@click.option(
    "--tokenizer",
    default="o200k_base",
    type=inputs.TOKENIZER,
    show_default=True,
    metavar="NAME|FILE",
    help="Whose tokens are saved.",
)
@click.option(
    "--key", multiple=True, metavar="PATH", help="Path of the member that names the conversation. Repeatable."
)
@click.option("--every", type=click.IntRange(min=1), default=200, show_default=True, help="Events between two anchors.")
@click.option("--plain", is_flag=True, help="Nothing that models find hard: no counters, no omissions, no aliases.")
@click.option("--no-checks", is_flag=True, help="Records without checks.")
@_OUTPUT
def pack(
    sources: tuple[str, ...],
    events: bool,
    tokenizer: str,
    key: tuple[str, ...],
    every: int,
    plain: bool,
    no_checks: bool,
    output: str | None,
) -> int:
    """Writes the messages in SOURCES as a session. Exits with 1 when a record is damaged, and then packs the rest;
    with 4 when there is no message.

    SOURCES are files, directories, globs, URLs, or - for standard input.
    """
    from turnwire.session import encode
    from turnwire.session.encoding import paths_of
    from turnwire.tokens.loading import load

    names = _prepared(sources, output)
    try:
        counter, keys = load(tokenizer), paths_of(key)
    except ValueError as error:
        raise misused(error) from None
    found, failed = _events(names, events)
    options = dict.fromkeys(("counters", "before", "aliases"), False) if plain else {}
    text = encode(found, counter, keys or None, every=every, checks=not no_checks, **options)
    write_whole(output, (text.removesuffix("\n") + "\n").encode() if text else b"")
    _tell_left(names, found, failed, events)
    return BAD_RECORDS if failed else GOOD if found else NOTHING


def _prepared(sources: Sequence[str], output: str | None) -> tuple[str, ...]:
    """The sources, once each is seen to be readable and the output to destroy none. Raises as ``checked`` does, and
    UsageError, OSError."""
    names = inputs.checked(sources)
    if output is not None:
        inputs.refuse_overwriting(output, names)
        inputs.expect_writable(output)
    return names


def _tell_left(names: tuple[str, ...], found: list[Any], failed: int, events: bool) -> None:
    """Says how many records were damaged, or that nothing was found in these sources, and what they are."""
    if failed:
        complain(f"{counted(failed, 'damaged record')} {'was' if failed == 1 else 'were'} left out")
    elif not found:
        inputs.tell_none(names, what="event" if events else "message")
        inputs.tell_nothing(names, None, inputs.size(names) != 0)


def _events(names: tuple[str, ...], as_lines: bool) -> tuple[list[Any], int]:
    """The events in files, and how many records were damaged."""
    if as_lines:
        return list(sessions.lines(names)), 0
    import turnwire

    scan = turnwire.scan(list(names), errors="skip")
    found = [message for message, *_ in scan.messages()]
    return found, sum(scan.counts.reasons.values())


@command.command("unpack", short_help="Write the events of a session as JSON lines.")
@_TEXT
@click.option("--salvage", is_flag=True, help="Of a damaged session all that is whole.")
@click.option("--no-checks", is_flag=True, help="The records have no checks.")
@_OUTPUT
def unpack(file: str, salvage: bool, no_checks: bool, output: str | None) -> int:
    """Writes the events of the session FILE as JSON lines, numbers as they were written.

    FILE is a file, a URL, or - for standard input. What is no session, damaged or not, is refused, and said to be none.
    Exits with 1 then and when the session is damaged or incomplete, with 4 when the file is empty.
    """
    from turnwire.session import lines_of
    from turnwire.session import salvage as salvaged

    text = sessions.session(*_prepared([file], output))
    if salvage:
        found = salvaged(text)
        lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in found.events]
        for first, behind in found.missing:
            complain(f"missing: events from {first + 1} " + (f"to {behind}" if behind is not None else "on"))
        for fault in found.faults:
            complain(printable(str(fault)))
        code = GOOD if found.complete else BAD_RECORDS
    else:
        try:
            lines = lines_of(text, sealed=not no_checks)
        except DecodeError as error:
            complain(printable(str(error)))
            return BAD_RECORDS
        code = GOOD
    write_whole(output, escaped_json("".join(line + "\n" for line in lines).encode("utf-8", "replace")))
    return code


@command.command("check", short_help="Say whether a session is whole, and what is missing.")
@_TEXT
@click.option("--json", "as_json", is_flag=True, help="A line of JSON.")
def check(file: str, as_json: bool) -> int:
    """Says whether the session FILE is whole, and what is missing. Exits with 1 when it is not, or is no session;
    with 4 when the file is empty.

    FILE is a file, a URL, or - for standard input.
    """
    from turnwire.session import salvage

    found = salvage(sessions.session(file))
    row = {
        "complete": found.complete,
        "events": len(found.events),
        "doubtful": sum(len(part.events) for part in found.doubtful),
        "missing": [list(each) for each in found.missing],
        "faults": [str(fault) for fault in found.faults],
    }
    output = standard_output()
    if as_json:
        output.write((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    else:
        state = "whole" if found.complete else "damaged or unfinished"
        output.write(f"{state}: {row['events']} events\n".encode())
        for fault in found.faults:
            complain(printable(str(fault)))
        for first, behind in found.missing:
            complain(f"missing: events from {first + 1} " + (f"to {behind}" if behind is not None else "on"))
    output.flush()
    return GOOD if found.complete else BAD_RECORDS


@command.command("quiz", short_help="Ask a model about events, in several formats.")
@inputs.sources_argument
@click.option("--events", is_flag=True, help="SOURCES are JSON lines of any objects, not logs with messages.")
@click.option("--url", required=True, help="A server with OpenAI's API, such as http://127.0.0.1:8080/v1.")
@click.option("--model", default="default", show_default=True, help="The model that is asked.")
@click.option(
    "--size", multiple=True, type=click.IntRange(min=1), default=(10, 50, 200), help="First events. Repeatable."
)
@click.option(
    "--questions", type=click.IntRange(min=1), default=200, show_default=True, help="Questions for each size."
)
@click.option("--format", "formats", multiple=True, help="json, session, plain or toon; else all. Repeatable.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the questions.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each row.")
def quiz(
    sources: tuple[str, ...],
    events: bool,
    url: str,
    model: str,
    size: tuple[int, ...],
    questions: int,
    formats: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> int:
    """Asks a model questions about the events in SOURCES, in several formats, and judges its answers exactly.

    A key for the server is taken from the environment: TURNWIRE_QUIZ_KEY. Exits with 1 when a record is damaged, and
    then asks about the rest; with 3 when the server cannot be asked, with 4 when there is no message.
    """
    from turnwire.session.quiz import FORMATS, endpoint
    from turnwire.session.quiz import quiz as run

    names = inputs.checked(sources)
    found, failed = _events(names, events)
    if not found:
        _tell_left(names, found, failed, events)
        return BAD_RECORDS if failed else NOTHING
    ask = endpoint(url, model, os.environ.get("TURNWIRE_QUIZ_KEY", ""))
    output = standard_output()
    if not as_json:
        output.write(b"events  format    tokens  right of asked  accuracy  95 % interval\n")
    for many in sorted({min(each, len(found)) for each in size}):
        try:
            scores = run(found[:many], ask, questions, seed, formats or FORMATS)
        except ConnectionError as error:
            complain(printable(str(error)))
            return INPUT_OUTPUT
        except UnknownName as error:
            raise misused(error) from None
        for score in scores:
            output.write(_score(score, as_json).encode())
        output.flush()
    _tell_left(names, found, failed, events)
    return BAD_RECORDS if failed else GOOD


def _score(score: Any, as_json: bool) -> str:
    """A row of the table, or its line of JSON."""
    if as_json:
        return json.dumps(score._asdict()) + "\n"
    begin = f"{score.events:6}  {score.format:8}"
    if score.why:
        return f"{begin}  left out: {printable(score.why)}\n"
    share = score.right / score.asked if score.asked else 0.0
    rest = f"{share:8.3f}  {score.low:.3f} to {score.high:.3f}"
    return f"{begin}  {score.tokens:6}  {score.right:5} of {score.asked:5}  {rest}\n"
