"""CSP/1 messages as fields."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.shapes import Fields, Shape
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.csp.messages import AnyBlock, CspMessage, Error, FileOp, Generic, Patch, Result, Task
from turnwire.csp.spec import BLOCK_WORD, Intent
from turnwire.csp.writer import write
from turnwire.errors import Issue, Reason

_OWN = own_acts("csp")
_BLOCKS: dict[str, type[Task | Result | Error]] = {"TASK": Task, "RESULT": Result, "ERROR": Error}
_HEADERS = ("sender", "receiver", "ctx", "intent")


def split(message: CspMessage) -> Fields:
    """The headers by the names of the attributes, ``block.id``, ``block.op``, ``block.KEY``; absent where None.

    ``block.kind`` is there only where it differs from the intent's; a repeated key is ``block.KEY.2``, and so on.
    """
    fields: Fields = {}
    for name in _HEADERS:
        value = getattr(message, name)
        if value is not None:
            fields[name,] = str(value)
    block = message.block
    if block is not None:
        if block.kind != BLOCK_WORD.get(str(message.intent)):
            fields["block", "kind"] = block.kind
        fields["block", "id"] = block.id
        fields |= _of_patch(block) if isinstance(block, Patch) else _of_block(block)
    if message.line != 1:
        fields["line",] = message.line
    if message.issues:
        fields["issues",] = [[str(issue.reason), *issue[1:]] for issue in message.issues]
    return fields


def _of_patch(patch: Patch) -> Fields:
    fields: Fields = {} if patch.base is None else {("block", "base"): patch.base}
    fields |= {("block", "ops", str(place)): list(op) for place, op in enumerate(patch.ops)}
    if patch.apply is not None:
        fields["block", "apply"] = patch.apply
    return fields


def _of_block(block: Any) -> Fields:
    fields: Fields = {("block", "op"): block.op} if isinstance(block, FileOp) else {}
    seen: dict[str, int] = {}
    for key, value in block.fields:
        seen[key] = seen.get(key, 0) + 1
        fields[("block", key) if seen[key] == 1 else ("block", key, str(seen[key]))] = value
    return fields


def join(fields: Fields) -> CspMessage:
    """The message of its fields."""
    sender, receiver, ctx, intent = (fields.get((name,)) for name in _HEADERS)
    kept, line = fields.get(("block", "kind")), fields.get(("line",), 1)
    if not isinstance(kept, str | None) or type(line) is not int:
        raise TypeError("the kind of a block is a text, and a line a number")
    word = kept or BLOCK_WORD.get(intent or "")
    block = _block(word, fields) if word is not None and ("block", "id") in fields else None
    issues = [Issue(Reason(reason), *more) for reason, *more in fields.get(("issues",), ())]
    if intent in _OWN:
        intent = Intent(intent)
    return CspMessage(sender, receiver, ctx, intent, block, line=line, issues=issues)


def _block(word: str, fields: Fields) -> AnyBlock:
    inner = {path[1:]: value for path, value in fields.items() if path[0] == "block"}
    name = inner.pop(("id",))
    inner.pop(("kind",), None)
    if word == "PATCH":
        ops = [value for path, value in inner.items() if path[0] == "ops"]
        return Patch(name, inner.get(("base",)), ops, inner.get(("apply",)))
    op = inner.pop(("op",), "")
    pairs = [(path[0], value) for path, value in inner.items()]
    if word == "FILEOP":
        return FileOp(name, op, pairs)
    return _BLOCKS[word](name, pairs) if word in _BLOCKS else Generic(word, name, pairs)


def kind(fields: Fields) -> tuple[str | None, str]:
    """The intent."""
    intent = fields.get(("intent",), "")
    return _OWN.get(intent), intent if intent in PLACES["csp"] else "MEM"


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """The intent, and so the block."""
    intent = ACTS[act]["csp"].kind
    return intent, {("intent",): intent}


def facts(fields: Fields, kind: str, names: Any) -> dict[str, Any]:
    """A block without a main text (PATCH, other keys in a generic block) says what its lines say."""
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
)
