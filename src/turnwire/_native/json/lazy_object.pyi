from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Maker:
    def __init__(self, fields: Any, source: Any, read: Callable[[Any], dict[str, Any]]) -> None: ...
    def __call__(self, message: Any, /) -> dict[str, Any]: ...

def copied(value: Any, other: Callable[[Any], Any]) -> Any: ...
