from turnwire.kick._format_py import (
    Section as Section,
    has_section as has_section,
    opening as opening,
    parse as parse,
)

LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx2") -> str: ...
