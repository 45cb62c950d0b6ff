"""CSP/1 in logs: the columns that a scan gives, and which records answer each other.

A TASK is answered by the RESULT of the same id to its sender, or the ERROR whose AT is its id. A PARTIAL RESULT reports
progress.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire._lazy import Deferred
from turnwire.contract import LIMITS, BulkScanner, Column, PackedTexts, Refusal
from turnwire.csp.messages import Error, task_of
from turnwire.csp.records import StrictReader
from turnwire.csp.spec import BULK_ENUMS, BULK_KINDS, BULK_SPANS, BULK_TEXTS, REASONS, ROW_WIDTH, WIRE
from turnwire.errors import DecodeError, Reason
from turnwire.pairs import AnswerPattern, Key, PairRule, Pairs, Work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from turnwire.csp.messages import CspMessage, Template

_PARSE = Deferred("turnwire.csp.codec", "parse")
_KIND, _FIRST_SPAN = 3, 4
"""The indexes in a row of the kind and of the first span."""
_core = _backend.load("csp.codec")


def decode(raw: Any, *, unknown: str = "error") -> CspMessage | Template:
    """One record of a scan as a message or a template. What a record may hold does not depend on ``unknown``."""
    text = bytes(raw)
    record: CspMessage | Template
    try:
        record = _core.decode(text)
    except DecodeError:  # a template, or longer than a limit that the scan did not have
        limits = LIMITS if len(text) <= LIMITS.message else LIMITS._replace(message=len(text))
        record = _PARSE(text, limits=limits).records[0]
    return record


def refusal(raw: bytes) -> Refusal | None:
    """The reason for which ``decode`` refuses a damaged record; None if it reads a record before the fault."""
    reader = StrictReader(raw, LIMITS._replace(message=max(LIMITS.message, len(raw))), _core)
    try:
        reader.read()
    except DecodeError as error:
        return None if reader.records or error.reason is Reason.JUNK else (error.reason, error.text, None)
    return None


@lru_cache(len(BULK_TEXTS))
def _places(name: str) -> NDArray[np.int32]:
    """Kind -> the index in a row of the span of a text, -1 where it has none."""
    import numpy as np

    found = np.full(16, -1, np.int32)
    for kind, names in enumerate(BULK_SPANS[kind] for kind in BULK_KINDS):
        if name in names:
            found[kind] = _FIRST_SPAN + 2 * names.index(name)
    found.flags.writeable = False
    return found


def _spans(rows: NDArray[Any], name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offset and length of a text of each row, 0 and 0 where it has none."""
    import numpy as np

    numbers = rows.view(np.int32).reshape(len(rows), ROW_WIDTH)
    places, each = _places(name)[numbers[:, _KIND] & 0xF], np.arange(len(rows))
    lengths = numbers[each, places + 1]
    there = (places >= 0) & (lengths >= 0)
    return np.where(there, numbers[each, places], 0).astype(np.int64), np.where(there, lengths, 0).astype(np.int64)


def _move(rows: NDArray[Any], distances: NDArray[np.int64]) -> None:
    """Adds to each row's places: that of the record, and those of its texts."""
    import numpy as np

    places = rows.view(np.int32).reshape(len(rows), ROW_WIDTH)
    places[:, 0] += distances.astype(np.int32)
    for column in range(_FIRST_SPAN, ROW_WIDTH, 2):
        places[:, column] += np.where(places[:, column + 1] >= 0, distances, 0).astype(np.int32)


_BITS = {name: bit for bit, name in enumerate((*BULK_TEXTS, *BULK_ENUMS))}
_MASKS = {name: 1 << bit for name, bit in _BITS.items()}
_WORDS = {name: {str(word).encode(): number for number, word in enumerate(words)} for name, words in BULK_ENUMS.items()}
_NO_WORD = 255
_ROW = struct.Struct(f"={ROW_WIDTH}i")


_SPANS = [
    ([(_FIRST_SPAN + 2 * place, name) for place, name in enumerate(names) if name], lines)
    for *names, lines in map(BULK_SPANS.__getitem__, BULK_KINDS)
]
"""By kind: where in a row the spans of its columns are, and the column of its lines."""


def texts_of(data: bytes, row: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """Column -> (offset, length) of what a row has, enums among them."""
    places, lines = _SPANS[row[_KIND] & 0xFF]
    found = {name: (row[at], row[at + 1]) for at, name in places if row[at + 1] >= 0}
    if lines == "ops":
        found[lines] = _lines(data, sum(found["base"]), found["apply"][0] - len("APPLY -> "))
    elif lines is not None:
        found[lines] = _lines(data, sum(found["id" if "id" in found else "flags"]), row[0] + row[1])
    return found


def _lines(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """The lines after the rest of the line at ``start``, without their last line end."""
    start += data.startswith(b"\r", start)
    start += data.startswith(b"\n", start)
    if stop > start and data[stop - 1] == 10:
        stop -= 1
        if data[stop - 1] == 13:
            stop -= 1
    return start, stop - start


def _values(data: bytes, start: int, stop: int, row: Any, shift: int) -> dict[str, Any]:
    """The own columns of a record that the search found in ``data``, by the row of the scanner; see ``BulkScanner``."""
    found = texts_of(data, row)
    kind = row[_KIND] & 0xFF
    values: dict[str, Any] = {"own_present": sum(map(_MASKS.__getitem__, found)), "intent": kind}
    for name, words in _WORDS.items():
        begin, length = found.get(name, (0, 0))
        values[name] = words[data[begin : begin + length]] if length else _NO_WORD
    whole = [*row[:-2], *found.get(_SPANS[kind][1] or "", (-1, -1))]
    if shift:
        for place in (0, *(at for at in range(_FIRST_SPAN, ROW_WIDTH, 2) if whole[at + 1] >= 0)):
            whole[place] += shift
    return {**values, "spans": _ROW.pack(*whole)}


_TEXT = {name: Column(name, "text", nullable=True) for name in BULK_TEXTS}
_ENUM = {name: Column(name, "enum", nullable=True, names=tuple(map(str, names))) for name, names in BULK_ENUMS.items()}
_FIELDS = (
    *("req", "in", "out", "owner", "priority"),  # TASK
    *("status", "produced", "data"),  # RESULT
    *("at", "cause", "next"),  # ERROR
    *("base", "apply", "ops"),  # PATCH; FILEOP has a BASE too
    *("op", "path", "content"),  # FILEOP
    *("flags", "body"),  # a template; PLAN, QUERY and MEM have a body alone
)


SCANNER = BulkScanner(
    wire=WIRE,
    columns=(
        *(_TEXT[name] for name in ("from", "to", "ctx")),
        Column("intent", "enum", names=BULK_KINDS),
        _TEXT["id"],
        *(_ENUM[name] if name in _ENUM else _TEXT[name] for name in _FIELDS),
        Column("inside_unclosed_heredoc", "bool"),
    ),
    present="u4",
    bits=_BITS,
    escaped={},
    plain=bytes,
    reasons=REASONS,
    values=_values,
    decode=decode,
    doubtful=(0, ("FILE", "TEMPLATE")),
    refusal=refusal,
    packed=PackedTexts("spans", f"V{4 * ROW_WIDTH}", _spans, _move, _places, _KIND),
    common={
        "kind": ("column", "intent"),
        "sender": ("column", "from"),
        "receiver": ("column", "to"),
        "conversation": ("column", "ctx"),
        "subject": ("column", "id"),
    },
)


def work(record: bytes) -> Work | None:
    """The task that a TASK, a RESULT or an ERROR is about; None for what has no such block."""
    try:
        message = _core.decode(record)
    except DecodeError:
        return None
    said = task_of(message)
    if said is not None:
        return Work(said[0], said[1] != "PARTIAL")
    return Work(None) if isinstance(message.block, Error) else None


PAIRS = Pairs(
    (
        PairRule(
            "task",
            frozenset({"TASK"}),
            (
                AnswerPattern(
                    frozenset({"RESULT", "ERROR"}),
                    (Key(("task", "sender")),),
                    Key(("task", "receiver"), needs=("task",)),
                    names=True,
                ),
            ),
        ),
    ),
    work,
)
