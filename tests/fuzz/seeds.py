"""What fuzzing starts from: texts of the vectors, kept inputs of ``corpus/``, and words of the specifications."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from tests import vectors
from tests.fuzz.targets import TARGETS, WIRES

CORPUS = Path(__file__).parent / "corpus"
CHOOSING = ("scan", "stream", "cuts")
"""Targets whose first four bytes choose among options."""
SIGNS = (
    *(b"@a", b"|f", b"|c", b"|S", b"|d", b"|T", b"|g", b'|t"', b'"#', b"#", b"\\", b'\\"', b"\\u00e9"),
    *(b"CSP/1\n", b"<<<\n", b">>>\n", b"\n\n", b"\r\n", b"```\n", b"```csp\n", b"\xe2\xab\xbb", b"\xef\xbb\xbf"),
    *(b"{", b"}", b"[", b"]", b",", b":", b'{"', b'":"', b'","', b"null", b"true", b"1e400", b"-0", b"\xe2", b"\0"),
    *(b"\\ud83d\\ude00", b"\xf0\x9f\x98\x80", b"\x80", b"\xed\xa0", b"2026-01-15T10:00:00Z", b".5+02:00", b"INFO "),
    *(b'{"log":"', b'\\n","stream":"stdout"}'),
)


def seeds(target: str) -> list[bytes]:
    """Inputs of a target to begin with."""
    texts = [
        text.encode("utf-8", "surrogatepass")
        for wire in WIRES
        for case in vectors.load(wire)
        for text in (case.get("wire"), case.get("text"))
        if isinstance(text, str) and len(text) < 4000
    ]
    if target.startswith(CHOOSING):
        texts = [bytes((255, number % 3, 0, 0)) + text for number, text in enumerate(texts)]
    return texts + kept(target)


def kept(target: str) -> list[bytes]:
    """The inputs of a target that are kept: one a line, in base64."""
    path = CORPUS / f"{target}.txt"
    return [base64.b64decode(line) for line in path.read_text("ascii").split()] if path.exists() else []


def keep(target: str, inputs: list[bytes]) -> None:
    """Keeps inputs of a target, in the order of their size."""
    CORPUS.mkdir(exist_ok=True)
    lines = [base64.b64encode(one).decode() for one in sorted(set(inputs), key=lambda one: (len(one), one))]
    (CORPUS / f"{target}.txt").write_text("".join(f"{line}\n" for line in lines), "ascii")


def words() -> list[bytes]:
    """What the specifications name: keys, kinds, verbs, out of the tables in which they stand."""
    found = {word.encode() for wire in WIRES for word in _texts(vars(import_module(f"turnwire.{wire}.spec")))}
    return sorted({*SIGNS, *(word for word in found if 0 < len(word) <= 40)})


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, type) and issubclass(value, Enum):
        for member in value:
            yield from _texts(member.value, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for key, inner in value.items():
            if not (depth == 0 and str(key).startswith("__")):
                yield from _texts(inner, depth + 1)
                if depth:
                    yield from _texts(key, depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for inner in value:
            yield from _texts(inner, depth + 1)


def dictionary() -> str:
    """The words as a dictionary of libFuzzer."""
    return "".join('"{}"\n'.format("".join(f"\\x{byte:02x}" for byte in word)) for word in words())


__all__ = ["TARGETS", "dictionary", "keep", "kept", "seeds", "words"]
