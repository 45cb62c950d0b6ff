"""What comes again anywhere in the records of a block, written as one character: ``あxあ`` names x, then ``あ`` is x.

This is a layer of its own over the bodies of records: a reader puts the texts back before it looks at a body, whatever
they are parts of. The characters are of an alphabet that occurs nowhere else in the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from turnwire import _backend
from turnwire.session._repeats_py import ALPHABETS, BARE, LONGEST, Alphabet
from turnwire.session.letters import arranged
from turnwire.session.metering import Meter

if TYPE_CHECKING:
    from turnwire.session._repeats_py import Expander, Index, holds, neighbours, pieces, spelled, unhyphened
else:
    _core = _backend.load("session.repeats")
    Expander, Index, holds = _core.Expander, _core.Index, _core.holds
    neighbours, pieces, spelled, unhyphened = _core.neighbours, _core.pieces, _core.spelled, _core.unhyphened

__all__ = ["ALPHABETS", "LONGEST", "Alphabet", "Expander", "Shortener", "bare"]


MOST_LOOKED = 12_000
"""Pieces of a block that are looked at."""
MOST_CANDIDATES = 3_000
MOST_PLACES, AROUND = 6, 12
"""Where a text comes, that many times and with that many letters around it, what its alias saves is counted."""
WORTH = 1.0
"""Tokens that an alias must save."""
SAYING = 12.0
"""What it costs to say that there are aliases, and what they are."""
FEWEST = 3
"""UUIDs of which the hyphens cost more than it does to say that they are left out."""


def bare(bodies: list[str]) -> tuple[str, list[str]]:
    """Bodies without the hyphens of their UUIDs, and the word for that; "" and the bodies themselves where there are
    too few, or where 32 hexadecimal digits stand in them already."""
    text, many = unhyphened("\0".join(bodies))
    found = text.split("\0")
    return (BARE, found) if many >= FEWEST and len(found) == len(bodies) else ("", bodies)


class Shortener:
    """Finds what comes again in the first block, and writes it as aliases there and in later ones.

    meter: counts tokens.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._savings: dict[str, float] | None = None
        self._letters: dict[str, dict[str, str]] = {}
        self._seen: set[str] = set()

    def shortened(self, bodies: list[str]) -> tuple[str, list[str]]:
        """The first character of the alphabet of the aliases ("" where there are none), and the bodies with them."""
        joined = "\0".join(bodies)
        alphabet = next((each for each in ALPHABETS if not holds(joined, each.first, each.last)), None)
        longest = max(map(len, bodies), default=0)
        if alphabet is None or joined.count("\0") >= len(bodies) or longest > LONGEST // 2:
            return "", bodies
        if self._savings is None:
            self._savings = repeated(bodies, self._meter)
        index = Index(joined)
        letters = self._letters.get(alphabet.first, {})
        chosen = self._chosen(index, dict(self._savings), alphabet, letters)
        if not chosen:
            return "", bodies
        whole = index.named({})
        if not letters:
            better = arranged(neighbours(whole, alphabet.first, alphabet.last), alphabet, len(chosen))
            whole = index.named(better)
            self._letters[alphabet.first] = dict(zip(chosen, better.values(), strict=True))
        self._savings = chosen
        self._seen = set(chosen)
        return alphabet.first, whole.split("\0")

    def _chosen(
        self, index: Index, savings: dict[str, float], alphabet: Alphabet, letters: dict[str, str]
    ) -> dict[str, float]:
        """Replaces texts by aliases: again and again the one that saves most of what is left. What each saves a time
        is counted in the first block where it comes. letters: those of the texts of an earlier block. {}: all together
        save too little."""

        def saving(text: str) -> float:
            return self._saving(index.around(text, MOST_PLACES, AROUND), text, alphabet.first)

        found, total = index.choose(savings, alphabet.used, letters, self._seen, saving, WORTH)
        return found if total > SAYING else {}

    def _saving(self, around: list[tuple[str, str]], text: str, alias: str) -> float:
        """The tokens that an alias saves each time, beside what is around it where it comes first."""
        texts = [before + middle + after for middle in (text, alias) for before, after in around]
        sizes = self._meter.count_many(texts)
        return (sum(sizes[: len(around)]) - sum(sizes[len(around) :])) / len(around)


def repeated(bodies: Sequence[str], meter: Meter) -> dict[str, float]:
    """Texts that come more than once in the first bodies, those that may save most tokens, and about how many an alias
    saves each time: the tokens of their pieces but one."""
    texts, flat = pieces(list(bodies), MOST_LOOKED)
    return spelled(flat, texts, meter.count_many(texts), MOST_CANDIDATES)
