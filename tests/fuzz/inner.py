"""Targets for entries of the core below what users call: hints about lines, hashes of the ledger, tables of CSP/1."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

LEVELLED = ("nslip.scan", "json.lines", "kick.format", "csp.cuts")
"""Modules that choose among SIMD code."""


def load(name: str) -> Any:
    """A module of the core that is active."""
    return import_module("turnwire._backend").load(name)


def choose(package: ModuleType, level: int) -> None:
    """Makes the native core run the code of a level, where the processor has it; the twin has one."""
    if package.backend == "native":
        for name in LEVELLED:
            core = load(name)
            core.choose_simd(core.LEVELS[level % len(core.LEVELS)])


def _records(data: bytes) -> tuple[Any, Any]:
    """Where lines stand that a record may begin, and how long they are."""
    found, place = [], 0
    for line in data.split(b"\n"):
        if line[:1] in (b"@", b"{") and line[-1:] in (b"#", b"}"):
            found.append((place, len(line)))
        place += len(line) + 1
    both = np.array(found, np.int64).reshape(-1, 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def heads(package: ModuleType, data: bytes) -> Any:
    """What lines show at a glance, alone and between records."""
    core, size = load("framing.line_heads"), len(data)
    start = min(data[0] % 8 if data else 0, size)
    fence = (b"", b"```", b"~~~~")[data[1] % 3 if size > 1 else 0]
    offsets, lengths = _records(data)
    after = offsets >= start
    offsets, lengths = offsets[after], lengths[after]
    gaps = [
        core.plain_gaps(data, offsets, lengths, len(offsets), 0, start, size, lines, escapes)
        for lines in (False, True)
        for escapes in (False, True)
    ]
    return (
        core.signs_between(data, offsets, offsets + lengths, start, size),
        bool(core.only_records(data, offsets, lengths, len(offsets), 0, size)),
        list(map(bool, gaps)),
        core.fence_behind(
            data, start, size, fence, list(zip(offsets.tolist(), (offsets + lengths).tolist(), strict=True))
        ),
        [core.first_long(data, start, size, least) for least in (1, 20, 64)],
    )


def ledger(package: ModuleType, data: bytes) -> Any:
    """Lines as entries: sealed, followed and folded, with the processor's own instructions and without."""
    core = load("ledger.hashing")
    found = []
    for portable in (False, True):
        if package.backend == "native":
            core.use_portable(portable)
        rows, leaves, chain = core.seal(
            3, 10**15, [(f"k{n}", line, line[:9].hex()) for n, line in enumerate(data.split(b"\n"))], bytes(32)
        )
        rows, leaves = list(map(tuple, rows)), list(leaves)
        wrong = [*rows[:-1], (*rows[-1][:4], data + b"x", rows[-1][5])]
        count = 1 << (len(leaves).bit_length() - 1)
        found.append(
            (
                rows,
                leaves,
                chain,
                core.follow(rows, 3, bytes(32)),
                core.follow(wrong, 3, bytes(32)),
                core.fold(leaves[:count]),
            )
        )
    if package.backend == "native":
        core.use_portable(False)
    return [repr(one) for one in found]


def tables(package: ModuleType, data: bytes) -> Any:
    """The tables of a document of CSP/1 by the code of each level."""
    (most, fields, key, wanted), data = data[:4].ljust(4, b"\xff"), data[4:]
    core = load("csp.codec") if package.backend == "native" else load("csp.tables")
    bounds = tuple(value if value < 64 else 1 << 20 for value in (most * 8, fields, key))
    rows, extras, rejects = _plain(core.tables(data, bounds, ("all", "first", "none")[wanted % 3]))
    if wanted % 3 == 1 and rejects:  # the cores read ahead of the first reject, one further than the other
        extras = [one for one in extras if one[1] < rejects[0][0]]
    found = [[rows, extras, rejects]]
    if package.backend == "native":
        levels = [_plain(core.tables_at(level, data)) for level in range(2)]
        if any(one != levels[0] for one in levels):
            raise AssertionError("levels of SIMD do not agree")
    return found


def _plain(found: Any) -> Any:
    return [[list(map(int, row)) for row in table] for table in found]


def views(package: ModuleType, data: bytes) -> Any:
    """Spans of the bytes as views, numbers as digits, records one behind the other."""
    core = load("log.views")
    spans = np.array([(place, min(size, len(data) - place)) for place, size in _spans(data)], np.int64).reshape(-1, 2)
    offsets, lengths = np.ascontiguousarray(spans[:, 0]), np.ascontiguousarray(spans[:, 1])
    half = len(data) // 2
    buffer, arena = np.frombuffer(data[:half], np.uint8), np.frombuffer(data[half:], np.uint8)
    own = np.flatnonzero((offsets + lengths <= half) | (offsets >= half))
    offsets, lengths = np.ascontiguousarray(offsets[own]), np.ascontiguousarray(lengths[own])
    out = np.zeros((len(own), 16), np.uint8)
    long = core.string_views(buffer, offsets, lengths, out, arena)
    numbers = np.frombuffer(data[: len(data) // 8 * 8], "<u8") >> np.uint64(data[0] % 64 if data else 0)
    digits, sizes = np.zeros((len(numbers), 20), np.uint8), np.zeros(len(numbers), np.int64)
    core.decimals(np.ascontiguousarray(numbers), digits, sizes)
    masks = np.ascontiguousarray(numbers).astype("u2")
    shown, bits = np.zeros((len(numbers), 16), np.uint8), np.zeros((len(numbers) + 7) // 8, np.uint8)
    side = np.zeros(20 * len(numbers), np.uint8)
    told = [core.number_views(np.ascontiguousarray(numbers), masks, 3, shown, bits, side)]
    told += [shown.tolist(), bits.tolist(), side.tolist()]
    moved = np.zeros(len(own), np.int64)
    whole = core.gathered(buffer, arena, offsets, lengths, moved)
    said = [bytes(row[:size]) for row, size in zip(digits, sizes.tolist(), strict=True)]
    return bool(long), out.tolist(), said, told, bytes(whole), moved.tolist()


def _spans(data: bytes) -> list[tuple[int, int]]:
    return [(place, data[place] % 40) for place in range(0, len(data), 3)][:200]


def _text(data: bytes, kind: int) -> bytes | str:
    """The bytes, or a text of one, two or four bytes a character."""
    text = data.decode("utf-8", "replace")
    return (data, data.decode("latin-1"), text, f"{text}\n\U0001f600")[kind % 4]


def sections(package: ModuleType, data: bytes) -> Any:
    """Space documents of bytes and of texts of each width, with all options, by the code of each level."""
    core, (kind, options, level, shift), data = load("kick.format"), data[:4].ljust(4, b"\0"), data[4:]
    choose(package, level)
    source = _text(data, kind)
    lenient, fences, stuffing = (bool(options >> bit & 1) for bit in range(3))
    said = core.parse(source, lenient, fences, stuffing)
    text = source if isinstance(source, str) else data.decode("utf-8", "replace")
    return (
        [
            repr(one.to_dict()) if hasattr(one, "to_dict") else repr(one)
            for part in said
            for one in (part if isinstance(part, list | tuple) else [part])
        ],
        repr(core.opening(text)),
        core.has_section(text),
        core.next_header(data, min(shift % 8, len(data))),
    )


def records(package: ModuleType, data: bytes) -> Any:
    """The record of a stream of nSLIP, of which more or less has come."""
    core, (start, size, options, most) = load("nslip.codec"), data[:4].ljust(4, b"\xff")
    data = b"x" * (start % 3) + data[max(4, data.find(b"@", 4)) :]  # an @ is what it asks for
    data = data[: len(data) - size] if size < 9 else data
    limit = max(most, 1) if most < 128 else 1 << 24
    if data[start % 3 : start % 3 + 1] != b"@":
        return None
    found = core.decode_record(
        data, start % 3, bool(options & 1), unknown="keep" if options & 2 else "error", limit=limit
    )
    return None if found is None else (repr(found[0].to_dict()), found[1])


INNER: dict[str, Callable[[ModuleType, bytes], Any]] = {
    "heads": heads,
    "ledger": ledger,
    "tables-csp": tables,
    "views": views,
    "sections": sections,
    "records-nslip": records,
}
"""The targets by name."""
