"""The conformance checklist of nSLIP: what the specification demands of every message in a log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnwire.checklists import Checklist, Clause, Fault, judged
from turnwire.contract import finding
from turnwire.errors import DecodeError, EncodeError, Reason, expect
from turnwire.nslip.codec import decode, encode
from turnwire.nslip.messages import SlipMessage
from turnwire.nslip.rules import check
from turnwire.nslip.spec import STRING_SLOTS, WIRE, Slot

__all__ = ["CLAUSES", "REASONS", "conform", "conform_files", "conformance"]

CLAUSES = (
    Clause("framing", "3", "A message stands between @ and #, its fields between |"),
    Clause("header", "2", "Act, frame, conversation, source, destination and turn are all there, once"),
    Clause("acts", "2", "Acts are of the closed set"),
    Clause("frames", "2", "Frames are of the table"),
    Clause("slots", "2", "Slots are of the table, each once"),
    Clause("types", "2", "IDs and scalars are integers, STATUS and TAG are strings"),
    Clause("integers", "3", "Integers are non-negative and in base62"),
    Clause("strings", "3", 'Strings are quoted, \\ and " escaped, in UTF-8'),
    Clause("shape", "3", "Messages are written as the encoding has it: header in order, no leading zeros"),
    Clause("short", "2", "Strings are short; large artifacts live in stores and are referenced by id"),
)

REASONS: dict[Reason, str] = {
    Reason.BAD_FRAMING: "framing",
    Reason.EMPTY_MESSAGE: "framing",
    Reason.EMPTY_FIELD: "framing",
    Reason.TRAILING_JUNK: "framing",
    Reason.MESSAGE_TOO_LARGE: "framing",
    Reason.LOOK_ALIKE: "header",
    Reason.MISSING_FIELD: "header",
    Reason.DUPLICATE: "slots",
    Reason.UNKNOWN_ACT: "acts",
    Reason.UNKNOWN_FRAME: "frames",
    Reason.UNKNOWN_PREFIX: "slots",
    Reason.UNKNOWN_SLOT: "slots",
    Reason.WRONG_TYPE: "types",
    Reason.EMPTY_VALUE: "integers",
    Reason.BAD_DIGIT: "integers",
    Reason.TOO_LARGE: "integers",
    Reason.NEGATIVE: "integers",
    Reason.UNTERMINATED_STRING: "strings",
    Reason.BAD_ESCAPE: "strings",
    Reason.JUNK_AFTER_STRING: "strings",
    Reason.BAD_UTF8: "strings",
    Reason.LONE_SURROGATE: "strings",
    Reason.NEWLINE_IN_STRING: "strings",
    Reason.LONG_STRING: "short",
}
"""What reading, ``encode`` and ``check`` find -> the clause that it breaks."""


def conformance(*messages: SlipMessage | str | bytes) -> Checklist:
    """Judges messages, or the texts of one message each. Faults are placed by the number of the message, from 1."""
    faults: list[Fault] = []
    applied: set[str] = set()
    for number, message in enumerate(messages, 1):
        try:
            if isinstance(message, (str, bytes)):
                text = message if isinstance(message, str) else message.decode(errors="replace")
                faults += _of_message(decode(message), number, text.strip(), applied)
            else:
                expect(message, SlipMessage, "a SlipMessage or its text is judged")
                faults += _of_message(message, number, None, applied)
        except (DecodeError, EncodeError) as error:
            faults.append(_refused(error, number))
    return judged(WIRE, len(messages), CLAUSES, faults, applied)


def conform(data: bytes) -> Checklist:
    """Judges every message and every damaged one in a log; other text is none of the checklist's business."""
    faults: list[Fault] = []
    applied: set[str] = set()
    counts = [0, 0]
    for one in finding("located").located(data, WIRE):
        counts[one.error is not None] += 1
        if one.error is not None:
            faults.append(_refused(one.error, one.line))
        else:
            faults += _of_message(one.message, one.line, one.raw.decode(), applied)
    return judged(WIRE, counts[0], CLAUSES, faults, applied, counts[1])


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each log file."""
    for path in paths:
        yield os.fspath(path), conform(Path(path).read_bytes())


def _refused(error: DecodeError | EncodeError, line: int) -> Fault:
    return Fault(REASONS[error.reason], line, f"{error.reason}: {error.text}")


def _of_message(message: SlipMessage, line: int, text: str | None, applied: set[str]) -> Iterator[Fault]:
    """The faults of one message; ``text`` as it was written, where that is known."""
    applied.update(("framing", "header", "acts", "frames", "integers"))
    if text is not None:
        applied.add("shape")
        if text != encode(message):
            yield Fault("shape", line, f"the encoding is {encode(message)[:80]}")
    if message.slots:
        applied.update(("slots", "types"))
        if any(Slot(slot) in STRING_SLOTS for slot in message.slots if slot in Slot.__members__.values()):
            applied.update(("strings", "short"))
    for issue in check(message):
        if issue.reason in REASONS:
            yield Fault(REASONS[issue.reason], line, f"{issue.where}: {issue.text}")
