"""Ids that were given out, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

_DIGITS = 4000
"""Of longer numbers Python makes no int."""


class GivenIds:
    """A set of ids that only grows: a letter and a number each, which mostly follow one another.

    Runs of numbers are kept as their ends. Where there are more runs than ``room``, the lowest two become one; so all
    ids that were added are in it, and perhaps some that stand between low ones. Other ids are kept as they are, and of
    more than ``room`` of them each is taken for one that was given out.
    """

    __slots__ = ("_firsts", "_lasts", "_letter", "_others", "_room")

    def __init__(self, letter: str, room: int, ids: Iterable[str] = ()) -> None:
        self._letter = letter
        self._room = room
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._others: set[str] = set()
        for name in ids:
            self.add(name)

    def _number(self, name: str) -> int | None:
        digits = name[1:]
        plain = (
            name[:1] == self._letter and digits.isascii() and digits.isdigit() and (digits[0] != "0" or digits == "0")
        )
        return int(digits) if plain and len(digits) < 4000 else None

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        number = self._number(name)
        if number is None:
            return name in self._others or len(self._others) > self._room
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def add(self, name: str) -> None:
        """Adds an id."""
        number = self._number(name)
        if number is None:
            if len(self._others) <= self._room:
                self._others.add(name)
            return
        firsts, lasts = self._firsts, self._lasts
        place = bisect_right(firsts, number)
        if place and number <= lasts[place - 1]:
            return
        after = place < len(firsts) and firsts[place] == number + 1
        if place and lasts[place - 1] == number - 1:
            lasts[place - 1] = lasts[place] if after else number
            if after:
                del firsts[place], lasts[place]
        elif after:
            firsts[place] = number
        else:
            firsts.insert(place, number)
            lasts.insert(place, number)
        if len(firsts) > self._room:
            del firsts[1], lasts[0]
