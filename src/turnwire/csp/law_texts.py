"""Which laws a text repeats word for word, however many laws there are [TOKEN RULES 1]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice

_FEW = 8
"""So many texts are looked for one by one, without asking first whether that is less work."""
_AT_ONCE = 256
"""Characters of a value that are searched for a text while one part of it is cut out and looked up."""


class LawTexts:
    """The texts of laws, for the question which of them are in another text. least: characters of the shortest that
    is asked about."""

    def __init__(self, least: int) -> None:
        self._least = least
        self._texts: dict[str, str] = {}  # id -> text
        self._places: dict[str, int] = {}  # id -> how many laws were stated in front of it
        self._ids: dict[str, dict[str, None]] = {}  # text -> ids
        self._sizes: Counter[int] = Counter()  # of the texts
        self.changes = 0
        """How often a law was new, or had a new text."""

    def update(self, laws: Mapping[str, str]) -> None:
        """Takes laws; one whose id is known has a new text."""
        for name, text in laws.items():
            before = self._texts.get(name)
            if before == text:
                continue
            self.changes += 1
            self._places.setdefault(name, len(self._places))
            if before is not None:
                self._drop(name, before)
            self._texts[name] = text
            if len(text) >= self._least:
                if text not in self._ids:
                    self._sizes[len(text)] += 1
                self._ids.setdefault(text, {})[name] = None

    def _drop(self, name: str, text: str) -> None:
        names = self._ids.get(text)
        if names is None:
            return
        del names[name]
        if not names:
            del self._ids[text]
            self._sizes[len(text)] -= 1
            if not self._sizes[len(text)]:
                del self._sizes[len(text)]

    @property
    def few(self) -> list[str] | None:
        """The texts that are looked for; None where they are many."""
        return list(self._ids) if len(self._ids) <= _FEW else None

    def within(self, value: str, most: int | None = None) -> list[str]:
        """The ids of the laws whose text is in a value, in the order in which they were stated. most: of each text, no
        more than so many ids are looked at, and no more are given."""
        ids = self._ids
        texts = self._found(value) if len(ids) > _FEW else [text for text in ids if text in value]
        if not texts:
            return []
        names = (name for text in texts for name in islice(ids[text], most))
        return sorted(names, key=self._places.__getitem__)[:most]

    def _found(self, value: str) -> list[str] | set[str]:
        """Each text is looked for in the value, or each part of the value among the texts: whichever is less work."""
        sizes = [size for size in self._sizes if size <= len(value)]
        parts = sum(len(value) - size + 1 for size in sizes)
        if len(self._ids) * (1 + len(value) // _AT_ONCE) <= parts:
            return [text for text in self._ids if text in value]
        cut = (value[at : at + size] for size in sizes for at in range(len(value) - size + 1))
        return {part for part in cut if part in self._ids}
