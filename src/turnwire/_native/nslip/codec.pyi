from typing import Any, final

from turnwire.errors import Reason
from turnwire.nslip._codec_py import (
    SlipMessage as SlipMessage,
    check as check,
    decode as decode,
    decode_many as decode_many,
    encode as encode,
    text as text,
)

WIRE: str
REASONS: tuple[Reason | None, ...]
SHORT_STRING: int

@final
class ChangedParts: ...

@final
class HeaderField:
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __set__(self, instance: Any, value: Any, /) -> None: ...
