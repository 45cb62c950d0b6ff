"""Counters of tokens: a tokenizer, or a guess by letters where there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

_PIECES = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}|[^\w\s]{1,3}\n?|\s+|_").findall


class Guess:
    """About how many tokens a text is, by its letters."""

    def count(self, text: str) -> int:
        """The tokens of one text."""
        return len(_PIECES(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        return list(map(self.count, texts))


Meter: TypeAlias = "Tokenizer | Guess"


def meter_of(tokenizer: str | os.PathLike[str] | Tokenizer | None) -> Meter:
    """A counter of tokens. Raises what ``turnwire.tokens.load`` raises."""
    if tokenizer is None:
        return Guess()
    from turnwire.tokens.loading import load

    return load(tokenizer)
