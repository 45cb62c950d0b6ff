"""The compiled core reads no byte behind a buffer, such as one that ends where memory ends, as a mapped file may."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PURE_ONLY
from tests.hostile import GOOD, MESSAGES, UNITS

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(PURE_ONLY, reason="plain Python reads behind nothing"),
    pytest.mark.skipif(sys.platform != "linux", reason="memory is protected by Linux's mprotect here"),
]
ENDINGS = (
    *(b" ", b"\t \t", b"\xef\xbb\xbf ", b"x\n  ", b"CSP", b"CSP/", b"x\ncsp /", b"x CSP/1"),
    *(b"CSP/1\n\r", b"CSP/1\n<<<\n>>>"),
)
ENDINGS += (b'{"a": "\\u00', b'{"a": 1.5e', b'{"a": -', b"@a3|f0|c", b'@a3|f0|c1|S0|d1|T1|t"\xe2\x82', b"\xe2\xab")
ENDINGS += (
    b'["@a3|#\\n"',
    b'["@a3|#\\n", ',
    b'["@a3|#", "MESSAGE"',
    b'["@a3|#", "MESSAGE": ',
    b'["@a3|#", "MESSAGE": [1, 2',
)


def texts() -> Iterator[bytes]:
    """Messages that are cut, units that repeat cut within the last one, and what else may end too soon."""
    for text in (*GOOD.values(), *MESSAGES.values()):
        yield from (text[:stop] for stop in range(1, len(text) + 1, 1 + len(text) // 30))
    for unit, times in product(UNITS, (1, 7)):
        yield from ((unit * times)[:stop] for stop in range((times - 1) * len(unit) + 1, times * len(unit) + 1))
    before = (b"", b"\n", b"x" * 61 + b"\n", GOOD["csp"][:-1], GOOD["csp"][:17], b"CSP/1\nFROM A\n<<<\n")
    yield from (start + end for start, end in product(before, ENDINGS))


def at_the_end() -> Callable[[bytes], memoryview]:
    """Puts a text in front of a page that nobody may read."""
    import ctypes
    import mmap

    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 17 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    assert protect(start + 16 * page, page, 0) == 0

    def put(text: bytes) -> memoryview:
        first = 16 * page - len(text)
        memory[first : 16 * page] = text
        return memoryview(memory)[first : 16 * page]

    return put


def read_all(step: int) -> None:
    """Scans one in so many of these texts in front of that page. Each is printed first: the last one is that of a
    crash."""
    import turnwire
    from turnwire._native.log import search

    put = at_the_end()
    searched = search.searched

    def at_the_page(finder: Any, block: Any, *args: Any) -> Any:
        return searched(finder, block._replace(data=put(bytes(block.data[: block.size]))), *args)

    search.searched = at_the_page
    for text in [*dict.fromkeys(texts())][::step]:
        print(text, file=sys.stderr)
        for wire in (None, "csp", "nslip") if len(text) < 40 else (None,):
            for _ in turnwire.scan(text, wire=wire):
                pass


@pytest.mark.parametrize(("level", "step"), [("", 6), ("0", 24)], ids=["SIMD", "scalar"])
def test_nothing_behind_a_buffer_is_read(level: str, step: int) -> None:
    """By SIMD code, which reads many bytes at once, and, a quarter as many, by scalar code."""
    command = [sys.executable, "-m", __name__, str(step)]
    environment = {**os.environ, **({"TURNWIRE_SIMD": level} if level else {})}
    folder = Path(__file__).parents[2]
    made = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    lines = made.stderr.splitlines()
    assert made.returncode == 0, lines[-1:]
    assert len(lines) > 1400 // step


if __name__ == "__main__":
    read_all(int(sys.argv[1]))
