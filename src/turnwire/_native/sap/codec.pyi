from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

from turnwire.contract import LIMITS as LIMITS
from turnwire.sap.spec import MUST as MUST, RESULT_MARKS as RESULT_MARKS, VERSION as VERSION, Table

@disjoint_base
class Walks:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

@disjoint_base
class Plan:
    table: Any
    def __init__(self, *tables: Table) -> None: ...

@disjoint_base
class Messages:
    def __init__(
        self,
        plans: Iterable[tuple[type[Any], Plan]],
        record: type[Any],
        task: type[Any],
        result: type[Any],
        read_source: Callable[[Any, Any], tuple[dict[str, Any], str | bytes | None]],
    ) -> None: ...
    def read(self, data: Any, /) -> Any: ...
    def made(self, fields: dict[str, Any], source: str | bytes | None, /) -> Any: ...
    def is_clean(self, message: Any, /) -> bool: ...
    def text(self, message: Any, strict: bool, /) -> str | None: ...

def sound(fields: Any, plan: Plan, /) -> bool: ...
def quiet(value: Any, /) -> bool: ...
