"""Tokens of records, where the extra ``tokens`` is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turnwire.errors import MissingDependency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk

DEFAULT = "o200k_base"
SLICE = 8192
"""Records whose text is in memory at once."""


class Meter(NamedTuple):
    """Counts tokens, or says why it cannot. name: the tokenizer's; measure: texts -> tokens of each, or None."""

    name: str
    measure: Callable[[list[str]], list[int]] | None
    why_not: str | None = None


def meter(tokenizer: str | None) -> Meter:
    """The meter of a tokenizer; "default" takes the usual one where it is installed, None measures nothing.

    Raises MissingDependency or ValueError for a tokenizer that was named and is not there.
    """
    if tokenizer is None:
        return Meter("", None, "tokens were not requested")
    name = DEFAULT if tokenizer == "default" else tokenizer
    try:
        tokens = import_module("turnwire.tokens")
        tokens.count("", name)  # a tokenizer that is not there says so now, not after the log was read
    except (MissingDependency, ModuleNotFoundError) as missing:
        if isinstance(missing, ModuleNotFoundError) and missing.name != "turnwire.tokens":
            raise
        if tokenizer != "default":
            raise MissingDependency("counting tokens needs a tokenizer: pip install 'turnwire[tokens]'") from missing
        return Meter(name, None, "counting tokens needs the extra: pip install 'turnwire[tokens]'")
    return Meter(name, lambda texts: [int(count) for count in tokens.count_many(texts, name)])


def tokens_of(chunk: Chunk, used: Meter) -> NDArray[np.int64] | None:
    """The tokens of each record of a chunk as written, or None where they are not measured."""
    if used.measure is None:
        return None
    result = np.empty(len(chunk), np.int64)
    raws = chunk.raws()
    for start in range(0, len(chunk), SLICE):
        texts = [raw.decode("utf-8", "replace") for raw in islice(raws, SLICE)]
        result[start : start + len(texts)] = used.measure(texts)
    return result
