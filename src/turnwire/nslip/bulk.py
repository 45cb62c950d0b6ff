"""nSLIP for the bulk scan: its columns and the core function that fills them."""

from __future__ import annotations

from typing import Any

from turnwire import _backend
from turnwire.contract import BulkScanner, Column
from turnwire.nslip.codec import decode
from turnwire.nslip.spec import REASONS, WIRE, Act, FrameType, Slot

_core = _backend.load("nslip.scan")
_NAMES = {slot: slot.name.lower() for slot in Slot}
_TEXTS = (Slot.STATUS, Slot.TAG)
_FRAME_KNOWN = 12  # bits of ``present``, as in _native/nslip/rows.h


def plain(span: bytes) -> bytes:
    """The inside of a quoted string without its escapes."""
    return span.replace(b'\\"', b'"').replace(b"\\\\", b"\\") if b"\\\\" not in span else _unescape(span)


def _unescape(span: bytes) -> bytes:
    parts = span.split(b"\\\\")
    return b"\\".join(part.replace(b'\\"', b'"') for part in parts)


def _values(*args: Any) -> dict[str, Any]:
    from turnwire.nslip._scan_py import values

    return values(*args)


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
    escaped={"status": 9, "tag": 10},
    plain=plain,
    smallest=len("@a0|f0|c0|S0|d0|T0#"),
    reasons=REASONS,
    scan=lambda *args, **kwargs: _core.scan_block(*args, **kwargs),
    values=_values,
    decode=decode,
    common={
        "kind": ("column", "act"),
        "sender": ("number", "src"),
        "receiver": ("number", "dst"),
        "conversation": ("number", "conv_id"),
        "sequence": ("column", "turn"),
        "subject": ("column", "tag"),
    },
)
