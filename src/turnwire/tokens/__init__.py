"""Token budgets: what messages cost a model, in every wire, beside other formats, counted offline."""

from __future__ import annotations

from turnwire.tokens.advice import Advice, Change, Cost, advise
from turnwire.tokens.budget import Price
from turnwire.tokens.comparison import Comparison, Row, compare
from turnwire.tokens.loading import Vocabulary, count, count_many, load, tokenizers, vocabulary
from turnwire.tokens.parts import Part, ablate
from turnwire.tokens.tokenizer import Tokenizer

__all__ = [
    "Advice",
    "Change",
    "Comparison",
    "Cost",
    "Part",
    "Price",
    "Row",
    "Tokenizer",
    "Vocabulary",
    "ablate",
    "advise",
    "compare",
    "count",
    "count_many",
    "load",
    "tokenizers",
    "vocabulary",
]
