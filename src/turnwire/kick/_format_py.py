"""Space Format in plain Python: the readable twin of ``_native/kick/format.pyx``.

    document  = [BOM] preamble { section }            section = header body
    header    = SIGIL head [ ":" qualifier ] [ws] eol  SIGIL = U+2AFB at column 0
    head      = name [ "/" type ]                      (the first "/" splits)
    qualifier = "" | place [ "/" index ] | ws inline   (the first ":" splits; the last "/" splits place from index)

eol is LF or CRLF and nothing else; ws is what ``str.isspace`` says.
"""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Reason
from turnwire.fences import fence_behind
from turnwire.kick import section_methods as methods
from turnwire.kick.faults import space_fault, utf8_fault
from turnwire.kick.section_methods import content_end
from turnwire.kick.spec import SIGIL, WIRE

_BOM = "\ufeff"
_AT_LINE_START = "\n" + SIGIL
_STRICT = re.compile(rf"[^\s/:{SIGIL}]+(?:/[^\s/:{SIGIL}]+)?(?::[^\s/{SIGIL}]+(?:/[^\s/{SIGIL}]+)?)?")
_PARTS = re.compile(rf"([^\s/:{SIGIL}]*)(?:/([^\s/:{SIGIL}]*))?(?::([^\s/{SIGIL}]*)(?:/([^\s/{SIGIL}]*))?)?")
_WHITE = re.compile(r"\s")


class _Header(NamedTuple):
    name: str
    type: str | None
    qualifier: str | None
    place: str | None
    number: str | None
    inline: str | None
    issues: int


class Section(methods.SectionMethods):
    """One section of a Space document: its header's parts and its content.

    Attributes: name, type, qualifier, place, index, inline (str or None if the header has none), content (str,
    without trailing blank lines), raw (the text as it was read, or None for a section that was built).

    Sections are immutable. A built one refuses content that ends in a line end or blank lines (EncodeError,
    trailing_blank) unless ``trim``.
    """

    __wire__ = WIRE
    __annotations__ = methods.ANNOTATIONS
    __slots__ = ("_body", "_parts", "_stuffing")
    if TYPE_CHECKING:
        _body: int
        _parts: tuple[Any, ...]
        _stuffing: bool

    name, type, qualifier, place, index, inline = (
        property(lambda section, at=at: section._parts[at], doc=words)  # type: ignore[misc]
        for at, words in enumerate(methods.HEADER_PARTS.values())
    )

    @property
    def raw(self) -> str | None:
        """The section exactly as it was read, including line endings and blank lines; None for a constructed one."""
        return self._parts[7]  # type: ignore[no-any-return]

    @property
    def content(self) -> str:
        """The body without its trailing blank lines."""
        built, raw = self._parts[6:]
        if built is not None:
            return built  # type: ignore[no-any-return]
        content: str = raw[self._body : content_end(raw, self._body, len(raw))]
        return methods.unstuffed(content) if self._stuffing else content


def header_line(text: str, start: int, body: int) -> str:
    """The header whose sigil is at ``start`` and whose line ends at ``body``, without sigil and line ending."""
    line = text[start + 1 : body]
    if line.endswith("\n"):
        line = line[:-2] if line.endswith("\r\n") else line[:-1]
    return line


def split(line: str) -> _Header:
    """Lenient: the parts of a header and the bits of its issues (``spec.HEADER_ISSUES``)."""
    rest = line.strip()
    if not rest:
        return _Header("", None, None, None, None, None, 1)
    issues = 2 * line[0].isspace() + 4 * line[-1].isspace() + 8 * (SIGIL in rest)
    head, colon, qualifier = rest.partition(":")
    name, slash, type_ = head.partition("/")
    kind = type_ if slash else None
    issues += not name
    if not colon:
        return _Header(name, kind, None, None, None, None, issues)
    if qualifier and qualifier[0].isspace():
        return _Header(name, kind, "", None, None, qualifier.lstrip(), issues)
    issues += 16 * (_WHITE.search(qualifier) is not None)
    return _Header(name, kind, qualifier, *methods.split_qualifier(qualifier), None, issues)


def judge(line: str) -> int:
    """Strict: the place of the first fault in a header, or -1. A missing part is a fault where it should begin."""
    if _STRICT.fullmatch(line):
        return -1
    found = _PARTS.match(line)
    assert found is not None  # every part may be empty there
    for part in range(1, 5):
        if found[part] == "":
            return found.start(part)
    return found.end()


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
    first = 1 if text.startswith(_BOM) else 0
    if first and not lenient:
        raise space_fault(text, Reason.BOM, 0)
    starts = list(_fenced_starts(text, first) if fences else _starts(text, first))
    starts.append(len(text))
    sections = []
    marks = []
    for start, end in pairwise(starts):
        body = text.find("\n", start, end) + 1 or end
        line = header_line(text, start, body)
        header = split(line)
        if lenient:
            if header.issues:
                marks.append((start, header.issues))
        else:
            fault = judge(line)
            if fault >= 0 and line.strip():
                raise space_fault(text, Reason.BAD_HEADER, start + 1 + fault)
            if fault >= 0:
                raise space_fault(text, Reason.EMPTY_HEADER, start)
        section = Section.__new__(Section)
        section._parts = *header[:6], None, text[start:end]
        section._body, section._stuffing = body - start, stuffing
        sections.append(section)
    places = _in_bytes(text, [first, starts[0], *(place for place, _ in marks)])
    return places[0], places[1], sections, [(place, bits) for place, (_, bits) in zip(places[2:], marks, strict=True)]


def _in_bytes(text: str, places: list[int]) -> list[int]:
    """The bytes before places that rise: each stretch of the text is written once."""
    stretches = (len(text[before:place].encode()) for before, place in pairwise([0, *places]))
    return list(accumulate(stretches))


def _starts(text: str, first: int) -> list[int]:
    starts = [first] if text.startswith(SIGIL, first) else []
    place = text.find(_AT_LINE_START, first)
    while place >= 0:
        starts.append(place + 1)
        place = text.find(_AT_LINE_START, place + 1)
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


def opening(source: str) -> tuple[str | None, str] | None:
    """Of the first section, read leniently, its place, and the inline text or else the first line of the content,
    without white space around it; None if there is no section, or the text cannot be read."""
    try:
        sections = parse(source.encode(), lenient=True)[2]
    except UnicodeEncodeError:
        return None
    if not sections:
        return None
    return sections[0].place, (sections[0].inline or sections[0].content.partition("\n")[0]).strip()


def has_section(source: str) -> bool:
    """True if lenient reading finds a section: the text has a UTF-8 form and a line that starts with the sigil."""
    if not source.startswith((SIGIL, _BOM + SIGIL)) and _AT_LINE_START not in source:
        return False
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True
