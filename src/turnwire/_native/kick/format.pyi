from typing import final

from turnwire.kick._format_py import parse as parse

LEVELS: tuple[str, ...]
SIMD: str

@final
class Parts:
    def __getitem__(self, which: int, /) -> str | None: ...

def choose_simd(most: str = "avx2") -> str: ...
