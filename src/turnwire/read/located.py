"""The records and rejects of a scan, one by one and in the order of the input; whatever else reads messages out of text
reads these, as the checklists of wires do here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.checklists import Checklist, RecordChecklist, Specification, checklist_of
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, Reason, UnknownName

if TYPE_CHECKING:
    from turnwire.log import Batch, Scan

COLUMNS = ("offset", "length", "line", "wire", "inner")
_UNCLOSED = "inside_unclosed_heredoc"


class Located(NamedTuple):
    """A record or a reject.

    file: where it is, None for bytes. offset, length: its bytes as written there; in a JSON string the offset is
    that of the outermost string's quote, and ``inner`` (else None) the byte in what that string says. line: 1-based,
    the one in which it begins. wire: whose it is. raw: its bytes; of a record in a JSON string those that it says.
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
        """A key for sorting: what comes earlier in a file has the smaller one."""
        return self.offset, -1 if self.inner is None else self.inner


def located(source: Any, wire: str | None = None, **options: Any) -> Iterator[Located]:
    """Every record and reject of :func:`turnwire.scan`, in the order of the input, in bounded memory. Takes and raises
    what :func:`pieces` does."""
    for piece in pieces(source, wire, **options):
        yield from piece.of()


class ScannedPiece(NamedTuple):
    """A batch of records, and the rejects that were met up to its end. batch: None after the last one."""

    batch: Batch | None
    rejects: list[Located]

    def of(self, wire: str | None = None, rows: Any = None) -> Iterator[Located]:
        """The records and the rejects, of a wire or of all, in the order of the input. rows: only these records."""
        rejects = [one for one in self.rejects if wire is None or one.wire == wire]
        if self.batch is None:
            return iter(rejects)
        before = [one for one in rejects if one.file != self.batch.file]
        here, ones = rejects[len(before) :], _of_batch(self.batch, wire, rows)
        return chain(before, sorted([*here, *ones], key=attrgetter("place")) if here else ones)


def pieces(
    source: Any,
    wire: str | None = None,
    *,
    unknown: str = "error",
    limits: Limits = LIMITS,
    fences: bool = False,
    rejects: bool = True,
) -> Iterator[ScannedPiece]:
    """Yields the records and rejects of :func:`turnwire.scan`, batch by batch.

    Args:
        source: what ``scan`` takes; bytes-like data is data itself.
        wire: the wire whose records and rejects are wanted; None for all.
        unknown, limits, fences: as ``scan`` has them.
        rejects: whether rejects are wanted; what is wrong with each takes longer to say than to find it.

    Raises what ``scan`` raises.
    """
    from turnwire.log.scanning import scan

    wanted = (*COLUMNS, _UNCLOSED) if wire == "csp" else COLUMNS
    errors = "collect" if rejects else "skip"
    found = scan(source, wire=wire, columns=wanted, unknown=unknown, limits=limits, fences=fences, errors=errors)
    return pieces_of(found, unknown, rejects)


def pieces_of(found: Scan, unknown: str = "error", rejects: bool = True) -> Iterator[ScannedPiece]:
    """The same of a scan with the columns ``COLUMNS`` at least."""
    done = 0
    for batch in chain(found, (None,)):
        new = [_of_reject(one, unknown) for one in found.rejects.since(done)] if rejects else []
        done = len(found.rejects)
        yield ScannedPiece(batch, new)


def _of_batch(batch: Batch, wire: str | None, rows: Any) -> Iterator[Located]:
    """The records of a batch, of a wire, in some rows, or all."""
    codes = batch.codes("wire")
    if rows is None:
        rows = (codes >= 0 if wire is None else codes == registry.names().index(wire)).nonzero()[0]
    file = batch.file
    numbers = {name: batch[name][rows].tolist() for name in COLUMNS}
    decoders = {name: batch.decoder(name) for name in set(numbers["wire"])}
    inside = zip(numbers.pop("inner"), batch.valid("inner")[rows].tolist(), strict=True)
    inners = [inner if there else None for inner, there in inside]
    doubts = batch[_UNCLOSED][rows].tolist() if _UNCLOSED in batch.names else [False] * len(rows)
    every = zip(*numbers.values(), inners, doubts, batch.raws(rows), strict=True)
    for offset, length, line, name, inner, doubtful, raw in every:
        yield Located(file, offset, length, line, inner, name, raw, decoders[name](raw), None, doubtful)


def _of_reject(reject: dict[str, Any], unknown: str) -> Located:
    from turnwire.log.output.rejects import explained, fault_line

    reason = Reason(reject["reason"])
    text, path = explained(reject["wire"], reject["reason"], reject["raw"], reject["inner"], unknown)
    line = fault_line(reject)
    error = DecodeError(reason, text, offset=reject["fault"], line=line, wire=reject["wire"], path=path)
    places = (reject["offset"], reject["length"], reject["line"], reject["inner"])
    return Located(reject["file"], *places, reject["wire"], reject["raw"], None, error)


def specification(wire: str) -> Specification:
    """The specification of a wire. Raises UnknownName if there is no such wire, or it has no checklist."""
    found: Specification | None = registry.wire(wire).checklist
    if found is None:
        raise UnknownName("wire", wire, text=f"{wire} has no checklist")
    return found


def record_checklist(wire: str, **options: Any) -> RecordChecklist:
    """A new checklist of a wire. Raises TypeError for options that it does not have; None means "not given"."""
    found = specification(wire)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in found.options and name != "now":
            raise TypeError(f"{name} is not an option of {wire}; those are {', '.join(('now', *found.options))}")
    checker: RecordChecklist = found.checker(**{name: value for name, value in given.items() if name in found.options})
    return checker


def conform(
    wire: str,
    data: bytes,
    *,
    file: str | None = None,
    fences: bool = False,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> Checklist:
    """The checklist of a wire over the bytes of a file: one history.

    Args:
        file: the name that faults carry.
        fences: as :func:`turnwire.scan` has it.
        progress: called often, with the bytes and the records that were checked.
        options: of the wire's checker, such as ``now`` or ``policy``.
    """
    found = specification(wire)
    checker = record_checklist(wire, **options)
    several = pieces(data, None if found.around else wire, fences=fences)
    if found.around:
        from turnwire.read.surroundings import LocatedRecords

        several = list(several)  # type: ignore[assignment]
        checker.look(LocatedRecords(data, several))  # type: ignore[attr-defined, arg-type]
    for piece in several:
        for one in piece.of(wire):
            if one.error is None:
                checker.records += 1
                checker.message(one.message, one.line, one.offset, one.raw)
            else:
                checker.rejects += 1
                checker.refused(one.error, one.error.line or one.line, one.error.offset, one.raw)
            if progress is not None:
                progress(one.offset, checker.records)
    checker.end()
    return checklist_of(wire, found.clauses, checker, file)


def conformance(wire: str, messages: Iterable[tuple[int, Any]], **options: Any) -> Checklist:
    """The checklist of messages or their texts, each with its number; or with the DecodeError that says why it is
    none."""
    checker = record_checklist(wire, **options)
    decode = registry.wire(wire).decode
    for number, message in messages:
        raw = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
        try:
            if isinstance(message, DecodeError):
                raise message
            made = decode(message) if isinstance(message, (str, bytes)) else message
        except DecodeError as error:
            checker.rejects += 1
            checker.refused(error, number, None, raw if isinstance(raw, bytes) else None)
            continue
        checker.records += 1
        checker.message(made, number, None, raw if isinstance(raw, bytes) else None)
    checker.end()
    return checklist_of(wire, specification(wire).clauses, checker)
