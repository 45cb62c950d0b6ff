"""Signs by which a file that holds no message is plainly something else that is known."""

from __future__ import annotations

import re

LOOKED_AT = 1 << 16
"""Bytes at the beginning of a file in which signs are looked for."""
_SIGNS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("a session of Claude Code", (rb'"sessionId"\s*:', rb'"(?:parentUuid|leafUuid)"\s*:')),
    (
        "a rollout of Codex",
        (rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context)"', rb'"payload"\s*:'),
    ),
    ("traces of OpenTelemetry (OTLP)", (rb'"resourceSpans"\s*:',)),
    ("logs of OpenTelemetry (OTLP)", (rb'"resourceLogs"\s*:',)),
    (
        "messages of A2A",
        (rb'"jsonrpc"\s*:\s*"2.0"', rb'"(?:message/(?:send|stream)|tasks/(?:get|cancel|resubscribe))"'),
    ),
    (
        "messages of MCP",
        (rb'"jsonrpc"\s*:\s*"2.0"', rb'"(?:initialize|(?:tools|resources|prompts|notifications)/[a-z_/]+)"'),
    ),
    ("JSON-RPC", (rb'"jsonrpc"\s*:\s*"2.0"', rb'"(?:method|result|error)"\s*:')),
    ("a batch of OpenAI", (rb'"custom_id"\s*:', rb'"(?:url|response|body)"\s*:')),
    ("responses of OpenAI", (rb'"object"\s*:\s*"(?:chat\.completion(?:\.chunk)?|response)"',)),
    ("messages of Anthropic's API", (rb'"type"\s*:\s*"message"', rb'"stop_reason"\s*:')),
    ("messages of LangChain", (rb'"lc"\s*:\s*1\b', rb'"type"\s*:\s*"constructor"')),
    ("a log of inspect_ai", (rb'"eval"\s*:', rb'"samples"\s*:', rb'"(?:eval_id|run_id)"\s*:')),
    ("a chat transcript", (rb'"role"\s*:\s*"(?:user|assistant|system)"', rb'"content"\s*:')),
)
"""Names of known kinds of file, and patterns that all stand in one; the first that fits is it."""
_COMPILED = tuple((what, tuple(map(re.compile, patterns))) for what, patterns in _SIGNS)
_UTF_16 = re.compile(rb"(?:[\x09-\x7e]\0){8}|(?:\0[\x09-\x7e]){8}")


def looks_like(beginning: bytes) -> str | None:
    """The name of what a file is whose beginning this is, None where nothing tells."""
    beginning = beginning[:LOOKED_AT]
    return next((what for what, signs in _COMPILED if all(sign.search(beginning) for sign in signs)), None)


def wide_from(data: bytes) -> int | None:
    """The place at which text in UTF-16 begins in bytes of another encoding, None where there is none."""
    found = _UTF_16.search(data)
    return None if found is None else found.start()
