"""Faults for the native code: one small change at a time, as a slip of the pen makes it, drawn by a seed.

Everything that can be changed is listed (a comparison that takes the edge or not, a sign, a number off by one, "and"
for "or"), outside comments, strings and lines of the preprocessor; from each file as many as its share. And there are
those of ``by_hand.txt``, and of ``by_hand_python.txt`` for what is written in Python, which somebody thought of:
limits, checks that are left out, what is not given back. Each changes what can be seen.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "_native"
BY_HAND = ("by_hand.txt", "by_hand_python.txt")
LEFT_OUT = ("processor.h", "portable.h", "wide.h")
"""Headers that only tell what there is."""
CHANGES = (
    (r"(?<=[\w)\]] )<(?= [\w(*])", "<="),
    (r"(?<= )<=(?= )", "<"),
    (r"(?<=[\w)\]] )>(?= [\w(*])", ">="),
    (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="),
    (r"(?<= )!=(?= )", "=="),
    (r"(?<= )&&(?= )", "||"),
    (r"(?<= )\|\|(?= )", "&&"),
    (r"(?<= )\+(?= 1\b)", "-"),
    (r"(?<= - )1\b", "0"),
    (r"(?<= \+ )([2-9])\b", "1"),
    (r"\bcontinue;", "break;"),
)
CYTHON = (
    *((pattern.replace("(*]", "(*&-]"), text) for pattern, text in CHANGES[:6]),
    (r"(?<= )and(?= )", "or"),
    (r"(?<= )or(?= )", "and"),
    (r"(?<=if )not (?!in\b)", ""),
    (r"(?<= )\+(?= 1\b)", "-"),
    (r"(?<= - )1\b", "0"),
    (r"(?<= \+ )([2-9])\b", "1"),
    (r"\bcontinue$", "break"),
)
"""The same in what Cython reads."""
HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')|(?P<line>^[ \t]*#[^\n]*)",
    re.DOTALL | re.MULTILINE,
)
"""What no fault is planted in: comments, texts, lines of the preprocessor."""
HIDDEN_IN_CYTHON = re.compile(
    r'"""(?:\\.|[^\\])*?"""|#[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^(?:cdef extern|cimport|from)\b[^\n]*',
    re.DOTALL | re.MULTILINE,
)
"""The same in what Cython reads: documentation, comments, texts, declarations."""


class Fault(NamedTuple):
    """In a header, from ``start`` to ``stop``, other text; ``line`` is where."""

    header: str
    start: int
    stop: int
    text: str
    line: int

    def planted(self) -> str:
        """The header with it."""
        source = (ROOT / self.header).read_text("utf-8")
        return source[: self.start] + self.text + source[self.stop :]

    @property
    def row(self) -> str:
        """Its row with what is changed in brackets, as in ``if (size [< -> <=] 20) return 0;``."""
        source = (ROOT / self.header).read_text("utf-8")
        before = source[source.rfind("\n", 0, self.start) + 1 : self.start].lstrip()
        behind = re.sub(r"\s+\\?$", "", source[self.stop :].partition("\n")[0])
        old, new = (" ".join(text.split()) for text in (source[self.start : self.stop], self.text))
        return f"{before}[{old} -> {new}]{'' if source[self.stop - 1 : self.stop] == chr(10) else behind}"

    def __str__(self) -> str:
        return f"{self.header}:{self.line}: {self.row}"


@cache
def possible(header: Path) -> tuple[Fault, ...]:
    """All faults that can be planted in a header, or in what Cython reads."""
    source = header.read_text("utf-8")
    hidden, changes = (HIDDEN, CHANGES) if header.suffix == ".h" else (HIDDEN_IN_CYTHON, CYTHON)
    plain = hidden.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    name = str(header.relative_to(ROOT))
    return tuple(
        Fault(name, found.start(), found.end(), text, 1 + plain.count("\n", 0, found.start()))
        for pattern, text in changes
        for found in re.finditer(pattern, plain, re.MULTILINE)
    )


def headers() -> list[Path]:
    """The headers of the native code that do something."""
    return [path for path in sorted(NATIVE.rglob("*.h")) if path.name not in LEFT_OUT]


def by_hand() -> list[Fault]:
    """The faults of ``BY_HAND``. Raises ValueError for one whose lines are not there just once."""
    texts = ((Path(__file__).parent / file).read_text("utf-8") for file in BY_HAND)
    found = []
    for block in "\n".join(texts).strip("\n").split("\n\n"):
        name, *lines = block.split("\n")
        old, new = ("".join(line[2:] + "\n" for line in lines if line[0] == sign) for sign in "-+")
        source = (ROOT / name).read_text("utf-8")
        if source.count(old) != 1:
            raise ValueError(f"these lines are to stand once in {name}:\n{old}")
        start = source.index(old)
        found.append(Fault(name, start, start + len(old), new, 1 + source.count("\n", 0, start)))
    return found


def modules() -> list[Path]:
    """What Cython reads of the native code."""
    return [path for ending in ("*.pyx", "*.pxi") for path in sorted(NATIVE.rglob(ending))]


def drawn(number: int, seed: int, files: list[Path] | None = None) -> list[Fault]:
    """So many faults, spread over the headers (or other files) by how much there is to change in each; in no order, so
    that the first of them are a draw, too. Each is drawn by its own row: a change of the code changes the draw only in
    the lines that it changed."""
    every = [one for file in (headers() if files is None else files) for one in _named(file)]
    every.sort(key=lambda one: blake2b(f"{seed} {one[0]}".encode()).digest())
    return [fault for _, fault in every[:number]]


@cache
def _named(file: Path) -> list[tuple[str, Fault]]:
    """The faults of a file, each with what tells it from all others, wherever its row stands."""
    seen: Counter[str] = Counter()
    found = []
    for fault in possible(file):
        row = f"{fault.header}: {fault.row}"
        seen[row] += 1
        found.append((f"{row} {seen[row]}", fault))
    return found
