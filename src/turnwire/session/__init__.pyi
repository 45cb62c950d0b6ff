from turnwire.session.framing import prompt as prompt
from turnwire.session.reading import (
    Part as Part,
    Reader as Reader,
    Salvage as Salvage,
    decode as decode,
    lines_of as lines_of,
    salvage as salvage,
    seal as seal,
)
from turnwire.session.writing import Options as Options, Writer as Writer, encode as encode
