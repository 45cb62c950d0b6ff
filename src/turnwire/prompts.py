# ruff: noqa: E501  (a rule of a text is one line)
"""Short texts that teach an LLM a wire, made from the tables that its reader and writer use."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from turnwire.contract import wire_package


def prompt(wire: str) -> str:
    """A text for a system prompt that teaches ``wire``: the form of its messages, its words and its rules.

    What stands in angle brackets is to be filled in. Raises DecodeError(unknown_wire).
    """
    package = wire_package(wire)
    return _TEXTS[wire](import_module(f"{package.__name__}.spec"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(words: Any) -> str:
    return ", ".join(str(word) for word in words)


# --- nSLIP -----------------------------------------------------------------------------------------------------------


def _nslip(spec: Any) -> str:
    digits = spec.BASE62_ALPHABET
    header = "|".join(f"{prefix}<{name}>" for prefix, name in spec.HEADER)
    slots = _listed(
        f"{prefix} {slot.name.lower()}{' (text)' if slot in spec.STRING_SLOTS else ''}"
        for slot, prefix in spec.SLOT_PREFIX.items()
    )
    return f"""\
Send every message as one nSLIP message on a line of its own, with nothing around it:
{spec.START_MARKER}{header}{spec.SEPARATOR}<slots>{spec.END_MARKER}
For example: @a3|f0|c5|S1|d2|T1|k7|u"ready"#
Rules:
- Each field is a prefix letter and its value, with {spec.SEPARATOR} between fields. The {len(spec.HEADER)} header fields \
come first, each once.
- Numbers are base62 with the digits {digits}; no sign, no leading zero, at most 2^64-1.
- a is the act: {_listed(f"{digits[act]} {act.name}" for act in spec.Act)}.
- f is the frame: {_listed(f"{digits[frame]} {frame.name}" for frame in spec.FrameType)}.
- c numbers the conversation, S and d are the ids of sender and receiver, T is the turn.
- Slots follow as needed, each once: {slots}.
- Text stands in double quotes; inside, write \\" for a quote and \\\\ for a backslash, nothing else is escaped. Keep it \
under {spec.SHORT_STRING} characters: large things live in stores and are named by id.
"""


# --- CSP/1 -----------------------------------------------------------------------------------------------------------


def _csp(spec: Any) -> str:
    blocks = "\n".join(_csp_block(spec, intent) for intent in spec.INTENTS if spec.BLOCK_WORD[intent] in spec.FIELDS)
    free = _listed(word for word in spec.INTENTS if spec.BLOCK_WORD[word] not in spec.FIELDS and word != "PATCH")
    headers = "\n".join(f"{name} <{name.lower()}>" for name in spec.HEADERS[:-1])
    renamed = _listed(f"{intent} has {word}" for intent, word in spec.BLOCK_WORD.items() if intent != word)
    enums = "; ".join(f"{key} is {' or '.join(str(word) for word in words)}" for key, words in spec.ENUMS.items())
    return f"""\
Send every message in CSP/1: the header lines in this order, an empty line, one block, and nothing around them.
{spec.MAGIC}
{headers}
INTENT <{"|".join(spec.INTENTS)}>

<block>
Rules:
- CTX names the state you speak about (C0, C1, ...). FROM and TO are agent ids without spaces.
- The first line of the block is the word of the intent ({renamed}) and an id. Then come its lines "KEY value"; [KEY] may be left out:
{blocks}
  PATCH P<n>, then BASE C<n>, lines "+ DEF NAME = value", "~ DEF NAME := value", "- DEF NAME", then "APPLY -> C<n>"
  {free} <id>, then any "KEY value" lines
- {enums}.
- A value of several lines is written as the KEY alone, then a line {"<" * spec.MIN_HEREDOC}, the lines, and a line \
{">" * spec.MIN_HEREDOC}; use more of both when a line of the value looks like the closing one. CONTENT is always written so.
- Send changes only, never the whole state again; name things by id; no filler, no synonyms, no Markdown.
"""


def _csp_block(spec: Any, intent: str) -> str:
    word = spec.BLOCK_WORD[intent]
    needed = spec.REQUIRED.get(word, {})
    keys = " ".join(key if key in needed else f"[{key}]" for key in spec.FIELDS[word])
    operation = " <" + "|".join(spec.FILE_OPS) + ">" if word == "FILEOP" else ""
    return f"  {word} {spec.ID_LETTER[word]}<n>{operation}: {keys}"


# --- SSTP ------------------------------------------------------------------------------------------------------------


def _sstp(spec: Any) -> str:
    kinds = "\n".join(f"- {kind}: {spec.MEANING[kind]}.\n  {_json(_sstp_example(spec, kind))}" for kind in spec.Kind)
    optional = _listed(f"{field.name} (like {_json(field.example)})" for field in spec.HEADER if field.need == "never")
    return f"""\
You speak SSTP. Every message is a single JSON object of one of the kinds below: raw JSON only, no prose, no Markdown, no \
code fence. Fill in everything that stands in angle brackets.
{kinds}
Rules:
- actor_id is your own name, always. session_id is the same in all messages of a task.
- logical_clock is 1 in your first message of the session and 1 more in each further one.
- All fields shown are required. The header may also hold {optional}.
- uncertainty, confidence and risk_score are numbers from 0 to 1.
- One agent speaks at a time: after a message, wait for a response. If a message is directed_to or assigned_to somebody, \
only that agent answers.
- Send only what contributes something: no acknowledgement, no echo.
"""


def _sstp_example(spec: Any, kind: Any) -> dict[str, Any]:
    known = {"kind": kind.value, "schema_id": spec.SCHEMA_IDS[kind]}
    return {
        "header": {field.name: known.get(field.name, field.example) for field in spec.HEADER if field.need != "never"},
        "payload": {field.name: field.example for field in spec.PAYLOADS[kind]},
    }


# --- SAP -------------------------------------------------------------------------------------------------------------

_SAP_VALUES = {
    "protocolVersion": "2.0",
    "issuedAt": "<YYYY-MM-DDTHH:MM:SSZ>",
    "reportedAt": "<YYYY-MM-DDTHH:MM:SSZ>",
    "payload": {},
    "output": {},
}


def _sap(spec: Any) -> str:
    def example(table: Any) -> dict[str, Any]:
        return {field.name: value(field) for field in table.fields if field.need == spec.MUST}

    def value(field: Any) -> Any:
        if field.table is not None:
            return example(field.table)
        if field.values:
            return "|".join(field.values)
        return _SAP_VALUES.get(field.name, f"<{field.kind.name.lower()}>")

    def more(table: Any) -> str:
        return _listed(field.name for field in table.fields if field.need != spec.MUST)

    tables = "\n".join(
        f"- {table.name}: {_json(example(table))}\n  and where it helps: {more(table)}."
        for table in (spec.TASK, spec.RESULT)
    )
    return f"""\
You exchange UBOS SAP V{spec.VERSION} objects. Every message is a single JSON object, a Task or a Result: raw JSON only, no \
prose, no code fence. Where a value shows alternatives, choose one; fill in what stands in angle brackets.
{tables}
Rules:
- taskId and correlationId are UUIDs in the form of 36 characters; a Result repeats those of its Task.
- Times are UTC, written YYYY-MM-DDTHH:MM:SSZ.
- pressureLevel is {_listed(level.value for level in spec.PressureLevel)}; pressure maps principles to integers from 0 to 100.
- Report QUEUED and RUNNING as often as you like, then one of {_listed(sorted(word.value for word in spec.TERMINAL))}, and \
nothing after that.
- A FAILED Result has error.message and error.code, for example {_listed(sorted(spec.ERROR_CODES))}. A SUCCEEDED Result is \
never NON_CONSTITUTIONAL.
- Never put secrets into a payload.
"""


# --- KickLang --------------------------------------------------------------------------------------------------------


def _kick(spec: Any) -> str:
    example = {name: f"<{name}>" for name in spec.FIELDS}
    example |= {"type": "|".join(spec.TYPES), "channel": f"{spec.SIGIL}<family>/<name>"}
    example["content"] = f"{spec.SIGIL}<name>/<type>:<place>/<index>\n<text>\n"
    channels = "\n".join(
        f"  {spec.SIGIL}{channel}: type {kind}, from {_people(senders)}, to {_people(receivers)}"
        f"{', with the correlation_id of what it answers' if correlation else ''}"
        for channel, kind, senders, receivers, correlation in spec.DEFAULT_ROWS
    )
    return f"""\
You speak KickLang. Every message is a single JSON object: raw JSON only, no prose, no code fence.
{_json(example)}
Rules:
- All fields are strings; all but {_listed(name for name in spec.FIELDS if name not in spec.REQUIRED_FIELDS)} are required.
- id is a UUID (version 4); timestamp is an ISO 8601 date and time.
- Channels, and who may use them:
{channels}
- content is Space Format: a header line that starts with {spec.SIGIL} at its very beginning, with no spaces, then text; as \
many sections as needed. Text lines never start with {spec.SIGIL}.
- Report a task's state on its correlation_id with one of these as the first line of the section: \
{_listed(spec.STATUS_WORDS)}.
- The roles are {_listed(spec.ROLES)}.
"""


def _people(names: tuple[str, ...]) -> str:
    without = [name[1:] for name in names if name.startswith("!")]
    taken = ["anyone" if name == "*" else name for name in names if not name.startswith("!")]
    return " or ".join(taken) + (f" but {' and '.join(without)}" if without else "")


_TEXTS: dict[str, Callable[[Any], str]] = {
    "nslip": _nslip,
    "csp": _csp,
    "sstp": _sstp,
    "sap": _sap,
    "kick": _kick,
}
