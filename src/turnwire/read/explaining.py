"""Near misses in words that can be sent back to a model, so that it mends its answer."""

from __future__ import annotations

from typing import Any

from turnwire import registry
from turnwire.characters import visible
from turnwire.errors import DecodeError, Reason, WireError
from turnwire.read.wrapping import DEEPEST_STRING, unescaped

_AROUND = 40
"""Bytes of the excerpt on each side of the fault."""


def explain(reject: Any) -> str:
    """Explains a fault to a model, so that it can correct its answer: wire, fault, position, expectation, excerpt.

    reject: a near miss of ``extract(..., rejects=True)``, ``Scan.errors()`` or
    ``finding.located``, or the DecodeError that ``decode`` or a ``Decoder`` raised. Returns a few lines of plain
    text, with the excerpt escaped. Raises TypeError for anything else.
    """
    error, raw = _of(reject)
    wire = error.wire
    title = registry.wire(wire).title if wire in registry.names() else None
    lines = [f"This is not a valid {title or ''} message.".replace("  ", " ")]
    alone, raw = _alone(error, raw)
    error = alone or error  # what a stream or a scan says of it is shorter
    line = f" in line {error.line}" if error.line is not None and error.line > 1 else ""
    where = f" at {visible(error.path)}" if error.path else line
    lines.append(f"Wrong{where}: {visible(error.text or str(error.reason).replace('_', ' '))} ({error.reason}).")
    if raw:
        lines.append(f"You wrote: {_excerpt(raw, 0 if alone is None else alone.offset or 0)}")
    lines.append("Send the whole message again with only this corrected and nothing around it.")
    return "\n".join(lines)


def _alone(error: WireError, raw: bytes | None) -> tuple[DecodeError | None, bytes | None]:
    """The verdict of the wire on the bytes alone, None if it is not the same, and the bytes: those of a reject in
    JSON strings are as written there, and say it without their escapes."""
    said, written = raw, None
    for _ in range(DEEPEST_STRING + 1):
        found = None if said is None or said == written else _judged(said, error.wire)
        if said is None or found is None:
            break
        if found.reason is error.reason:
            return found, said
        said, written = unescaped(said), said
    return None, raw


def _of(reject: Any) -> tuple[WireError, bytes | None]:
    """The error of a near miss, and its bytes where they are known."""
    error = reject if isinstance(reject, WireError) else getattr(reject, "error", None)
    raw = getattr(reject, "raw", None)
    if isinstance(error, WireError):
        return error, raw
    if isinstance(raw, bytes) and isinstance(getattr(reject, "reason", None), str):  # of Scan.errors()
        return DecodeError(Reason(reject.reason), wire=reject.wire), raw
    raise TypeError(f"explain expects a near miss or a DecodeError, not {type(reject).__name__}")


def _judged(raw: bytes, wire: str | None) -> DecodeError | None:
    """The verdict of the wire on some bytes alone; None if it takes them."""
    if wire not in registry.names():
        return None
    try:
        registry.wire(wire).decode(raw)
    except DecodeError as error:
        return error
    return None


def _excerpt(raw: bytes, place: int) -> str:
    """The text around the fault, on one line."""
    place = min(place, len(raw))
    start, end = max(place - _AROUND, 0), min(place + _AROUND, len(raw))
    text = raw[start:end].decode("utf-8", "ignore")
    shown = " ".join(visible(line).strip() for line in text.splitlines()).strip()
    return f"{'…' if start else ''}{shown}{'…' if end < len(raw) else ''}"
