from turnwire.tokens.advice import Advice as Advice, Change as Change, Cost as Cost, Price as Price, advise as advise
from turnwire.tokens.comparison import Comparison as Comparison, Row as Row, compare as compare
from turnwire.tokens.tokenizer import (
    Tokenizer as Tokenizer,
    Vocabulary as Vocabulary,
    count as count,
    count_many as count_many,
    load as load,
    tokenizers as tokenizers,
    vocabulary as vocabulary,
)
