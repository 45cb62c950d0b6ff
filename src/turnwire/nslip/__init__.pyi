from turnwire.nslip import base62 as base62
from turnwire.nslip import protocol as protocol
from turnwire.nslip.artifacts import ArtifactStore as ArtifactStore
from turnwire.nslip.artifacts import resolve as resolve
from turnwire.nslip.cbor import from_cbor as from_cbor
from turnwire.nslip.cbor import to_cbor as to_cbor
from turnwire.nslip.checklist import conformance as conformance
from turnwire.nslip.codec import (
    SlipMessage as SlipMessage,
)
from turnwire.nslip.codec import (
    decode as decode,
)
from turnwire.nslip.codec import (
    decode_many as decode_many,
)
from turnwire.nslip.codec import (
    detect as detect,
)
from turnwire.nslip.codec import (
    encode as encode,
)
from turnwire.nslip.codec import (
    encode_many as encode_many,
)
from turnwire.nslip.protobuf import from_protobuf as from_protobuf
from turnwire.nslip.protobuf import to_protobuf as to_protobuf
from turnwire.nslip.protocol import (
    decode_int_base62 as decode_int_base62,
)
from turnwire.nslip.protocol import (
    decode_message as decode_message,
)
from turnwire.nslip.protocol import (
    encode_int_base62 as encode_int_base62,
)
from turnwire.nslip.protocol import (
    encode_message as encode_message,
)
from turnwire.nslip.rules import announce as announce
from turnwire.nslip.rules import announced as announced
from turnwire.nslip.rules import check as check
from turnwire.nslip.spec import (
    END_MARKER as END_MARKER,
)
from turnwire.nslip.spec import (
    LEAST_DOUBTFUL as LEAST_DOUBTFUL,
)
from turnwire.nslip.spec import (
    SCHEMA_VERSION as SCHEMA_VERSION,
)
from turnwire.nslip.spec import (
    SEPARATOR as SEPARATOR,
)
from turnwire.nslip.spec import (
    START_MARKER as START_MARKER,
)
from turnwire.nslip.spec import (
    WIRE as WIRE,
)
from turnwire.nslip.spec import (
    Act as Act,
)
from turnwire.nslip.spec import (
    Extra as Extra,
)
from turnwire.nslip.spec import (
    FrameType as FrameType,
)
from turnwire.nslip.spec import (
    Slot as Slot,
)

__version__: str
