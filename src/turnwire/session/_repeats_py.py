"""What comes again in a block: runs of pieces, how often a text occurs; aliases and hyphens of UUIDs put back."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import accumulate, count
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

MOST_PIECES = 16
"""Pieces up to which all that comes again is looked at; longer texts only whole."""
NAMING = 2.0
"""What naming costs: the alias before and after the text."""
PIECES = re.compile(r"\|+| ?[^\W\d_]+|\d{1,3}|\n *| ?[^\w\s|]+|\s|_").findall
"""About the tokens of a text: together they are all of it."""
SHORTEST = 2
"""Letters of a text that may have an alias."""
BARE = "-"
"""How a setting ends that says that UUIDs are written without their hyphens."""

_HEX = "[0-9A-Fa-f]"
_ALONE = r"(?<![0-9A-Za-z_]){}(?![0-9A-Za-z_])"
_UUID = re.compile(_ALONE.format("-".join([f"({_HEX}{{{size}}})" for size in (8, 4, 4, 4, 12)]))).sub
_DIGITS = re.compile(_ALONE.format("".join([f"({_HEX}{{{size}}})" for size in (8, 4, 4, 4, 12)])))


def alphabet_of(first: str) -> Alphabet | None:
    """The alphabet that begins with a character."""
    return next((each for each in ALPHABETS if each.first == first), None)


@lru_cache(8)
def pattern(first: str, last: str, captured: bool = False) -> re.Pattern[str]:
    """What finds the letters of an alphabet."""
    return re.compile(f"([{first}-{last}])" if captured else f"[{first}-{last}]")


def holds(text: str, first: str, last: str) -> bool:
    """Whether a letter of an alphabet is in a text."""
    return pattern(first, last).search(text) is not None


def unhyphened(text: str) -> tuple[str, int]:
    """A text with its UUIDs as 32 hexadecimal digits, and how many they are; the text itself and 0 where there are 32
    such digits in it already. A letter, a digit or ``_`` beside it makes either part of something else."""
    found = _UUID(r"\1\2\3\4\5", text)
    many = (len(text) - len(found)) // 4
    return (found, many) if many and not _DIGITS.search(text) else (text, 0)


def hyphened(text: str) -> str:
    """A text with the hyphens of its UUIDs: each 32 hexadecimal digits that stand alone are one."""
    return _DIGITS.sub(r"\1-\2-\3-\4-\5", text)


class Expander:
    """Puts back what aliases are, and the hyphens of UUIDs, body by body.

    Attributes:
        first: the alphabet's first character, and ``-`` where UUIDs are without hyphens; "": neither.
    """

    def __init__(self, first: str = "") -> None:
        letter = first.removesuffix(BARE)
        alphabet = alphabet_of(letter)
        if letter and alphabet is None:
            raise ValueError(f"there is no alphabet of aliases that begins with {letter!r}")
        self.first = first
        self._bare = first != letter
        self._split = None if alphabet is None else pattern(alphabet.first, alphabet.last, True).split
        self._known: dict[str, str] = {}

    def expand(self, body: str) -> str:
        """A body with the texts of its aliases and the hyphens of its UUIDs. Raises ValueError for an alias inside the
        text of another one, one of nothing, and more than LONGEST letters with its aliases filled in."""
        found = self._named(body)
        return hyphened(found) if self._bare else found

    def _named(self, body: str) -> str:
        """A body with the texts of its aliases."""
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


class Index:
    """A text in which others are counted, and replaced by aliases one after the other.

    Bodies are divided by NUL in it. The letters of aliases occur nowhere in the text, nor in what is replaced.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._replaced: list[tuple[str, str]] = []

    def count(self, part: str) -> int:
        """How often a text of two letters or more occurs in what is not replaced, as ``str.count`` counts."""
        return self._text.count(_long(part))

    def replace(self, part: str, alias: str) -> None:
        """Puts an alias, one letter, where a text of two letters or more is."""
        self._text = self._text.replace(_long(part), alias)
        self._replaced.append((part, alias))

    def around(self, part: str, places: int, letters: int) -> list[tuple[str, str]]:
        """What is before and behind a text where it comes first: at so many places, so many letters of that body."""
        text = self._text
        found: list[tuple[str, str]] = []
        at = text.find(_long(part))
        while at >= 0 and len(found) < places:
            end = at + len(part)
            before = text[max(text.rfind("\0", 0, at) + 1, at - letters) : at]
            found.append((before, text[end : end + letters].partition("\0")[0]))
            at = text.find(part, end)
        return found

    def choose(
        self,
        savings: dict[str, float],
        used: str,
        letters: dict[str, str],
        seen: AbstractSet[str],
        saving: Callable[[str], float],
        worth: float,
    ) -> tuple[dict[str, float], float]:
        """Replaces texts by aliases: again and again the one that saves most of what is left. Gives what each of them
        saves each time, in their order, and what all save together.

        savings: about what each text saves each time. used: the aliases in their order; letters: those of texts that
        have one already, if any do. seen: texts whose saving is exact. saving: counts that of another. worth: the least
        that an alias must save.
        """
        exact = dict(savings)
        seen = set(seen)
        heap = [(-gain, text) for text in exact if (gain := gained(exact[text], self.count(text))) >= worth]
        heapq.heapify(heap)
        found: dict[str, float] = {}
        total = 0.0
        while heap and len(found) < len(used):
            _, text = heapq.heappop(heap)
            times = self.count(text)
            gain = gained(exact[text], times)
            if gain >= worth and text not in seen:
                seen.add(text)
                exact[text] = saving(text)
                gain = gained(exact[text], times)
            if gain < worth:
                continue
            if heap and gain < -heap[0][0]:
                heapq.heappush(heap, (-gain, text))
                continue
            self.replace(text, letters[text] if letters else used[len(found)])
            found[text] = exact[text]
            total += gain
        return found, total

    def named(self, letters: dict[str, str]) -> str:
        """The text with its aliases, each named where it comes first: ``あxあ``, at the end of a body ``あx``.

        letters: of aliases that are written as another one, that one.
        """
        text, found, start = self._text, [], 0
        for at, part, alias in sorted((text.find(alias), part, alias) for part, alias in self._replaced):
            if at >= 0:
                ends = text[at + 1 : at + 2] in ("", "\0")
                found.append(text[start:at] + alias + part + ("" if ends else alias))
                start = at + 1
        whole = "".join([*found, text[start:]])
        return whole.translate({ord(alias): other for alias, other in letters.items()}) if letters else whole


def neighbours(text: str, first: str, last: str) -> dict[str, int]:
    """Two letters of an alphabet side by side in a text, and how often; in the order of the first of each."""
    runs_of = re.findall(f"[{first}-{last}]{{2,}}", text)
    return dict(Counter([run[at : at + 2] for run in runs_of for at in range(len(run) - 1)]))


def gained(saving: float, times: int) -> float:
    """The tokens that an alias saves that saves so many each time."""
    return (times - 1) * saving - NAMING if times > 1 else 0.0


def _long(part: str) -> str:
    if len(part) < 2:
        raise ValueError("a text of two letters or more is looked for")
    return part


def pieces(bodies: Sequence[str], most: int) -> tuple[list[str], list[int]]:
    """The different pieces of the first bodies, and which they are one after the other, by their numbers: behind those
    of the first body -1, of the second -2. No body is looked at behind ``most`` numbers."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    flat: list[int] = []
    for number, body in enumerate(bodies):
        flat += map(numbers.__getitem__, PIECES(body))
        flat.append(-1 - number)
        if len(flat) > most:
            break
    return list(numbers), flat


def spelled(flat: list[int], texts: list[str], weights: list[int], most: int) -> dict[str, float]:
    """The runs of ``runs`` as texts, those that may have an alias, and about how many tokens one saves each time: those
    of the pieces but one. texts, flat: as ``pieces`` gives them."""
    parts = [texts[number] if number >= 0 else "" for number in flat]
    whole, places = "".join(parts), list(accumulate(map(len, parts), initial=0))
    tokens = list(accumulate([weights[number] if number >= 0 else 0 for number in flat], initial=0))
    found: dict[str, float] = {}
    for _, first, many in runs(flat, weights, most):
        text = whole[places[first] : places[first + many]]
        if len(text) >= SHORTEST and _whole(text):
            found.setdefault(text, tokens[first + many] - tokens[first] - 1.0)
    return found


def _whole(text: str) -> bool:
    """Whether a text probably cuts no word or number: tokens go over such cuts, and a model would have to join them."""
    if text[-1] == " ":
        return "\n" in text
    return len(text) >= 8 or not (text[0].isdigit() or text[-1].isdigit())


def runs(flat: list[int], weights: Sequence[float], most: int) -> list[tuple[float, int, int]]:
    """Runs of pieces that come more than once: about what they save, where the first begins, how many pieces they are.

    flat: pieces by number; what divides bodies is negative, each another number, and the last. weights: tokens of each
    piece. most: so many are given, the greatest first.
    """
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(flat):
        if number >= 0:
            groups.setdefault(number, []).append(place)
    level = [(weights[number], places) for number, places in groups.items() if len(places) > 1]
    found: list[tuple[float, int, int]] = []
    for size in range(1, MOST_PIECES):
        longer: list[tuple[float, list[int]]] = []
        for weight, places in level:
            found.append(((len(places) - 1) * (weight - 1) - NAMING, places[0], size))
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
        found.append(((len(places) - 1) * (weight * size / MOST_PIECES - 1) - NAMING, places[0], size))
    return sorted(found, reverse=True)[:most]
