"""One door for five wires: which wire is this, and decode or encode by it."""

from __future__ import annotations

from turnwire.contract import ALWAYS_STRICT, WIRE_PACKAGES, WIRES, record_bytes, wire_package
from turnwire.errors import DecodeError, EncodeError, Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer


def _bytes(data: str | Buffer) -> bytes:
    raw = record_bytes(data)
    if raw is None:
        text = f"text or contiguous bytes are read, not {type(data).__name__}"
        raise DecodeError(Reason.WRONG_TYPE, text, offset=0, line=1)
    return raw


def detect(data: str | Buffer) -> str | None:
    """The wire of one record, or None. Looks at its beginning and shape only; it may still turn out to be damaged."""
    raw = _bytes(data)
    for name in WIRES:
        try:
            package = wire_package(name)
        except DecodeError:
            continue  # a wire that this version does not read
        if package.detect(raw):
            return name
    return None


def decode(data: str | Buffer, wire: str | None = None) -> Any:
    """One message from text or contiguous bytes; the wire is detected when it is not named.

    Raises DecodeError: unknown_wire where no wire fits, otherwise what the wire's own decode raises.
    """
    name = detect(data) if wire is None else wire
    if name is None:
        raise DecodeError(Reason.UNKNOWN_WIRE, f"this is none of {', '.join(WIRES)}", offset=0, line=1)
    return wire_package(name).decode(data)


def wire_of(message: object) -> str | None:
    """The wire that a message object belongs to, or None."""
    for cls in type(message).__mro__:
        name = cls.__dict__.get("__wire__")
        if name is not None:
            return str(name)
        for wire, package in WIRE_PACKAGES.items():
            if cls.__module__ == package or cls.__module__.startswith(f"{package}."):
                return wire
    return None


def encode(message: Any, strict: bool = True) -> str:
    """The canonical text of a message in its own wire.

    ``strict=False`` writes back what was read, whatever its issues. Raises EncodeError: wrong_type for an object that
    is no message, otherwise what the wire's own encode raises.
    """
    name = wire_of(message)
    if name is None:
        raise EncodeError(Reason.WRONG_TYPE, f"{type(message).__name__} is no message of {', '.join(WIRES)}")
    package = wire_package(name)
    text: str = package.encode(message) if strict or name in ALWAYS_STRICT else package.encode(message, strict=False)
    return text
