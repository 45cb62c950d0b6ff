"""The two spellings of a template's orders [TASK_TPL].

    compact                                 expanded
    TASK REQ:<req> IN:<scope> OUT:<type>    TASK / REQ <req> / IN <scope> / OUT <type>
    RESULT{STATUS,DATA[file:line]}          RESULT / STATUS / DATA [file:line]

A line that is neither is kept as it is, and an order is only rewritten where reading it back gives the same.
"""

from __future__ import annotations

import re

WORDS = ("TASK", "RESULT", "ERROR", "PATCH", "FILEOP", "PLAN", "QUERY", "MEM")
_WORD = "|".join(WORDS)
_KEY = "[A-Z][A-Z0-9_]*"
_ORDER = re.compile(rf"({_WORD})((?: {_KEY}:.*?)+)")
_PART = re.compile(rf" ({_KEY}):(.*?)(?= {_KEY}:|\Z)")
_SHAPE = re.compile(rf"({_WORD})\{{({_KEY}(?:\[[^\]]*\])?(?:,{_KEY}(?:\[[^\]]*\])?)*)\}}")
_SHAPE_PART = re.compile(rf"({_KEY})(\[[^\]]*\])?,?")
_EXPANDED_KEY = re.compile(rf"({_KEY})(?: (.*))?")


def expand(lines: list[str]) -> list[str]:
    """Each compact line as its expanded lines."""
    return [expanded for line in lines for expanded in _expand_line(line)]


def _expand_line(line: str) -> list[str]:
    order = _ORDER.fullmatch(line)
    if order is not None:
        return [order[1], *(f"{key} {value}" for key, value in _PART.findall(order[2]))]
    shape = _SHAPE.fullmatch(line)
    if shape is not None:
        parts = _SHAPE_PART.findall(shape[2])
        return [shape[1], *(f"{key} {inside}" if inside else key for key, inside in parts)]
    return [line]


def compact(lines: list[str]) -> list[str]:
    """Each run of expanded lines as its compact line."""
    result: list[str] = []
    place = 0
    while place < len(lines):
        stop = place + 1
        if lines[place] in WORDS:
            while stop < len(lines) and _is_key_line(lines[stop]):
                stop += 1
        result += _compact_run(lines[place:stop])
        place = stop
    return result


def _is_key_line(line: str) -> bool:
    return line not in WORDS and _EXPANDED_KEY.fullmatch(line) is not None and _expand_line(line) == [line]


def _compact_run(run: list[str]) -> list[str]:
    if len(run) == 1:
        return run
    pairs = [line.partition(" ") for line in run[1:]]
    if all(not space or (value.startswith("[") and value.endswith("]")) for _, space, value in pairs):
        line = f"{run[0]}{{{','.join(key + value for key, _, value in pairs)}}}"
    else:
        line = run[0] + "".join(f" {key}:{value}" for key, _, value in pairs)
    return [line] if _expand_line(line) == run else run
