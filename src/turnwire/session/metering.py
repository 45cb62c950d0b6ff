"""What counts tokens: a tokenizer, or a guess by characters where there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

_PIECES = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}|[^\w\s]{1,3}\n?|\s+|_").findall


class Meter(Protocol):
    """Counts the tokens of texts."""

    def count(self, text: str) -> int:
        """The tokens of one text."""

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""


class Guess:
    """About how many tokens a text is, when nobody counts."""

    def count(self, text: str) -> int:
        """The tokens of one text, as ``guessed`` guesses them."""
        return guessed(text)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        return [guessed(text) for text in texts]


def guessed(text: str) -> int:
    """About how many tokens a text is, by its letters."""
    return len(_PIECES(text))


def meter_of(tokenizer: str | os.PathLike[str] | Tokenizer | None) -> Meter:
    """What counts tokens. Raises what ``turnwire.tokens.load`` raises."""
    if tokenizer is None:
        return Guess()
    from turnwire.tokens.loading import load

    return load(tokenizer)
