"""The rare methods of Section, once for both twins, and the writing of sections that were built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.kick.faults import encode_fault
from turnwire.kick.spec import PARTS, SIGIL, WIRE
from turnwire.message import Serialisable, expect_mapping

if TYPE_CHECKING:
    from turnwire.kick._format_py import Section

_STUFFED = re.compile(rf"^\\(\\*{SIGIL})", re.M)
_SURROGATE = re.compile("[\ud800-\udfff]")
_STUFFABLE = re.compile(rf"^(?=\\*{SIGIL})", re.M)


def unstuffed(content: str) -> str:
    """One backslash less before every line that starts with backslashes and a sigil."""
    return _STUFFED.sub(r"\1", content)


def stuffed(content: str) -> str:
    """One backslash more before every line that starts with the sigil or with backslashes and a sigil."""
    return _STUFFABLE.sub(r"\\", content)


def parts_of(section: Any) -> tuple[str | None, ...]:
    """The parts of a section in the order of ``spec.PARTS``."""
    return tuple(getattr(section, part) for part in PARTS)


def content_end(text: str, body: int, end: int) -> int:
    """The end of the content of a body: after its last line that is not blank, without that line's ending."""
    kept = len(text[body:end].rstrip())
    if not kept:
        return body
    stop = text.find("\n", body + kept, end)
    if stop < 0:
        return end
    return stop - 1 if text[stop - 1] == "\r" else stop


def built_parts(*values: Any, trim: bool = False) -> tuple[Any, ...]:
    """The parts of a new section; place and index are taken from the qualifier or the qualifier from them.

    trim: cuts line ends and blank lines off the end of the content, which no reader would return. Raises
    EncodeError(trailing_blank) for them otherwise, wrong_type for a part that is not a str, mismatch for a qualifier
    or a ``raw`` that contradicts the others.
    """
    for part, value in zip(PARTS, values, strict=True):
        if value is None and part not in ("name", "content"):
            continue
        if not isinstance(value, str):
            raise encode_fault(Reason.WRONG_TYPE, f"{part} is a str, not {type(value).__name__}", f"/{part}")
    name, type_, qualifier, place, index, inline, content, raw = values
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
    if raw is not None and not _says(raw, (name, type_, qualifier, place, index, inline), content):
        raise encode_fault(Reason.MISMATCH, "raw and the other parts contradict each other", "/raw")
    return name, type_, qualifier, place, index, inline, content, raw


def _says(raw: str, parts: tuple[str | None, ...], content: str) -> bool:
    """True if the text of a section, which alone is written, has these parts and this content."""
    from turnwire.kick._format_py import header_line, split

    line, newline, rest = raw.partition("\n")
    read = rest[: content_end(rest, 0, len(rest))]
    header = split(header_line(line + newline, 0, len(line + newline)))
    return line.startswith(SIGIL) and header[:6] == parts and content in (read, unstuffed(read))


def split_qualifier(qualifier: str) -> tuple[str | None, str | None]:
    """(place, index) of a qualifier: its last "/" splits."""
    if not qualifier:
        return None, None
    place, slash, index = qualifier.rpartition("/")
    return (place, index) if slash else (qualifier, None)


def _respelled(section: Section, built: Section) -> str | None:
    """The text of a section that takes the place of one that was read: what is equal in both is spelled as it was.

    None if the old one was not read, and where the options of a document decide on the spelling (a line with the
    sigil) or on the refusal (a new header that strict reading would not take).
    """
    from turnwire.kick._format_py import judge

    raw: str | None = section.raw
    if raw is None or _STUFFABLE.search(built.content) or _SURROGATE.search(built.content):
        return None
    line, newline, rest = raw.partition("\n")
    ending = "\r\n" if newline and line.endswith("\r") else "\n"
    if parts_of(built)[:6] != parts_of(section)[:6]:
        line = header_text(built)
        if judge(line[1:]) >= 0:
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


def header_text(section: Section) -> str:
    """The header line of a section, canonical, without its newline."""
    text = SIGIL + section.name
    if section.type is not None:
        text += f"/{section.type}"
    if section.inline is not None:
        return f"{text}: {section.inline}"
    return text if section.qualifier is None else f"{text}:{section.qualifier}"


def represent(section: Section) -> str:
    """Header and length: content may be long and hostile, so it is not shown."""
    return f"<Section {header_text(section)!r}, {len(section.content)} characters>"


def equal(left: Section, right: object) -> Any:
    """True if all parts are equal, ``raw`` included."""
    if type(left) is not type(right):
        return NotImplemented
    return parts_of(left) == parts_of(right)


HEADER_PARTS = {
    "name": 'The part before the first "/".',
    "type": 'The part after the first "/" of the head, or None.',
    "qualifier": 'The part after the first ":" ("" before inline text), or None without a colon.',
    "place": 'The qualifier before its last "/", or None if it is empty or missing.',
    "index": 'The qualifier after its last "/", or None.',
    "inline": 'Text that follows ":" and white space in the header, or None.',
}
"""The attributes of a section that are parts of its header, with what each is."""
ANNOTATIONS: dict[str, Any] = {part: str if part in ("name", "content") else str | None for part in PARTS}
"""The parts of a section and their types."""


class SectionMethods(Serialisable):
    """The methods of Section that both twins have."""

    __wire__ = WIRE
    __match_args__ = ("name", "type", "qualifier", "place", "index", "inline", "content", "raw")
    if TYPE_CHECKING:
        name: str
        type: str | None
        qualifier: str | None
        place: str | None
        index: str | None
        inline: str | None
        _parts: tuple[Any, ...] | None

        @property
        def content(self) -> str: ...
        @property
        def raw(self) -> str | None: ...
    else:
        __slots__ = ()
        __annotations__ = ANNOTATIONS

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
        self._parts = built_parts(name, type, qualifier, place, index, inline, content, raw, trim=trim)

    __init__.__qualname__ = "Section.__init__"

    def replace(self: Any, **changes: Any) -> Section:
        """Returns a section with some parts replaced. For a section that was read, ``raw`` keeps the original header
        line, blank lines and line endings except for the replaced parts."""
        unknown = changes.keys() - set(PARTS)
        if unknown:
            raise TypeError(f"Section has no part {sorted(unknown)[0]!r}")
        values = dict(zip(PARTS, parts_of(self), strict=True))
        values["raw"] = None
        if changes.keys() & {"place", "index"}:
            values["qualifier"] = None
            values["inline"] = None
        elif "qualifier" in changes:
            values["place"] = values["index"] = None
            values["inline"] = None
        elif changes.get("inline") is not None:
            values["qualifier"] = ""
            values["place"] = values["index"] = None
        made: type[Section] = type(self)
        built = made(**{**values, **changes})
        raw = _respelled(self, built)
        if raw is None:
            return built
        parts: dict[str, Any] = dict(zip(PARTS, (*parts_of(built)[:-1], raw), strict=True))
        return made(**parts)

    def to_dict(self) -> dict[str, str | None]:
        """Returns the parts by name, and ``raw`` for a section that was read."""
        parts = dict(zip(PARTS, parts_of(self), strict=True))
        if parts["raw"] is None:
            del parts["raw"]
        return parts

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Any:
        """Restores a section from the result of :meth:`to_dict`. Raises DecodeError with the part in ``path`` for an
        unknown key, a value that is not text, a missing name, and values that the constructor rejects."""
        expect_mapping(fields, WIRE)
        for part, value in fields.items():
            if part not in PARTS or not isinstance(value, str | None):
                text = f"the parts of a section are {', '.join(PARTS)}, all text"
                raise DecodeError(Reason.WRONG_TYPE, text, wire=WIRE, path=f"/{part}")
        if "name" not in fields:
            raise DecodeError(Reason.MISSING_FIELD, "name is required", wire=WIRE, path="/name")
        make: Any = cls
        try:
            return make(**fields)
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

    __repr__ = represent
    __eq__ = equal

    def __hash__(self: Any) -> int:
        return hash(parts_of(self))

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return type(self), parts_of(self)
