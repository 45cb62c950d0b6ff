from turnwire.tokens.advice import Advice as Advice
from turnwire.tokens.advice import Change as Change
from turnwire.tokens.advice import Cost as Cost
from turnwire.tokens.advice import advise as advise
from turnwire.tokens.budget import Price as Price
from turnwire.tokens.comparison import Comparison as Comparison
from turnwire.tokens.comparison import Row as Row
from turnwire.tokens.comparison import compare as compare
from turnwire.tokens.loading import (
    Vocabulary as Vocabulary,
)
from turnwire.tokens.loading import (
    count as count,
)
from turnwire.tokens.loading import (
    count_many as count_many,
)
from turnwire.tokens.loading import (
    load as load,
)
from turnwire.tokens.loading import (
    tokenizers as tokenizers,
)
from turnwire.tokens.loading import (
    vocabulary as vocabulary,
)
from turnwire.tokens.parts import Part as Part
from turnwire.tokens.parts import ablate as ablate
from turnwire.tokens.tokenizer import Tokenizer as Tokenizer
