"""Faults that the suite did not find and that change nothing that can be seen, with the reason: ``judged.txt``.

There a reason stands at the start of a line, and below it, indented, the faults as `make plant` prints them, without the
number of the line. What stands there does not count as a survivor. Only who has read the code around a fault adds it;
where a test could tell, the test is what is missing.
"""

from __future__ import annotations

from pathlib import Path

PLACE = Path(__file__).with_suffix(".txt")


def judged(text: str) -> dict[tuple[str, str], str]:
    """The reason for each fault, by its header and its row."""
    found, reason = {}, ""
    for line in text.splitlines():
        if not line.startswith(" "):
            reason = line or reason
            continue
        header, _, row = line.strip().partition(": ")
        found[header, row] = reason
    return found


SAME = judged(PLACE.read_text("utf-8"))
