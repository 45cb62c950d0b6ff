"""The columns that a scan of nSLIP gives, and their values for one record (the search in C writes them itself)."""

from __future__ import annotations

import re
from typing import Any

from turnwire.contract import BulkScanner, Column
from turnwire.nslip.codec import decode
from turnwire.nslip.spec import DOUBTFUL, REASONS, WIRE, Act, FrameType, Slot

_NAMES = {slot: slot.name.lower() for slot in Slot}
_TEXTS = (Slot.STATUS, Slot.TAG)
_STATUS_ESCAPED, _TAG_ESCAPED, _KEPT, _FRAME_KNOWN = range(len(Slot), len(Slot) + 4)
"""Bits of ``present`` behind those of the slots, as in _native/nslip/rows.h."""
_STRINGS = re.compile(rb'[|@]([ut])"((?:[^"\\]|\\.)*)"(?=[|#])|"(?:[^"\\]|\\.)*"', re.DOTALL)


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
    texts = text_spans(data, start, stop)
    present = sum(1 << bit for bit, slot in enumerate(Slot) if slot in slots)
    present |= bool(extra) << _KEPT | known << _FRAME_KNOWN
    values = dict(zip(("conv_id", "turn", "src", "dst"), header, strict=True))
    values |= {"act": int(act), "frame": int(frame) if known else 255}
    for slot, name in _NAMES.items():
        if slot in _TEXTS:
            offset, length, escaped = texts.get(slot, (-shift, 0, False))
            values |= {f"{name}.offset": offset + shift, f"{name}.length": length}
            present |= escaped << (_STATUS_ESCAPED if slot is Slot.STATUS else _TAG_ESCAPED)
        else:
            values[name] = slots.get(slot, 0)
    return {**values, "present": present}


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
