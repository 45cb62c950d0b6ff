"""Token budgets: what messages cost a model, in every wire, beside other formats, counted offline."""

from __future__ import annotations

from turnwire.tokens.counting import count, count_many
from turnwire.tokens.loading import load, tokenizers, vocabulary
from turnwire.tokens.tokenizer import Tokenizer
from turnwire.tokens.vocabularies import Vocabulary

__all__ = ["Tokenizer", "Vocabulary", "count", "count_many", "load", "tokenizers", "vocabulary"]
