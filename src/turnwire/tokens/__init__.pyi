from turnwire.tokens.advice import Advice as Advice, Change as Change, Cost as Cost, advise as advise
from turnwire.tokens.budget import Price as Price
from turnwire.tokens.comparison import Comparison as Comparison, Row as Row, compare as compare
from turnwire.tokens.loading import (
    Vocabulary as Vocabulary,
    count as count,
    count_many as count_many,
    load as load,
    tokenizers as tokenizers,
    vocabulary as vocabulary,
)
from turnwire.tokens.tokenizer import Tokenizer as Tokenizer
