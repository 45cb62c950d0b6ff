from typing import Any, Self

from typing_extensions import Buffer, disjoint_base

from turnwire.contract import Limits
from turnwire.csp.messages import CspMessage, Document, Record
from turnwire.errors import Issue

NO_LIMIT: tuple[int, int, int]

@disjoint_base
class Messages:
    def __new__(cls, data: bytes, limits: tuple[int, int, int] = ...) -> Self: ...
    def at(self, place: int, fence: bytes = b"") -> tuple[int, CspMessage] | None: ...

@disjoint_base
class OwnColumns:
    @property
    def pointer(self) -> Any: ...
    def attach(self, columns: dict[str, Any], room: int) -> None: ...

def read(data: object, /) -> CspMessage | None: ...
def decode(text: str | Buffer, *, mode: str = "strict", limits: Limits = ...) -> CspMessage: ...
def encode(record: Record | Document, strict: bool = True) -> str: ...
def check(message: Record | Document) -> list[Issue]: ...

keys_pointer: object
match_pointer: object
store_pointer: object
