"""Space Format in plain Python: the readable twin of ``_native/kick/format.pyx``.

    document  = [BOM] preamble { section }            section = header body
    header    = SIGIL head [ ":" qualifier ] [ws] eol  SIGIL = U+2AFB at column 0
    head      = name [ "/" type ]                      (the first "/" splits)
    qualifier = "" | place [ "/" index ] | ws inline   (the first ":" splits; the last "/" splits place from index)

eol is LF or CRLF and nothing else; ws is what ``str.isspace`` says.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from turnwire.errors import Reason
from turnwire.fences import fence_behind
from turnwire.kick.faults import space_fault, utf8_fault
from turnwire.kick.sections import AT_LINE_START, BOM, Section, content_end, header_fault, header_line, split, unstuffed
from turnwire.kick.spec import SIGIL


def parse(
    source: bytes, lenient: bool = False, fences: bool = False, stuffing: bool = False
) -> tuple[int, int, list[Section], list[tuple[int, int]]]:
    """Finds the sections of a document.

    Returns (length of the byte order mark, end of the preamble, sections, marks), all in bytes; marks are
    (place of the sigil, bits) of the headers with issues, bits as in ``spec.HEADER_ISSUES``. Raises
    DecodeError(bad_utf8), and in strict mode bom, empty_header and bad_header, at the first fault; bad_utf8 is judged
    before everything else.
    """
    try:
        text = source.decode()
    except UnicodeDecodeError:
        raise utf8_fault(source) from None
    first = 1 if text.startswith(BOM) else 0
    if first and not lenient:
        raise space_fault(text, Reason.BOM, 0)
    starts = list(_fenced_starts(text, first) if fences else _starts(text, first))
    starts.append(len(text))
    sections = []
    marks = []
    for start, end in pairwise(starts):
        body = text.find("\n", start, end) + 1 or end
        line = header_line(text, start, body)
        header, issues = split(line)
        if lenient:
            if issues:
                marks.append((start, issues))
        else:
            fault = header_fault(line)
            if fault >= 0 and line.strip():
                raise space_fault(text, Reason.BAD_HEADER, start + 1 + fault)
            if fault >= 0:
                raise space_fault(text, Reason.EMPTY_HEADER, start)
        section = Section.__new__(Section)
        content = text[body : content_end(text, body, end)]
        section._parts = *header, unstuffed(content) if stuffing else content, text[start:end]
        sections.append(section)
    places = _in_bytes(text, [first, starts[0], *(place for place, _ in marks)])
    return places[0], places[1], sections, [(place, bits) for place, (_, bits) in zip(places[2:], marks, strict=True)]


def _in_bytes(text: str, places: list[int]) -> list[int]:
    """The bytes before places that rise: each stretch of the text is written once."""
    stretches = (len(text[before:place].encode()) for before, place in pairwise([0, *places]))
    return list(accumulate(stretches))


def _starts(text: str, first: int) -> list[int]:
    starts = [first] if text.startswith(SIGIL, first) else []
    place = text.find(AT_LINE_START, first)
    while place >= 0:
        starts.append(place + 1)
        place = text.find(AT_LINE_START, place + 1)
    return starts


def _fenced_starts(text: str, first: int) -> list[int]:
    """The headers outside Markdown code fences (CommonMark 0.31, section 4.5)."""
    starts = []
    fence = ""
    place = first
    for line in text[first:].split("\n"):
        if line.startswith(SIGIL) and not fence:
            starts.append(place)
        fence = fence_behind(line, fence)
        place += len(line) + 1
    return starts
