from turnwire.kick._envelope_py import (
    Envelope as Envelope,
    check as check,
    decode as decode,
    encode as encode,
)
