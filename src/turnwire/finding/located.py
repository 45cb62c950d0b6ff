"""The records and rejects of a scan, one by one and in the order of the input. Whatever else reads messages out of text
reads these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, Reason

if TYPE_CHECKING:
    from turnwire.log import Batch

_COLUMNS = ("offset", "length", "line", "wire", "inner")
_UNCLOSED = "inside_unclosed_heredoc"


class Located(NamedTuple):
    """A record or a reject.

    file: where it stands, None for bytes. offset, length: its bytes as written there; in a JSON string the offset is
    that of the outermost string's quote, and ``inner`` (else None) the byte in what that string says. line: 1-based,
    the one in which it begins. wire: whose it is. raw: its bytes, in a JSON string those that the string says.
    message: what it says, None for a reject. error: why a reject is none: ``offset`` and ``line`` are those of the
    byte where reading failed, ``path`` is the JSON pointer, if any. doubtful: a CSP/1 message that a heredoc which is
    never closed would have swallowed.
    """

    file: str | None
    offset: int
    length: int
    line: int
    inner: int | None
    wire: str
    raw: bytes
    message: Any = None
    error: DecodeError | None = None
    doubtful: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """What comes earlier in a file has the smaller one."""
        return self.offset, -1 if self.inner is None else self.inner


def located(
    source: Any,
    wire: str | None = None,
    *,
    unknown: str = "error",
    limits: Limits = LIMITS,
    fences: bool = False,
    rejects: bool = True,
    settled: Callable[[bytes], bool] | None = None,
) -> Iterator[Located]:
    """Every record and reject of :func:`turnwire.scan`, in the order of the input, in bounded memory.

    Args:
        source: what ``scan`` takes; bytes-like data is data itself.
        wire: the wire whose records and rejects are wanted; None for all.
        unknown, limits, fences: as ``scan`` has them.
        rejects: whether rejects are wanted; what is wrong with each takes longer to say than to find it.
        settled: of which bytes of a record no message has to be made: ``message`` is None then.

    Raises what ``scan`` raises.
    """
    from turnwire.log.scan import scan

    columns = (*_COLUMNS, _UNCLOSED) if wire == "csp" else _COLUMNS
    errors = "collect" if rejects else "skip"
    found = scan(source, wire=wire, columns=columns, unknown=unknown, limits=limits, fences=fences, errors=errors)
    if not rejects:
        for batch in found:
            yield from _of_batch(batch, settled)
        return
    done = 0
    for batch in found:
        new = [_of_reject(reject, unknown) for reject in found.rejects.since(done)]
        done += len(new)
        yield from (one for one in new if one.file != batch.file)
        here = [one for one in new if one.file == batch.file]
        ones = _of_batch(batch, settled)
        yield from sorted([*here, *ones], key=_place) if here else ones
    yield from (_of_reject(reject, unknown) for reject in found.rejects.since(done))


def _place(one: Located) -> tuple[int, int]:
    return one.place


def _of_batch(batch: Batch, settled: Callable[[bytes], bool] | None) -> Iterator[Located]:
    names, file = registry.names(), batch.file
    codes = set(batch["wire"].tolist())
    decoders = {code: batch.decoder(names[code]) for code in codes}
    numbers = (batch[name].tolist() for name in ("offset", "length", "line", "wire"))
    inside = zip(batch["inner"].tolist(), batch.valid("inner").tolist(), strict=True)
    inners = [inner if there else None for inner, there in inside]
    doubts = batch[_UNCLOSED].tolist() if _UNCLOSED in batch.names else [False] * len(batch)
    rows = zip(*numbers, inners, doubts, batch.raws(), strict=True)
    for offset, length, line, code, inner, doubtful, raw in rows:
        message = None if settled is not None and settled(raw) else decoders[code](raw)
        yield Located(file, offset, length, line, inner, names[code], raw, message, None, doubtful)


def _of_reject(reject: dict[str, Any], unknown: str) -> Located:
    from turnwire.log.output.rejects import explained, fault_line

    reason, wire = Reason(reject["reason"]), reject["wire"]
    text, path = explained(wire, str(reason), reject["raw"], reject["inner"], unknown)
    line = fault_line(reject)
    error = DecodeError(reason, text, offset=reject["fault"], line=line, wire=wire, path=path)
    places = (reject["offset"], reject["length"], reject["line"], reject["inner"])
    return Located(reject["file"], *places, wire, reject["raw"], None, error)


def checked(wire: str) -> str:
    """The name of a wire. Raises DecodeError(unknown_wire) for any other."""
    return registry.wire(wire).name
