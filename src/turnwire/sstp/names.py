"""When two names of actors are one, and when they only look like one."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_TWINS = str.maketrans(
    # Cyrillic, Greek and full-width digits that most fonts draw like these Latin letters; then digits like letters.
    "аеорсухіјѕԁһӏвкмнтգαειοκνρτυχ01|",
    "aeopcyxijsdhlbkmhtgaeiokvptuxoll",
)


def same(left: str, right: str) -> bool:
    """Whether two names mean one actor: equal but for case and Unicode composition."""
    return left == right or folded(left) == folded(right)


def folded(name: str) -> str:
    """The form in which names are compared."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


@lru_cache(4096)
def outline(name: str) -> str:
    """What is left of a name when look-alike letters, marks, case, spaces and punctuation are taken away."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_TWINS)
    return "".join(letter for letter in letters if letter.isalnum()).replace("rn", "m").replace("vv", "w")


def alike(left: str, right: str) -> bool:
    """Whether two different names could be taken for one another."""
    if left == right:
        return False
    return folded(left) == folded(right) or (outline(left) != "" and outline(left) == outline(right))
