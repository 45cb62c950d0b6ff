"""The same messages in every wire and in reference formats: what each costs, and what each leaves out; as tables, as a
page, and as a picture.

A format cannot win by omission: only those that restore the messages are ranked, and every figure shows what was
dropped. A reference format is a table entry: how a value is written and read, shown only after it has given its values
back. Where it has a form for many values alike, a whole conversation gets it; the others write one value after the
other, a line each.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.atomic import AtomicFile
from turnwire.errors import EncodeError, MissingDependency, Reason, UnknownName, WireError, expect_one_of, needs
from turnwire.registry import decode, encode, wire_of
from turnwire.showing import aligned, counted, visible
from turnwire.tokens.tokenizer import DEFAULT, Tokenizer, beginning, load

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; }}
table {{ border-collapse: collapse; margin-top: 2rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; }}
th, td {{ text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid #8886; vertical-align: top; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{intro}</p>
{tables}
</body>
</html>
"""
ALL, PART, LEGEND = "#2f6fb4", "#b9c0c9", "#8db6de"


def _kept(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The places of the columns that say something in any row."""
    return [place for place in range(len(names)) if not rows or any(row[place] for row in rows)]


def plain_table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[str]) -> str:
    """The rows under their names, ``numbers`` to the right; columns that say nothing in any row are left out."""
    kept = _kept(names, rows)
    cells = [[visible(row[place]) for place in kept] for row in rows]
    return aligned([names[place] for place in kept], cells, [names[place] in numbers for place in kept])


def shown(text: str) -> str:
    """Text from strangers as HTML: markup escaped, invisible and control characters written out."""
    return escape(visible(text), quote=True)


class Section(NamedTuple):
    """A table of a report under a title. lines: what is said below the table."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str]
    lines: Sequence[str] = ()


Layout = Callable[[Sequence[str], Sequence[Sequence[str]], frozenset[str]], str]
"""(names, rows, names of columns with numbers) -> the table as text."""


class Report:
    """A report of sections, as text, as a page, and as a notebook shows it."""

    def _sections(self) -> list[Section]:
        raise NotImplementedError

    def _title(self) -> tuple[str, str]:
        """The title of the page, and the line below it."""
        raise NotImplementedError

    def _lines(self) -> list[str]:
        """The last lines of the report."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from turnwire.showing import table

        parts = []
        for one in self._sections():
            kept = _kept(one.names, one.rows)
            rows = ([row[place] for place in kept] for row in one.rows)
            parts += [table(one.title, [one.names[place] for place in kept], rows)]
            parts += [f"<p>{shown(line)}</p>" for line in one.lines if line]
        return "".join(parts)

    def table(self, layout: Layout = plain_table) -> str:
        """Returns text for people: a table for each tokenizer, its conclusions, and alternatives that could not be
        tried.

        ``layout`` formats a table from names, rows and the names of number columns.
        """
        parts = []
        for one in self._sections():
            parts += [f"{visible(one.title)}\n", layout(one.names, one.rows, one.numbers)]
            parts += [f"{visible(line)}\n" for line in one.lines]
        parts += [f"{visible(line)}\n" for line in self._lines()]
        return "".join(parts).rstrip("\n") + "\n"

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained page without scripts, completely or not at all. Raises OSError."""
        title, intro = map(shown, self._title())
        tables = "\n".join([self._repr_html_(), *(f"<p>{shown(line)}</p>" for line in self._lines())])
        with AtomicFile(path) as file:
            file.write(_PAGE.format(title=title, intro=intro, tables=tables).encode())


def messages_of(given: Any) -> list[Any]:
    """Messages from one message, its text, or an iterable of these. Raises DecodeError, EncodeError(wrong_type)."""
    text = (str, bytes, bytearray, memoryview)
    alone = isinstance(given, text) or wire_of(given) is not None
    made = []
    for each in [given] if alone or not isinstance(given, Iterable) else given:
        made.append(decode(each) if isinstance(each, text) else each)
        if wire_of(made[-1]) is None:
            names = ", ".join(registry.names())
            raise EncodeError(Reason.WRONG_TYPE, f"{type(each).__name__} is not a message of {names}")
    return made


def text_of(message: Any) -> str:
    """A message in its own wire, as it was read."""
    return encode(message, strict=False)


def plain(message: Any) -> dict[str, Any]:
    """A message as JSON values with names: an object a reader needs no other document for.

    A wire that is JSON does by its own objects, the messages of others have a method for it
    (:meth:`turnwire.contract.Wire.plain_values`).
    """
    return registry.wire(str(wire_of(message))).plain_values(message)


class Format(NamedTuple):
    """A reference format.

    package: the distribution that writes it, None if nothing is needed. write, read: a value, or a list of values
    that are one conversation, as text, and back. tabular: whether it has a form for such a list; always_list: whether
    one value also comes back as a list.
    """

    name: str
    package: str | None
    write: Callable[[Any], str]
    read: Callable[[str], Any]
    tabular: bool = True
    always_list: bool = False


def lossless(form: Format, values: Sequence[Any], together: bool) -> tuple[list[str] | None, str]:
    """The texts of values in a format, and "" or why they do not come back from it: (None, why) where they cannot be
    written. together: whether they are one conversation, which is one text where the format has tables.

    Values are compared as JSON: 1 and 1.0 are one number, "1" and true are others; the order of members does not count.
    Raises MissingDependency if the format's package is not installed.
    """
    given = [list(values)] if together and form.tabular else list(values)
    try:
        texts = list(map(form.write, given))
        "".join(texts).encode()  # a lone surrogate is not text that could be sent
    except MissingDependency:
        raise
    except Exception as error:  # a stranger's encoder: whatever it raises, it has not written these values
        return None, f"cannot write them: {_said(error)}"
    try:
        found = list(map(form.read, texts))
    except Exception as error:  # likewise
        return texts, f"cannot read its own output: {_said(error)}"
    wanted = [one if isinstance(one, list) else [one] for one in given] if form.always_list else given
    return texts, "" if _compared(found) == _compared(wanted) else "it returns different values"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:160]


def _compared(values: Any) -> str:
    return json.dumps(_number(values), ensure_ascii=True, sort_keys=True)


def _number(value: Any) -> Any:
    """The value with every whole number as an int."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _number(each) for name, each in value.items()}
    return [_number(each) for each in value] if isinstance(value, (list, tuple)) else value


def _package(module: str, distribution: str) -> Any:
    with needs("formats", f"{distribution} is not installed"):
        return import_module(module)


def _package_format(
    name: str,
    package: str,
    module: str,
    write: Callable[[Any, Any], str] = lambda codec, value: str(codec.encode(value)),
    read: Callable[[Any, str], Any] = lambda codec, text: codec.decode(text),
) -> Format:
    """A format of another package. write, read: (module, value or text) -> text or value."""
    return Format(
        name,
        package,
        lambda value: write(_package(module, package), value),
        lambda text: read(_package(module, package), text),
    )


def minified(value: Any) -> str:
    """JSON without a space that could be left out, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _session() -> Any:
    return import_module("turnwire.session")  # it counts tokens, so it is built on this package


def _write_session(value: Any) -> str:
    return str(_session().encode(value if isinstance(value, list) else [value]))


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("json", None, minified, json.loads, tabular=False),
        Format(
            "json pretty",
            None,
            lambda value: json.dumps(value, ensure_ascii=False, indent=2),
            json.loads,
            tabular=False,
        ),
        Format("session", None, _write_session, lambda text: _session().decode(text), always_list=True),
        _package_format("toon", "toon-format", "toon_format"),
        _package_format(
            "gcf",
            "gcf-python",
            "gcf",
            lambda gcf, value: str(gcf.encode_generic(value)),
            lambda gcf, text: gcf.decode_generic(text),
        ),
        _package_format("soon", "soon-format", "soon_format"),
        _package_format(
            "yaml",
            "PyYAML",
            "yaml",
            lambda yaml, value: str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=float("inf"))),
            lambda yaml, text: yaml.safe_load(text),
        ),
        _package_format(
            "msgpack base64",
            "msgpack",
            "msgpack",
            lambda msgpack, value: base64.b64encode(msgpack.packb(value)).decode(),
            lambda msgpack, text: msgpack.unpackb(base64.b64decode(text), strict_map_key=False),
        ),
    )
}
"""The reference formats in the order in which they are shown. ``json`` (minified) is what ratios are taken to."""


def version_of(form: Format) -> str:
    """The version of a format's package; "" where it needs none or it is not installed."""
    if not form.package:
        return ""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(form.package)
    except PackageNotFoundError:
        return ""


COLUMNS = ("rank", "format", "tokens", "legend", "ratio", "bytes", "shared", "round trip", "dropped", "note")
NUMBERS = frozenset({"rank", "tokens", "legend", "ratio", "bytes", "shared"})


class Row(NamedTuple):
    """One format with one tokenizer.

    Attributes:
        format: a wire or a reference format; kind: "wire" or "reference". Messages of several wires also have the row
            "each in its own wire".
        bytes, tokens: those of all messages. legend: tokens of the wire's prompt, counted once for a conversation.
        shared: tokens of the common prefix of all messages.
        dropped: fields that the format cannot represent, with the number of messages that have them.
        round_trip: whether every message can be read back unchanged from its text alone.
        ratio: tokens and legend relative to minified JSON; None if that was not measured.
        rank: among the formats with round_trip, 1 is the cheapest; None for the others.
        note: why messages cannot be read back, or information that a reader needs.
    """

    format: str
    kind: str
    tokenizer: str
    messages: int
    bytes: int
    tokens: int
    legend: int
    shared: int
    dropped: tuple[str, ...]
    round_trip: bool
    ratio: float | None
    rank: int | None
    note: str

    @property
    def total(self) -> int:
        """Tokens of the messages and of the legend."""
        return self.tokens + self.legend


class Comparison(Report):
    """Rows of formats for each tokenizer.

    Attributes:
        rows: the rows, tokenizer by tokenizer, in the order in which the formats were named.
        absent: format -> the reason why it was not measured.
        facts: the compared messages, wires, per, tokenizers with their provenance, versions of the formats.
    """

    def __init__(self, rows: Sequence[Row], absent: Mapping[str, str], facts: Mapping[str, Any]) -> None:
        self.rows = tuple(rows)
        self.absent = dict(absent)
        self.facts = dict(facts)

    def __repr__(self) -> str:
        return f"<Comparison of {self.facts['messages']} messages, {len(self.rows)} rows>"

    def sorted(self, tokenizer: str) -> list[Row]:
        """Returns the rows of a tokenizer: ranked ones first, cheapest first, then those that drop fields. Raises
        UnknownName for a tokenizer that was not used."""
        if tokenizer not in self.facts["tokenizers"]:
            raise UnknownName("tokenizer", tokenizer, self.facts["tokenizers"])
        rows = [row for row in self.rows if row.tokenizer == tokenizer]
        return sorted(rows, key=lambda row: (row.rank is None, row.total))

    def _sections(self) -> list[Section]:
        found = []
        for tokenizer, provenance in self.facts["tokenizers"].items():
            rows = self.sorted(tokenizer)
            title = f"{tokenizer} ({provenance}), per {self.facts['per']}"
            found.append(Section(title, COLUMNS, list(map(_cells, rows)), NUMBERS))
        return found

    def _lines(self) -> list[str]:
        return [f"not measured: {name}: {why}" for name, why in self.absent.items()]

    def _title(self) -> tuple[str, str]:
        wires = ", ".join(f"{count:,} {wire}" for wire, count in self.facts["wires"].items())
        versions = ", ".join(f"{name} {version}" for name, version in self.facts["versions"].items())
        intro = f"{wires}. Only formats that carry every message in full are ranked."
        title = f"Tokens of {counted(self.facts['messages'], 'message')}"
        return title, f"{intro} Formats: {versions}." if versions else intro

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain dicts."""
        return [{**row._asdict(), "dropped": list(row.dropped)} for row in self.rows]

    def to_arrow(self) -> Any:
        """The rows as a ``pyarrow.Table``. Raises MissingDependency without the extra ``files``."""
        with needs("files", "to_arrow needs pyarrow"):
            import pyarrow
        text, number, floating = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
        types = dict.fromkeys(Row._fields, text) | dict.fromkeys(
            ("messages", "bytes", "tokens", "legend", "shared", "rank"), number
        )
        types |= {"dropped": pyarrow.list_(text), "round_trip": pyarrow.bool_(), "ratio": floating}
        return pyarrow.Table.from_pylist(self.to_dicts(), schema=pyarrow.schema(list(types.items())))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws a group of bars for each tokenizer; the ending of the path determines the format (.svg, .png, .pdf).

        Grey bars are formats that leave something out. Raises MissingDependency without the extra ``plot``, ValueError
        for an ending that cannot be drawn, OSError.
        """
        with needs("plot", "pictures need matplotlib"):
            from matplotlib.figure import Figure
        tokenizers = list(self.facts["tokenizers"])
        rows = max(len(self.sorted(name)) for name in tokenizers)
        figure = Figure(figsize=(9, len(tokenizers) * (0.9 + 0.32 * rows)), layout="constrained")
        for place, name in enumerate(tokenizers):
            axes = figure.add_subplot(len(tokenizers), 1, place + 1)
            ranked = self.sorted(name)[::-1]
            names = [row.format if row.round_trip else f"{row.format} (not all)" for row in ranked]
            tokens, labels = [row.tokens for row in ranked], [f"{row.total:,}" for row in ranked]
            axes.barh(names, tokens, color=[ALL if row.round_trip else PART for row in ranked])
            legends = axes.barh(names, [row.legend for row in ranked], left=tokens, color=LEGEND)
            axes.bar_label(legends, labels, padding=3, fontsize=8)
            # what is in a name is not a formula
            axes.set_title(f"{visible(name)}: tokens per {self.facts['per']}", fontsize=10, parse_math=False)
            axes.spines[["top", "right"]].set_visible(False)
            axes.margins(x=0.12)
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def _cells(row: Row) -> list[str]:
    return [
        "–" if row.rank is None else str(row.rank),
        row.format,
        f"{row.tokens:,}",
        f"{row.legend:,}" if row.legend else "",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        f"{row.bytes:,}",
        f"{row.shared:,}" if row.shared else "",
        "yes" if row.round_trip else "no",
        ", ".join(row.dropped),
        row.note,
    ]


OWN = "each in its own wire"
"""The row of a mixed log as it is."""
PER = ("message", "conversation")


class Version(NamedTuple):
    """The messages in one format: a text each (or one for all), what a reader needs beside them, and whether they come
    back from it."""

    name: str
    kind: str
    texts: list[str]
    legend: list[str]
    dropped: Mapping[str, int]
    back: bool
    note: str = ""


def compare(
    messages: Any,
    wires: Sequence[str] | None = None,
    tokenizers: Sequence[str | Tokenizer] = (DEFAULT,),
    *,
    formats: Sequence[str] = tuple(FORMATS),
    context: Any = None,
    per: str = "message",
) -> Comparison:
    """Compares the token counts of messages in wires and reference formats.

    messages: one message, its text, or an iterable of these, of any wires. context: values for ``turnwire.convert``
    that a wire needs and a message lacks. per: "message" counts each text by itself; "conversation" counts all as one
    text, one message per line, and the wire's ``prompt`` once as well. formats: names of
    ``turnwire.tokens.comparison.FORMATS``.

    Formats that could not be measured are in ``Comparison.absent`` with the reason. Raises UnknownName, ValueError (no
    message), the errors of ``load``, and EncodeError or DecodeError for anything that is not a message or cannot be
    written in its own wire.
    """
    expect_one_of(per, "per", PER)
    wires = registry.chosen(wires)
    for name in formats:
        expect_one_of(name, "format", FORMATS)
    found = messages_of(messages)
    if not found:
        raise ValueError("there is no message to compare")
    for message in found:
        text_of(message)  # what its own wire cannot write is not a message
    counters = [load(each) for each in tokenizers]
    if not counters:
        raise ValueError("there is no tokenizer to count with")
    together = per == "conversation"
    absent: dict[str, str] = {}
    versions = [*_wires(found, wires, context, together, absent), *_references(found, formats, together, absent)]
    rows = [
        row for counter in counters for row in _ranked([_row(each, counter, together, len(found)) for each in versions])
    ]
    facts = {
        "messages": len(found),
        "wires": dict(Counter(str(wire_of(message)) for message in found)),
        "per": per,
        "tokenizers": {counter.name: counter.provenance for counter in counters},
        "versions": {name: version_of(FORMATS[name]) for name in formats if FORMATS[name].package},
    }
    return Comparison(rows, absent, facts)


def _wires(
    messages: list[Any], wires: Iterable[str], context: Any, together: bool, absent: dict[str, str]
) -> Iterable[Version]:
    for wire in wires:
        try:
            yield _written(wire, messages, [wire] * len(messages), context, together)
        except WireError as error:
            absent[wire] = f"{error.reason}: {error.text}"
        except UnknownName as error:  # it does not say what is needed
            absent[wire] = str(error)
    owners = [str(wire_of(message)) for message in messages]
    if len(set(owners)) > 1:
        yield _written(OWN, messages, owners, None, together)


def _written(name: str, messages: list[Any], wires: Sequence[str], context: Any, together: bool) -> Version:
    """The messages, each in a wire."""
    texts, failed = [], 0
    dropped: Counter[str] = Counter()
    for number, (message, wire) in enumerate(zip(messages, wires, strict=True), 1):
        try:
            text, left_out, back = _in_wire(message, wire, context)
        except WireError as error:
            error.text = f"{error.text} (message {number} of {len(messages)})".strip()
            raise
        texts.append(text)
        dropped.update(left_out)
        failed += not (back or left_out)
    note = f"{failed} of {len(messages)} cannot be restored from the text alone" if failed else ""
    # Who reads needs no example of everything.
    legend = [registry.prompt(wire, "short") for wire in dict.fromkeys(wires)] if together else []
    return Version(name, "wire", texts, legend, dropped, not (failed or dropped), note)


def _in_wire(message: Any, wire: str, context: Any) -> tuple[str, Sequence[str], bool]:
    """One message in a wire: its text there, what it left out, and whether the very message comes back from the text,
    without a context."""
    import turnwire

    # Sizes are compared: what differs is in ``dropped``.
    made = turnwire.convert(message, wire, context=context, nearest=True)
    text = text_of(made.message)
    try:
        found = turnwire.convert(turnwire.decode(text, wire), str(wire_of(message)), nearest=True).message
    except WireError:
        return text, made.dropped, False  # its own wire does not read it, or converting back needs more
    return text, made.dropped, bool(found == message)


def _references(
    messages: list[Any], formats: Iterable[str], together: bool, absent: dict[str, str]
) -> Iterable[Version]:
    values = [plain(message) for message in messages]
    for name in formats:
        try:
            texts, why = lossless(FORMATS[name], values, together)
        except MissingDependency as error:
            absent[name] = str(error)
            continue
        if texts is None:
            absent[name] = f"it {why}"
            continue
        yield Version(name, "reference", texts, [], {}, not why, why)


def _row(version: Version, counter: Tokenizer, together: bool, messages: int) -> Row:
    whole = ["\n".join(version.texts)] if together else version.texts
    shared = beginning(version.texts) if len(version.texts) > 1 else ""
    return Row(
        format=version.name,
        kind=version.kind,
        tokenizer=counter.name,
        messages=messages,
        bytes=sum(len(text.encode()) for text in whole),
        tokens=sum(counter.count_many(whole)),
        legend=sum(counter.count_many(version.legend)),
        shared=counter.count(shared),
        dropped=tuple(f"{name} ×{count}" if count > 1 else name for name, count in version.dropped.items()),
        round_trip=version.back,
        ratio=None,
        rank=None,
        note=version.note,
    )


def _ranked(rows: list[Row]) -> list[Row]:
    """The rows with their ratios, and their ranks among those that give everything back."""
    base = next((row.total for row in rows if row.format == "json"), 0)
    totals = sorted(row.total for row in rows if row.round_trip)
    return [
        row._replace(
            ratio=row.total / base if base else None, rank=totals.index(row.total) + 1 if row.round_trip else None
        )
        for row in rows
    ]
