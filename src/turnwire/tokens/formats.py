"""Other ways to write the same values, each shown only after it has given them back.

A format is a table entry: how one value is written and read, how a whole conversation is. Where a format has a table
for many values alike, the conversation gets it; the others write one value after the other, a line each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.errors import EncodeError, MissingDependency, Reason
from turnwire.registry import decode, encode, wire_of


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

    Each wire says it itself (``Wire.plain``); one that is JSON on the wire does by its own objects
    (:meth:`turnwire.contract.Wire.plain_values`).
    """
    return registry.wire(str(wire_of(message))).plain_values(message)


class Written(NamedTuple):
    """Values in a format: a text for each (or one for all), and a legend without which they cannot be read."""

    texts: list[str]
    legend: str = ""


class Format(NamedTuple):
    """A reference format.

    package: the distribution that writes it, None where nothing is needed. write: (values, together) -> Written.
    read: (Written, together) -> the values. together: whether the values are one conversation, which may be one text.
    """

    name: str
    package: str | None
    write: Callable[[Sequence[Any], bool], Written]
    read: Callable[[Written, bool], list[Any]]


def lossless(form: Format, values: Sequence[Any], together: bool) -> tuple[Written | None, str]:
    """The values in a format, and "" or why they do not come back from it: (None, why) where they cannot be written.

    Values are compared as JSON: 1 and 1.0 are one number, "1" and true are others; the order of members does not count.
    Raises MissingDependency where the format's package is not installed.
    """
    try:
        written = form.write(values, together)
        "".join([*written.texts, written.legend]).encode()  # a lone surrogate is not text that could be sent
    except MissingDependency:
        raise
    except Exception as error:  # a stranger's encoder: whatever it raises, it has not written these values
        return None, f"cannot write them: {_said(error)}"
    try:
        found = form.read(written, together)
    except Exception as error:  # likewise
        return written, f"cannot read what it wrote: {_said(error)}"
    same = _compared(found) == _compared(list(values))
    return written, "" if same else "other values come back"


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
    try:
        return import_module(module)
    except ImportError as missing:
        raise MissingDependency(
            f"{distribution} is not installed: pip install 'turnwire[formats]'", name=module
        ) from missing


def _each(name: str, write: Callable[[Any], str], read: Callable[[str], Any]) -> Format:
    """A format that writes values one by one, whether or not they belong together."""
    return Format(
        name,
        None,
        lambda values, together: Written([write(value) for value in values]),
        lambda written, together: [read(text) for text in written.texts],
    )


def _whole(
    name: str, package: str, module: str, write: Callable[[Any, Any], str], read: Callable[[Any, str], Any]
) -> Format:
    """A format that writes a whole conversation as one list. write, read: (module, value or text) -> text or value."""

    def written(values: Sequence[Any], together: bool) -> Written:
        codec = _package(module, package)
        return Written([write(codec, value) for value in ([list(values)] if together else values)])

    def found(given: Written, together: bool) -> list[Any]:
        codec = _package(module, package)
        values = [read(codec, text) for text in given.texts]
        return list(values[0]) if together else values

    return Format(name, package, written, found)


# JSON arrays: the values alone, in the order of a legend that is written once for each shape of object.
# ``[3,0,"goal_1"]`` with the legend ``["act","frame","tag"]`` is ``{"act":3,"frame":0,"tag":"goal_1"}``. A member that
# holds an object is in the legend as ``{"name":[...]}``, a list with objects in it as ``{"":[shape of each item]}``.


def minified(value: Any) -> str:
    """JSON without a space that could be left out, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shape(value: Any) -> Any:
    """The legend of a value: 0 of scalars and of lists without objects, else names or the shapes of items."""
    if isinstance(value, dict):
        members = [(name, _shape(each)) for name, each in value.items()]
        return [{name: form} if form else name for name, form in members]
    if isinstance(value, list):
        shapes = [_shape(each) for each in value]
        return {"": shapes} if any(form != 0 for form in shapes) else 0
    return 0


def _members(form: list[Any]) -> list[tuple[str, Any]]:
    return [(each, 0) if isinstance(each, str) else next(iter(each.items())) for each in form]


def _bare(value: Any, form: Any) -> Any:
    """A value without the names of its members."""
    if isinstance(form, list):
        return [_bare(value[name], each) for name, each in _members(form)]
    if isinstance(form, dict):
        return [_bare(one, each) for one, each in zip(value, form[""], strict=True)]
    return value


def _dressed(value: Any, form: Any) -> Any:
    """The value that ``_bare`` made bare."""
    if isinstance(form, list):
        return {name: _dressed(one, each) for (name, each), one in zip(_members(form), value, strict=True)}
    if isinstance(form, dict):
        return [_dressed(one, each) for one, each in zip(value, form[""], strict=True)]
    return value


def write_arrays(values: Sequence[Any]) -> tuple[str, list[str]]:
    """The legend (a line for each shape) and a line for each value; with several shapes its number comes first."""
    shapes: dict[str, int] = {}
    numbers = [shapes.setdefault(minified(_shape(value)), len(shapes)) for value in values]
    forms = [json.loads(each) for each in shapes]
    lines = []
    for value, number in zip(values, numbers, strict=True):
        naked = _bare(value, forms[number])
        numbered = [number, *naked] if isinstance(forms[number], list) else [number, naked]
        lines.append(minified(naked if len(forms) == 1 else numbered))
    return "\n".join(shapes), lines


def read_arrays(legend: str, lines: Sequence[str]) -> list[Any]:
    """The values again. Raises ValueError where lines and legend do not fit."""
    forms = [json.loads(line) for line in legend.split("\n")]
    values = []
    for line in lines:
        naked = json.loads(line)
        if len(forms) == 1:
            values.append(_dressed(naked, forms[0]))
        else:
            number, *rest = naked
            values.append(_dressed(rest if isinstance(forms[number], list) else rest[0], forms[number]))
    return values


def _write_arrays(values: Sequence[Any], together: bool) -> Written:
    if together:
        legend, lines = write_arrays(values)
        return Written(lines, legend)
    written = [write_arrays([value]) for value in values]
    return Written([lines[0] for _, lines in written], "\n".join(legend for legend, _ in written))


def _read_arrays(written: Written, together: bool) -> list[Any]:
    if together:
        return read_arrays(written.legend, written.texts)
    legends = written.legend.split("\n")
    return [read_arrays(legend, [text])[0] for legend, text in zip(legends, written.texts, strict=True)]


def _session() -> Any:
    return import_module("turnwire.session")  # it counts tokens, so it is built on this package


def _write_session(values: Sequence[Any], together: bool) -> Written:
    """Values as a session, which explains itself, so there is no legend."""
    encode = _session().encode
    return Written([encode(values)] if together else [encode([value]) for value in values])


def _read_session(written: Written, together: bool) -> list[Any]:
    decode = _session().decode
    return [value for text in written.texts for value in decode(text)]


def _encode(package: Any, value: Any) -> str:
    return str(package.encode(value))


def _decode(package: Any, text: str) -> Any:
    return package.decode(text)


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        _each("json", minified, json.loads),
        _each("json pretty", lambda value: json.dumps(value, ensure_ascii=False, indent=2), json.loads),
        Format("json array", None, _write_arrays, _read_arrays),
        Format("session", None, _write_session, _read_session),
        _whole("toon", "toon-format", "toon_format", _encode, _decode),
        _whole(
            "gcf",
            "gcf-python",
            "gcf",
            lambda gcf, value: str(gcf.encode_generic(value)),
            lambda gcf, text: gcf.decode_generic(text),
        ),
        _whole("soon", "soon-format", "soon_format", _encode, _decode),
        _whole(
            "yaml",
            "PyYAML",
            "yaml",
            lambda yaml, value: str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=float("inf"))),
            lambda yaml, text: yaml.safe_load(text),
        ),
        _whole(
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
