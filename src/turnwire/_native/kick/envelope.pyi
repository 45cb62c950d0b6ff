from turnwire.kick._envelope_py import (
    Envelope as Envelope,
    check as check,
    decode as decode,
    encode as encode,
)
from turnwire.kick.spec import FIELDS as FIELDS, TYPES as TYPES, WIRE as WIRE
