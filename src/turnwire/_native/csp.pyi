from typing import Any

Table = list[tuple[int, ...]]

NO_LIMIT: tuple[int, int, int]

def tables(data: bytes, limits: tuple[int, int, int] = ...) -> tuple[Table, Table, Table]: ...
def tables_at(level: int, data: bytes, limits: tuple[int, int, int] = ...) -> tuple[Table, Table, Table]: ...
def scan_into(
    data: Any,
    start: int,
    stop: int,
    final: bool,
    limits: tuple[int, int, int],
    state: Any,
    rows: Any,
    extras: Any,
    rejects: Any,
) -> tuple[int, int, int, int]: ...
