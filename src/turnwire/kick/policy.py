"""The policy, who may send what to whom on which channel: the role x channel x type table, as data (rule 2 of section
004)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import DecodeError, Issue, Reason, expect
from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.spec import DEFAULT_ROWS, ROLES, SIGIL, TYPES, WIRE

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope


class Row(NamedTuple):
    """One row of the table.

    channel: "family/name", or "family/*" for the rest of a family. type: the one type that goes there, or "*".
    senders, receivers: names; "*" is anyone, "!name" takes one out again. correlation: whether a correlation_id is
    required. The first row whose channel matches decides.
    """

    channel: str
    type: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    correlation: bool = False

    def matches(self, family: str, name: str) -> bool:
        """True if the row speaks of ``⫻family/name``."""
        mine, _, pattern = self.channel.partition("/")
        return mine == family and pattern in ("*", name)


class PolicyRefusal(NamedTuple):
    """A refusal by a policy: reason, field, words, and the row that said no (None: no row matched)."""

    reason: Reason
    field: str
    text: str
    row: Row | None


class Policy:
    """A table of rows and the roles that are known.

    Args:
        rows: Row objects, in the order in which they are tried.
        roles: the known roles; any other sender or receiver is an issue of severity "info".

    A policy does not change; :meth:`with_rows` gives a new one with rows in front.
    """

    __slots__ = ("_families", "_roles", "known", "roles", "rows")
    _MEMORY = 4096  # how many (sender, receiver, type, channel) are remembered

    def __init__(self, rows: Iterable[Row], roles: Iterable[str] = ROLES) -> None:
        self.rows = tuple(rows)
        self.roles = tuple(roles)
        self._roles = frozenset(self.roles)
        self._families = frozenset(row.channel.partition("/")[0] for row in self.rows)
        self.known: dict[tuple[Any, ...], tuple[bool, tuple[Issue, ...]]] = {}
        """(sender, receiver, type, channel) of what nothing else can be refused for -> whether a correlation_id is
        required, and the remarks that are made."""

    def with_rows(self, *rows: Row) -> Policy:
        """A policy with these rows in front of the present ones."""
        return Policy((*rows, *self.rows), self.roles)

    def row_for(self, channel: str) -> Row | None:
        """The row that decides about a channel, or None."""
        family, name = channel_parts(channel)
        if family is None or name is None:
            return None
        return next((row for row in self.rows if row.matches(family, name)), None)

    def verdicts(self, envelope: Envelope) -> list[PolicyRefusal]:
        """Every refusal of an envelope, each with the row that said no. Empty where all is allowed."""
        family, name = channel_parts(envelope.channel)
        if family is None or name is None:
            return [PolicyRefusal(Reason.BAD_CHANNEL, "channel", "a channel is ⫻family/name", None)]
        row = next((row for row in self.rows if row.matches(family, name)), None)
        if row is None:
            if family in self._families:
                text = f"no row of the policy allows {envelope.channel!r}"
                return [PolicyRefusal(Reason.CHANNEL_NOT_ALLOWED, "channel", text, None)]
            known = ", ".join(sorted(self._families))
            text = f"{family!r} is not a channel family; the families are {known}"
            return [PolicyRefusal(Reason.UNKNOWN_CHANNEL_FAMILY, "channel", text, None)]
        return _judge(row, envelope)

    def issues(self, envelope: Envelope) -> list[Issue]:
        """The verdicts and the unknown roles as issues."""
        found = [
            Issue(Reason.UNKNOWN_ROLE, f"/{field}", "info", f"{role!r} is not a known role")
            for field, role in (("sender", envelope.sender), ("receiver", envelope.receiver))
            if role not in self._roles and (field == "sender" or role != "Broadcast")
        ]
        refused = self.verdicts(envelope)
        if len(self.known) < self._MEMORY:
            self._remember(envelope, refused, tuple(found))
        return found + [Issue(reason, f"/{field}", "warning", text) for reason, field, text, _ in refused]

    def _remember(self, envelope: Envelope, refused: list[PolicyRefusal], remarks: tuple[Issue, ...]) -> None:
        if envelope.type not in TYPES:
            return  # a row of any type says nothing of it, but ``check`` does
        key = (envelope.sender, envelope.receiver, envelope.type, envelope.channel)
        row = self.row_for(envelope.channel)
        if row is not None and all(verdict.reason is Reason.MISSING_CORRELATION_ID for verdict in refused):
            self.known[key] = row.correlation, remarks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return (self.rows, self.roles) == (other.rows, other.roles)

    def __hash__(self) -> int:
        return hash((self.rows, self.roles))

    def __repr__(self) -> str:
        return f"<Policy {', '.join(row.channel for row in self.rows)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.rows, self.roles)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Policy:
        """A policy from ``{"roles": [...], "row": [{channel, type, senders, receivers, correlation}, ...]}``.

        Raises DecodeError(bad_policy) with ``path``; nothing is guessed and no key is ignored.
        """
        if not isinstance(table, Mapping):
            raise _bad(f"a policy is a table, not {type(table).__name__}", None)
        rows = table.get("row")
        if not isinstance(rows, list) or not rows:
            raise _bad("a policy needs at least one [[row]]", "/row")
        for key in table.keys() - {"row", "roles"}:
            raise _bad(f"{key!r} is not a key of a policy", f"/{key}")
        roles = table.get("roles", list(ROLES))
        return cls([_row(row, f"/row/{place}") for place, row in enumerate(rows)], _names(roles, "/roles"))

    @classmethod
    def from_toml(cls, source: str | Path) -> Policy:
        """A policy from a TOML file (a Path) or TOML text (a str): ``roles`` and a ``[[row]]`` for each row.

        Raises DecodeError(bad_policy), OSError for a file that cannot be read.
        """
        import tomllib

        expect(source, (str, Path), "a policy is TOML text or the Path of a file")
        try:
            table = tomllib.loads(source.read_text("utf-8") if isinstance(source, Path) else source)
        except UnicodeDecodeError as error:
            raise _bad(f"this is not TOML: byte {error.start} is not UTF-8", None) from None
        except tomllib.TOMLDecodeError as error:
            raise _bad(f"this is not TOML: {error}", None) from None
        return cls.from_dict(table)

    def to_toml(self) -> str:
        """The policy as TOML text, which :meth:`from_toml` reads."""
        lines = [f"roles = {_toml(self.roles)}"]
        for row in self.rows:
            lines += ["", "[[row]]", f"channel = {_toml(row.channel)}", f"type = {_toml(row.type)}"]
            lines += [f"senders = {_toml(row.senders)}", f"receivers = {_toml(row.receivers)}"]
            lines += [f"correlation = {_toml(row.correlation)}"]
        return "\n".join(lines) + "\n"


def allows(names: tuple[str, ...], name: str) -> bool:
    """True if a list of names lets a name in: "*" is anyone, "!name" takes one out."""
    return f"!{name}" not in names and ("*" in names or name in names)


def _judge(row: Row, envelope: Envelope) -> list[PolicyRefusal]:
    found = []
    says = f"the row {row.channel!r}"
    if not allows(row.senders, envelope.sender):
        text = f"{says} takes senders {_listed(row.senders)}, not {envelope.sender!r}"
        found.append(PolicyRefusal(Reason.ROLE_NOT_ALLOWED, "sender", text, row))
    if not allows(row.receivers, envelope.receiver):
        text = f"{says} takes receivers {_listed(row.receivers)}, not {envelope.receiver!r}"
        found.append(PolicyRefusal(Reason.RECEIVER_NOT_ALLOWED, "receiver", text, row))
    if row.type not in ("*", envelope.type):
        text = f"{says} takes type {row.type}, not {str(envelope.type)!r}"
        found.append(PolicyRefusal(Reason.TYPE_CHANNEL_MISMATCH, "type", text, row))
    if row.correlation and not envelope.correlation_id:
        text = f"{says} wants the correlation_id of what is answered"
        found.append(PolicyRefusal(Reason.MISSING_CORRELATION_ID, "correlation_id", text, row))
    return found


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"anyone but {name[1:]}" if name[:1] == "!" else name for name in names if name != "*") or "*"


def _bad(text: str, path: str | None) -> DecodeError:
    return DecodeError(Reason.BAD_POLICY, text, wire=WIRE, path=path)


def _names(value: Any, path: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise _bad("a list of names is needed", path)
    return tuple(value)


def _row(row: Any, path: str) -> Row:
    if not isinstance(row, dict):
        raise _bad("a row is a table", path)
    for key in row.keys() - set(Row._fields):
        raise _bad(f"{key!r} is not a key of a row", f"{path}/{key}")
    for key in ("channel", "type", "senders", "receivers"):
        if key not in row:
            raise _bad(f"the row lacks {key}", f"{path}/{key}")
    channel = row["channel"] if isinstance(row["channel"], str) else ""
    family, _, name = channel.removeprefix(SIGIL).partition("/")
    if not family or not name:
        raise _bad('a channel is "family/name" or "family/*"', f"{path}/channel")
    if row["type"] not in ("*", *TYPES):
        raise _bad(f'type is "*" or one of {", ".join(TYPES)}', f"{path}/type")
    if not isinstance(row.get("correlation", False), bool):
        raise _bad("correlation is true or false", f"{path}/correlation")
    senders = _names(row["senders"], f"{path}/senders")
    receivers = _names(row["receivers"], f"{path}/receivers")
    return Row(f"{family}/{name}", row["type"], senders, receivers, row.get("correlation", False))


def _toml(value: str | bool | tuple[str, ...]) -> str:
    import json

    if isinstance(value, str):
        return json.dumps(value)  # a JSON string is a TOML basic string
    return str(value).lower() if isinstance(value, bool) else f"[{', '.join(_toml(item) for item in value)}]"


DEFAULT_POLICY = Policy(Row(*row) for row in DEFAULT_ROWS)
"""The policy of the specification: ``spec.DEFAULT_ROWS``."""
