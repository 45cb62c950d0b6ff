"""nSLIP: the wire form of SLIP v0.1, complete, and a drop-in for slipcore 0.1.0."""

from turnwire.nslip.spec import (  # first: the core modules import it
    END_MARKER,
    LEAST_DOUBTFUL,
    SCHEMA_VERSION,
    SEPARATOR,
    START_MARKER,
    WIRE,
    Act,
    Extra,
    FrameType,
    Slot,
)
from turnwire.nslip.codec import decode, decode_many, detect, encode, encode_many
from turnwire.nslip.messages import SlipMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.nslip import base62, protocol
    from turnwire.nslip.artifacts import ArtifactStore, resolve
    from turnwire.nslip.checklist import conformance
    from turnwire.nslip.cbor import from_cbor, to_cbor
    from turnwire.nslip.protobuf import from_protobuf, to_protobuf
    from turnwire.nslip.protocol import decode_int_base62, decode_message, encode_int_base62, encode_message
    from turnwire.nslip.rules import announce, announced, check
    from turnwire.nslip.streaming import stream

_LATER = {
    "ArtifactStore": "artifacts",
    "resolve": "artifacts",
    "from_cbor": "cbor",
    "to_cbor": "cbor",
    "from_protobuf": "protobuf",
    "to_protobuf": "protobuf",
    "announce": "rules",
    "announced": "rules",
    "check": "rules",
    "conformance": "checklist",
    "stream": "streaming",
    "encode_int_base62": "protocol",
    "decode_int_base62": "protocol",
    "encode_message": "protocol",
    "decode_message": "protocol",
}
"""Name -> the module that has it, imported when the name is first asked for."""

__all__ = [
    "END_MARKER",
    "LEAST_DOUBTFUL",
    "SCHEMA_VERSION",
    "SEPARATOR",
    "START_MARKER",
    "WIRE",
    "Act",
    "ArtifactStore",
    "Extra",
    "FrameType",
    "SlipMessage",
    "Slot",
    "announce",
    "announced",
    "base62",
    "check",
    "conformance",
    "decode",
    "decode_int_base62",
    "decode_many",
    "decode_message",
    "detect",
    "encode",
    "encode_int_base62",
    "encode_many",
    "encode_message",
    "from_cbor",
    "from_protobuf",
    "protocol",
    "resolve",
    "stream",
    "to_cbor",
    "to_protobuf",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("base62", "protocol"):
        return import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
