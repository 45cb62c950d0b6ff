# ruff: noqa: E501  (a rule of a text is one line)
"""A short text that teaches an LLM KickLang, made from the tables that its reader and writer use."""

from __future__ import annotations

from turnwire.kick import spec
from turnwire.phrases import as_json, listed


def prompt() -> str:
    """The text that teaches KickLang, made from the tables of ``spec``."""
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
- All fields are strings; all but {listed(name for name in spec.FIELDS if name not in spec.REQUIRED_FIELDS)} are required.
- id is a UUID (version 4); timestamp is an ISO 8601 date and time.
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
