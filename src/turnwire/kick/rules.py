"""``check``: what is doubtful about an envelope (section 004), and the lints of Space documents."""

from __future__ import annotations

import re
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from turnwire.errors import Issue, Reason, RuleError, expect
from turnwire.json.pointers import pointer_step
from turnwire.kick.policy import Policy
from turnwire.kick.sections import has_section
from turnwire.kick.space import Space, parse_space
from turnwire.kick.spec import BAD_TYPE, FIELDS, RULES, SIGIL, TYPES, WIRE
from turnwire.kick.times import is_timestamp

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope


def judge(envelope: Envelope, policy: Policy, strict: bool) -> list[Issue]:
    """All that ``check`` finds; with ``strict`` the first warning is raised as RuleError instead."""
    issues = _issues(envelope, policy)
    if strict:
        for reason, where, severity, text in issues:
            if severity == "warning":
                raise RuleError(reason, text, rule=RULES.get(reason, "001"), wire=WIRE, path=str(where))
    return issues


def judge_other(message: Any, envelope: type, strict: bool) -> list[Issue]:
    """The issues of a Space document: what lenient reading forgave, and its lints, in the order of their
    lines; ``where`` is a line, in a document with built sections "/sections/N". With ``strict`` the first warning is
    raised. Raises EncodeError for what is neither an envelope nor a document."""
    if not isinstance(message, Space):
        expect(message, envelope, "expected an Envelope", WIRE)
    if strict and message.issues:
        reason, where, _, text = message.issues[0]
        raise RuleError(reason, f"line {where}: {text}", rule="004.1", wire=WIRE)
    lines = _section_lines(message)
    lints = [issue._replace(where=lines[int(issue.where) - 1]) for issue in lint(message)]
    found = [*message.issues, *lints]
    return sorted(found, key=lambda issue: (isinstance(issue.where, str), issue.where)) if lints else found


def _section_lines(space: Space) -> list[int | str]:
    """The line of each section of a document that was read; of others, which it is."""
    lines: list[int | str] = []
    line = 1 + space.preamble.count("\n")
    for section in space.sections:
        raw = section.raw
        if raw is None:
            return [f"/sections/{number}" for number in range(len(space.sections))]
        lines.append(line)
        line += raw.count("\n")
    return lines


_values = attrgetter(*FIELDS)


def _issues(envelope: Envelope, policy: Policy) -> list[Issue]:
    broken = [
        Issue(BAD_TYPE[name], f"/{name}", "warning", f"{name} is a string, not {type(value).__name__}")
        for name, value in zip(FIELDS, _values(envelope), strict=True)
        if not isinstance(value, str) and not (value is None and name == "correlation_id")
    ]
    if broken:
        return broken
    issues = []
    if not is_uuid4(envelope.id):
        issues.append(Issue(Reason.ID_NOT_UUID4, "/id", "warning", f"{envelope.id!r} is not a UUID of version 4"))
    if not is_timestamp(envelope.timestamp):
        text = f"{envelope.timestamp!r} is not an ISO 8601 date and time"
        issues.append(Issue(Reason.BAD_TIMESTAMP, "/timestamp", "warning", text))
    if envelope.type not in TYPES:
        text = f"type is one of {', '.join(TYPES)}, not {envelope.type!r}"
        issues.append(Issue(Reason.BAD_ENUM_TYPE, "/type", "warning", text))
    refused = policy.issues(envelope)
    if envelope.type not in TYPES:
        refused = [issue for issue in refused if issue.reason is not Reason.TYPE_CHANNEL_MISMATCH]
    issues += refused
    if not is_plain_content(envelope.content):
        issues += _of_content(envelope.content)
    correlation = envelope.correlation_id
    missing = any(issue.reason is Reason.MISSING_CORRELATION_ID for issue in refused)
    if correlation is not None and not missing and not is_uuid4(correlation):
        text = f"{correlation!r} is not a UUID of version 4"
        issues.append(Issue(Reason.CORRELATION_ID_NOT_UUID4, "/correlation_id", "warning", text))
    return issues + [unknown_key(key) for key in envelope._extra or ()]


_HALF = re.compile("[\ud800-\udfff]")
_NEVER = f"{SIGIL}\ufeff\ud800-\udfff"
_PLAIN = re.compile(rf"{SIGIL}[^\s/:{_NEVER}][^\s{_NEVER}]*(?:\r?\n[^{_NEVER}]*)?")


def is_plain_content(content: str) -> bool:
    """True if a content surely is one section that lenient reading has nothing to forgive; False says only that it must
    be read."""
    return _PLAIN.fullmatch(content) is not None


def _of_content(content: str) -> list[Issue]:
    """That a content has no section, or what lenient reading forgives in one that has (rule 1 of section 004)."""
    if not has_section(content):
        why = "half of a surrogate pair is not a character" if _HALF.search(content) else "no line starts with ⫻"
        text = f"the content has no Space section: {why}"
        return [Issue(Reason.CONTENT_NOT_SPACE, "/content", "warning", text)]
    found = parse_space(content, mode="lenient").issues
    return [Issue(one.reason, "/content", "info", f"line {one.where} of the content: {one.text}") for one in found]


_UUID4 = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}")


def is_uuid4(text: str) -> bool:
    """True if a text is a UUID of version 4 and the RFC 9562 variant, in its form of 36 characters."""
    return _UUID4.fullmatch(text) is not None


@lru_cache(maxsize=256)
def unknown_key(key: str) -> Issue:
    """The issue of a key that is none of the specification."""
    plain = key.replace("_", "").lower()
    near = [name for name in FIELDS if name.replace("_", "") == plain]
    hint = f"; {near[0]!r} is the key of the specification" if near else ""
    return Issue(Reason.UNKNOWN_KEY, f"/{pointer_step(key)}", "info", f"the key {key!r} is unknown, but kept{hint}")


def lint(space: Space) -> list[Issue]:
    """Lists issues of a document beyond its syntax, all "info": sections that appear twice, gaps in their numbering.

    Sections are equal if their name, type and place are equal; ``where`` is the number of the section, from 1. Only
    indexes of digits are numbered; the first may be any number, and each next one increases by one.
    """
    expect(space, Space, "expected a Space document")
    issues = []
    last: dict[tuple[Any, ...], int] = {}
    seen = set()
    for place, section in enumerate(space.sections, 1):
        index = section.index
        group = (section.name, section.type, section.place)
        if (*group, index) in seen and index is not None:
            issues.append(Issue(Reason.DUPLICATE_SECTION, place, "info", f"{section!r} appears twice"))
        seen.add((*group, index))
        if index is None or not (index.isascii() and index.isdigit()) or len(index) > 18:
            continue
        number = int(index)
        if group in last and number > last[group] + 1:
            text = f"the index jumps from {last[group]} to {number}"
            issues.append(Issue(Reason.INDEX_GAP, place, "info", text))
        last[group] = number
    return issues
