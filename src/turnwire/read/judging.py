"""Conformance checking: the one place that reads messages and passes each to the checklist of its wire.

The records and the rejects of the finder are checked, in the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turnwire import registry
from turnwire.checklists import Checklist, RecordChecklist, Specification, checklist_of
from turnwire.errors import DecodeError, UnknownName
from turnwire.read.located import pieces


def specification(wire: str) -> Specification:
    """The specification of a wire. Raises UnknownName if there is no such wire, or it has no checklist."""
    found: Specification | None = registry.wire(wire).checklist
    if found is None:
        raise UnknownName("wire", wire, text=f"{wire} has no checklist")
    return found


def judge_of(wire: str, **options: Any) -> RecordChecklist:
    """A new checklist of a wire. Raises TypeError for options that it does not have; None means "not given"."""
    found = specification(wire)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in found.options and name != "now":
            raise TypeError(f"{name} is not an option of {wire}; those are {', '.join(('now', *found.options))}")
    judge: RecordChecklist = found.judge(**{name: value for name, value in given.items() if name in found.options})
    return judge


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
        options: of the wire's judge, such as ``now`` or ``policy``.
    """
    found = specification(wire)
    judge = judge_of(wire, **options)
    several = pieces(data, None if found.around else wire, fences=fences)
    if found.around:
        from turnwire.read.surroundings import LocatedRecords

        several = list(several)  # type: ignore[assignment]
        judge.look(LocatedRecords(data, several))  # type: ignore[attr-defined, arg-type]
    for piece in several:
        for one in piece.of(wire):
            if one.error is None:
                judge.records += 1
                judge.message(one.message, one.line, one.offset, one.raw)
            else:
                judge.rejects += 1
                judge.refused(one.error, one.error.line or one.line, one.error.offset, one.raw)
            if progress is not None:
                progress(one.offset, judge.records)
    judge.end()
    return checklist_of(wire, found.clauses, judge, file)


def conformance(wire: str, messages: Iterable[tuple[int, Any]], **options: Any) -> Checklist:
    """The checklist of messages or their texts, each with its number; or with the DecodeError that says why it is
    none."""
    judge = judge_of(wire, **options)
    decode = registry.wire(wire).decode
    for number, message in messages:
        raw = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
        try:
            if isinstance(message, DecodeError):
                raise message
            made = decode(message) if isinstance(message, (str, bytes)) else message
        except DecodeError as error:
            judge.rejects += 1
            judge.refused(error, number, None, raw if isinstance(raw, bytes) else None)
            continue
        judge.records += 1
        judge.message(made, number, None, raw if isinstance(raw, bytes) else None)
    judge.end()
    return checklist_of(wire, specification(wire).clauses, judge)
