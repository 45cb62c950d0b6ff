"""CSP/1 messages as fields."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.shapes import Fields, Path, Shape
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.csp.codec import write
from turnwire.csp.messages import AnyBlock, CspMessage, Patch, made_block
from turnwire.csp.spec import BLOCK_WORD, Intent
from turnwire.errors import Issue, Reason

_OWN = own_acts("csp")
_HEADERS: tuple[Path, ...] = (("sender",), ("receiver",), ("ctx",), ("intent",))
_LINE, _ISSUES = ("line",), ("issues",)
_WORD, _ID, _OP = ("block", "kind"), ("block", "id"), ("block", "op")


def split(message: CspMessage) -> Fields:
    """The headers by the names of the attributes, ``block.id``, ``block.op``, ``block.KEY``; absent where None.

    ``block.kind`` is there only where it differs from the intent's; a repeated key is ``block.KEY.2``, and so on.
    """
    values = message.sender, message.receiver, message.ctx, message.intent
    fields: Fields = dict(zip(_HEADERS, map(str, values), strict=True))
    if None in values:
        fields = {path: text for path, text in fields.items() if getattr(message, path[0]) is not None}
    block: Any = message.block
    if block is not None and block.kind != BLOCK_WORD.get(message.intent or ""):
        fields["block", "kind"] = str(block.kind)
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
        fields["line",] = message.line
    if message.issues:
        fields["issues",] = [[str(issue.reason), *issue[1:]] for issue in message.issues]
    return fields


def join(fields: Fields) -> CspMessage:
    """The message of its fields."""
    sender, receiver, ctx, intent = map(fields.get, _HEADERS)
    word, line = fields.get(_WORD, BLOCK_WORD.get(intent or "")), fields.get(_LINE, 1)
    if not isinstance(word, str | None) or type(line) is not int:
        raise TypeError("the kind of a block must be text, and a line must be a number")
    block = None if word is None or _ID not in fields else _block(word, fields)
    issues = [Issue(Reason(reason), *more) for reason, *more in fields.get(_ISSUES, ())]
    intent = Intent(intent) if intent in _OWN else intent
    return CspMessage(sender, receiver, ctx, intent, block, line=line, issues=issues)


def _block(word: str, fields: Fields) -> AnyBlock:
    own = "kind", "id", "op"
    inner = [(path[1], value) for path, value in fields.items() if path[0] == "block" and path[1] not in own]
    if word == "PATCH":
        ops = [value for name, value in inner if name == "ops"]
        return Patch(fields[_ID], fields.get(("block", "base")), ops, fields.get(("block", "apply")))
    return made_block(word, fields[_ID], inner, fields.get(_OP, ""))


def kind(fields: Fields) -> tuple[str | None, str]:
    """The intent."""
    intent = fields.get(("intent",), "")
    return _OWN.get(intent), intent if intent in PLACES["csp"] else "MEM"


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """The intent, and so the block."""
    intent = ACTS[act]["csp"].kind
    return intent, {("intent",): intent}


def facts(fields: Fields, kind: str, names: Any) -> dict[str, Any]:
    """A block without a main text (PATCH, other keys in a generic block) has its lines as text."""
    if kind not in ("PATCH", "PLAN", "QUERY", "MEM") or ("block", "TEXT") in fields:
        return {}
    inner = [path for path in fields if path[0] == "block" and path[1] not in ("id", "kind")]
    if not inner:
        return {}
    text = write(join(fields), strict=False)
    return {"text": text[text.index("\n\n") + 2 : -1]}


def moves(fields: Fields) -> tuple[str | None, str | None]:
    """The state to which a patch is applied, and the one that it gives."""
    return fields.get(("block", "base")), fields.get(("block", "apply"))


SHAPE = Shape(
    split,
    join,
    kind,
    begin,
    PLACES["csp"],
    facts,
    unseen=frozenset({("line",), ("issues",)}),
    tells=(("intent",),),
    stateful="C0",
    state_path="ctx",
    tasks_alone=True,
    by_others="answers",
    moves=moves,
    numbered={"ERROR:block.id": "E", "PLAN:block.id": "L", "QUERY:block.id": "Q", "MEM:block.id": "M"},
    finishes=frozenset(),
)
