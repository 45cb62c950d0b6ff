# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM KickLang, made from the tables that its reader and writer use."""

from __future__ import annotations

from turnwire.kick import spec
from turnwire.showing import as_json, listed

_ID = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0{:x}"
_SENT = (
    # channel, type, sender, receiver, content, whether it answers the first
    ("command/dispatch", "Command", "Orchestrator", "WePlan", "task/dispatch:T-7/001\nfix the parser", False),
    ("report/status", "Info", "WePlan", "Orchestrator", "report/status:T-7/001\nAccepted", True),
    ("report/artifact", "Info", "WePlan", "Orchestrator", "report/artifact:T-7/001\nsrc/parser.py", True),
    ("alert/error", "Alert", "WePlan", "Broadcast", "alert/error:T-7/001\nthe disk is full", True),
    ("command/stop", "Command", "Orchestrator", "WePlan", "task/stop:T-7/001\nit is done elsewhere", True),
    ("alert/violation", "Alert", "SystemMonitor", "Broadcast", "alert/violation:T-7/001\na secret was sent", True),
    ("query/context", "Query", "WePlan", "Dima", "query/context:memory/001\nwhich branch?", False),
)


def examples() -> list[dict[str, str]]:
    """An envelope of each channel that the specification names, in the order of one conversation."""
    found: list[dict[str, str]] = []
    for number, (channel, kind, sender, receiver, content, answers) in enumerate(_SENT, 1):
        values = (_ID.format(number), f"2026-01-15T08:00:0{number}Z", sender, receiver, kind, f"{spec.SIGIL}{channel}")
        one = dict(zip(spec.FIELDS, (*values, f"{spec.SIGIL}{content}\n"), strict=False))
        found.append({**one, "correlation_id": _ID.format(1)} if answers else one)
    return found


def prompt(short: bool = False) -> str:
    """The text that teaches KickLang, made from the tables of ``spec``; unless ``short``, with an envelope of each
    channel of the specification."""
    return _rules() + ("" if short else "Examples:\n" + "".join(f"{as_json(one)}\n" for one in examples()))


def _rules() -> str:
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
{as_json(example)}
Rules:
- Fill in what stands in angle brackets; where a value shows alternatives, choose one.
- All fields are strings; all but {listed(name for name in spec.FIELDS if name not in spec.REQUIRED_FIELDS)} are required: \
leave that out where there is none.
- id is a new UUID (version 4, 36 characters) in each message, correlation_id the id of the message that began the matter; \
timestamp is an ISO 8601 date and time such as 2026-01-15T08:00:00Z.
- Channels, and who may use them:
{channels}
- content is Space Format: a header line that starts with {spec.SIGIL} at its very beginning, with no spaces, then text; as \
many sections as needed. Text lines never start with {spec.SIGIL}.
- Report a task's state on its correlation_id with one of these as the first line of the section: \
{listed(spec.STATUS_WORDS)}.
- The roles are {listed(spec.ROLES)}.
"""


def _people(names: tuple[str, ...]) -> str:
    without = [name[1:] for name in names if name.startswith("!")]
    taken = ["anyone" if name == "*" else name for name in names if not name.startswith("!")]
    return " or ".join(taken) + (f" but {' and '.join(without)}" if without else "")
