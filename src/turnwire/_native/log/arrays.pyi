from typing import Any

def exported() -> int: ...
def export(
    address: int,
    length: int,
    columns: list[tuple[int, tuple[Any, ...], tuple[int, tuple[Any, ...]] | None]],
) -> None: ...
