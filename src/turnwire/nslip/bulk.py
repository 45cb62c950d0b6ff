"""nSLIP in logs: the columns that a scan gives, their values for one record (the search in C writes them itself), and
which records answer each other."""

from __future__ import annotations

import re
from typing import Any

from turnwire.contract import BulkScanner, Column, text_span
from turnwire.errors import DecodeError
from turnwire.nslip.codec import decode
from turnwire.nslip.spec import DOUBTFUL, REASONS, WIRE, Act, FrameType, Slot
from turnwire.pairs import BACK, THERE, AnswerPattern, Key, PairRule, Pairs, Work

_NAMES = {slot: slot.name.lower() for slot in Slot}
_TEXTS = (Slot.STATUS, Slot.TAG)
_BITS = {slot: 1 << bit for bit, slot in enumerate(Slot)}
_STATUS_ESCAPED, _TAG_ESCAPED, _KEPT, _FRAME_KNOWN = range(len(Slot), len(Slot) + 4)
"""Bits of ``present`` behind those of the slots, as in _native/nslip/rows.h."""
_STRINGS = re.compile(rb'[|@]([ut])"([^"\\]*+(?:\\.[^"\\]*+)*+)"(?=[|#])|"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def plain(span: bytes) -> bytes:
    """The inside of a quoted string without its escapes."""
    return b"\\".join(part.replace(b'\\"', b'"') for part in span.split(b"\\\\"))


def text_spans(data: bytes, at: int, end: int) -> dict[Slot, tuple[int, int, bool]]:
    """The texts of the record from ``at`` to ``end``: offset and length of the inside, and if that has escapes."""
    texts = (match for match in _STRINGS.finditer(data, at, end) if match[1])
    return {
        Slot.TAG if text[1] == b"t" else Slot.STATUS: (text.start(2), len(text[2]), b"\\" in text[2]) for text in texts
    }


def _values(data: bytes, start: int, stop: int, fields: Any, shift: int) -> dict[str, int]:
    """The columns of a record, as which the parser gave ``fields``; see ``BulkScanner``."""
    *header, act, frame, slots, extra = fields
    known = isinstance(frame, FrameType)
    present = bool(extra) << _KEPT | known << _FRAME_KNOWN
    values = dict(zip(("conv_id", "turn", "src", "dst"), header, strict=True))
    values |= {"act": int(act), "frame": int(frame) if known else 255}
    texts = False
    for slot, value in slots.items():
        present |= _BITS[slot]
        if slot in _TEXTS:
            texts = True
        else:
            values[_NAMES[slot]] = value
    for slot, (offset, length, escaped) in (text_spans(data, start, stop) if texts else {}).items():
        name = _NAMES[slot]
        values[name] = text_span(offset + shift, length)
        present |= escaped << (_STATUS_ESCAPED if slot is Slot.STATUS else _TAG_ESCAPED)
    return {**values, "own_present": present}


SCANNER = BulkScanner(
    wire=WIRE,
    columns=(
        Column("act", "enum", names=tuple(act.name for act in Act)),
        Column("frame", "enum", nullable=True, names=tuple(frame.name for frame in FrameType)),
        *(Column(name, "u64") for name in ("conv_id", "src", "dst", "turn")),
        *(Column(_NAMES[slot], "text" if slot in _TEXTS else "u64", nullable=True) for slot in Slot),
    ),
    present="u2",
    bits={**{_NAMES[slot]: bit for bit, slot in enumerate(Slot)}, "frame": _FRAME_KNOWN},
    escaped={"status": _STATUS_ESCAPED, "tag": _TAG_ESCAPED},
    plain=plain,
    reasons=REASONS,
    values=_values,
    decode=decode,
    doubtful=DOUBTFUL,
    common={
        "kind": ("column", "act"),
        "sender": ("number", "src"),
        "receiver": ("number", "dst"),
        "conversation": ("number", "conv_id"),
        "sequence": ("column", "turn"),
        "subject": ("column", "tag"),
    },
)


_GOES_ON = frozenset({"waiting", "in_progress", "queued", "running", "accepted", "blocked", "partial"})
"""Status words of work that has not ended."""


def work(record: bytes) -> Work | None:
    """The TASK_ID of a record, and whether its STATUS ends the task; None for what is damaged."""
    try:
        message = decode(record, unknown="keep")
    except DecodeError:
        return None
    task = message.slots.get(Slot.TASK_ID)
    status = message.slots.get(Slot.STATUS, "")
    final = not status.isascii() or status.lower() not in _GOES_ON  # the sign of Kelvin has a "k" as its small letter
    return Work(None if task is None else str(task), final)


_NAMING = frozenset({"INFORM", "ACCEPT", "REJECT", "EVAL", "ERROR"})
_TASK_THERE = Key(("conversation", "task", "sender"), needs=("task",))
_TASK_BACK = Key(("conversation", "task", "receiver"), needs=("task",))
_UNNAMED_THERE, _UNNAMED_BACK = THERE._replace(without=("task",)), BACK._replace(without=("task",))
PAIRS = Pairs(
    (
        PairRule(
            "ask",
            frozenset({"ASK", "REQUEST"}),
            (
                AnswerPattern(_NAMING, (_TASK_THERE,), _TASK_BACK, names=True),
                AnswerPattern(None, (_TASK_THERE,), _TASK_BACK),
                AnswerPattern(None, (THERE,), _UNNAMED_BACK),
                AnswerPattern(None, (_UNNAMED_THERE,), BACK),
            ),
            all_at_once=True,
            progress=frozenset({"ASK", "REQUEST", "COMMIT", "ACCEPT"}),
        ),
    ),
    work,
)
