"""The rare methods of Section, once for both twins, and the writing of sections that were built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire.errors import Reason
from turnwire.kick.faults import encode_fault
from turnwire.kick.spec import PARTS, SIGIL

if TYPE_CHECKING:
    from turnwire.kick._format_py import Section

_STUFFED = re.compile(rf"^\\(\\*{SIGIL})", re.M)
_STUFFABLE = re.compile(rf"^(?=\\*{SIGIL})", re.M)


def unstuffed(content: str) -> str:
    """One backslash less in front of every line that starts with backslashes and a sigil."""
    return _STUFFED.sub(r"\1", content)


def stuffed(content: str) -> str:
    """One backslash more in front of every line that starts with the sigil or with backslashes and a sigil."""
    return _STUFFABLE.sub(r"\\", content)


def parts_of(section: Section) -> tuple[str | None, ...]:
    """The parts of a section in the order of ``spec.PARTS``."""
    return tuple(getattr(section, part) for part in PARTS)


def built_parts(*values: Any) -> tuple[Any, ...]:
    """The parts of a new section; place and index are taken from the qualifier or the qualifier from them.

    Raises EncodeError(wrong_type) for a part that is not a str, mismatch for a qualifier that contradicts the others.
    """
    for part, value in zip(PARTS, values, strict=True):
        if value is None and part not in ("name", "content"):
            continue
        if not isinstance(value, str):
            raise encode_fault(Reason.WRONG_TYPE, f"{part} is a str, not {type(value).__name__}", f"/{part}")
    name, type_, qualifier, place, index, inline, content, raw = values
    if qualifier is None:
        if place is not None:
            qualifier = place if index is None else f"{place}/{index}"
        elif index is not None:
            raise encode_fault(Reason.MISMATCH, "an index needs a place", "/index")
        elif inline is not None:
            qualifier = ""
    else:
        split = split_qualifier(qualifier)
        if (place, index) not in ((None, None), split):
            raise encode_fault(Reason.MISMATCH, "qualifier and place/index say different things", "/qualifier")
        place, index = split
    if inline is not None and qualifier != "":
        raise encode_fault(Reason.MISMATCH, "inline text takes the place of the qualifier", "/inline")
    return name, type_, qualifier, place, index, inline, content, raw


def split_qualifier(qualifier: str) -> tuple[str | None, str | None]:
    """(place, index) of a qualifier: its last "/" splits."""
    if not qualifier:
        return None, None
    place, slash, index = qualifier.rpartition("/")
    return (place, index) if slash else (qualifier, None)


def replaced(section: Section, changes: dict[str, Any]) -> Section:
    """A built section with some parts replaced; ``raw`` is dropped, since it is the text of the old parts."""
    unknown = changes.keys() - set(PARTS)
    if unknown:
        raise TypeError(f"Section has no part {sorted(unknown)[0]!r}")
    values = dict(zip(PARTS, parts_of(section), strict=True))
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
    return type(section)(**{**values, **changes})


def to_dict(section: Section) -> dict[str, str | None]:
    """The parts by name, without ``raw``: what the conformance vectors show."""
    return {part: getattr(section, part) for part in PARTS[:-1]}


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
