from typing import Any

from typing_extensions import Buffer

from turnwire.contract import Limits

class Reader:
    wire: str
    def __init__(self, wire: str, keys: tuple[str, ...] = ()) -> None: ...
    def read(self, data: str | Buffer, limits: Limits = ...) -> dict[str, Any]: ...

def write(value: Any, wire: str | None = None, limits: Limits = ...) -> str: ...
