from typing import Any

def message(
    data: Any, line: int, stop: int, final: bool, limit: int
) -> tuple[str, int, int | None, bytes, bytes] | None: ...
