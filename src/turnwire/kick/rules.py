"""The rules of envelopes (section 004): the policy, which says who may send which type to whom on which channel (rule
2), what else is doubtful about one, and the lints of Space documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import cached_if_short
from turnwire.errors import DecodeError, Issue, Reason, RuleError, expect
from turnwire.json.faults import pointer_step
from turnwire.json.times import is_timestamp
from turnwire.kick.messages import channel_parts, others
from turnwire.kick.sections import has_section
from turnwire.kick.space import Space, parse_space
from turnwire.kick.spec import BAD_TYPE, BROADCAST, DEFAULT_ROWS, FIELDS, ROLES, RULES, SIGIL, TYPES, WIRE

if TYPE_CHECKING:
    from turnwire.kick.messages import Envelope


class Row(NamedTuple):
    """One row of the table.

    channel: "family/name", or "family/*" for the rest of a family. type: the only type allowed there, or "*".
    senders, receivers: names; "*" is anyone, "!name" excludes one. correlation: whether a correlation_id is
    required. The first row whose channel matches applies.
    """

    channel: str
    type: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    correlation: bool = False

    def matches(self, family: str, name: str) -> bool:
        """True if the row applies to ``⫻family/name``."""
        mine, _, pattern = self.channel.partition("/")
        return mine == family and pattern in ("*", name)


_MOST_KNOWN = 4096  # entries of Policy.known


@dataclass(frozen=True)
class Policy:
    """A table of rows, and the known roles.

    Args:
        rows: Row objects, in the order in which they are tried.
        roles: the known roles; any other sender or receiver is an issue of severity "info".

    A policy is immutable; :meth:`with_rows` returns a new one with further rows.
    """

    rows: tuple[Row, ...]
    roles: tuple[str, ...] = ROLES
    known: dict[tuple[Any, ...], tuple[bool, tuple[Issue, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """A cache of envelopes that the table allows: (sender, receiver, type, channel) -> (whether a correlation_id is
    required, issues of unknown roles)."""

    def __post_init__(self) -> None:
        for name in ("rows", "roles"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def with_rows(self, *rows: Row) -> Policy:
        """Returns a policy with these rows before the existing ones."""
        return Policy((*rows, *self.rows), self.roles)

    def row_for(self, channel: str) -> Row | None:
        """Returns the row that applies to a channel, or None."""
        family, name = channel_parts(channel)
        if family is None or name is None:
            return None
        return next((row for row in self.rows if row.matches(family, name)), None)

    def issues(self, envelope: Envelope) -> list[Issue]:
        """Lists the unknown roles in an envelope and all violations of the policy; the text names the row."""
        key = (envelope.sender, envelope.receiver, envelope.type, envelope.channel)
        known = self.known.get(key)
        if known is not None and (envelope.correlation_id or not known[0]):
            return list(known[1])
        remarks = [
            Issue(Reason.UNKNOWN_ROLE, f"/{place}", "info", f"{role!r} is not a known role")
            for place, role in (("sender", envelope.sender), ("receiver", envelope.receiver))
            if role not in self.roles and (place == "sender" or role != BROADCAST)
        ]
        row = self.row_for(envelope.channel)
        if row is None:
            return [*remarks, self._without_row(envelope.channel)]
        refused = list(_refusals(row, envelope))
        if (
            envelope.type in TYPES  # a row with type "*" would allow an unknown type, which ``check`` reports
            and len(self.known) < _MOST_KNOWN
            and all(issue.reason is Reason.MISSING_CORRELATION_ID for issue in refused)
        ):
            self.known[key] = row.correlation, tuple(remarks)
        return remarks + refused

    def _without_row(self, channel: str) -> Issue:
        """The issue of a channel for which there is no row."""
        family, _ = channel_parts(channel)
        if family is None:
            return Issue(Reason.BAD_CHANNEL, "/channel", "warning", "a channel is ⫻family/name")
        families = sorted({row.channel.partition("/")[0] for row in self.rows})
        if family in families:
            text = f"no row of the policy allows {channel!r}"
            return Issue(Reason.CHANNEL_NOT_ALLOWED, "/channel", "warning", text)
        text = f"{family!r} is not a channel family; the families are {', '.join(families)}"
        return Issue(Reason.UNKNOWN_CHANNEL_FAMILY, "/channel", "warning", text)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Policy:
        """Creates a policy from ``{"roles": [...], "row": [{channel, type, senders, receivers, correlation}, ...]}``.

        Raises DecodeError(bad_policy) with ``path``, including for unknown keys.
        """
        if not isinstance(table, Mapping):
            raise _bad_policy(f"a policy must be a table, not {type(table).__name__}", None)
        rows = table.get("row")
        if not isinstance(rows, list) or not rows:
            raise _bad_policy("a policy needs at least one [[row]]", "/row")
        for key in table.keys() - {"row", "roles"}:
            raise _bad_policy(f"{key!r} is not a key of a policy", f"/{key}")
        roles = table.get("roles", list(ROLES))
        if not _are_names(roles):
            raise _bad_policy(_NAMES_NEEDED, "/roles")
        return cls(tuple(_row(row, f"/row/{place}") for place, row in enumerate(rows)), tuple(roles))

    @classmethod
    def from_toml(cls, source: str | Path) -> Policy:
        """Reads a policy from a TOML file (a Path) or TOML text (a str): ``roles`` and a ``[[row]]`` for each row.

        Raises DecodeError(bad_policy), OSError for a file that cannot be read.
        """
        import tomllib

        expect(source, (str, Path), "a policy must be TOML text or the Path of a file")
        try:
            table = tomllib.loads(source.read_text("utf-8") if isinstance(source, Path) else source)
        except UnicodeDecodeError as error:
            raise _bad_policy(f"this is not TOML: byte {error.start} is not UTF-8", None) from None
        except tomllib.TOMLDecodeError as error:
            raise _bad_policy(f"this is not TOML: {error}", None) from None
        return cls.from_dict(table)

    def to_toml(self) -> str:
        """The policy as TOML text, which :meth:`from_toml` reads."""
        lines = [f"roles = {_toml(self.roles)}"]
        for row in self.rows:
            lines += ["", "[[row]]", *(f"{name} = {_toml(value)}" for name, value in row._asdict().items())]
        return "\n".join(lines) + "\n"


def allows(names: tuple[str, ...], name: str) -> bool:
    """True if a list of names lets a name in: "*" is anyone, "!name" excludes one."""
    return f"!{name}" not in names and ("*" in names or name in names)


def _refusals(row: Row, envelope: Envelope) -> Iterable[Issue]:
    """The issues of an envelope to whose channel this row applies: none if the row allows it."""
    says = f"the row {row.channel!r}"
    if not allows(row.senders, envelope.sender):
        text = f"{says} allows senders {_in_words(row.senders)}, not {envelope.sender!r}"
        yield Issue(Reason.ROLE_NOT_ALLOWED, "/sender", "warning", text)
    if not allows(row.receivers, envelope.receiver):
        text = f"{says} allows receivers {_in_words(row.receivers)}, not {envelope.receiver!r}"
        yield Issue(Reason.RECEIVER_NOT_ALLOWED, "/receiver", "warning", text)
    if row.type not in ("*", envelope.type):
        text = f"{says} allows type {row.type}, not {str(envelope.type)!r}"
        yield Issue(Reason.TYPE_CHANNEL_MISMATCH, "/type", "warning", text)
    if row.correlation and not envelope.correlation_id:
        text = f"{says} requires the correlation_id of the request"
        yield Issue(Reason.MISSING_CORRELATION_ID, "/correlation_id", "warning", text)


def _in_words(names: tuple[str, ...]) -> str:
    return ", ".join(f"anyone but {name[1:]}" if name[:1] == "!" else name for name in names if name != "*") or "*"


def _bad_policy(text: str, path: str | None) -> DecodeError:
    return DecodeError(Reason.BAD_POLICY, text, wire=WIRE, path=path)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name for name in value)


_NAMES_NEEDED = "expected a list of names"
_ROW_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "channel": (
        lambda text: isinstance(text, str) and all(text.removeprefix(SIGIL).partition("/")),
        'a channel is "family/name" or "family/*"',
    ),
    "type": (lambda word: word in ("*", *TYPES), f'type is "*" or one of {", ".join(TYPES)}'),
    "senders": (_are_names, _NAMES_NEEDED),
    "receivers": (_are_names, _NAMES_NEEDED),
    "correlation": (lambda value: isinstance(value, bool), "correlation is true or false"),
}
"""Key of a row in a table -> (test of its value, the words for what it has to be)."""


def _row(row: Any, path: str) -> Row:
    """The row that a value of a table describes. Raises DecodeError(bad_policy)."""
    if not isinstance(row, dict):
        raise _bad_policy("a row is a table", path)
    for key in row.keys() - _ROW_KEYS.keys():
        raise _bad_policy(f"{key!r} is not a key of a row", f"{path}/{key}")
    values: dict[str, Any] = {"correlation": False, **row}
    for key, (is_good, words) in _ROW_KEYS.items():
        if key not in values:
            raise _bad_policy(f"the row has no {key}", f"{path}/{key}")
        if not is_good(values[key]):
            raise _bad_policy(words, f"{path}/{key}")
    values["channel"] = values["channel"].removeprefix(SIGIL)
    return Row._make(tuple(values[key]) if isinstance(values[key], list) else values[key] for key in _ROW_KEYS)


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)  # JSON strings and arrays of strings, true and false are TOML, too


DEFAULT_POLICY = Policy(tuple(Row(*row) for row in DEFAULT_ROWS))
"""The policy of the specification: ``spec.DEFAULT_ROWS``."""


# --- what check finds ---


def envelope_issues(envelope: Envelope, policy: Policy, strict: bool) -> list[Issue]:
    """All that ``check`` finds; with ``strict`` the first warning is raised as RuleError instead."""
    issues = _issues(envelope, policy)
    if strict:
        for reason, where, severity, text in issues:
            if severity == "warning":
                raise RuleError(reason, text, rule=RULES.get(reason, "001"), wire=WIRE, path=str(where))
    return issues


def other_issues(message: Any, envelope: type, strict: bool) -> list[Issue]:
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
    return issues + [unknown_key(key) for key in others(envelope)]


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


def unknown_key(key: Any) -> Issue:
    """The issue of a key that is none of the specification, or no text."""
    if isinstance(key, str):
        return _unknown_name(key)
    return Issue(Reason.WRONG_TYPE, "", "warning", f"a key must be a string, not {type(key).__name__}")


@cached_if_short(256)
def _unknown_name(key: str) -> Issue:
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
