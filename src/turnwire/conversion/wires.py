"""The messages of the five wires as fields, and back: their shapes for conversion (``Wire.shape``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from turnwire.conversion.context import Names
from turnwire.conversion.facts import FORMS
from turnwire.conversion.shapes import ABSENT, Fields, Path, Shape, flat, nested, parsed
from turnwire.conversion.tables import ACTS, FIXED, PLACES, own_acts
from turnwire.csp.codec import write
from turnwire.csp.messages import AnyBlock, CspMessage, Patch, made_block
from turnwire.csp.spec import BLOCK_WORD, Intent
from turnwire.errors import Issue, Reason
from turnwire.kick.codec import Envelope
from turnwire.kick.messages import channel_parts
from turnwire.kick.rules import DEFAULT_POLICY, allows
from turnwire.kick.sections import has_section
from turnwire.kick.space import first_section, is_answer
from turnwire.kick.spec import SIGIL
from turnwire.nslip import Act, FrameType, SlipMessage, Slot
from turnwire.sap.codec import kind_of
from turnwire.sap.judgement import judge
from turnwire.sap.messages import Message as SapMessage
from turnwire.sap.spec import Alignment
from turnwire.sstp.messages import CLASSES, Message as SstpMessage
from turnwire.sstp.spec import SCHEMA_IDS

_OWN = {wire: own_acts(wire) for wire in PLACES}
"""Wire -> kind -> its act."""

# --- nSLIP ---

_OF_ACT = {kind.partition("/")[0]: act for kind, act in _OWN["nslip"].items()}
_NUMBERS: tuple[Path, ...] = (("conv_id",), ("turn",), ("src",), ("dst",))
_SLOTS: dict[Any, Path] = {slot: ("slots", slot.name) for slot in Slot}
_SLOT_OF = {path: slot for slot, path in _SLOTS.items()}
_ACT_NAMES, _FRAME_NAMES = ({one: one.name for one in names} for names in (Act, FrameType))
_ACT, _FRAME, _EXTRA = ("act",), ("frame",), ("extra",)


def _nslip_split(message: SlipMessage) -> Fields:
    """The numbers of the header, act and frame by name, ``slots.X``; kept fields are one."""
    numbers = message.conv_id, message.turn, message.src, message.dst
    fields: Fields = dict(zip(_NUMBERS, numbers, strict=True))
    frame: Any = message.frame
    fields[_ACT], fields[_FRAME] = _ACT_NAMES[message.act], _FRAME_NAMES.get(frame, frame)
    slots: Mapping[Any, Any] = message.slots
    for slot, value in slots.items():
        fields[_SLOTS.get(slot) or ("slots", slot)] = value
    if message.extra:
        fields[_EXTRA] = message.to_dict()["extra"]
    return fields


def _nslip_join(fields: Fields) -> SlipMessage:
    """The message of its fields."""
    if not isinstance(fields[_FRAME], str) or _EXTRA in fields:
        return SlipMessage.from_dict(nested(fields))
    slots: dict[Slot, Any] = {_SLOT_OF[path]: value for path, value in fields.items() if path[0] == "slots"}
    conv_id, turn, src, dst = map(fields.__getitem__, _NUMBERS)
    return SlipMessage(conv_id, turn, src, dst, Act[fields[_ACT]], FrameType[fields[_FRAME]], slots)


NSLIP = Shape(
    _nslip_split,
    _nslip_join,
    lambda fields: (_OF_ACT[fields[_ACT]], ""),  # the frame is only as good as the table's
    lambda act, facts: ("", dict(zip((_ACT, _FRAME), ACTS[act]["nslip"].kind.split("/"), strict=True))),
    PLACES["nslip"],
    tells=(_ACT,),
    counts="conversation",
    finishes=frozenset(),
)


# --- CSP/1 ---

_HEADERS: tuple[Path, ...] = (("sender",), ("receiver",), ("ctx",), ("intent",))
_LINE, _ISSUES = ("line",), ("issues",)
_WORD, _ID, _OP = ("block", "kind"), ("block", "id"), ("block", "op")


def _csp_split(message: CspMessage) -> Fields:
    """The headers by the names of the attributes, ``block.id``, ``block.op``, ``block.KEY``; absent where None.

    ``block.kind`` is there only where it differs from the intent's; a repeated key is ``block.KEY.2``, and so on.
    """
    values = message.sender, message.receiver, message.ctx, message.intent
    fields: Fields = dict(zip(_HEADERS, map(str, values), strict=True))
    if None in values:
        fields = {path: text for path, text in fields.items() if getattr(message, path[0]) is not None}
    block: Any = message.block
    if block is not None and block.kind != BLOCK_WORD.get(message.intent or ""):
        fields[_WORD] = str(block.kind)
    for name in () if block is None else block.__match_args__:
        if name == "fields":
            seen: dict[str, int] = {}
            for key, text in block.fields:
                seen[key] = number = seen.get(key, 0) + 1
                fields[("block", key) if number == 1 else ("block", key, str(number))] = str(text)
        elif name == "ops":
            fields |= {("block", "ops", str(place)): op for place, op in enumerate(block.to_dict()["ops"])}
        elif name != "kind" and (value := getattr(block, name)) is not None:
            fields["block", name] = str(value)
    if message.line != 1:
        fields[_LINE] = message.line
    if message.issues:
        fields[_ISSUES] = [[str(issue.reason), *issue[1:]] for issue in message.issues]
    return fields


def _csp_join(fields: Fields) -> CspMessage:
    """The message of its fields."""
    sender, receiver, ctx, intent = map(fields.get, _HEADERS)
    word, line = fields.get(_WORD, BLOCK_WORD.get(intent or "")), fields.get(_LINE, 1)
    if not isinstance(word, str | None) or type(line) is not int:
        raise TypeError("the kind of a block must be text, and a line must be a number")
    block = None if word is None or _ID not in fields else _csp_block(word, fields)
    issues = [Issue(Reason(reason), *more) for reason, *more in fields.get(_ISSUES, ())]
    intent = Intent(intent) if intent in _OWN["csp"] else intent
    return CspMessage(sender, receiver, ctx, intent, block, line=line, issues=issues)


def _csp_block(word: str, fields: Fields) -> AnyBlock:
    own = "kind", "id", "op"
    inner = [(path[1], value) for path, value in fields.items() if path[0] == "block" and path[1] not in own]
    if word == "PATCH":
        ops = [value for name, value in inner if name == "ops"]
        return Patch(fields[_ID], fields.get(("block", "base")), ops, fields.get(("block", "apply")))
    return made_block(word, fields[_ID], inner, fields.get(_OP, ""))


def _csp_kind(fields: Fields) -> tuple[str | None, str]:
    """The intent."""
    intent = fields.get(_HEADERS[3], "")
    return _OWN["csp"].get(intent), intent if intent in PLACES["csp"] else "MEM"


def _csp_facts(fields: Fields, kind: str, names: Any) -> dict[str, Any]:
    """A block without a main text (PATCH, other keys in a generic block) has its lines as text."""
    if kind not in ("PATCH", "PLAN", "QUERY", "MEM") or ("block", "TEXT") in fields:
        return {}
    inner = [path for path in fields if path[0] == "block" and path[1] not in ("id", "kind")]
    if not inner:
        return {}
    text = write(_csp_join(fields), strict=False)
    return {"text": text[text.index("\n\n") + 2 : -1]}


CSP = Shape(
    _csp_split,
    _csp_join,
    _csp_kind,
    lambda act, facts: (intent := ACTS[act]["csp"].kind, {_HEADERS[3]: intent}),
    PLACES["csp"],
    _csp_facts,
    unseen=frozenset({_LINE, _ISSUES}),
    tells=(_HEADERS[3],),
    stateful="C0",
    state_path="ctx",
    tasks_alone=True,
    by_others="answers",
    moves=lambda fields: (fields.get(("block", "base")), fields.get(("block", "apply"))),  # of a patch
    numbered={"ERROR:block.id": "E", "PLAN:block.id": "L", "QUERY:block.id": "Q", "MEM:block.id": "M"},
    finishes=frozenset(),
)


# --- SSTP ---

_SSTP_OPENED: frozenset[Path] = frozenset({("header",), ("payload",)})
_SSTP_FIXED: dict[str, Fields] = {
    kind.value: {("header", "kind"): kind.value, ("header", "schema_id"): name} for kind, name in SCHEMA_IDS.items()
}


def _sstp_join(fields: Fields) -> SstpMessage:
    """The message of its fields."""
    whole = nested(fields)
    whole.setdefault("payload", {})
    return CLASSES[whole["header"]["kind"]].of(whole)


def _sstp_begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """The kind and its schema_id."""
    if act == "inform" and facts.get("status") == "FAILED":
        act = "error"  # a knowledge message would not say that something failed
    name = ACTS[act]["sstp"].kind
    return name, _SSTP_FIXED[name]


SSTP = Shape(
    lambda message: flat(message.to_dict(), _SSTP_OPENED),
    _sstp_join,
    lambda fields: (_OWN["sstp"][kind := fields["header", "kind"]], kind),
    _sstp_begin,
    PLACES["sstp"],
    carry=("header", "turnwire"),
    tells=(("header", "kind"),),
    counts="sender",
    finishes=frozenset(),
)


# --- SAP ---

_FAILED = "FailedResult"
"""The kind, in the tables of conversion, of a Result that tells an error."""

_PATHS = [parsed(place.path) for places in PLACES["sap"].values() for place in places]
_SAP_FIXED: dict[str, Fields] = {
    name: {(key,): said for key, said in row.items()} for name, row in FIXED["sap"].items()
}
# The objects whose members are fields of their own: meta, and all in which conversion knows a place. Arrays, the
# payload, the output, and objects in which no other wire has a counterpart are one field each.
_SAP_OPENED: frozenset[Path] = frozenset(
    {("meta",), *(path[:depth] for path in _PATHS for depth in range(1, len(path)))}
)


def _sap_join(fields: Fields) -> SapMessage:
    """The message that has these fields. Raises KeyError if they are of no SAP message."""
    whole = nested(fields)
    cls = kind_of(whole)
    if cls is None:
        raise KeyError("these fields do not form a SAP message")
    return cls.from_dict(whole)


def _sap_kind(fields: Fields) -> tuple[str | None, str]:
    """(act, kind) of a message by its fields. The kind is the name of the class; of a FAILED Result with an error
    message it is FailedResult, whose act is "error"."""
    if ("messageId",) in fields and ("taskId",) not in fields:
        name = "Nack" if fields.get(("status",)) == "NACK" else "Ack"
    elif ("reportedAt",) not in fields and ("producer", "agentId") not in fields:
        name = "Task"
    else:
        failed = fields.get(("status",)) == "FAILED" and ("error", "message") in fields
        name = _FAILED if failed else "Result"
    return _OWN["sap"][name], name


def _sap_begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """(kind, fixed fields) of the message for an act. A Result whose status is FAILED becomes a FailedResult, since its
    text is then the error message."""
    name = ACTS[act]["sap"].kind
    if name == "Result" and facts.get("status") == "FAILED":
        name = _FAILED
    return name, _SAP_FIXED[name]


def _sap_facts(fields: Fields, kind: str, names: Names) -> dict[str, Any]:
    """More than the fields at their places: the text of a Result without output that did not succeed is its error
    message."""
    reason = fields.get(("error", "message"))
    silent = kind == "Result" and fields.get(("output",)) in (None, {}, [], "")
    return {"text": reason} if silent and isinstance(reason, str) and fields.get(("status",)) != "SUCCEEDED" else {}


_ALIGNMENT, _CHECKS, _VIOLATIONS = (
    ("constitutionalEvidence", name) for name in ("alignment", "policyChecks", "violations")
)


def _sap_finish(fields: Fields, facts: dict[str, Any], names: Names) -> tuple[Path, ...]:
    """Completes the fields of a new message: an alignment VALID (from the context) that its status or its evidence
    contradicts becomes ESCALATE. No further field is needed."""
    if fields.get(_ALIGNMENT) == Alignment.VALID:
        evidence = fields.get(_CHECKS) or (), fields.get(_VIOLATIONS) or ()
        if not judge(str(fields.get(("status",))), Alignment.VALID, *evidence).valid:
            fields[_ALIGNMENT] = Alignment.ESCALATE.value
    return ()


SAP = Shape(
    lambda message: flat(message.to_dict(), _SAP_OPENED),
    _sap_join,
    _sap_kind,
    _sap_begin,
    PLACES["sap"],
    _sap_facts,
    _sap_finish,
    carry=("meta", "turnwire"),
    tasks_alone=True,
    asked_first="correlation",
    by_others="correlation",
    tells=(("status",), ("target", "capability")),
    fresh=frozenset({("Task", ("taskId",)), ("Task", ("correlationId",))}),
    finishes=frozenset(),
)


# --- KickLang ---

_KICK_CARRY: Path = ("content", "carry")
CHANNEL_FAMILY = {"report": "inform", "alert": "warn", "query": "ask"}
"""The meaning of a channel whose name is no act's; a report tells by that name how the work stands. A command may
be any order, also to stop: it has none."""

CHANNEL_EXACT: dict[str, tuple[str, ...]] = {"error": ("report/error",), "warn": ()}
"""Further channels on which an act is still itself, where the policy does not let it through on the first."""

CHANNEL_NEAREST = ("query",)
"""Families that take what the policy lets through nowhere else (only the Orchestrator commands, reports go to
it, alerts to everyone); the channel's name says the act, but its type says Query, so that this is the nearest only."""

STATUS_CHANNEL = "report/status"
"""The channel of an "inform" with a status, an "accept" (its word is ``ACCEPTED``), and the "error" of a task
(``Failed``); the word is in the first line of the content."""

ACCEPTED = "Accepted"

_CARRY = f"\n{SIGIL}turnwire/carry\n"
_CHANNEL, _CONTENT, _TYPE, _CORRELATION = ("channel",), ("content",), ("type",), ("correlation_id",)
_ENDS: tuple[Path, ...] = ("sender",), ("receiver",)

_WORDS = set(_OWN["kick"].values())
_PLACE = re.compile(rf"[^\s{SIGIL}]*[^\s{SIGIL}/]")
_TYPES = {"command": "Command", "report": "Info", "alert": "Alert", "query": "Query"}


def _kick_split(message: Envelope) -> Fields:
    """The fields and the unknown keys by name, and what was carried, cut off from the content."""
    fields = flat(message.to_dict(), frozenset())
    main, mark, rest = fields[_CONTENT].rpartition(_CARRY)
    if mark and rest.find("\n") == len(rest) - 1:
        fields[_CONTENT] = main
        fields[_KICK_CARRY] = rest[:-1]
    return fields


def _kick_join(fields: Fields) -> Envelope:
    """The envelope of its fields."""
    if _KICK_CARRY in fields:
        fields = {**fields, _CONTENT: f"{fields[_CONTENT]}{_CARRY}{fields[_KICK_CARRY]}\n"}
        del fields[_KICK_CARRY]
    return Envelope.from_dict(nested(fields))


def _kick_kind(fields: Fields) -> tuple[str | None, str]:
    """The channel: one of the table, else one whose name is an act's, else the act of its family; of a status, the
    word in its first line. A message marked as an answer is not a question."""
    family, name = channel_parts(fields[_CHANNEL])
    whole = f"{family}/{name}"
    if family == "query" and is_answer(name, fields[_CONTENT]):
        return "inform", ""
    if whole == STATUS_CHANNEL:
        return ("accept" if _first_line(fields[_CONTENT]) == ACCEPTED else "inform"), ""
    if whole in _OWN["kick"]:
        return _OWN["kick"][whole], ""
    if name in _WORDS and family in ("report", "query"):
        return name, ""
    return CHANNEL_FAMILY.get(str(family)), ""


def _kick_near(fields: Fields) -> str | None:
    """A channel whose name says what its type does not: ``⫻query/request`` asks, and orders nothing."""
    family, name = channel_parts(fields[_CHANNEL])
    is_near = family in CHANNEL_NEAREST and name in _WORDS and name != "ask"
    return fields[_CHANNEL] if is_near else None


def _first_line(content: str) -> str:
    return next((line for line in content.split("\n") if line and line[0] != SIGIL), "")


def _kick_facts(fields: Fields, kind: str, names: Names) -> dict[str, Any]:
    """Task id, status word and text of the content; a content of another form than ``_header`` gives is text whole."""
    content: str = fields[_CONTENT]
    channel = fields[_CHANNEL].removeprefix(SIGIL)
    section = first_section(content)
    place = None if section is None else section.place
    found: dict[str, Any] = {} if place is None else {"task": place}
    body: str | None = content
    ended = content if content.endswith("\n") else f"{content}\n"  # what comes back has its newline, and is not exact
    for task in (place, None):
        head = f"{_header(channel, task)}\n"
        if ended.startswith(head):
            body = ended[len(head) : -1] if ended != head else None
            break
    if body is not None and has_section(body):
        body = content  # more sections than one
    word = _status_word(channel, content if body is None else body, names, body is content)
    accepted = channel == STATUS_CHANNEL and _first_line(content) == ACCEPTED
    if word is not ABSENT and channel != STATUS_CHANNEL:
        found["status"] = word
    elif accepted or word is not ABSENT:
        if not accepted:
            found["status"] = word
        if body is not None and body is not content:
            _, newline, rest = body.partition("\n")
            body = rest if newline else None
    if body is not None:
        found["text"] = body
    return found


def _status_word(channel: str, body: str, names: Names, whole: bool) -> Any:
    family, _, name = channel.partition("/")
    if family == "report" and channel not in _OWN["kick"] and name not in _WORDS:
        return FORMS["status"].read(name, names, "kick")  # ⫻report/progress, ⫻report/refusal: no plain report
    if channel != STATUS_CHANNEL:
        return ABSENT
    line = _first_line(body) if whole else body.split("\n")[0]
    return FORMS["status"].read(line, names, "kick") if line else ABSENT


def _header(channel: str, task: str | None) -> str:
    """The first line of a content: ``⫻family/name:task/001``; a dispatch is a ``⫻task/dispatch``."""
    name = channel.replace("command/", "task/", 1)
    return f"{SIGIL}{name}" if task is None else f"{SIGIL}{name}:{task}/001"


def _kick_finish(fields: Fields, facts: dict[str, Any], names: Names) -> tuple[Path, ...]:
    """Chooses the channel by the policy and writes the content."""
    act = facts["act"]
    said = "FAILED" if act == "error" and "task" in facts else facts.get("status") if act == "inform" else None
    status = ACCEPTED if act == "accept" else FORMS["status"].write(said, names, "kick")
    # What the context will say of them counts in converting back, too, since the channel will depend on it.
    ends = [names.default("kick", "", *path) if path not in fields else fields[path] for path in _ENDS]
    sender, receiver = (end if isinstance(end, str) else None for end in ends)
    channel, needed = _channel(act, sender, receiver, status is not ABSENT)
    default, correlation = fields.pop(_CONTENT, None), fields.pop(_CORRELATION, ABSENT)
    fields[_TYPE] = _TYPES[channel.partition("/")[0]]
    fields[_CHANNEL] = SIGIL + channel
    if default is None or "text" in facts:
        default = _content(channel, facts, status if channel == STATUS_CHANNEL else ABSENT)
    fields[_CONTENT] = default
    if correlation is not ABSENT:
        fields[_CORRELATION] = correlation
    return needed


@lru_cache(1024)
def _channel(act: str, sender: str | None, receiver: str | None, status: bool) -> tuple[str, tuple[Path, ...]]:
    """The first channel for an act that the policy opens to this sender and receiver, the table's where none is; and
    the further fields that it needs."""
    first = kind = ACTS[act]["kick"].kind
    exact = CHANNEL_EXACT.get(act, ())
    if status and act == "inform":
        first = STATUS_CHANNEL
    elif status and act == "error":
        exact = (STATUS_CHANNEL, *exact)
    for channel in (first, *exact, *(f"{family}/{_OWN['kick'][kind]}" for family in CHANNEL_NEAREST), first):
        row = DEFAULT_POLICY.row_for(SIGIL + channel)
        if row is None or sender is None or receiver is None:
            continue
        if allows(row.senders, sender) and allows(row.receivers, receiver):
            break
    return channel, (_CORRELATION,) if row is not None and row.correlation else ()


def _content(channel: str, facts: dict[str, Any], status: Any) -> str:
    text = facts.get("text")
    if isinstance(text, str) and has_section(text):
        return text
    task = facts.get("task")
    place = task if isinstance(task, str) and _PLACE.fullmatch(task) else None
    lines = [_header(channel, place), *([] if status is ABSENT else [status]), *([] if text is None else [text])]
    return "\n".join(lines) + "\n"


KICK = Shape(
    _kick_split,
    _kick_join,
    _kick_kind,
    lambda act, facts: ("", {}),  # nothing is fixed before sender and receiver are known
    PLACES["kick"],
    _kick_facts,
    _kick_finish,
    _KICK_CARRY,
    carry_text=True,
    fresh=frozenset({("", ("id",))}),
    opens=True,
    tells=(_CHANNEL,),
    near=_kick_near,
    finishes=frozenset({_TYPE, _CHANNEL, _CONTENT}),
)
