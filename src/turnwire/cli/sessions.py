"""Sessions and JSON lines as commands take them: of files, standard input and URLs; and what is no session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import click

from turnwire.cli import inputs
from turnwire.cli.outcome import BAD_RECORDS, NOTHING, Refused
from turnwire.cli.output import complain
from turnwire.cli.text import printable
from turnwire.errors import DecodeError

_RECORD = re.compile(
    r"^(?:%1(?![0-9])"  # a header
    r"|[\^.](?:0|[1-9][0-9]{0,17})(?: [@&]\S+)*(?: [0-9]{3})?[^A-Za-z0-9\s]{0,2}$"  # an anchor, an end
    r"|[A-Za-z\u03b1-\u30f3]{0,6}=[A-Za-z\u03b1-\u30f3]{0,6}\{)",  # a definition, perhaps with aliases
    re.MULTILINE,
).search
"""What only a session has: a line of it is enough, since the others may be damaged."""
LOOKED_AT = 100
"""Lines that tell whether a text is JSON lines."""


def lines(names: Sequence[str]) -> Iterator[str]:
    """The lines of sources, but for empty ones. Raises Refused for what is not UTF-8."""
    for name in inputs.files(inputs.checked(names)):
        data = _content(name)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise Refused([f"{inputs.shown(name)}: line {line:,} is not UTF-8"]) from None
        for line_of in text.split("\n"):
            if line_of.strip():
                yield line_of


def session(name: str) -> str:
    """The text of a session, which may be damaged. Raises Refused, and ends the command where it is no session."""
    found = inputs.files(inputs.checked([name]))
    if len(found) != 1:
        raise Refused([f"{inputs.shown(name)}: there are {len(found):,} files; a session is one"])
    data = _content(found[0])
    if not data.strip():
        complain(printable(f"{inputs.shown(name)}: is empty"))
        raise click.exceptions.Exit(NOTHING)
    text = data.decode("utf-8", "surrogateescape")
    if why := _why_none(data, text):
        complain(printable(f"{inputs.shown(name)}: is no session: {why}"))
        raise click.exceptions.Exit(BAD_RECORDS)
    return text


def _content(name: str) -> bytes:
    """All bytes of an input, decompressed. Raises OSError, Refused."""
    from turnwire.read.contents import contents

    try:
        ((_, data),) = contents(inputs.content(name), most=inputs.MOST_AT_ONCE)
    except ValueError as error:  # too large, or a damaged compressed stream
        raise Refused([f"{inputs.shown(name)}: {error}"]) from None
    return data


def _why_none(data: bytes, text: str) -> str | None:
    """Why a text is no session, not even a damaged one; None where it may be one."""
    if _RECORD(text) or _has_json_lines(text):
        return None
    if data.startswith(inputs.UTF_16):
        return "it is UTF-16, and a session is UTF-8"
    if inputs.is_binary(data[: inputs.BEGINNING]):
        return "it looks binary"
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        if found := inputs.wires_in(data[: inputs.LOOKED_AT]):
            return f"it is a log with messages ({found}); 'turnwire session pack' makes a session of it"
        return "its lines are neither JSON objects or strings nor records of a session"
    what = "array" if isinstance(value, list) else "object over several lines" if isinstance(value, dict) else "value"
    return f"it is a JSON {what}; a session has an event on each line"


def _has_json_lines(text: str) -> bool:
    """Whether most of the first lines are events, or the first one is."""
    from turnwire.session.reading import plain_events

    looked = good = 0
    for line in re.finditer(r"[^\n]*\S[^\n]*", text):
        try:
            good += len(plain_events(line[0]))
        except DecodeError:
            pass
        else:
            if not looked:
                return True
        looked += 1
        if looked == LOOKED_AT:
            break
    return 2 * good > looked
