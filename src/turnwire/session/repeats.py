"""What comes again anywhere in the records of a block, written as one character: ``あxあ`` names x, then ``あ`` is x.

This is a layer of its own over the bodies of records: a reader puts the texts back before it looks at a body, whatever
they are parts of. The characters are of an alphabet that occurs nowhere else in the block.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from turnwire import _backend
from turnwire._pure.session.repeats import ALPHABETS, LONGEST, NAMING, Alphabet, pattern

if TYPE_CHECKING:
    from turnwire._pure.session.repeats import Expander, Index, runs
else:
    _core = _backend.load("session.repeats")
    Expander, Index, runs = _core.Expander, _core.Index, _core.runs

__all__ = ["ALPHABETS", "LONGEST", "Alphabet", "Expander", "Shortener"]


PIECES = re.compile(r"\|+| ?[^\W\d_]+|\d{1,3}|\n *| ?[^\w\s|]+|\s|_").findall
"""About the tokens of a text."""
SHORTEST = 2
"""Letters of a text that may have an alias."""
MOST_LOOKED = 12_000
"""Pieces of a block that are looked at."""
MOST_CANDIDATES = 3_000
MOST_PLACES, AROUND = 8, 12
"""Where a text comes, that many times and with that many letters around it, what its alias saves is counted."""
WORTH = 1.0
"""Tokens that an alias must save."""
SAYING = 12.0
"""What it costs to say that there are aliases, and what they are."""


class Shortener:
    """Finds what comes again in the first block, and writes it as aliases there and in later ones.

    measure: counts the tokens of a text.
    """

    def __init__(self, measure: Callable[[str], int]) -> None:
        self._measure = lru_cache(None)(measure)
        self._texts: list[str] | None = None

    def shortened(self, bodies: list[str]) -> tuple[str, list[str]]:
        """The first character of the alphabet of the aliases ("" where there are none), and the bodies with them."""
        joined = "\0".join(bodies)
        alphabet = next((each for each in ALPHABETS if not pattern(each.first, each.last).search(joined)), None)
        if alphabet is None or "\0" in "".join(bodies) or max(map(len, bodies), default=0) > LONGEST // 2:
            return "", bodies
        if self._texts is None:
            self._texts = repeated(bodies, self._measure)
        chosen = self._chosen(joined, self._texts, alphabet)
        if not chosen:
            return "", bodies
        self._texts = [text for text, _ in chosen]
        return alphabet.first, _named(joined, chosen)

    def _chosen(self, joined: str, texts: Sequence[str], alphabet: Alphabet) -> list[tuple[str, str]]:
        """Texts and their aliases: again and again the one that saves most of what is left."""
        savings = {text: self._measure(text) - 1.0 for text in texts}
        index = Index(joined)
        heap = [(-_gain(savings[text], index.count(text)), text) for text in texts]
        heapq.heapify(heap)
        found: list[tuple[str, str]] = []
        seen: set[str] = set()
        total = 0.0
        while heap and len(found) < len(alphabet.used):
            _, text = heapq.heappop(heap)
            times = index.count(text)
            gain = _gain(savings[text], times)
            if gain >= WORTH and text not in seen:
                seen.add(text)
                savings[text] = self._saving(text, joined, alphabet.first)
                gain = _gain(savings[text], times)
            if gain < WORTH:
                continue
            if heap and gain < -heap[0][0]:
                heapq.heappush(heap, (-gain, text))
                continue
            alias = alphabet.used[len(found)]
            joined = joined.replace(text, alias)
            index = Index(joined)
            found.append((text, alias))
            total += gain
        return found if total > SAYING else []

    def _saving(self, text: str, joined: str, alias: str) -> float:
        """The tokens that an alias saves each time, beside what is around it where it comes first."""
        saved, at, times = 0, joined.find(text), 0
        while at >= 0 and times < MOST_PLACES:
            end = at + len(text)
            before = joined[max(joined.rfind("\0", 0, at) + 1, at - AROUND) : at]
            after = joined[end : end + AROUND].partition("\0")[0]
            saved += self._measure(before + text + after) - self._measure(before + alias + after)
            times += 1
            at = joined.find(text, end)
        return saved / times


def _gain(saving: float, times: int) -> float:
    """The tokens that an alias saves that saves so many each time."""
    return (times - 1) * saving - NAMING if times > 1 else 0.0


def _named(joined: str, chosen: Sequence[tuple[str, str]]) -> list[str]:
    """The bodies with aliases, each named where it comes first."""
    for text, alias in chosen:
        joined = joined.replace(text, alias)
    found, start = [], 0
    for at, text, alias in sorted((joined.index(alias), text, alias) for text, alias in chosen):
        ends = joined[at + 1 : at + 2] in ("", "\0")
        found.append(joined[start:at] + alias + text + ("" if ends else alias))
        start = at + 1
    return "".join([*found, joined[start:]]).split("\0")


def repeated(bodies: Sequence[str], measure: Callable[[str], int]) -> list[str]:
    """Texts that come more than once in the first bodies, those that may save most tokens."""
    ids: dict[str, int] = {}
    flat: list[int] = []
    pieces: list[str] = []
    for number, body in enumerate(bodies):
        found = PIECES(body)
        flat += [ids.setdefault(piece, len(ids)) for piece in found]
        flat.append(-1 - number)
        pieces += found
        pieces.append("")
        if len(flat) > MOST_LOOKED:
            break
    best = heapq.nlargest(MOST_CANDIDATES, runs(flat, [measure(piece) for piece in ids]))
    whole, places = "".join(pieces), list(accumulate(map(len, pieces), initial=0))
    texts = [whole[places[start] : places[start + size]] for _, start, size in best]
    return [text for text in texts if len(text) >= SHORTEST and _whole(text)]


def _whole(text: str) -> bool:
    """Whether a text probably cuts no word or number: tokens go over such cuts, and a model would have to join them."""
    if text[-1] == " ":
        return "\n" in text
    return len(text) >= 8 or not (text[0].isdigit() or text[-1].isdigit())
