"""Sessions: events that a model reads again and again, as text of few tokens, nothing lost and loss detected."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.session.encoding import Options, encode
    from turnwire.session.howto import prompt
    from turnwire.session.reading import decode, lines_of
    from turnwire.session.salvaging import Part, Salvage, salvage
    from turnwire.session.sealing import seal
    from turnwire.session.streaming import Reader, Writer

__all__ = [
    "Options",
    "Part",
    "Reader",
    "Salvage",
    "Writer",
    "decode",
    "encode",
    "lines_of",
    "prompt",
    "salvage",
    "seal",
]

_HOMES = {
    "encoding": "Options encode",
    "howto": "prompt",
    "reading": "decode lines_of",
    "salvaging": "Part Salvage salvage",
    "sealing": "seal",
    "streaming": "Reader Writer",
}

__getattr__, __dir__ = lazy(__name__, _HOMES)
