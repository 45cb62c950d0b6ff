"""Writing Space Format: what was read goes out as it came, what was built goes out only if it reads back the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwire.errors import Reason
from turnwire.fences import fence_behind
from turnwire.json import text as json_text
from turnwire.kick import envelope_methods as methods
from turnwire.kick._format_py import has_section, judge, split
from turnwire.kick.faults import encode_fault
from turnwire.kick.section_methods import header_text, parts_of, stuffed
from turnwire.kick.spec import SIGIL, WIRE

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnwire.errors import Issue
    from turnwire.kick._format_py import Section
    from turnwire.kick.policy import Policy
    from turnwire.kick.space import Space


def envelope_text(
    envelope: Any, cls: type, check: Callable[[Any, Policy], list[Issue]], strict: bool, policy: Policy
) -> str:
    """The text of an envelope that a core does not write at once, or why there is none; ``cls`` and ``check`` are the
    core's. See :func:`turnwire.kick.codec.encode`."""
    from turnwire.kick.space import Space

    if not isinstance(envelope, cls):
        if isinstance(envelope, Space):
            return envelope.text(strict=strict)
        raise encode_fault(Reason.WRONG_TYPE, f"an Envelope is encoded, not {type(envelope).__name__}")
    if strict:
        for reason, where, severity, text in check(envelope, policy):
            if severity == "warning":
                raise encode_fault(reason, text, str(where))
    unchanged: str | None = envelope._unchanged()  # type: ignore[attr-defined]
    fields = methods.members(envelope)
    if not strict:
        fault = methods.field_fault(fields)
        if fault is not None:
            raise encode_fault(*fault)
    return json_text.write(fields, WIRE) if unchanged is None else unchanged


def space_text(space: Space, *, strict: bool) -> str:
    """The text of a document; see :meth:`turnwire.kick.space.Space.text`."""
    if space.fences or has_section(space.preamble):
        _judge_body(space.preamble, space.fences and bool(space.sections), space.fences, "/preamble")
    chunks = ["\ufeff" if space.bom else "", space.preamble]
    for place, section in enumerate(space.sections):
        text = section.raw
        path = f"/sections/{place}"
        if text is not None and space.fences:
            _judge_body(text.partition("\n")[2], place + 1 < len(space.sections), True, f"{path}/content")
        if text is None:
            text = section_text(section, strict=strict, fences=space.fences, stuffing=space.stuffing, path=path)
        if chunks[-1] and not chunks[-1].endswith("\n"):
            chunks.append("\n")
        chunks.append(text)
    return "".join(chunks)


def section_text(
    section: Section, *, strict: bool = True, fences: bool = False, stuffing: bool = False, path: str = ""
) -> str:
    """One section in canonical form: header, content, a newline.

    Raises EncodeError(bad_header|sigil_in_body|unclosed_fence|lone_return|lone_surrogate) with ``path`` in front of
    the path of the part.
    """
    header = header_text(section)[1:]
    if (strict and judge(header) >= 0) or not _reads_back(section, header):
        raise encode_fault(Reason.BAD_HEADER, f"{SIGIL + header!r} is not a header of this section", f"{path}/name")
    content = section.content
    if content.endswith("\r"):
        raise encode_fault(Reason.LONE_RETURN, "a carriage return at the end would not read back", f"{path}/content")
    if stuffing:
        content = stuffed(content)
    if fences or (SIGIL in content and not stuffing):
        _judge_body(content, fences, fences, f"{path}/content")
    text = f"{SIGIL}{header}\n{content}\n" if content else f"{SIGIL}{header}\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise encode_fault(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form", path or None) from None
    return text


def _reads_back(section: Section, header: str) -> bool:
    return "\n" not in header and not header.endswith("\r") and split(header)[:6] == parts_of(section)[:6]


def _judge_body(text: str, closed: bool, fences: bool, path: str) -> None:
    """Raises sigil_in_body for a line that would start a section, unclosed_fence for a fence that must be closed."""
    fence = ""
    for line in text.split("\n"):
        if line.startswith(SIGIL) and not fence:
            raise encode_fault(Reason.SIGIL_IN_BODY, "a line of the body starts with the sigil", path)
        if fences:
            fence = fence_behind(line, fence)
    if fence and closed:
        raise encode_fault(Reason.UNCLOSED_FENCE, "the code fence would swallow what follows", path)
