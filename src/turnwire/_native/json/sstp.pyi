from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

from turnwire._pure.json.sstp import Row

@disjoint_base
class Table:
    def __init__(self, rows: Iterable[Row]) -> None: ...

@disjoint_base
class Rules:
    def __init__(self, rows: Iterable[Row]) -> None: ...

@disjoint_base
class Walks:
    def __init__(self, kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]]) -> None: ...

@disjoint_base
class Judge:
    def __init__(
        self,
        kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]],
        read: Callable[[Any, Any], tuple[dict[str, Any], str | bytes | None]],
        closer: Callable[[dict[str, Any], Any], Any],
    ) -> None: ...
    def is_plain_text(self, data: Any) -> bool: ...
    def is_plain(self, fields: Any) -> bool: ...
    def decode(self, data: Any, limits: Any) -> Any: ...
    def message(self, fields: dict[str, Any], data: Any) -> Any: ...
    def text(self, message: Any, strict: bool) -> str | None: ...
