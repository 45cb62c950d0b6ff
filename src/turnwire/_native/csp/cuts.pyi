from typing import Any

LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx2") -> str: ...
def find_cuts(data: Any, base: int, every: int, limit: int, state: Any, found: Any) -> tuple[int, int]: ...
