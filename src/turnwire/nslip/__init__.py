"""nSLIP: the wire form of SLIP v0.1, complete, and a drop-in for slipcore 0.1.0."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.nslip import base62
    from turnwire.nslip import protocol
    from turnwire.nslip.spec import (
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
    from turnwire.nslip.codec import SlipMessage, decode, decode_many, detect, encode, encode_many
    from turnwire.nslip.artifacts import ArtifactStore, resolve
    from turnwire.nslip.checklist import conformance
    from turnwire.nslip.cbor import from_cbor, to_cbor
    from turnwire.nslip.protobuf import from_protobuf, to_protobuf
    from turnwire.nslip.protocol import decode_int_base62, decode_message, encode_int_base62, encode_message
    from turnwire.nslip.rules import announce, announced, check

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
    "to_cbor",
    "to_protobuf",
]

__version__ = "0.1.0"
"""That of slipcore, for which ``turnwire.slip`` stands in."""

__getattr__, __dir__ = lazy(
    __name__,
    {
        "spec": "END_MARKER LEAST_DOUBTFUL SCHEMA_VERSION SEPARATOR START_MARKER WIRE Act Extra FrameType Slot",
        "codec": "SlipMessage decode decode_many detect encode encode_many",
        "artifacts": "ArtifactStore resolve",
        "checklist": "conformance",
        "cbor": "from_cbor to_cbor",
        "protobuf": "from_protobuf to_protobuf",
        "protocol": "decode_int_base62 decode_message encode_int_base62 encode_message",
        "rules": "announce announced check",
    },
    modules="base62 protocol",
)
