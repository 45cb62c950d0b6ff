"""How many tokens texts are."""

from __future__ import annotations

import os
from collections.abc import Iterable

from turnwire.tokens.loading import load
from turnwire.tokens.tokenizer import Tokenizer

DEFAULT = "o200k_base"


def count(text: str, tokenizer: str | os.PathLike[str] | Tokenizer = DEFAULT) -> int:
    """How many tokens a text is, special tokens counted as the text that they are.

    tokenizer: a name of ``tokenizers()``, a path of your own vocabulary, or what ``load`` gave. Raises
    EncodeError(lone_surrogate, wrong_type), what ``load`` raises, and MissingDependency without the extra ``tokens``.
    """
    return load(tokenizer).count(text)


def count_many(
    texts: Iterable[str], tokenizer: str | os.PathLike[str] | Tokenizer = DEFAULT, threads: int = 1
) -> list[int]:
    """The tokens of each text, in order. The same as ``count`` of each, many times faster; raises what it raises.

    threads: how many work at once, without Python's lock. An EncodeError's ``path`` is the number of the text.
    """
    if isinstance(texts, str):
        texts = [texts]
    return load(tokenizer).count_many(texts, threads)
