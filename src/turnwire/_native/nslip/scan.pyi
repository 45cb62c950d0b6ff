from typing import Any

LEVELS: tuple[str, str, str]
SIMD: str

def choose_simd(most: str = "avx512") -> str: ...
def scan_block(
    data: Any,
    start: int,
    size: int,
    final: bool,
    columns: dict[str, Any],
    rows: int,
    room: int,
    rejects: dict[str, Any],
    reject_rows: int,
    reject_room: int,
    *,
    base: int = 0,
    line: int = 1,
    keep: bool = False,
    limit: int = ...,
) -> tuple[int, int, int, int]: ...
