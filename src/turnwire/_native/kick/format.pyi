from turnwire.kick._format_py import parse as parse

LEVELS: tuple[str, ...]
SIMD: str

def choose_simd(most: str = "avx2") -> str: ...
