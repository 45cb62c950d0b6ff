"""Messages of all wires out of any text: an LLM's answer, a chat transcript, a mail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from turnwire.contract import WIRES, wire_package
from turnwire.errors import DecodeError
from turnwire.json.embedded import pieces


class Found(NamedTuple):
    """One message that was found.

    start, end: its span in the text, in characters (inside a JSON string: of its escaped form). wrapped: "bare" (it is
    the whole text), "prose", "fence" or "json" (inside a larger JSON value); inside a JSON string, "json_string/"
    stands before that, once for each level.
    """

    message: Any
    wire: str
    start: int
    end: int
    wrapped: str


def extract(text: str, wires: tuple[str, ...] = WIRES) -> list[Found]:
    """Every message of ``wires`` in ``text``, in order, with its span and how it was wrapped.

    Each message is one that its wire's ``decode`` takes; nothing is repaired, and what stands inside a message is its
    content. Wires that this version does not read are passed over. Raises DecodeError(unknown_wire) for a name that is
    no wire.
    """
    packages = {name: package for name in wires if (package := _package(name)) is not None}
    objects = {name: package for name, package in packages.items() if name not in _SEARCHES}
    searches = {name: _SEARCHES[name] for name in packages if name in _SEARCHES}

    def accept(fields: dict[str, Any], raw: bytes) -> tuple[Any, str] | None:
        for name, package in objects.items():
            if fields and package.detect(raw) and (message := _decoded(package, raw)) is not None:
                return message, name
        return None

    def search(part: str) -> Iterator[tuple[tuple[Any, str], int, int]]:
        for name, finder in searches.items():
            for message, start, end in finder(packages[name], part):
                yield (message, name), start, end

    found = pieces(text, accept, search if searches else None)
    return [Found(message, name, start, end, how) for (message, name), start, end, how in found]


def _package(name: str) -> ModuleType | None:
    try:
        return wire_package(name)
    except DecodeError:
        if name not in WIRES:
            raise
        return None


def _decoded(package: ModuleType, data: str | bytes) -> Any:
    try:
        return package.decode(data)
    except DecodeError:
        return None


_NSLIP = re.compile(r'@[afcSdT][0-9A-Za-z]{1,11}\|(?:[^"#\r\n@]|"[^"\\]*(?:\\.[^"\\]*)*")*+#', re.DOTALL)


def _nslip(package: ModuleType, text: str) -> Iterator[tuple[Any, int, int]]:
    place = 0
    while (match := _NSLIP.search(text, place)) is not None:
        message = _decoded(package, match.group())
        place = match.start() + 1
        if message is not None:
            place = match.end()
            yield message, match.start(), place


_CSP_LINE = re.compile(r"^CSP/1\r?$", re.MULTILINE)


def _csp(package: ModuleType, text: str) -> Iterator[tuple[Any, int, int]]:
    if _CSP_LINE.search(text) is None:
        return
    try:
        records = package.parse(text, mode="lenient").records
    except DecodeError:
        return
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    lines = [record.line for record in records]
    for record, line, following in zip(records, lines, [*lines[1:], len(starts) + 1], strict=True):
        if not isinstance(record, package.CspMessage):
            continue
        start = starts[line - 1]
        end = starts[following - 1] if following <= len(starts) else len(text)
        part = text[start:end].rstrip()
        message = _decoded(package, text[start:end])
        if message is not None:
            yield message, start, start + len(part)


_SEARCHES: dict[str, Callable[[ModuleType, str], Iterator[tuple[Any, int, int]]]] = {"nslip": _nslip, "csp": _csp}
"""How the wires that are no JSON are found in plain text."""
