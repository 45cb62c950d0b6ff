from typing import Any, final

from turnwire.kick._format_py import Section as Section, opening as opening, parse as parse

LEVELS: tuple[str, ...]
SIMD: str

@final
class HeaderPart:
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __set__(self, instance: Any, value: Any, /) -> None: ...

def choose_simd(most: str = "avx2") -> str: ...
