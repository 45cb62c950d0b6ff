"""``turnwire convert``: messages of any wire as messages of one wire."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

import turnwire
from turnwire import registry
from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING, OPEN, in_options
from turnwire.cli.output import Notes, standard_output, tell_left_out, write_json
from turnwire.contract import LINES
from turnwire.errors import DecodeError, Reason, WireError

if TYPE_CHECKING:
    from turnwire.conversion import Converted
    from turnwire.read.located import Located

EXPORTS = ("jsonl", "openai", "anthropic", "otlp")
"""The forms of other tools in which sessions of real traffic are written, as ``turnwire.read.exporting.FORMS``."""


@click.command("convert", short_help="Convert messages to another wire; report dropped fields.")
@click.argument("files", nargs=-1, required=True, type=options.SOURCE, metavar="FILES...")
@click.option("--to", "target", required=True, type=options.WireName(more=EXPORTS), help="The wire or form to write.")
@click.option("--from", "source", type=options.WireName(formats=True), help="Convert only messages of this wire.")
@click.option("--nearest", is_flag=True, help="Use the nearest kind if there is no counterpart, and report it.")
@click.option("--carry", is_flag=True, help="Embed what the target has no field for, so that --restore is exact.")
@click.option(
    "--restore", is_flag=True, help="Restore messages that --carry embedded, if they match the message around them."
)
@click.option("--key", type=options.FILE, help="Sign embedded messages with this key, or verify them.")
@click.option("--context", type=options.FILE, help="TOML or JSON file with names, numbers and defaults for the target.")
@click.option("--now", "use_clock", is_flag=True, help="Use the current time for messages without a time.")
@click.option("--new-ids", is_flag=True, help="Add ids to messages without one: random UUIDs, the next numbers.")
@options.output_option("The file to write; - for standard output, the default.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines: each message with its dropped fields.")
@options.verbose_option
@click.option("-q", "--quiet", is_flag=True, help="Do not report dropped fields.")
def command(
    files: tuple[str, ...], target: str, source: str | None, output: str | None, verbose: bool, **settings: Any
) -> int:
    """Converts the messages found in FILES to the wire --to.

    Dropped fields are reported on standard error: for the first messages, or with -v for each. Values that the target
    needs and a message lacks come from --context (the fields of turnwire.Context), --now or --new-ids; otherwise the
    message is rejected and all missing fields are reported. All FILES form one history: answers are sent to the asker,
    clocks and turns are renumbered, and messages that violate the checklist of the wire are rejected. Exits with 1 if a
    record could not be read or converted, with 4 if there are no messages, and with 5 if work stays unfinished that the
    source had finished.

    --to jsonl, openai, anthropic or otlp writes sessions of coding agents and APIs instead: turns with columns and
    parts, messages for those APIs, or spans for OpenTelemetry.
    """
    names = inputs.checked(files, output)
    tells = {name: settings.pop(name) for name in ("as_json", "quiet")}
    if target in EXPORTS:
        given = [one.opts[0] for one in click.get_current_context().command.params if settings.get(one.name or "")]
        if given or source in registry.names():
            raise click.UsageError(f"{given[0] if given else f'--from {source}'} is for wires, not for --to {target}")
        with _writing(output, target, verbose, **tells) as writer:
            return _export(names, target, source, writer)
    if source is not None and source not in registry.names():
        raise click.UsageError(f"--from {source} is for --to {', '.join(EXPORTS)}")
    context = turnwire.Context() if settings["context"] is None else options.context_of(settings["context"])
    if settings["use_clock"]:
        from turnwire.sap.builders import time_now

        context = context.replace(now=time_now)
    if settings["new_ids"]:
        context = context.replace(new_id=lambda: str(uuid.uuid4()))
    choices: dict[str, Any] = {name: settings[name] for name in ("carry", "nearest", "restore")}
    choices["key"] = settings["key"] and inputs.content(settings["key"]).strip()
    converter = turnwire.Converter(target, context=context, **choices)
    with _writing(output, target, verbose, **tells) as writer:
        return _convert(names, source, converter, writer)


def _convert(names: Sequence[str], source: str | None, converter: turnwire.Converter, writer: _Writer) -> int:
    """Writes the messages of a wire, or of all, in another, and what is wrong with them: the exit code."""
    first: tuple[Located, WireError] | None = None  # that was refused for want of what others would say
    begun = False
    for found in _messages(names, source):
        if first is not None:
            writer.refuse(*first)
            first = None
        try:
            if found.error is not None:
                raise found.error
            converted = converter.feed(found.message)
            writer.write(found, turnwire.encode(converted.message), converted)
            if not writer.tells:
                converter.be_terse()
        except WireError as error:
            if begun or found.message is None or error.reason is not Reason.NOT_CONFORMING:
                writer.refuse(found, error)
            else:
                first = found, error
        begun = True
    if first is not None:  # a message alone is not a history
        found, _ = first
        try:
            alone = converter.alone(found.message)
            writer.write(found, turnwire.encode(alone.message), alone)
        except WireError as error:
            writer.refuse(found, error)
    writer.close()
    if not begun and not writer.quiet:
        inputs.tell_none(names, source, option="--from")
    faults, left = converter.close()
    if len(left) <= converter.unanswered:  # what waits for an answer in the source waits for it here
        left = ()
    notes = Notes(writer.verbose)
    for word, several in (("not_conforming", faults), ("unfinished", left)):
        for fault in several:
            notes.add(f"{writer.target}: {word} in {fault.clause}: {fault.text}")
    notes.close()
    if writer.refused or faults:
        return BAD_RECORDS
    return OPEN if left else GOOD if begun else NOTHING


def _export(names: Sequence[str], to: str, wire: str | None, writer: _Writer) -> int:
    """Writes sessions of real traffic in a form of another tool, line by line, with what is lost: the exit code."""
    from turnwire.read.exporting import export

    found = export(list(names), to, wire=wire)
    for one in found:
        if writer.as_json:
            writer.row(one, to=to, text=one.text, dropped=list(one.dropped))
            continue
        if one.text is not None:
            writer.message(one.text)
        if one.dropped:
            word = "dropped" if one.text is not None else f"no form in {to}"
            writer.tell(one, f"{word}: {', '.join(one.dropped)}")
    writer.close()
    counts = found.counts
    tell_left_out(counts.rejects, f"scan --wire {wire or 'formats'}")
    if not counts.records and not writer.quiet:
        inputs.tell_none(names, wire, "record", "--from")
    return BAD_RECORDS if counts.rejects else GOOD if counts.records else NOTHING


@contextmanager
def _writing(path: str | None, target: str, verbose: bool, as_json: bool, quiet: bool) -> Iterator[_Writer]:
    """The writer to a file, which is there whole or not at all, or to standard output: on a terminal of the first
    messages alone, unless all are asked for."""
    from turnwire.atomic import AtomicFile

    with AtomicFile(path) if path not in (None, "-") else standard_output(shown=True) as output:
        all = verbose or path not in (None, "-") or not sys.stdout.isatty()
        messages = Notes(all, lambda text: output.write(text.encode()), "more messages (-v shows all)")
        yield _Writer(target, output, messages, verbose, as_json, quiet)
        output.flush()


class _Writer:
    """Messages to the output, what was lost or refused to standard error, or all as JSON lines."""

    def __init__(self, target: str, output: Any, messages: Notes, verbose: bool, as_json: bool, quiet: bool) -> None:
        self._output, self._messages, self._notes = output, messages, Notes(verbose)
        self.target, self.verbose, self.as_json, self.quiet = target, verbose, as_json, quiet
        self._between = "\n" if target not in EXPORTS and registry.wire(target).style == LINES else ""
        self._lead = ""
        self.refused = 0

    @property
    def tells(self) -> bool:
        """True if it tells what was dropped, not only that something was."""
        return self.as_json or (self._notes.told and not self.quiet)

    def close(self) -> None:
        """Tells how many messages and notes were left out."""
        self._messages.close()
        self._notes.close()

    def row(self, one: Any, **fields: Any) -> None:
        """A line of JSON about a record."""
        write_json([{"file": inputs.shown(one.file), "line": one.line, **fields}], self._output)

    def message(self, text: str) -> None:
        """One message as text."""
        self._messages.add(self._lead + text + "\n" * (not text.endswith("\n")))
        self._lead = self._between

    def tell(self, one: Any, text: str | Callable[[], str], always: bool = False) -> None:
        """Tells the fate of a record; quietly no more than that it was refused."""
        if always or not self.quiet:
            self._notes.add(lambda: f"{inputs.shown(one.file)}:{one.line}: {text if isinstance(text, str) else text()}")

    def write(self, found: Located, text: str, converted: Converted) -> None:
        """One converted message."""
        nearest, dropped = converted.nearest, converted.dropped
        if self.as_json:
            more = {} if nearest is None else {"nearest": nearest}
            self.row(found, wire=self.target, message=text, dropped=list(dropped), **more)
            return
        self.message(text)
        if nearest is not None:
            self.tell(found, f"nearest: {nearest}")
        if dropped:
            self.tell(found, lambda: f"dropped: {', '.join(dropped)}")

    def refuse(self, found: Located, error: WireError) -> None:
        """One record that could not be read or has no form in the target."""
        self.refused += 1
        if not self.as_json:
            self.tell(found, lambda: f"{error.reason}: {in_options(error.text)}", always=True)
            return
        more = {name: said for name in ("known", "nearest") if (said := getattr(error, name, None))}
        missing = list(getattr(error, "missing", ()))
        fault = {"error": str(error.reason), "text": in_options(error.text), "missing": missing, **more}
        self.row(found, wire=self.target, **fault)


def _messages(names: Sequence[str], wire: str | None) -> Iterator[Located]:
    """The records and rejects of the inputs, in order, as they are read.

    CSP/1 after a heredoc that is not closed may be no more than lines of it; in a JSON string, after one in that.
    """
    from turnwire.read.located import located

    unclosed: int | None = None  # where the JSON string is that has one
    beside = False  # one is in no JSON string
    file: str | None = None
    for one in located(list(names), wire):
        if one.file != file:
            file, unclosed, beside = one.file, None, False
        why = one.error
        if why is not None:
            if why.reason is Reason.UNCLOSED_HEREDOC:
                unclosed, beside = (unclosed, True) if one.inner is None else (one.offset, beside)
        elif one.wire == "csp" and (beside if one.inner is None else one.offset == unclosed):
            why = DecodeError(Reason.INSIDE_UNCLOSED_HEREDOC, "it follows a heredoc that is not closed")
        elif type(one.message).__name__ == "Template":  # a record of CSP/1 that says nothing to anyone
            why = DecodeError(Reason.NO_MESSAGE, "this is a template, not a message")
        yield one if why is None else one._replace(message=None, error=why)
