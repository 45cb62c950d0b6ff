from collections.abc import Callable, Iterable
from typing import Any

from turnwire._pure.sstp import Row

class Judge:
    def __init__(
        self,
        kinds: Iterable[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]],
        read: Callable[[Any, Any], dict[str, Any]],
        closer: Callable[[dict[str, Any], Any], Any],
    ) -> None: ...
    def is_plain(self, fields: Any) -> bool: ...
    def decode(self, data: Any, limits: Any) -> Any: ...
    def message(self, fields: dict[str, Any], data: Any) -> Any: ...
