"""encode and decode of SAP V2.0: one JSON object a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, Refusal, record_bytes
from turnwire.errors import EncodeError, Issue, Reason
from turnwire.json import text as json_text
from turnwire.json._codec_py import Kind as SoundKind, Row
from turnwire.json.fields import Table, row_of
from turnwire.json.lazy_object import set_source, set_text
from turnwire.sap.messages import KEYS, MESSAGES, Ack, JsonObject, Message, Nack, Result, Task
from turnwire.sap.spec import ERROR_CODES, MUST, RESULT_MARKS, TASK_MARKS, WIRE, Kind, Receipt

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from turnwire.json import _codec_py as _core

    Object = TypeVar("Object", bound=JsonObject)
else:
    _core = _backend.load("json.codec")

_OF_TASKS, _OF_RESULTS = frozenset(TASK_MARKS), frozenset(RESULT_MARKS)
_MARKED = {  # what the rules of ``turnwire.sap`` may have to say something about
    ("Task", "payload"): "secrets",
    ("Task", "attachments"): "look",
    ("ReplyTo", "endpoint"): "at",
    ("ConstitutionalContext", "references"): "at",
    ("Result", "error"): "look",
    ("Artifact", "uri"): "at",
    ("ConstitutionalEvidence", "citations"): "at",
}
_CLEAN = {("Result", "status"): ("SUCCEEDED",), ("ConstitutionalEvidence", "alignment"): ("VALID", "ESCALATE")}
_reader = json_text.reader(WIRE, KEYS)


def _rows(table: Table, core: Any) -> Iterator[Row]:
    for field in table.fields:
        place = table.name, field.name
        of_table = partial(_rules, core=core)
        yield row_of(field, field.need == MUST, of_table, _MARKED.get(place, ""), _CLEAN.get(place, ()))


_made: dict[tuple[Any, str], Any] = {}


def _rules(table: Table, core: Any) -> Any:
    if (found := _made.get((core, table.name))) is None:
        found = _made[core, table.name] = core.Rules(_rows(table, core))
    return found


def codec_of(core: Any, read_source: Callable[..., Any]) -> Any:
    """The codec of messages of which there is nothing to say, of one core."""
    either = {row.name: row._replace(must=False) for cls in (Result, Task) for row in _rows(cls.TABLE, core)}
    rules = core.Rules([*either.values(), Row("messageId", "doubt")])  # that of an Ack or a Nack
    foreign = [(Task, ("status", "producer")), (Result, ("issuer", "target")), (Ack, ()), (Nack, ())]
    kinds = [SoundKind(cls, _rules(cls.TABLE, core), foreign=names) for cls, names in foreign]
    return core.Codec(kinds, rules, read_source, doubtful=_is_doubtful)


def is_clean(message: JsonObject) -> bool:
    """True if a message by itself certainly has no issues. Only the compiled core can tell in one pass."""
    return bool(_codec.is_clean(message))


def is_quiet(value: Any) -> bool:
    """True if surely nothing below ``value`` looks like a secret. Only the compiled core can tell in one pass."""
    return _core.quiet(value)


def findings(fields: Any, table: Table) -> list[Issue]:
    """The issues of an object's fields by their table, in order: an "error" is what reading refuses."""
    if _rules(table, _core).follows(fields):
        return []
    from turnwire.sap.rules import table_issues

    return list(table_issues(fields, table))


def decode(data: str | Buffer, *, limits: Limits = LIMITS) -> Task | Result | Ack | Nack:
    """Reads one message from JSON text, strictly: a Task, a Result, an Ack or a Nack.

    Args:
        data: text or contiguous bytes.
        limits: limits on the input.

    Raises DecodeError with reason, byte offset, line and ``path`` (a JSON pointer) for invalid JSON (including
    duplicate keys, NaN and text after the object), a missing required field, a wrong type, a value outside a closed
    set, an invalid UUID or time, or another protocolVersion. ``check`` finds minor issues. Unknown fields are kept.
    """
    raw = data if type(data) is str or type(data) is bytes else json_text.input_bytes(data, WIRE)
    if limits is LIMITS and (read := _codec.read(raw)) is not None:
        return read  # type: ignore[no-any-return]
    fields, source = _reader.read_source(raw, limits)
    found: Any = _codec.made(fields, source) or _closer(raw, fields, source)
    set_text(found, raw if limits is LIMITS else None)
    return found  # type: ignore[no-any-return]


def _closer(raw: str | bytes, fields: dict[str, Any], source: str | bytes | None) -> Task | Result | Ack | Nack:
    """The message over an object of which something may be said. Raises DecodeError."""
    kind: Any = kind_of(fields)
    sound = kind is not None and not findings(fields, kind.TABLE)
    if not sound and (found := fault(fields)) is not None:
        raise json_text.refusal(raw, WIRE, *found)
    message: Task | Result | Ack | Nack = kind.of(fields)
    set_source(message, None if not sound or _is_doubtful(message) else True if source is None else source)
    return message


def _is_doubtful(message: Any) -> bool:
    """True if strict writing refuses or changes a message whose fields are sound."""
    if type(message) is Task:
        return _whole_pressure(message._fields) is not message._fields
    return any(issue.severity == "warning" for issue in conditions(message))


def from_fields(cls: type[Object], fields: dict[str, Any]) -> Object:
    """An object of a class, or a message of any kind for :class:`Message`, over a dict, which is not copied. Raises
    DecodeError."""
    kind: Any = cls if hasattr(cls, "TABLE") else kind_of(fields)
    if (found := fault(fields, kind)) is not None:
        raise json_text.refusal(None, WIRE, *found)
    return kind.of(fields)  # type: ignore[no-any-return]


def fault(fields: dict[str, Any], kind: type[JsonObject] | None = None) -> Refusal | None:
    """The refusal of an object by ``decode``: reason, words, JSON pointer; None if it does not. kind: its class, where
    that is known."""
    if kind is None:
        texts = [fields[name] for name in _TEXTS & fields.keys()]
        # each field that is a text in a message is described by a JSON Schema instead (section 9 prints some)
        if texts and all(isinstance(one, dict) and not _SCHEMA_WORDS.isdisjoint(one) for one in texts):
            return Reason.LOOK_ALIKE, "this is a JSON Schema of SAP, not a message", ""
        kind = kind_of(fields)
    if kind is None:
        return Reason.UNKNOWN_KIND, "this object does not look like a Task, Result, Ack or Nack", ""
    for finding in findings(fields, kind.TABLE):
        if finding.severity == "error":
            return finding.reason, finding.text, str(finding.where)
    return None


_TEXTS = frozenset(
    field.name
    for table in MESSAGES
    for field in table.fields
    if field.kind in (Kind.TEXT, Kind.UUID, Kind.TIME, Kind.VERSION, Kind.ENUM)
)
"""Fields of messages that are texts."""
_SCHEMA_WORDS = frozenset(
    {"type", "const", "enum", "format", "pattern", "$ref", "anyOf", "oneOf", "allOf", "description"}
)


def kind_of(fields: Mapping[str, Any]) -> type[Message] | None:
    """The message class that an object's fields are the marks of, or None."""
    if "issuer" in fields and "target" in fields and "status" not in fields and "producer" not in fields:
        return Task  # more of a Task's marks than of a Result's, without counting
    if fields.keys() >= _OF_RESULTS and "taskId" in fields and "issuer" not in fields and "target" not in fields:
        return Result  # all of a Result's marks, and fewer of a Task's
    task, result = len(_OF_TASKS & fields.keys()), len(_OF_RESULTS & fields.keys())
    if "messageId" in fields and "taskId" not in fields:
        return Nack if fields.get("status") == Receipt.NACK.value else Ack
    if task or result:
        return Task if task >= result else Result
    return None


def encode(message: JsonObject | Mapping[str, Any], strict: bool = True) -> str:
    """Writes a message as JSON text: keys in the message's own order, no white space.

    Args:
        message: a Task, Result, Ack or Nack, or a dict with the fields of one.
        strict: reject messages with warnings of ``check``; False writes the content exactly as it is.

    Raises EncodeError with ``path``. An unchanged message keeps the spelling of its numbers, except that a pressure
    of 41.0 is written 41.
    """
    text = _codec.text(message, strict)
    if text is not None:
        return text  # type: ignore[no-any-return]
    whole = _message(message)
    fields = whole._fields
    if strict:
        found = findings(fields, whole.TABLE) if whole._source is None else []
        for issue in found or [issue for issue in conditions(whole) if issue.severity == "warning"]:
            raise EncodeError(issue.reason, issue.text, wire=WIRE, path=str(issue.where))
        if isinstance(whole, Task):
            fields = _whole_pressure(fields)
    if whole._text is not None and fields is whole._fields:
        return json_text.compacted(whole._text)
    return json_text.write(fields, WIRE)


def text_as_read(task: Task) -> str | None:
    """The text of a task that was read, where strict writing gives just that; None if it has to be written."""
    source = task._source
    return source.decode() if isinstance(source, bytes) else source if isinstance(source, str) else None


def _message(message: JsonObject | Mapping[str, Any]) -> Message:
    if isinstance(message, Message):
        return message
    if isinstance(message, Mapping) and (kind := kind_of(message)) is not None:
        return kind.of(dict(message))
    known = ", ".join(table.name for table in MESSAGES)
    raise EncodeError(Reason.UNKNOWN_KIND, f"encode expects one of {known}, not {type(message).__name__}", wire=WIRE)


def _whole_pressure(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with pressures as integers, which is what section 9 has; a copy only where one is a float."""
    context = fields["constitutionalContext"]
    pressure = context.get("pressure", {})
    if not any(isinstance(value, float) for value in pressure.values()):
        return fields
    whole = {name: int(value) for name, value in pressure.items()}
    return {**fields, "constitutionalContext": {**context, "pressure": whole}}


def detect(data: str | Buffer) -> bool:
    """True if one record looks like SAP: a JSON object that names protocolVersion and taskId, or messageId.

    Cheap; never raises.
    """
    raw = record_bytes(data) or b""
    if not raw.lstrip(b" \t\r\n").startswith(b"{"):
        return False
    if b'"protocolVersion"' in raw and b'"taskId"' in raw:
        return True
    return b'"messageId"' in raw and b'"correlationId"' in raw and (b'"ACK"' in raw or b'"NACK"' in raw)


def conditions(message: JsonObject) -> list[Issue]:
    """Rules between the fields of a Result whose fields are right by themselves (sections 5 and 8)."""
    if not isinstance(message, Result):
        return []
    fields = message._fields
    status = fields["status"]
    error = fields.get("error")
    issues: list[Issue] = []
    why = None if error is None else error.get("message")
    if status == "FAILED" and (why is None or not why.strip()):
        reason = Reason.MISSING_MESSAGE if why is None else Reason.EMPTY_VALUE
        issues.append(Issue(reason, "/error/message", "warning", "FAILED must say why (section 8)"))
    if status == "SUCCEEDED" and fields["constitutionalEvidence"]["alignment"] == "NON_CONSTITUTIONAL":
        text = "a result that is NON_CONSTITUTIONAL has not SUCCEEDED"
        issues.append(Issue(Reason.STATUS_CONFLICT, "/status", "warning", text))
    if status in ("PARTIAL", "ESCALATED") and not fields.get("nextActions"):
        text = f"{status} should come with nextActions (sections 5 and 8)"
        issues.append(Issue(Reason.NO_NEXT_ACTIONS, "/nextActions", "info", text))
    if error is not None and "code" in error and error["code"] not in ERROR_CODES:
        issues.append(Issue(Reason.UNKNOWN_CODE, "/error/code", "info", "section 8 recommends other codes"))
    return issues


CORE = _codec = codec_of(_core, _reader.read_source)
"""The functions that those of all wires use directly: ``read``, ``text`` and ``is_clean``."""
