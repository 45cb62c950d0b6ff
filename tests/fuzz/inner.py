"""Entries of the core below what users call: single messages of CSP/1, views, sections."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

LEVELLED = ("log.search", "kick.format")
"""Modules that choose among SIMD code."""


def load(name: str) -> Any:
    """A module of the core that is active."""
    return import_module("turnwire._backend").load(name)


def choose_simd(package: ModuleType, level: int) -> None:
    """Makes the native core run the code of a level, where the processor has it; the twin has one."""
    if package.backend == "native":
        for name in LEVELLED:
            core = load(name)
            core.choose_simd(core.LEVELS[level % len(core.LEVELS)])


def messages(package: ModuleType, data: bytes) -> Any:
    """The result of reading at each line of a text that is just CSP/1."""
    (most, fields, key, fence), data = data[:4].ljust(4, b"\xff"), data[4:]
    bounds = tuple(value if value < 64 else 1 << 20 for value in (most * 8, fields, key))
    reader = load("csp.codec").Messages(data, bounds)
    opened = (b"", b"```", b"~~~~")[fence % 3]
    read = [reader.at(found.start(), opened) for found in re.finditer(rb"(?m)^CSP/1\r?$", data)]
    return [None if one is None else (one[0], repr(one[1]), one[1].line) for one in read]


def views(package: ModuleType, data: bytes) -> Any:
    """Spans of the bytes as views, numbers as digits, records one behind the other."""
    core = load("log.arrow")
    spans = [(place, min(data[place] % 40, len(data) - place)) for place in range(0, len(data), 3)][:200]
    offsets, lengths = (np.array([one[part] for one in spans], np.int64) for part in (0, 1))
    half = len(data) // 2
    buffer, arena = np.frombuffer(data[:half], np.uint8), np.frombuffer(data[half:], np.uint8)
    own = np.flatnonzero((offsets + lengths <= half) | (offsets >= half))
    offsets, lengths = np.ascontiguousarray(offsets[own]), np.ascontiguousarray(lengths[own])
    make = import_module("turnwire.log.output.texts").TextColumn
    column = make(memoryview(buffer), offsets, lengths, None, None, None, memoryview(arena))
    rooms = lambda number, size: [np.empty(size, np.uint8) for _ in range(number)]  # noqa: E731
    [(_, (_, out, *parts, _), _)] = core.filled(
        ((),), {}, b"", b"", len(own), lambda _: column, rooms, lambda size: np.zeros(size, np.uint8), list
    )
    texts = [_text_of(view, parts) for view in np.frombuffer(out, np.uint8)[: 16 * len(own)].reshape(-1, 16)]
    numbers = np.frombuffer(data[: len(data) // 8 * 8], "<u8") >> np.uint64(data[0] % 64 if data else 0)
    count = len(numbers)
    digits, sizes = np.zeros((count, 20), np.uint8), np.zeros(count, np.int64)
    core.decimals(np.ascontiguousarray(numbers), digits, sizes)
    said = [bytes(row[:size]) for row, size in zip(digits, sizes.tolist(), strict=True)]
    return texts, said


def _text_of(view: Any, parts: Any) -> bytes:
    """The text of a string view."""
    length, _, number, offset = view.view(np.int32).tolist()
    return bytes(view[4 : 4 + length]) if length <= 12 else bytes(parts[number][offset : offset + length])


def sections(package: ModuleType, data: bytes) -> Any:
    """Space documents with all options."""
    core, (_, options, level, _), data = load("kick.format"), data[:4].ljust(4, b"\0"), data[4:]
    choose_simd(package, level)
    said = core.parse(data, *(bool(options >> bit & 1) for bit in range(3)))
    parts = [one for part in said for one in (part if isinstance(part, list | tuple) else [part])]
    return [repr(one.to_dict()) if hasattr(one, "to_dict") else repr(one) for one in parts]
