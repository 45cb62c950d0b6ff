"""Space Format documents: read without loss, written strictly, resynchronised after damage, and as records of KickLang.

A record of kind "document" is read leniently, like the author's own parsers (section 004, rule 1): it has a header line
and is UTF-8. ``faults`` lists the faults that strict reading would reject; ``check`` lists those that lenient reading
accepted, and lints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Self

from turnwire import _backend, message as contract
from turnwire._lazy import Deferred
from turnwire.contract import DocumentPlan, record_bytes
from turnwire.errors import DecodeError, Issue, Reason, expect_one_of
from turnwire.fences import fence_behind
from turnwire.kick.faults import SPACE_WORDS, encode_fault, input_source, space_fault
from turnwire.kick.sections import (
    Section,
    has_section,
    header_fault,
    header_line,
    header_text,
    parts_of,
    split,
    stuffed,
)
from turnwire.kick.spec import BOM_ISSUE, DOCUMENT, HEADER_ISSUES, SIGIL, SIGIL_BYTES, TYPES, WIRE

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from typing_extensions import Buffer

    from turnwire.kick import _format_py as _core
    from turnwire.kick.codec import Envelope

    class Changes(TypedDict, total=False):
        """The arguments of ``replace``."""

        preamble: str
        sections: Iterable[Section]
        issues: Iterable[Issue]
        bom: bool
        fences: bool
        stuffing: bool
else:
    _core = _backend.load("kick.format")


ANSWER = "answer"
"""The name of the channel, or the type of the first section, of an answer."""
_OPTIONS = ("fences", "stuffing")
_NAMES = ("preamble", "sections", "issues", "bom", *_OPTIONS)
_new = tuple.__new__  # makes an Issue in half the time: a header of four bytes may have one

__all__ = ["Section", "Space", "parse_space"]


class Space(contract.Message):
    """A Space document: a preamble, then sections.

    Attributes:
        preamble: the text before the first header, verbatim.
        sections: list of :class:`Section`, in order; change it freely.
        issues: faults that lenient reading accepted (``where`` is a line).
        bom: whether the text begins with a byte order mark, which is preserved.
        fences, stuffing: the options with which it was read; writing uses them, too.
    """

    __slots__ = ("__weakref__", *_NAMES)
    __wire__ = WIRE
    preamble: str
    sections: list[Section]
    issues: list[Issue]
    bom: bool
    fences: bool
    stuffing: bool
    __match_args__ = ("preamble", "sections", "issues")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        preamble: str = "",
        sections: Iterable[Section] = (),
        issues: Iterable[Issue] = (),
        *,
        bom: bool = False,
        fences: bool = False,
        stuffing: bool = False,
    ) -> None:
        self.preamble = preamble
        self.sections = list(sections)
        self.issues = list(issues)
        self.bom = bom
        self.fences = fences
        self.stuffing = stuffing

    def text(self, *, strict: bool = True) -> str:
        """Returns the document as text: parsed sections byte for byte as they were read, constructed ones in canonical
        form.

        Raises EncodeError for a constructed section that would not be read back unchanged: bad_header, and in its
        content sigil_in_body (a line that starts with the sigil, unless ``stuffing`` or a fence covers it),
        unclosed_fence, lone_return. ``strict=False`` also writes headers that only lenient reading accepts.
        """
        if self.fences or has_section(self.preamble):
            _check_body(self.preamble, self.fences and bool(self.sections), self.fences, "/preamble")
        chunks = ["\ufeff" if self.bom else "", self.preamble]
        for place, section in enumerate(self.sections):
            text = section.raw
            path = f"/sections/{place}"
            if text is not None and self.fences:
                _check_body(text.partition("\n")[2], place + 1 < len(self.sections), True, f"{path}/content")
            if text is None:
                text = section_text(section, strict=strict, fences=self.fences, stuffing=self.stuffing, path=path)
            if chunks[-1] and not chunks[-1].endswith("\n"):
                chunks.append("\n")
            chunks.append(text)
        return "".join(chunks)

    wire = contract.constant(WIRE)
    kind = contract.constant(DOCUMENT)
    sender = receiver = conversation = sequence = time = contract.constant(None)  # a document has a subject alone

    @contract.common
    def subject(self) -> str | None:
        """The first header line."""
        if not self.sections:
            return None
        first = self.sections[0]
        return header_text(first) if first.raw is None else first.raw.partition("\n")[0].rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Returns the text, under ``document``, and the options with which it was read, except defaults."""
        return {"document": self.text(strict=False), **{name: True for name in _OPTIONS if getattr(self, name)}}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Restores a document from the result of :meth:`to_dict`, leniently. Raises DecodeError."""
        contract.expect_fields(fields, cls, WIRE, ("document",), _OPTIONS)
        for name, value in fields.items():
            if not isinstance(value, bool if name in _OPTIONS else str):
                text = f"{name} cannot be {type(value).__name__} here"
                raise DecodeError(Reason.WRONG_TYPE, text, wire=WIRE, path=f"/{name}")
        options = {name: fields.get(name, False) for name in _OPTIONS}
        return cls(**parse_space(fields["document"], mode="lenient", **options)._values())

    def replace(self, **changes: Unpack[Changes]) -> Self:  # type: ignore[override]
        """Returns a copy with some attributes replaced; the sections are shared."""
        values = self._values()
        contract.refuse_unknown(type(self), changes, values)
        return type(self)(**{**values, **changes})

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        options = {name: {"type": "boolean"} for name in _OPTIONS}
        return {
            "type": "object",
            "title": "Space document",
            "properties": {"document": {"type": "string"}, **options},
            "required": ["document"],
            "additionalProperties": False,
        }

    def __repr__(self) -> str:
        return f"<Space {len(self.preamble)} characters, {len(self.sections)} sections, {len(self.issues)} issues>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As for protocol 2 also in 0 and 1, which take no class with slots by themselves."""
        return super().__reduce_ex__(max(protocol, 2))

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Space) else NotImplemented

    def _values(self) -> dict[str, Any]:
        """The arguments that make an equal document."""
        return {name: getattr(self, name) for name in _NAMES}


def parse_space(text: str | Buffer, *, mode: str = "strict", fences: bool = False, stuffing: bool = False) -> Space:
    """Reads a Space document from text or contiguous bytes; ``text()`` of the result is the input.

    mode: "strict" raises DecodeError with reason, byte offset and line at the first fault (bad_utf8, bom,
    empty_header, bad_header, no_sections); "lenient" accepts every header and reports bom, empty_header,
    leading_space, trailing_space, nested_sigil, space_in_qualifier. fences: a sigil inside a Markdown code fence is
    text. stuffing: a content line that starts with ``\\`` and the sigil loses that one backslash.
    Rule 1 of section 004.
    """
    expect_one_of(mode, "mode", ("strict", "lenient"))
    lenient = mode == "lenient"
    source = input_source(text)
    first, start, sections, marks = _core.parse(source, lenient, fences, stuffing)
    preamble = source[first:start].decode()
    if not sections and not lenient and preamble and not preamble.isspace():
        raise space_fault(source, Reason.NO_SECTIONS, 0)
    issues = _issues(source, marks) if marks else []
    if first:
        issues.insert(0, Issue(BOM_ISSUE[0], 1, "warning", BOM_ISSUE[1]))
    return Space(preamble, sections, issues, bom=first > 0, fences=fences, stuffing=stuffing)


@lru_cache(8)  # one text is asked for its task, then for what it says
def first_section(text: str) -> Section | None:
    """The first section of a text, read leniently; None if there is none, or no text to be read."""
    try:
        sections: list[Section] = _core.parse(text.encode(), True)[2]
    except UnicodeEncodeError:
        return None
    return sections[0] if sections else None


def section_text(
    section: Section, *, strict: bool = True, fences: bool = False, stuffing: bool = False, path: str = ""
) -> str:
    """One section in canonical form: header, content, a newline.

    Raises EncodeError(bad_header|sigil_in_body|unclosed_fence|lone_return|lone_surrogate) with ``path`` before
    the path of the part.
    """
    header = header_text(section)[1:]
    reads_back = "\n" not in header and not header.endswith("\r") and split(header)[0] == parts_of(section)[:6]
    if (strict and header_fault(header) >= 0) or not reads_back:
        raise encode_fault(Reason.BAD_HEADER, f"{SIGIL + header!r} is not a header of this section", f"{path}/name")
    content = section.content
    if content.endswith("\r"):
        raise encode_fault(Reason.LONE_RETURN, "a carriage return at the end would not be read back", f"{path}/content")
    if stuffing:
        content = stuffed(content)
    if fences or (SIGIL in content and not stuffing):
        _check_body(content, fences, fences, f"{path}/content")
    text = f"{SIGIL}{header}\n{content}\n" if content else f"{SIGIL}{header}\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise encode_fault(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form", path or None) from None
    return text


def _check_body(text: str, closed: bool, fences: bool, path: str) -> None:
    """Raises sigil_in_body for a line that would start a section, unclosed_fence for a fence that must be closed."""
    fence = ""
    for line in text.split("\n"):
        if line.startswith(SIGIL) and not fence:
            raise encode_fault(Reason.SIGIL_IN_BODY, "a line of the body starts with the sigil", path)
        if fences:
            fence = fence_behind(line, fence)
    if fence and closed:
        raise encode_fault(Reason.UNCLOSED_FENCE, "the code fence is not closed", path)


def task_name(envelope: Envelope) -> str | None:
    """The task id: the place of the content's first section (⫻task/dispatch:T-7/001)."""
    section = first_section(envelope.content)
    return section.place if section else None


def first_line(envelope: Envelope) -> str:
    """The first content line of the first section (or its inline text), without white space around it."""
    section = first_section(envelope.content)
    return (section.inline or section.content.partition("\n")[0]).strip() if section else ""


def is_answer(name: str | None, content: str) -> bool:
    """True if what is on the channel ``⫻query/<name>`` says that it is an answer: by that name, or by the type of
    the content's first section."""
    section = first_section(content)
    return name == ANSWER or (section is not None and section.type == ANSWER)


def _issues(source: bytes, marks: list[tuple[int, int]]) -> list[Issue]:
    issues: list[Issue] = []
    line = 1
    seen = 0
    for place, bits in marks:
        line += source.count(b"\n", seen, place)
        seen = place
        for reason, words in _said(bits):
            issues.append(_new(Issue, (reason, line, "warning", words)))
    return issues


@cache
def _said(bits: int) -> list[tuple[Reason, str]]:
    """The reasons and words that the marks of a header stand for."""
    return [(reason, words) for bit, reason, words in HEADER_ISSUES if bits & bit]


# --- documents as records -------------------------------------------------------------------------------------------

_DETECT = Deferred("turnwire.kick.codec", "detect")
_DECODE = Deferred("turnwire.kick.codec", "decode")
_BOM = b"\xef\xbb\xbf"
HEADER = re.compile(rb"^(?:\A\xef\xbb\xbf)?\xe2\xab\xbb[ \t]*[^ \t\r\n\v\f/:]", re.MULTILINE)
"""The first header of a document: lenient reading takes it, and it has a name."""
_OTHER = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[\"@]")


def is_document(data: str | Buffer) -> bool:
    """True if text or bytes look like a Space document: a line begins with the sigil and a name, and the text does not
    begin with JSON or an nSLIP message. Never raises."""
    raw = record_bytes(data) or b""
    return SIGIL_BYTES in raw and _OTHER.match(raw) is None and HEADER.search(raw) is not None


def detect(data: str | Buffer) -> bool:
    """True if one record looks like KickLang: an envelope (:func:`turnwire.kick.codec.detect`), or a Space document.
    Never raises."""
    found: bool = _DETECT(data) or is_document(data)
    return found


def read(data: str | Buffer, *, mode: str = "strict", **options: Any) -> Envelope | Space:
    """Reads one envelope or one Space document, whichever it looks like.

    mode: how a document is read (:func:`parse_space`); an envelope is always read strictly. options: those of
    ``decode`` for envelopes. Raises DecodeError like ``decode`` and ``parse_space``.
    """
    opens = isinstance(data, (str, bytes)) and data.startswith("{" if isinstance(data, str) else b"{")  # type: ignore[arg-type]
    if not opens and is_document(data):
        return parse_space(data, mode=mode)
    envelope: Envelope = _DECODE(data, **options)
    return envelope


def read_record(data: Any) -> Envelope | Space:
    """Reads one record of a scan: a document leniently, or an envelope if it begins with an object."""
    found: Envelope | Space = _DECODE.function(data) if data[:1] == b"{" else read(data, mode="lenient")
    return found


def faults(data: str | Buffer, *, fences: bool = False) -> list[DecodeError]:
    """Lists all faults for which strict reading rejects a document, not only the first: bad_utf8 (then nothing else),
    bom, empty_header, bad_header, no_sections; each with its byte offset and line. fences: as for ``parse_space``."""
    try:
        space = parse_space(data, mode="lenient", fences=fences)
    except DecodeError as error:
        return [error]
    found = [space_fault("", Reason.BOM, 0)] if space.bom else []
    if not space.sections and space.preamble.strip():
        found.append(space_fault("", Reason.NO_SECTIONS, 0))
    offset = len(_BOM) * space.bom + len(space.preamble.encode())
    line = 1 + space.preamble.count("\n")
    for section in space.sections:
        raw = section.raw or ""
        header = header_line(raw, 0, raw.find("\n") + 1 or len(raw))
        place = header_fault(header)
        if place >= 0:
            empty = not header.strip()
            reason = Reason.EMPTY_HEADER if empty else Reason.BAD_HEADER
            at = offset if empty else offset + len(SIGIL_BYTES) + len(header[:place].encode())
            found.append(DecodeError(reason, SPACE_WORDS[reason], offset=at, line=line, wire=WIRE))
        offset += len(raw.encode())
        line += raw.count("\n")
    return found


def columns(data: Buffer, *, fences: bool = False) -> dict[str, int | tuple[int, int]]:
    """Returns the columns that a document has in a scan: ``type`` (its code among the kinds), ``sections`` (their
    number), and, as (offset, length) in its bytes, ``content`` (the whole document) and ``subject`` (its first header
    line). Raises DecodeError(bad_utf8)."""
    raw = input_source(data)
    space = parse_space(raw, mode="lenient", fences=fences)
    start = len(_BOM) * space.bom + len(space.preamble.encode())
    stop = raw.find(b"\n", start)
    header = raw[start : len(raw) if stop < 0 else stop].decode().rstrip()
    return {
        "type": len(TYPES),
        "sections": len(space.sections),
        "content": (0, len(raw)),
        "subject": (start, len(header.encode())),
    }


_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\xe2\xab\xbb[ \t]*[^ \t\r\n\v\f/:]")
DOCUMENTS = DocumentPlan(DOCUMENT, Space, SIGIL_BYTES, _HEADER, columns, faults)
