from typing import Any

def bitmap(masks: Any, bit: int, out: Any) -> int: ...
def exported() -> int: ...
def export(
    address: int,
    length: int,
    columns: list[tuple[int, tuple[Any, ...], tuple[int, tuple[Any, ...]] | None]],
    owner: Any,
) -> None: ...
