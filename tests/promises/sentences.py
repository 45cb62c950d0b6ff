"""The sentences of the pages that promise: those with "never", "once", "proved" or "whole"."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = {"docs/clauses.md", "docs/tokens.md"}
"""Pages that are made: of the clauses each is judged by tests of its own, what counts tokens is counted."""
_WORDS = re.compile(r"\b(never|once|proved|whole)\b", re.IGNORECASE)
_CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_START = re.compile(r"^ *(?:[-*|>#]|\d+\.) *")
_END = re.compile(r"(?<=[.;:!?|])\*{0,2}\s+(?=\S)")


def pages() -> list[str]:
    """The pages, as their names below the root."""
    found = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [name for path in found if (name := path.relative_to(ROOT).as_posix()) not in GENERATED]


def sentences(page: str) -> list[str]:
    """The sentences of a page with one of the words, each on one line, in order, without examples."""
    return [sentence for sentence in all_sentences(page) if _WORDS.search(sentence)]


def all_sentences(page: str) -> list[str]:
    """All sentences of a page, in the same form: others may promise, too, and be in the table."""
    text = _CODE.sub("\n\n", (ROOT / page).read_text("utf-8"))
    found: list[str] = []
    for block in _blocks(text):
        found += [part.strip(" |*") for part in _END.split(block)]
    return list(dict.fromkeys(found))


def _blocks(text: str) -> list[str]:
    """Paragraphs, points of lists and rows of tables, each as one line."""
    blocks: list[str] = []
    fresh = True
    for line in text.split("\n"):
        if not line.strip():
            fresh = True
            continue
        if fresh or _START.match(line):
            blocks.append(_START.sub("", line).strip())
        else:
            blocks[-1] += " " + line.strip()
        fresh = False
    return blocks
