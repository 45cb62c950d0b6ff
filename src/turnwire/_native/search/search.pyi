from typing import Any

LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx2") -> str: ...
def searched(
    finder: Any, block: Any, final: bool, line: int, state: Any, keep: bool, limit: int, dtypes: dict[str, Any]
) -> tuple[dict[str, Any], int, list[tuple[dict[str, Any], int]], int, int]: ...
def together(parts: list[Any], dtypes: dict[str, Any], size: int) -> tuple[dict[str, Any], dict[str, Any], bytes]: ...
