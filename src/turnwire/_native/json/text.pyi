from typing import Any

from typing_extensions import Buffer, disjoint_base

from turnwire.contract import Limits

@disjoint_base
class Reader:
    wire: str
    def __init__(self, wire: str, keys: tuple[str, ...] = ()) -> None: ...
    def read(self, data: str | Buffer, limits: Limits = ...) -> dict[str, Any]: ...
    def find(self, raw: bytes, place: int, limits: Limits = ...) -> tuple[dict[str, Any] | None, int]: ...
