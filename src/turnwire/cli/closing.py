"""The last line of stats, scan and validate: what was found, the worst of it, and the command to go on with."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from turnwire.phrases import counted

FEW = 3
"""So many sources are named in the command to go on with; of more, the first and how many others."""


def last_line(found: str | None, worst: str | None, command: str | None) -> str:
    """The line. found: None where it was said before; worst, command: None where there is none."""
    following = None if command is None else f"next: {command}"
    return "; ".join(part for part in (found, worst or "nothing is damaged", following) if part is not None)


def records_of(records: int, rejects: int) -> str:
    """The records and the damaged ones, in words."""
    return f"{counted(records, 'record')}, {rejects:,} damaged" if rejects else counted(records, "record")


def worst_reason(reasons: Mapping[str, int]) -> str | None:
    """The reasons of most damage, in words; None where there is none."""
    order = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    if len(order) < 2:
        return f"the reason is {order[0][0]}" if order else None
    named = ", ".join(f"{reason} ({count:,})" for reason, count in order[:2])
    return f"the reasons are {named}{', ...' if len(order) > 2 else ''}"


def next_command(name: str, sources: Sequence[str], *options: str, wire: str | None = None) -> str | None:
    """A command on the same sources; None where they cannot be read again."""
    if "-" in sources:
        return None
    named = list(sources) if len(sources) <= FEW else [sources[0], "..."]
    chosen = () if wire is None else ("--wire", wire)
    return shlex.join(["turnwire", name, *named, *chosen, *options]).replace("'...'", "...")
