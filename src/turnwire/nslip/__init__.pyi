from turnwire.nslip import base62 as base62, protocol as protocol
from turnwire.nslip.binary import (
    from_cbor as from_cbor,
    from_protobuf as from_protobuf,
    to_cbor as to_cbor,
    to_protobuf as to_protobuf,
)
from turnwire.nslip.checklist import conformance as conformance
from turnwire.nslip.codec import (
    SlipMessage as SlipMessage,
    decode as decode,
    decode_many as decode_many,
    detect as detect,
    encode as encode,
    encode_many as encode_many,
)
from turnwire.nslip.protocol import (
    decode_int_base62 as decode_int_base62,
    decode_message as decode_message,
    encode_int_base62 as encode_int_base62,
    encode_message as encode_message,
)
from turnwire.nslip.rules import announce as announce, announced as announced, check as check
from turnwire.nslip.spec import (
    END_MARKER as END_MARKER,
    SCHEMA_VERSION as SCHEMA_VERSION,
    SEPARATOR as SEPARATOR,
    START_MARKER as START_MARKER,
    WIRE as WIRE,
    Act as Act,
    ArtifactStore as ArtifactStore,
    Extra as Extra,
    FrameType as FrameType,
    Slot as Slot,
)

__version__: str
