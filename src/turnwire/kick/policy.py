"""The policy: a table of who may send which type of envelope to whom on which channel (rule 2 of section 004)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import DecodeError, Issue, Reason, expect
from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.spec import BROADCAST, DEFAULT_ROWS, ROLES, SIGIL, TYPES, WIRE

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope


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
