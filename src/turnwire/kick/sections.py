"""Sections of Space documents: their class, the parts of their headers, and the writing of those that were built."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.kick.faults import encode_fault
from turnwire.kick.spec import PARTS, SIGIL, WIRE
from turnwire.message import Serialisable, expect_fields, refuse_unknown

BOM = "\ufeff"
AT_LINE_START = "\n" + SIGIL
_STUFFED = re.compile(rf"^\\(\\*{SIGIL})", re.M)
_SURROGATE = re.compile("[\ud800-\udfff]")
_STUFFABLE = re.compile(rf"^(?=\\*{SIGIL})", re.M)
_STRICT = re.compile(rf"[^\s/:{SIGIL}]+(?:/[^\s/:{SIGIL}]+)?(?::[^\s/{SIGIL}]+(?:/[^\s/{SIGIL}]+)?)?")
_PARTS = re.compile(rf"([^\s/:{SIGIL}]*)(?:/([^\s/:{SIGIL}]*))?(?::([^\s/{SIGIL}]*)(?:/([^\s/{SIGIL}]*))?)?")
_WHITE = re.compile(r"\s")
_Header = tuple[str, str | None, str | None, str | None, str | None, str | None]


class Section(Serialisable):
    """One section of a Space document: its header's parts and its content.

    Attributes: name, type, qualifier, place, index, inline (str or None if the header has none), content (str,
    without trailing blank lines), raw (the text as it was read, or None for a section that was built).

    Args:
        trim: cuts line ends and blank lines off the end of the content, which no reader would return.

    Sections are immutable. Place and index are taken from the qualifier or the qualifier from them. Raises
    EncodeError(trailing_blank) for content that ends in a line end or blank lines unless ``trim``, wrong_type for a
    part that is not a str, mismatch for a qualifier or a ``raw`` that contradicts the others.
    """

    __wire__ = WIRE
    __slots__ = ("_parts",)
    __match_args__ = ("name", "type", "qualifier", "place", "index", "inline", "content", "raw")
    name: str
    type: str | None
    qualifier: str | None
    place: str | None
    index: str | None
    inline: str | None
    content: str
    raw: str | None
    _parts: Sequence[Any]
    """The parts of one that was built, or what cuts them out of a document."""

    def __init__(
        self,
        name: str,
        type: str | None = None,
        qualifier: str | None = None,
        place: str | None = None,
        index: str | None = None,
        inline: str | None = None,
        content: str = "",
        raw: str | None = None,
        *,
        trim: bool = False,
    ) -> None:
        values = (name, type, qualifier, place, index, inline, content, raw)
        for part, value in zip(PARTS, values, strict=True):
            if value is None and part not in ("name", "content"):
                continue
            if not isinstance(value, str):
                raise encode_fault(Reason.WRONG_TYPE, f"{part} is a str, not {value.__class__.__name__}", f"/{part}")
        end = content_end(content, 0, len(content))
        if end < len(content) and not trim:
            text = "content ends in a line end or blank lines, which would not be read back; trim=True removes them"
            raise encode_fault(Reason.TRAILING_BLANK, text, "/content")
        content = content[:end]
        if qualifier is None:
            if place is not None:
                qualifier = place if index is None else f"{place}/{index}"
            elif index is not None:
                raise encode_fault(Reason.MISMATCH, "an index requires a place", "/index")
            elif inline is not None:
                qualifier = ""
        else:
            split = split_qualifier(qualifier)
            if (place, index) not in ((None, None), split):
                raise encode_fault(Reason.MISMATCH, "qualifier and place/index contradict each other", "/qualifier")
            place, index = split
        if inline is not None and qualifier != "":
            raise encode_fault(Reason.MISMATCH, "inline text and a qualifier exclude each other", "/inline")
        if raw is not None and not _says(raw, (name, type, qualifier, place, index, inline), content):
            raise encode_fault(Reason.MISMATCH, "raw and the other parts contradict each other", "/raw")
        self._parts = name, type, qualifier, place, index, inline, content, raw

    def replace(self, **changes: Any) -> Self:
        """Returns a section with some parts replaced. For a section that was read, ``raw`` keeps the original header
        line, blank lines and line endings except for the replaced parts."""
        refuse_unknown(type(self), changes, PARTS)
        values: dict[str, Any] = {**dict(zip(PARTS, self._parts, strict=True)), "raw": None}
        if changes.keys() & {"place", "index"}:
            values |= {"qualifier": None, "inline": None}
        elif "qualifier" in changes:
            values |= {"place": None, "index": None, "inline": None}
        elif changes.get("inline") is not None:
            values |= {"qualifier": "", "place": None, "index": None}
        built = type(self)(**{**values, **changes})
        raw = _respelled(self, built)
        return built if raw is None else type(self)(*(*parts_of(built)[:-1], raw))

    def to_dict(self) -> dict[str, str | None]:
        """Returns the parts by name, and ``raw`` for a section that was read."""
        parts = dict(zip(PARTS, self._parts, strict=True))
        if parts["raw"] is None:
            del parts["raw"]
        return parts

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Restores a section from the result of :meth:`to_dict`. Raises DecodeError with the part in ``path`` for an
        unknown key, a value that is not text, a missing name, and values that the constructor rejects."""
        expect_fields(fields, cls, WIRE, ("name",), PARTS)
        for part, value in fields.items():
            if not isinstance(value, str | None):
                text = f"{part} cannot be {type(value).__name__} here"
                raise DecodeError(Reason.WRONG_TYPE, text, wire=WIRE, path=f"/{part}")
        try:
            return cls(**fields)
        except EncodeError as error:
            raise DecodeError(error.reason, error.text, wire=WIRE, path=error.path) from None

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        parts = {part: {"type": "string" if part in ("name", "content") else ["string", "null"]} for part in PARTS}
        return {
            "type": "object",
            "title": "Section",
            "properties": parts,
            "required": ["name"],
            "additionalProperties": False,
        }

    def __repr__(self) -> str:
        """Header and length: content may be long and hostile, so it is not shown."""
        return f"<Section {header_text(self)!r}, {len(self.content)} characters>"

    def __eq__(self, other: object) -> bool:
        """True if all parts are equal, ``raw`` included."""
        return parts_of(self) == parts_of(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(parts_of(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), parts_of(self)


_WORDS = {
    "name": 'The part before the first "/".',
    "type": 'The part after the first "/" of the head, or None.',
    "qualifier": 'The part after the first ":" ("" before inline text), or None without a colon.',
    "place": 'The qualifier before its last "/", or None if it is empty or missing.',
    "index": 'The qualifier after its last "/", or None.',
    "inline": 'Text that follows ":" and white space in the header, or None.',
    "content": "The body without its trailing blank lines.",
    "raw": "The section exactly as it was read, with line endings and blank lines; None for a constructed one.",
}
for _at, _part in enumerate(PARTS):
    setattr(Section, _part, property(lambda section, at=_at: section._parts[at], doc=_WORDS[_part]))  # type: ignore[misc]


def parts_of(section: Section) -> tuple[Any, ...]:
    """The parts of a section in the order of ``spec.PARTS``."""
    return tuple(section._parts)


def header_text(section: Section) -> str:
    """The header line of a section, canonical, without its newline."""
    text = SIGIL + section.name
    if section.type is not None:
        text += f"/{section.type}"
    if section.inline is not None:
        return f"{text}: {section.inline}"
    return text if section.qualifier is None else f"{text}:{section.qualifier}"


def _respelled(section: Section, built: Section) -> str | None:
    """The text of a section that takes the place of one that was read: what is equal in both is spelled as it was.

    None if the old one was not read, and where the options of a document decide on the spelling (a line with the
    sigil) or on the refusal (a new header that strict reading would not take).
    """
    raw: str | None = section.raw
    if raw is None or _STUFFABLE.search(built.content) or _SURROGATE.search(built.content):
        return None
    line, newline, rest = raw.partition("\n")
    ending = "\r\n" if newline and line.endswith("\r") else "\n"
    if parts_of(built)[:6] != parts_of(section)[:6]:
        line = header_text(built)
        if header_fault(line[1:]) >= 0:
            return None
        line += ending[:-1]
    if built.content == section.content:
        return line + newline + rest
    if built.content.endswith("\r"):
        return None
    blank = rest[content_end(rest, 0, len(rest)) :]
    if not built.content:
        return line + newline + blank.removeprefix(ending)
    return f"{line}\n{built.content}" + ("" if section.content else ending * bool(newline)) + blank


def _says(raw: str, parts: tuple[str | None, ...], content: str) -> bool:
    """True if the text of a section, which alone is written, has these parts and this content."""
    line, newline, rest = raw.partition("\n")
    read = rest[: content_end(rest, 0, len(rest))]
    header, _ = split(header_line(line + newline, 0, len(line + newline)))
    return line.startswith(SIGIL) and header == parts and content in (read, unstuffed(read))


def split_qualifier(qualifier: str) -> tuple[str | None, str | None]:
    """(place, index) of a qualifier: its last "/" splits."""
    if not qualifier:
        return None, None
    place, slash, index = qualifier.rpartition("/")
    return (place, index) if slash else (qualifier, None)


def unstuffed(content: str) -> str:
    """One backslash less before every line that starts with backslashes and a sigil."""
    return _STUFFED.sub(r"\1", content)


def stuffed(content: str) -> str:
    """One backslash more before every line that starts with the sigil or with backslashes and a sigil."""
    return _STUFFABLE.sub(r"\\", content)


def content_end(text: str, body: int, end: int) -> int:
    """The end of the content of a body: after its last line that is not blank, without that line's ending."""
    kept = len(text[body:end].rstrip())
    if not kept:
        return body
    stop = text.find("\n", body + kept, end)
    if stop < 0:
        return end
    return stop - 1 if text[stop - 1] == "\r" else stop


def header_line(text: str, start: int, body: int) -> str:
    """The header whose sigil is at ``start`` and whose line ends at ``body``, without sigil and line ending."""
    line = text[start + 1 : body]
    if line.endswith("\n"):
        line = line[:-2] if line.endswith("\r\n") else line[:-1]
    return line


def split(line: str) -> tuple[_Header, int]:
    """Lenient: the parts of a header and the bits of its issues (``spec.HEADER_ISSUES``)."""
    rest = line.strip()
    if not rest:
        return ("", None, None, None, None, None), 1
    issues = 2 * line[0].isspace() + 4 * line[-1].isspace() + 8 * (SIGIL in rest)
    head, colon, qualifier = rest.partition(":")
    name, slash, type_ = head.partition("/")
    kind = type_ if slash else None
    issues += not name
    if not colon:
        return (name, kind, None, None, None, None), issues
    if qualifier and qualifier[0].isspace():
        return (name, kind, "", None, None, qualifier.lstrip()), issues
    issues += 16 * (_WHITE.search(qualifier) is not None)
    return (name, kind, qualifier, *split_qualifier(qualifier), None), issues


def header_fault(line: str) -> int:
    """Strict: the place of the first fault in a header, or -1. A missing part is a fault where it should begin."""
    if _STRICT.fullmatch(line):
        return -1
    found = _PARTS.match(line)
    assert found is not None  # every part may be empty there
    for part in range(1, 5):
        if found[part] == "":
            return found.start(part)
    return found.end()


def has_section(source: str) -> bool:
    """True if lenient reading finds a section: the text has a UTF-8 form and a line that starts with the sigil."""
    if not source.startswith((SIGIL, BOM + SIGIL)) and AT_LINE_START not in source:
        return False
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True
