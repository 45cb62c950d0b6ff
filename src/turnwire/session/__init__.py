"""Sessions: events that a model reads again and again, as text of few tokens, nothing lost and loss detected."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.session.encoding import Options, encode
    from turnwire.session.header import prompt
    from turnwire.session.reading import Reader, decode, lines_of
    from turnwire.session.salvaging import Part, Salvage, salvage, seal
    from turnwire.session.streaming import Writer

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
    "header": "prompt",
    "reading": "Reader decode lines_of",
    "salvaging": "Part Salvage salvage seal",
    "streaming": "Writer",
}

__getattr__, __dir__ = lazy(__name__, _HOMES)
