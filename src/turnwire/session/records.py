"""Records of a session: lines that belong together, their checks, and what kind each is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.session._rows_py import record_end, unfolded
from turnwire.session.checks import Chain


class Record(NamedTuple):
    """A record: its body (folded lines joined again, no check), the body as written, its first line and place.

    line: 1-based. offset: in characters. pair: the two marks at its end ("" in a session without checks). closed:
    whether a line feed follows.
    """

    body: str
    raw: str
    line: int
    offset: int
    pair: str
    closed: bool


def fault(reason: Reason, text: str, record: Record | None = None) -> DecodeError:
    """An error at a record."""
    if record is None:
        return DecodeError(reason, text, wire="session")
    return DecodeError(reason, text, offset=record.offset, line=record.line, wire="session")


def records(text: str, checks: bool, begin: int = 0) -> Iterator[Record]:
    """The records of a text in order, from ``begin`` on. Their checks are not compared yet; a last line without its
    feed is one, too."""
    at = [begin, 1 + text.count("\n", 0, begin)]
    while at[0] < len(text):
        offset, line = at
        if offset > begin and text.startswith("\n\n", offset - 1):
            # The record in front ended here, since no continuation follows the blank lines: nor do any of them go on.
            # To look for their end again at each would be quadratic.
            at[:] = offset + 1, line + 1
            yield record_of("", checks, line, offset)
        else:
            yield record_at(text, checks, at)


def record_at(text: str, checks: bool, at: list[int]) -> Record:
    """The record at an offset and a line, which become those of the next one."""
    offset, line = at
    end = record_end(text, offset)
    closed = end >= 0 or text[-1] == "\n"
    if end < 0:
        end = len(text) - closed
    whole = text[offset:end]
    at[0], at[1] = end + 1, line + whole.count("\n") + 1
    return record_of(whole, checks, line, offset, closed)


def record_of(whole: str, checks: bool, line: int, offset: int = 0, closed: bool = True) -> Record:
    """The record of a text that is one."""
    raw, pair = (whole[:-2], whole[-2:]) if checks else (whole, "")
    return Record(unfolded(raw), raw, line, offset, pair, closed)


class Verifier:
    """Compares the checks of records with those that they should have."""

    def __init__(self, before: str = "") -> None:
        self.chain = Chain(before)
        self.whole = True

    def resume(self, anchor: Record) -> None:
        """Goes on behind an anchor after a damage: sums of everything cannot be compared any longer."""
        self.chain.anchor(anchor.raw)
        self.whole = False

    def right(self, record: Record) -> bool:
        """Whether a record is the one that was written here."""
        raw = record.raw
        if raw[:1] not in ("^", "."):
            return self.chain.follows(raw, record.pair)
        summed = not self.whole or raw.endswith(f" {self.chain.sum()}")
        good = record.pair == self.chain.pair(raw) and summed
        if raw[:1] == "^":
            self.chain.anchor(raw)
        return good
