"""What comes again anywhere in the records of a block, written as one character: ``あxあ`` names x, then ``あ`` is x.

This is a layer of its own over the bodies of records: a reader puts the texts back before it looks at a body, whatever
they are parts of. The characters are of an alphabet that occurs nowhere else in the block.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple


class Alphabet(NamedTuple):
    """Characters that may be aliases. last: of the range that begins with the first. used: those that are one token
    each in o200k_base, cl100k_base, llama3, qwen3 and gemma3."""

    first: str
    last: str
    used: str


ALPHABETS = (
    Alphabet(
        "\u3042",
        "\u30f3",
        "あいうえおかがきくけこごさざしじすせそただちっつてでとどなにのはばまみめもやよらりるれろわをん"
        "アィイウェエオカキクグコサシジスズセタダチッテデトドナニバパビピフブプペポマムメャュョラリルレロン",
    ),
    Alphabet("\u0430", "\u044f", "абвгдежзийклмнопрстуфхцчшщъыьэюя"),
    Alphabet("\u03b1", "\u03c9", "αβγδεηθικλμνορστυφχω"),
)
"""The alphabets, in the order in which they are tried."""

LONGEST = 1 << 20
"""Letters of a record whose aliases are filled in; one that is longer as it is written has none."""
PIECES = re.compile(r"\|+| ?[^\W\d_]+|\d{1,3}|\n *| ?[^\w\s|]+|\s|_").findall
"""About the tokens of a text."""
MOST_PIECES = 16
"""Pieces up to which all that comes again is looked at; longer texts only whole."""
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
NAMING = 2.0
"""What naming costs: the alias before and after the text."""


def alphabet_of(first: str) -> Alphabet | None:
    """The alphabet that begins with a character."""
    return next((each for each in ALPHABETS if each.first == first), None)


@lru_cache(8)
def _pattern(first: str, last: str, captured: bool = False) -> re.Pattern[str]:
    return re.compile(f"([{first}-{last}])" if captured else f"[{first}-{last}]")


class Expander:
    """Puts back what aliases are, body by body.

    Attributes:
        first: the alphabet's first character; "": there are none.
    """

    def __init__(self, first: str = "") -> None:
        alphabet = alphabet_of(first) if first else None
        if first and alphabet is None:
            raise ValueError(f"there is no alphabet of aliases that begins with {first!r}")
        self.first = first
        self._split = None if alphabet is None else _pattern(alphabet.first, alphabet.last, True).split
        self._known: dict[str, str] = {}

    def expand(self, body: str) -> str:
        """A body with the texts of its aliases. Raises ValueError for an alias inside the text of another one, one of
        nothing, and more than LONGEST letters."""
        if self._split is None or body.isascii():
            return body
        parts = self._split(body)
        if len(parts) == 1:
            return body
        found, known = [parts[0]], self._known
        at, size = 1, len(body)
        while at < len(parts):
            char, rest = parts[at], parts[at + 1]
            text = known.get(char)
            if text is not None:
                found += (text, rest)
                at += 2
                size += len(text)
                if size > LONGEST:
                    raise ValueError(f"a record has more than {LONGEST} letters with its aliases filled in")
                continue
            if not rest or (at + 2 < len(parts) and parts[at + 2] != char):
                raise ValueError("an alias is given a text that is empty or holds another one")
            known[char] = rest
            found.append(rest)
            if at + 2 < len(parts):
                found.append(parts[at + 3])
            at += 4
        return "".join(found)


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
        alphabet = next((each for each in ALPHABETS if not _pattern(each.first, each.last).search(joined)), None)
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
        heap = [(-_gain(savings[text], joined.count(text)), text) for text in texts]
        heapq.heapify(heap)
        found: list[tuple[str, str]] = []
        seen: set[str] = set()
        total = 0.0
        while heap and len(found) < len(alphabet.used):
            _, text = heapq.heappop(heap)
            times = joined.count(text)
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
    for number, body in enumerate(bodies):
        flat += [ids.setdefault(piece, len(ids)) for piece in PIECES(body)]
        flat.append(-1 - number)
        if len(flat) > MOST_LOOKED:
            break
    pieces = list(ids)
    best = heapq.nlargest(MOST_CANDIDATES, _runs(flat, [measure(piece) for piece in pieces]))
    texts = ["".join([pieces[each] for each in flat[start : start + size]]) for _, start, size in best]
    return [text for text in texts if len(text) >= SHORTEST and _whole(text)]


def _whole(text: str) -> bool:
    """Whether a text probably cuts no word or number: tokens go over such cuts, and a model would have to join them."""
    if text[-1] == " ":
        return "\n" in text
    return len(text) >= 8 or not (text[0].isdigit() or text[-1].isdigit())


def _runs(flat: list[int], weights: Sequence[float]) -> Iterator[tuple[float, int, int]]:
    """Runs of pieces that come more than once: about what they save, where the first begins, how many pieces they are.

    flat: pieces by number; what divides bodies is negative, each another number. weights: tokens of each piece.
    """
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(flat):
        if number >= 0:
            groups.setdefault(number, []).append(place)
    level = [(weights[number], places) for number, places in groups.items() if len(places) > 1]
    for size in range(1, MOST_PIECES):
        longer: list[tuple[float, list[int]]] = []
        for weight, places in level:
            yield (len(places) - 1) * (weight - 1) - NAMING, places[0], size
            groups = {}
            for place in places:
                groups.setdefault(flat[place + size], []).append(place)
            longer += [(weight + weights[number], places) for number, places in groups.items() if len(places) > 1]
        level = longer
    for weight, places in level:
        size = MOST_PIECES
        if places[0] and len({flat[place - 1] for place in places}) == 1:
            continue  # part of a longer one
        while len({flat[place + size] for place in places}) == 1:
            size += 1
        yield (len(places) - 1) * (weight * size / MOST_PIECES - 1) - NAMING, places[0], size
