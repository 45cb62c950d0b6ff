from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

from turnwire.sstp._codec_py import Row
from turnwire.sstp.spec import WIRE as WIRE

@disjoint_base
class Rules:
    def __init__(self, rows: Iterable[Row]) -> None: ...

@disjoint_base
class KindRules:
    def __init__(self, kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]]) -> None: ...

@disjoint_base
class PlainCodec:
    def __init__(
        self,
        kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]],
        read: Callable[[Any, Any], tuple[dict[str, Any], str | bytes | None]],
        closer: Callable[[dict[str, Any], Any], Any],
    ) -> None: ...
    def is_known(self, message: Any) -> bool: ...
    def is_plain_text(self, data: Any) -> bool: ...
    def is_plain(self, fields: Any) -> bool: ...
    def decode(self, data: Any, limits: Any) -> Any: ...
    def message(self, fields: dict[str, Any], data: Any) -> Any: ...
    def text(self, message: Any, strict: bool) -> str | None: ...
