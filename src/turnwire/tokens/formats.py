"""Other ways to write the same values, each shown only after it has given them back.

A format is a table entry: how a value is written and read. Where a format has a form for many values alike, a whole
conversation gets it; the others write one value after the other, a line each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.errors import EncodeError, MissingDependency, Reason, needs
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
