from collections.abc import Callable
from typing import Any

DECIMAL: int
INLINE: int

def filled(
    plan: tuple[tuple[Any, ...], ...],
    arrays: dict[str, Any],
    buffer: Any,
    arena: Any,
    count: int,
    column_at: Callable[[int], Any],
    rooms: Callable[[int, int], list[Any]],
    zeros: Callable[[int], Any],
    plain: Callable[[int, int, Any], list[Any]],
) -> list[tuple[int, tuple[Any, ...], tuple[int, tuple[Any, ...]] | None]]: ...
def decimals(numbers: Any, out: Any, lengths: Any) -> None: ...
def exported() -> int: ...
def export(
    address: int,
    length: int,
    columns: list[tuple[int, tuple[Any, ...], tuple[int, tuple[Any, ...]] | None]],
) -> None: ...
def foreign(function: Callable[[int], object], release: int | None = None) -> int: ...
