"""Text in columns, safe to print whatever is in it."""

from __future__ import annotations

from collections.abc import Sequence


def safe(text: str) -> str:
    """The text on one line, with every character escaped that does not print as itself."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def aligned(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[str]) -> str:
    """The rows under their names, two spaces between columns; ``numbers`` to the right; a newline at the end.

    Columns that say nothing in any row are left out.
    """
    kept = [place for place in range(len(names)) if not rows or any(row[place] for row in rows)]
    lines = [[names[place] for place in kept], *([safe(row[place]) for place in kept] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(kept))]
    right = [names[place] in numbers for place in kept]
    return "".join(
        "  ".join(
            cell.rjust(wide) if number else cell.ljust(wide)
            for cell, wide, number in zip(line, widths, right, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )
