"""Token budgets: what messages cost a model, in every wire, beside other formats, counted offline."""

from __future__ import annotations

from turnwire.tokens.advice import Advice, Change, Cost
from turnwire.tokens.advice import advise
from turnwire.tokens.comparison import compare
from turnwire.tokens.comparison import Comparison, Row
from turnwire.tokens.counting import count, count_many
from turnwire.tokens.loading import load, tokenizers, vocabulary
from turnwire.tokens.parts import Part, ablate
from turnwire.tokens.prices import Price
from turnwire.tokens.tokenizer import Tokenizer
from turnwire.tokens.vocabularies import Vocabulary

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
