"""The paths that a file operation may touch: patterns as in ``.gitignore``, and the folders of version control."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

PROTECTED = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "cvs", ".pijul", ".fslckout"})
"""Folders (and files) that version control keeps for itself: what is written there can be run by it."""

_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # by HFS+, when it compares names
_SHORT = {name[1:7]: name for name in PROTECTED if name.startswith(".")}  # NTFS also calls .git GIT~1, and so on


def plain(part: str) -> str:
    """A part of a path as the laxest file system compares it: without case, ignored signs, or what NTFS cuts off."""
    name = _IGNORED.sub("", unicodedata.normalize("NFKC", part)).casefold()
    name = name.partition(":")[0].rstrip(" .")
    short, tilde, number = name.partition("~")
    return _SHORT.get(short, name) if tilde and number.isdigit() else name


def matches(pattern: str, parts: Sequence[str], *, fold: bool = False) -> bool:
    """True if a pattern matches a path (its parts below the root), as in ``.gitignore``.

    ``*`` and ``?`` stand for signs of one part, ``**`` for any parts. A pattern with a ``/`` begins at the root, one
    without matches a part at any depth; what matches a folder matches all in it. ``fold``: case does not count. Raises
    ValueError for an empty pattern.
    """
    if not isinstance(pattern, str) or not pattern.strip("/"):
        raise ValueError(f"{pattern!r} is not a pattern of paths")
    wanted = (pattern.lower() if fold else pattern).replace("[", "[[]").strip("/").split("/")
    if "/" not in pattern.rstrip("/"):
        wanted.insert(0, "**")
    said = [part.lower() if fold else part for part in parts]
    taken = {0}  # how many parts the pattern can match so far
    for number, one in enumerate(wanted, 1):
        if one == "**":
            taken = set(range(min(taken) + (number == len(wanted)), len(said) + 1))
        else:
            taken = {place + 1 for place in taken if place < len(said) and fnmatchcase(said[place], one)}
        if not taken:
            return False
    return True


class Rules:
    """The rules of ``allow=`` and ``deny=`` of a file operation. Raises TypeError for a str instead of patterns."""

    def __init__(self, allow: Iterable[str] | None, deny: Iterable[str]) -> None:
        for patterns in (allow, deny):
            if isinstance(patterns, (str, bytes)):
                raise TypeError("patterns are a list of strings, not one string")
        self._allow = None if allow is None else tuple(allow)
        self._deny = tuple(deny)

    def refused(self, parts: Sequence[str]) -> str | None:
        """The reason, in words, why a path may not be touched, or None."""
        for pattern in self._deny:
            if matches(pattern, parts, fold=True):
                return f"the path is denied by {pattern!r}"
        if self._allow is not None and not any(matches(pattern, parts) for pattern in self._allow):
            return "no pattern allows the path"
        named = {plain(part) for pattern in self._allow or () for part in pattern.split("/")}
        for part in parts:
            # Elsewhere a backslash is a separator, and a folder may be shared with such a system.
            if any(plain(piece) in PROTECTED - named for piece in part.split("\\")):
                return f"{part} belongs to version control and is denied unless an allowed pattern names it"
        return None
