from typing import Any

DECIMAL: int
INLINE: int

def string_views(buffer: Any, offsets: Any, lengths: Any, out: Any, arena: Any = ...) -> bool: ...
def text_views(
    buffer: Any, arena: Any, masks: Any, columns: tuple[tuple[Any, ...], ...]
) -> list[tuple[int, bool, int, int]]: ...
def packed_views(
    buffer: Any, rows: Any, shape: int, masks: Any, columns: tuple[tuple[Any, ...], ...]
) -> list[tuple[int, bool]]: ...
def escaped_views(
    buffer: Any, arena: Any, offsets: Any, lengths: Any, masks: Any, both: int, side: Any, number: int, out: Any
) -> int: ...
def moved_bits(masks: Any, moves: list[tuple[int, int]], out: Any) -> None: ...
def line_rows(
    columns: dict[str, Any],
    offsets: Any,
    lengths: Any,
    masks: Any,
    codes: Any,
    base: int,
    wire: int,
    kinds: Any,
    known: int,
    moves: list[tuple[int, int]],
) -> None: ...
def decimals(numbers: Any, out: Any, lengths: Any) -> None: ...
def number_views(numbers: Any, masks: Any, valid: int, out: Any, bitmap: Any, side: Any) -> tuple[int, int]: ...
def gathered(buffer: Any, arena: Any, places: Any, sizes: Any, moved: Any) -> bytes: ...
