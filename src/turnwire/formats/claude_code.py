"""Claude Code: the lines of its sessions, one JSON object each, in ``~/.claude/projects/<project>/<session>.jsonl``.

A response of the model is written once for each block of its content, and again when a session is resumed: each time
with the same ``message.id`` and ``requestId`` and with the tokens of the whole response so far.
"""

from turnwire.formats.table import Columns, Format, Layout, Loose, Present, Words

_CONTENT = Words(
    "message/content/*/type",
    {
        "tool_use": "tool_call",
        "server_tool_use": "tool_call",
        "tool_result": "tool_result",
        "thinking": "reasoning",
        "redacted_thinking": "reasoning",
    },
)
_USAGE = "message/usage"
_SHARED: Columns = {
    "conversation": "sessionId",
    "time": "timestamp",
    "project": "cwd",
}
_LINE: Columns = {
    **_SHARED,
    "parent": "parentUuid",
    "sidechain": "isSidechain",
    "receiver": Loose("agentId"),
    "duration_ms": Loose("durationMs"),
    "failed": (Loose("message/content/*/is_error"), Loose("isApiErrorMessage")),
    "error": Loose("error"),
}
_MARKS = (2, ("parentUuid", "sessionId", "isSidechain", "userType", "leafUuid", "requestId"))

TABLE = Format(
    "claude_code",
    "Claude Code sessions",
    (
        Layout(
            signs={"type": ("user", "assistant"), "sessionId": (), "uuid": (), "message": ()},
            kind="message",
            kinds=(Words("type", {"user": "user", "assistant": "assistant"}), _CONTENT, Present("error", "error")),
            columns={
                **_LINE,
                "id": "message/id",
                "request_id": "requestId",
                "sender": "message/role",
                "model": "message/model",
                "stop_reason": "message/stop_reason",
                "tool": Loose("message/content/*/name"),
                "call_id": (Loose("message/content/*/id"), Loose("message/content/*/tool_use_id")),
                "text": (Loose("message/content"), Loose("message/content/*/text")),
                "input_tokens": f"{_USAGE}/input_tokens",
                "output_tokens": f"{_USAGE}/output_tokens",
                "cache_read_tokens": f"{_USAGE}/cache_read_input_tokens",
                "cache_write_tokens": f"{_USAGE}/cache_creation_input_tokens",
                "cost": "costUSD",
            },
            needs={"message": ("object",), "timestamp": ("string",)},
            marks=_MARKS,
        ),
        Layout(
            signs={"type": ("system", "attachment", "progress"), "sessionId": (), "uuid": ()},
            kind="system",
            kinds=(Words("type", {"attachment": "attachment", "progress": "event"}),),
            columns={**_LINE, "subject": Loose("subtype"), "text": Loose("content")},
            marks=_MARKS,
        ),
        Layout(
            signs={"type": ("summary",), "leafUuid": ()},
            kind="summary",
            columns={**_SHARED, "parent": "leafUuid", "subject": "summary", "text": "summary"},
            needs={"summary": ("string",)},
            marks=(2, ("leafUuid", "summary")),
        ),
        Layout(
            signs={"type": ("file-history-snapshot",), "snapshot": ()},
            kind="event",
            columns={"id": "messageId", "time": Loose("snapshot/timestamp")},
            marks=(2, ("trackedFileBackups", "isSnapshotUpdate", "snapshot")),
        ),
        Layout(
            signs={
                "type": (
                    "queue-operation",
                    "custom-title",
                    "ai-title",
                    "last-prompt",
                    "pr-link",
                    "agent-name",
                    "mode",
                    "permission-mode",
                    "worktree-state",
                    "tag",
                    "relocated",
                ),
                "sessionId": (),
            },
            kind="event",
            columns={
                **_SHARED,
                "subject": (Loose("operation"), Loose("customTitle"), Loose("aiTitle"), Loose("prUrl")),
                "text": Loose("content"),
            },
        ),
    ),
    copy_of=("id", "request_id"),
    folders=("~/.claude/projects", "~/.config/claude/projects"),
)
DESCRIPTOR = TABLE.descriptor()
