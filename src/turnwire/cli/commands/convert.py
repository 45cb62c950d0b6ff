"""``turnwire convert``: messages of any wire as messages of one wire."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

import turnwire
from turnwire import registry
from turnwire.characters import escaped_json
from turnwire.cli import inputs
from turnwire.cli.contexts import context_of
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import Output, complain, standard_output
from turnwire.cli.text import printable
from turnwire.cli.wires import WireName
from turnwire.errors import Reason, WireError

_UNCLOSED = str(Reason.INSIDE_UNCLOSED_HEREDOC)


class Found(NamedTuple):
    """A message of a file (``line``: its first, 1-based), or why there is none there."""

    line: int
    message: Any = None
    fault: str | None = None
    reason: str | None = None


@click.command("convert", short_help="Messages of any wire as messages of another; what is lost is named.")
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--to", "target", required=True, type=WireName(), help="The wire to write.")
@click.option("--from", "source", type=WireName(), help="Take the messages of this wire only.")
@click.option("--carry", is_flag=True, help="Keep what the target has no field for; the way back is exact.")
@click.option(
    "--context", "context_file", type=inputs.name, metavar="FILE", help="TOML or JSON: names, numbers, defaults."
)
@click.option("--now", "use_clock", is_flag=True, help="A message without a time gets the time of now.")
@click.option("--new-ids", is_flag=True, help="Envelopes and Tasks without an id get a random UUID.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines: each message with its dropped fields.")
@click.option("-q", "--quiet", is_flag=True, help="Do not name dropped fields.")
def command(
    files: tuple[str, ...],
    target: str,
    source: str | None,
    carry: bool,
    context_file: str | None,
    use_clock: bool,
    new_ids: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Writes the messages in FILES, wherever they stand there, as messages of the wire --to.

    What the target has no field for is named on standard error. What the target needs and a message lacks must come
    from --context (the fields of turnwire.Context), --now or --new-ids; otherwise the message is refused, and every
    missing field is named. Exits with 1 when a record could not be read or converted.
    """
    names = inputs.checked(files)
    context = turnwire.Context() if context_file is None else context_of(context_file)
    if use_clock:
        from turnwire.sap.times import now

        context = context.replace(now=now)
    if new_ids:
        context = context.replace(new_id=lambda: str(uuid.uuid4()))
    output = standard_output()
    writer = _Writer(output, target, as_json, quiet)
    for name in inputs.files(names):
        for found in _messages(inputs.content(name), source):
            if found.message is None:
                writer.refuse(name, found.line, str(found.reason), str(found.fault), ())
                continue
            try:
                converted = turnwire.convert(found.message, target, context=context, carry=carry)
                text = turnwire.encode(converted.message)
            except WireError as error:
                writer.refuse(name, found.line, str(error.reason), error.text, getattr(error, "missing", ()))
            else:
                writer.write(name, found.line, text, converted.dropped)
    output.flush()
    return BAD_RECORDS if writer.refused else GOOD


class _Writer:
    """Messages to standard output, what was lost or refused to standard error, or all as JSON lines."""

    def __init__(self, output: Output, target: str, as_json: bool, quiet: bool) -> None:
        self._output = output
        self._target = target
        self._json = as_json
        self._quiet = quiet
        self._first = True
        self.refused = 0

    def write(self, file: str, line: int, text: str, dropped: tuple[str, ...]) -> None:
        """One converted message."""
        if self._json:
            self._line({"file": file, "line": line, "wire": self._target, "message": text, "dropped": list(dropped)})
            return
        if not self._first:
            text = registry.wire(self._target).joined + text
        self._first = False
        if sys.stdout is not None and sys.stdout.isatty():  # a person looks at it: a pipe gets the bytes as they are
            text = "\n".join(map(printable, text.split("\n")))
        self._output.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())
        if dropped and not self._quiet:
            complain(printable(f"{inputs.shown(file)}:{line}: dropped: {', '.join(dropped)}"))

    def refuse(self, file: str, line: int, reason: str, text: str, missing: tuple[str, ...]) -> None:
        """One record that could not be read or has no form in the target."""
        self.refused += 1
        if self._json:
            fault = {"error": reason, "text": text, "missing": list(missing)}
            self._line({"file": file, "line": line, "wire": self._target, **fault})
        else:
            complain(printable(f"{inputs.shown(file)}:{line}: {reason}: {text}"))

    def _line(self, values: dict[str, Any]) -> None:
        text = json.dumps({**values, "file": inputs.shown(values["file"])}, ensure_ascii=False)
        self._output.write(escaped_json(f"{text}\n".encode("utf-8", "backslashreplace")))


def _messages(data: bytes, source: str | None) -> Iterator[Found]:
    """The records and rejects of one file, in order."""
    from turnwire.finding.located import located

    unclosed: set[int] | None = None
    for one in located(data, source):
        if one.error is not None:
            yield Found(one.line, None, one.error.text, str(one.error.reason))
            if one.error.reason is Reason.UNCLOSED_HEREDOC and unclosed is None:
                unclosed = {each.offset for each in located(data, one.wire) if each.doubtful}
        elif one.offset in (unclosed or ()):
            yield Found(one.line, None, "a heredoc that is not closed would hold it", _UNCLOSED)
        elif type(one.message).__name__ == "Template":  # a record of CSP/1 that says nothing to anyone
            yield Found(one.line, None, "this is a template, no message", str(Reason.NO_MESSAGE))
        else:
            yield Found(one.line, one.message)
