"""Aliases: what comes again anywhere in the records of a block, as one character: ``あxあ`` names x, then ``あ`` is x.

This is a layer of its own over the bodies of records: a reader puts the texts back before it looks at a body, whatever
they are parts of. The characters are of an alphabet that occurs nowhere else in the block. Two letters of an alphabet
are often one token of their own (``です``). What they stand for does not matter to them, so they are given to those
aliases that are neighbours most often.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, permutations
from typing import NamedTuple

from turnwire.session.framing import BARE

Meter = Callable[[Sequence[str]], list[int]]
"""Gives the tokens of each text."""


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
LONGEST = 1 << 20  # letters of a record whose aliases are filled in; one that is longer as it is written has none
MOST_PIECES = 16  # pieces up to which any repeated text is a candidate; of longer ones only the longest
MOST_LOOKED = 12_000  # pieces of a block up to which it is searched for repeated texts
MOST_CANDIDATES = 3_000
MOST_PLACES, AROUND = 6, 12
"""The saving of an alias is counted at so many places of its text, with so many letters around it."""
DEFINITION_TOKENS = 2.0  # the tokens of a definition: the alias before and after the text
LEAST_GAIN = 1.0  # tokens that an alias must save
SETTING_TOKENS = 12.0  # the tokens of the setting for aliases and its explanation
SHORTEST = 2  # letters of a text that may have an alias
MOST_NEIGHBOURS = 200  # pairs of aliases that are looked at: those that come most often
LEAST_UUIDS = 3  # UUIDs from which leaving out hyphens saves more than its setting costs
_PIECES = re.compile(r"\|+| ?[^\W\d_]+|\d{1,3}|\n *| ?[^\w\s|]+|\s|_").findall
"""About the tokens of a text: together they are all of it."""
_ALONE = r"(?<![0-9A-Za-z_]){}(?![0-9A-Za-z_])"
_SIZES = [f"([0-9A-Fa-f]{{{size}}})" for size in (8, 4, 4, 4, 12)]
_UUID = re.compile(_ALONE.format("-".join(_SIZES)))
_DIGITS = re.compile(_ALONE.format("".join(_SIZES)))


def bare(bodies: list[str]) -> tuple[str, list[str]]:
    """Bodies without the hyphens of their UUIDs, and the word for that; "" and the bodies themselves where there are
    too few, or where 32 hexadecimal digits stand in them already."""
    text = "\0".join(bodies)
    found, many = _UUID.subn(r"\1\2\3\4\5", text)
    if many < LEAST_UUIDS or _DIGITS.search(text) or found.count("\0") >= len(bodies):
        return "", bodies
    return BARE, found.split("\0")


class Expander:
    """Puts back what aliases are, and the hyphens of UUIDs, body by body.

    aliases: the first letter of their alphabet, and ``-`` where UUIDs are without hyphens; "": neither. Raises
    ValueError for another alphabet.
    """

    def __init__(self, aliases: str) -> None:
        first = aliases.removesuffix(BARE)
        alphabet = next((each for each in ALPHABETS if each.first == first), None)
        if first and alphabet is None:
            raise ValueError(f"no alias alphabet begins with {first!r}")
        self._bare = aliases != first
        letters = "" if alphabet is None else f"{alphabet.first}-{alphabet.last}"
        self._aliases = re.compile(rf"([{letters}])(?:([^{letters}]++)(?:\1|\Z))?") if letters else None
        self._known: dict[str, str] = {}

    def expand(self, body: str) -> str:
        """A body with the texts of its aliases and the hyphens of its UUIDs. Raises ValueError for an alias inside the
        text of another one, one of nothing, and more than LONGEST characters after replacing its aliases."""
        if self._aliases is not None and not body.isascii():
            self._size = len(body)
            body = self._aliases.sub(self._filled, body)
        return _DIGITS.sub(r"\1-\2-\3-\4-\5", body) if self._bare else body

    def _filled(self, found: re.Match[str]) -> str:
        """An alias, and what is between it and the next one if that is the same or there is none, with its text."""
        alias, rest = found.groups()
        text = self._known.get(alias)
        if text is None:
            if not rest:
                raise ValueError("the text of an alias is empty or contains another alias")
            self._known[alias] = rest
            return str(rest)
        self._size += len(text) * found[0].count(alias)
        if self._size > LONGEST:
            raise ValueError(f"a record has more than {LONGEST} characters after replacing its aliases")
        return found[0].replace(alias, text)


class Shortener:
    """Finds what comes again in the first block, and writes it as aliases there and in later ones."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._alphabet: Alphabet | None = None
        self._letters: dict[str, str] = {}  # of that alphabet: those of the first aliases
        self._savings: dict[str, float] = {}  # what these save each time

    def shortened(self, bodies: list[str]) -> tuple[str, list[str]]:
        """The first character of the alphabet of the aliases ("" if there are none), and the bodies with them."""
        text = "\0".join(bodies)
        alphabet = next((each for each in ALPHABETS if not re.search(f"[{each.first}-{each.last}]", text)), None)
        if alphabet is None or text.count("\0") >= len(bodies) or max(map(len, bodies), default=0) > LONGEST // 2:
            return "", bodies
        savings = self._savings or repeated(bodies, self._meter)
        letters = self._letters if alphabet is self._alphabet else {}
        text, chosen, total = self._replaced(text, alphabet, letters, savings)
        if total <= SETTING_TOKENS:
            return "", bodies
        text = _with_names(text, chosen)
        if not letters:
            better = arranged(text, alphabet, len(chosen), joined(self._meter, alphabet))
            text = text.translate({ord(alias): letter for alias, letter in better.items()})
            if not self._savings:
                self._alphabet, self._savings = alphabet, {part: savings[part] for part in chosen}
                self._letters = {part: better[alias] for part, alias in chosen.items()}
        return alphabet.first, text.split("\0")

    def _replaced(
        self, text: str, alphabet: Alphabet, letters: dict[str, str], savings: dict[str, float]
    ) -> tuple[str, dict[str, str], float]:
        """The text with aliases: again and again the one that saves most of what is left; what each stands for, with
        itself, in their order; what all save together. letters: those of an earlier block. savings: about what an alias
        saves each time; that of a text is exact as soon as it is chosen."""
        exact = set(self._savings)
        gains = [(_gained(saving, text.count(part)), part) for part, saving in savings.items()]
        heap = [(-gain, part) for gain, part in gains if gain >= LEAST_GAIN]
        heapq.heapify(heap)
        chosen: dict[str, str] = {}
        total = 0.0
        while heap and len(chosen) < len(alphabet.used):
            _, part = heapq.heappop(heap)
            times = text.count(part)
            gain = _gained(savings[part], times)
            if gain >= LEAST_GAIN and part not in exact:
                exact.add(part)
                savings[part] = self._saving(text, part, alphabet.first)
                gain = _gained(savings[part], times)
            if gain < LEAST_GAIN:
                continue
            if heap and gain < -heap[0][0]:
                heapq.heappush(heap, (-gain, part))
                continue
            chosen[part] = letters[part] if letters else alphabet.used[len(chosen)]
            text = text.replace(part, chosen[part])
            total += gain
        return text, chosen, total

    def _saving(self, text: str, part: str, alias: str) -> float:
        """The tokens that an alias saves each time, beside what is around it where it comes first."""
        pairs = pairwise(text.split(part, MOST_PLACES))
        around = [(one[-AROUND:].rpartition("\0")[2], other[:AROUND].partition("\0")[0]) for one, other in pairs]
        sizes = self._meter([before + one + after for one in (part, alias) for before, after in around])
        return (sum(sizes[: len(around)]) - sum(sizes[len(around) :])) / len(around)


def _gained(saving: float, times: int) -> float:
    """The tokens that an alias saves that saves so many each time."""
    return (times - 1) * saving - DEFINITION_TOKENS if times > 1 else 0.0


def _with_names(text: str, aliases: dict[str, str]) -> str:
    """A text in which each alias is named where it comes first: ``あxあ``, at the end of a body ``あx``.

    aliases: what each stands for, and itself.
    """
    parts = {alias: part for part, alias in aliases.items()}

    def named(found: re.Match[str]) -> str:
        alias, is_last = found[0], text[found.end() : found.end() + 1] in ("", "\0")
        part = parts.pop(alias, "")
        return alias + part + alias * (part != "" and not is_last)

    return re.sub(f"[{''.join(parts)}]", named, text)


def repeated(bodies: Sequence[str], meter: Meter) -> dict[str, float]:
    """Texts that come more than once in the first bodies, those that may save most tokens, and about how many an alias
    saves each time: the tokens of their pieces but one."""
    pieces: list[str | int] = []
    for number, body in enumerate(bodies):
        pieces += _PIECES(body)
        pieces.append(number)  # nothing that comes again goes over the end of a body
        if len(pieces) > MOST_LOOKED:
            break
    texts = [piece for piece in dict.fromkeys(pieces) if isinstance(piece, str)]
    weights: dict[str | int, int] = dict(zip(texts, meter(texts), strict=True))
    tokens = list(accumulate([weights.get(piece, 0) for piece in pieces], initial=0))
    runs: list[tuple[float, int, int]] = []  # what may be saved, where a run begins, how many pieces it is
    starts: Iterable[int] = range(len(pieces))
    for size in range(1, MOST_PIECES + 1):
        groups: dict[tuple[str | int, ...], list[int]] = defaultdict(list)
        for start in starts:
            groups[tuple(pieces[start : start + size])].append(start)
        again = [places for places in groups.values() if len(places) > 1]
        starts = [place for places in again for place in places]
        for places in again if size < MOST_PIECES else ():
            gain = (len(places) - 1) * (tokens[places[0] + size] - tokens[places[0]] - 1) - DEFINITION_TOKENS
            runs.append((gain, places[0], size))
    for places in again:
        if places[0] and len({pieces[place - 1] for place in places}) == 1:
            continue  # part of a longer one
        size, weight = MOST_PIECES, tokens[places[0] + MOST_PIECES] - tokens[places[0]]
        while len({pieces[place + size] for place in places}) == 1:
            size += 1
        runs.append(((len(places) - 1) * (weight * size / MOST_PIECES - 1) - DEFINITION_TOKENS, places[0], size))
    found: dict[str, float] = {}
    for _, first, size in sorted(runs, reverse=True)[:MOST_CANDIDATES]:
        text = "".join(map(str, pieces[first : first + size]))
        if len(text) >= SHORTEST and _is_whole(text):
            found.setdefault(text, tokens[first + size] - tokens[first] - 1.0)
    return found


def _is_whole(text: str) -> bool:
    """A text probably cuts no word or number: tokens go over such cuts, and a model would have to join them."""
    if text[-1] == " ":
        return "\n" in text
    return len(text) >= 8 or not (text[0].isdigit() or text[-1].isdigit())


@lru_cache(8)
def joined(meter: Meter, alphabet: Alphabet) -> frozenset[str]:
    """The pairs of letters of an alphabet that are one token."""
    pairs = list(map("".join, permutations(alphabet.used, 2)))
    return frozenset([pair for pair, size in zip(pairs, meter(pairs), strict=True) if size == 1])


def arranged(text: str, alphabet: Alphabet, many: int, pairs: Collection[str]) -> dict[str, str]:
    """For the first letters of an alphabet, as many as are aliases in a text, those that they should be instead: those
    first that are side by side most often, each the free letter that makes most pairs with those of its neighbours."""
    runs = re.findall(f"[{alphabet.first}-{alphabet.last}]{{2,}}", text)
    neighbours = Counter([run[at : at + 2] for run in runs for at in range(len(run) - 1)]).most_common(MOST_NEIGHBOURS)
    beside: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for pair, times in neighbours:
        for alias in pair:
            beside[alias].append((pair, times))
    rich = Counter("".join(pairs))
    free = sorted(alphabet.used, key=lambda letter: -rich[letter])
    given: dict[str, str] = {}
    for alias in dict.fromkeys("".join(pair for pair, _ in neighbours) + alphabet.used[:many]):
        around = [(given.get(pair[0], ""), given.get(pair[1], ""), times) for pair, times in beside[alias]]
        scores = [sum([n for one, other, n in around if one + letter + other in pairs]) for letter in free]
        given[alias] = free.pop(scores.index(max(scores)))
    return given
