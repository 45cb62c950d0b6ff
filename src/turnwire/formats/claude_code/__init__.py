"""Claude Code: the lines of its sessions."""

from turnwire.formats.anthropic import BLOCKS, USAGE, message, message_parts
from turnwire.formats.table import Columns, Format, Layout, Loose, Present, Words

_SHARED: Columns = {"conversation": "sessionId", "time": "timestamp", "project": "cwd"}
_LINE: Columns = {
    **_SHARED,
    "parent": "parentUuid",
    "sidechain": "isSidechain",
    "receiver": Loose("agentId"),
    "duration_ms": Loose("durationMs"),
    "failed": (Loose("message/content/*/is_error"), Loose("isApiErrorMessage")),
    "error": Loose("error"),
}
_SAID: Columns = {**_LINE, **message("message/"), "request_id": "requestId", "cost": "costUSD"}
_SPOKEN = (Words("type", {"user": "user", "assistant": "assistant"}), Words("message/content/*/type", BLOCKS))
_PROGRESS: Columns = {  # a response of an agent, as the session that started it saw it
    **{name: Loose(f"data/message/message/{path}") for name, path in {"id": "id", "model": "model", **USAGE}.items()},
    "request_id": Loose("data/message/requestId"),
    "sidechain": (Loose("data/message/isSidechain"), Loose("isSidechain")),
}
_NOTES = (
    *("queue-operation", "custom-title", "ai-title", "last-prompt", "pr-link", "agent-name", "mode"),
    *("permission-mode", "worktree-state", "tag", "relocated", "agent-setting", "agent-color", "bridge-session"),
    *("cost-state", "file-history-delta", "content-replacement", "fork-context-ref", "task-summary", "atis-latch"),
    "frame-link",
)
_MARKS = (2, ("parentUuid", "sessionId", "isSidechain", "userType", "leafUuid"))

TABLE = Format(
    "claude_code",
    "Claude Code sessions",
    (
        Layout(
            signs={"type": ("user", "assistant"), "sessionId": (), "uuid": (), "message": ()},
            kind="message",
            kinds=(*_SPOKEN, Present("error", "error")),
            columns=_SAID,
            needs={"message": ("object",), "timestamp": ("string",)},
            marks=_MARKS,
        ),
        *(
            Layout(
                signs={"timestamp": (), **signs},
                kind="assistant",
                kinds=_SPOKEN,
                columns=_SAID,
                needs={"timestamp": ("string",)},
                without=without,
                nested="loglines",
            )
            for signs, without in (
                ({"message/usage/input_tokens": ()}, ("type",)),  # as ccusage counts them
                ({"message/usage/input_tokens": (), "type": ("user", "assistant")}, ("session_id",)),
                (
                    {"type": ("user", "assistant"), "message/role": (), "message/content": ()},
                    ("sessionId", "session_id"),
                ),
            )
        ),
        Layout(
            signs={"type": ("system", "attachment", "progress"), "sessionId": (), "uuid": ()},
            kind="system",
            kinds=(Words("type", {"attachment": "attachment", "progress": "event"}),),
            columns={**_LINE, "subject": Loose("subtype"), "text": Loose("content"), **_PROGRESS},
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
            signs={"type": ("file-history-snapshot",), "messageId": ()},
            kind="event",
            columns={"id": "messageId"},
            marks=(2, ("trackedFileBackups", "isSnapshotUpdate", "snapshot")),
        ),
        Layout(  # from here on what ``claude --output-format stream-json`` writes
            signs={"parent_tool_use_id": (), "type": ("user", "assistant"), "session_id": (), "message": ()},
            kind="message",
            kinds=_SPOKEN,
            columns={
                **message("message/"),
                "conversation": "session_id",
                "failed": Loose("message/content/*/is_error"),
                "error": Loose("error"),
            },
            needs={"message": ("object",)},
        ),
        Layout(
            signs={"session_id": (), "type": ("system", "result"), "subtype": ()},
            kind="system",
            kinds=(Words("type", {"result": "turn"}),),
            columns={
                "conversation": "session_id",
                "subject": "subtype",
                "project": Loose("cwd"),
                "duration_ms": Loose("duration_ms"),
                "failed": Loose("is_error"),
                "text": Loose("result"),
                "cost": Loose("total_cost_usd"),
                **{name: Loose(path) for name, path in USAGE.items()},
            },
        ),
        Layout(  # a piece of a response, which comes whole later
            signs={"type": ("stream_event",), "session_id": (), "event/type": ()},
            kind="event",
            columns={"conversation": "session_id", "subject": "event/type"},
        ),
        Layout(
            signs={"type": _NOTES, "sessionId": ()},
            kind="event",
            columns={**_SHARED, "text": Loose("content")},
            marks=_MARKS,
        ),
    ),
    copy_of=("id", "request_id"),
    totals=("turn",),  # each result has the cost of its process so far
    repeats=("turn",),
    keys=("uuid", "timestamp", "leafUuid", "messageId", "message/id"),
    parts=message_parts("message/"),
    provider="anthropic",
    folders=("~/.claude/projects", "~/.config/claude/projects"),
    home="CLAUDE_CONFIG_DIR",
    embeds=True,
)
DESCRIPTOR = TABLE.descriptor()
