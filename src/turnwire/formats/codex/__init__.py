"""Codex: its rollouts and what ``codex exec --json`` writes."""

import json
import re
from typing import Any

from turnwire.formats.openai import CALLS, RESULTS, UNNAMED, item_parts
from turnwire.formats.parts import PartRule
from turnwire.formats.table import Columns, Format, Layout, Loose, Truth, Words

_ITEMS = {
    **dict.fromkeys((*CALLS, *UNNAMED), "tool_call"),
    **dict.fromkeys(RESULTS, "tool_result"),
    **{"reasoning": "reasoning", "message": "message"},
}
_EVENTS = {
    **{"user_message": "user", "agent_message": "assistant", "token_count": "usage"},
    **dict.fromkeys(("agent_reasoning", "agent_reasoning_raw_content"), "reasoning"),
    **dict.fromkeys(("error", "turn_aborted", "stream_error"), "error"),
    **dict.fromkeys(("exec_command_begin", "exec_command_end"), "event"),
    **dict.fromkeys(("task_started", "task_complete"), "turn"),
}
_EXECUTED = {"agent_message": "assistant", "reasoning": "reasoning", "error": "error"}
_NAMED_TOOLS, _TOOLS = ("mcp_tool_call", "collab_tool_call"), ("command_execution", "file_change", "web_search")
_ECHOES = ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content")
_ENDED = {"failed": True, "declined": True, "completed": False}
_EXIT = re.compile(
    rb"(?:Chunk ID:[^\\]*\\n)?(?:Wall time:[^\\]*\\n)?(?:Exit code:|Process exited with code) (-?[0-9]{1,9})(?:\\n|$)"
)
_METADATA = re.compile(rb'\\"metadata\\": ?\{\\"exit_code\\": ?(-?[0-9]{1,9})[^0-9.eE{}][^{}]*\}\}')
"""The exit code in the output of a tool, as written in JSON: at the beginning, or at the end of an object."""
_LINES = (
    *("response_item", "event_msg", "turn_context", "compacted", "world_state", "realtime_item"),
    *("inter_agent_communication", "inter_agent_communication_metadata", "security_risk_score"),
)
_MARKS = (2, ("payload", "cli_version", "call_id", "total_token_usage", "last_token_usage", "model_context_window"))
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def _counts(at: str) -> Columns:
    """The columns of the tokens at a path."""
    return {
        "input_tokens": f"{at}/input_tokens",
        "output_tokens": f"{at}/output_tokens",
        "cache_read_tokens": f"{at}/cached_input_tokens",
        "cache_write_tokens": f"{at}/cache_write_input_tokens",
        "reasoning_tokens": f"{at}/reasoning_output_tokens",
    }


def exit_code(output: Any) -> int | None:
    """The exit code that the output of a tool begins with, or has in ``metadata`` where it is JSON itself; None if
    there is none. output: a buffer, with its escapes."""
    if output[:1] != b"{":
        return int(begins[1]) if (begins := _EXIT.match(output)) is not None else None
    end = bytes(output[-256:])
    at = end.rfind(b'\\"metadata')
    if at > 0 and end[at - 1] != 0x5C and (last := _METADATA.fullmatch(end, at)) is not None:
        return int(last[1])
    if b"exit_code" not in bytes(output):
        return None
    try:
        said = json.loads(json.loads(b'"%b"' % bytes(output)))["metadata"]["exit_code"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None  # the output of another tool
    return said if type(said) is int else None


def _executed(kind: str, line: str, types: tuple[str, ...], tool: str, *texts: str) -> Layout:
    """The layout of an item that calls a tool, or answers. tool: the path of its name; texts: those of its text."""
    return Layout(
        signs={"type": (line,), "item/id": (), "item/type": types},
        kind=kind,
        columns={
            "call_id": Loose("item/id"),
            "subject": Loose("item/type"),
            "tool": Loose(tool),
            "stop_reason": Loose("item/status"),
            "failed": (Loose("item/exit_code"), Truth("item/status", words=_ENDED)),
            "error": Loose("item/error/message"),
            "text": tuple(map(Loose, texts)),
        },
    )


def _with_unnamed(path: str, layout: Layout) -> tuple[Layout, Layout]:
    """A layout, and before it that of ``UNNAMED`` calls. path: that of their type."""
    signs, columns = {**layout.signs, path: UNNAMED}, {**layout.columns, "tool": Loose(path)}
    return layout._replace(signs=signs, columns=columns), layout


def _item_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of an item, "" or "payload": an item with a text, a call, or the result of one."""
    within = f"{at}/" if at else ""
    return (
        PartRule(f"{within}content/*", "text", text="text"),
        PartRule(f"{within}summary/*", "reasoning", text="text"),
        *item_parts(at),
        PartRule(at, "text", ("user_message", "agent_message", "error", "stream_error"), text="message"),
        PartRule(at, "reasoning", ("agent_reasoning", "agent_reasoning_raw_content"), text="text"),
        PartRule(at, "text"),
    )


_LINES_OF_CALLS = ("item.started", "item.completed")
_EXECUTED_PARTS = (
    PartRule("item", "text", ("agent_message",), text="text"),
    PartRule("item", "reasoning", ("reasoning",), text="text"),
    PartRule("item", "text", ("error",), text="message"),
    *(  # of each line of an item: some have only the last one
        PartRule("", "call", _LINES_OF_CALLS, "", "item/id", f"item/{name}", arguments, when=("item/type", word))
        for types, name, arguments in (
            (_NAMED_TOOLS, "tool", ("item/arguments", "item/prompt")),
            (_TOOLS, "type", ("item/command", "item/query", "item/changes")),
        )
        for word in types
    ),
    *(
        PartRule("item", "result", types, text=text, id="id", when=("type", "item.completed"))
        for types, text in ((_NAMED_TOOLS, "result/content"), (_TOOLS, "aggregated_output"))
    ),
    PartRule("item", "text", (*_NAMED_TOOLS, *_TOOLS)),  # what a call that begins has is read above
)


_PARENTS = (Loose("payload/forked_from_id"), Loose("payload/source/subagent/thread_spawn/parent_thread_id"))

TABLE = Format(
    "codex",
    "Codex rollouts",
    (
        Layout(
            signs={"type": ("session_meta",), "payload": (), "timestamp": ()},
            kind="session",
            columns={
                "time": "timestamp",
                "conversation": ("payload/id", "payload/session_id"),
                "parent": _PARENTS,
                "origin": (*_PARENTS, Loose("payload/id")),
                "project": Loose("payload/cwd"),
                "subject": Loose("payload/originator"),
            },
            needs={"payload": ("object",), "timestamp": ("string",)},
            marks=_MARKS,
        ),
        Layout(  # of older versions, without the counts of a response
            signs={"type": ("event_msg",), "payload/info/total_token_usage": (), "timestamp": ()},
            kind="total",
            columns={
                "time": "timestamp",
                "subject": Loose("payload/type"),
                "model": Loose("payload/info/model"),
                **_counts("payload/info/total_token_usage"),
                "total_tokens": "payload/info/total_token_usage/total_tokens",
            },
            without=("payload/info/last_token_usage/input_tokens",),
        ),
        *_with_unnamed(
            "payload/type",
            Layout(
                signs={"type": _LINES, "payload": (), "timestamp": ()},
                kind="event",
                kinds=(
                    Words("type", {"turn_context": "turn", "compacted": "summary"}),
                    Words("payload/type", {**_ITEMS, **_EVENTS}),
                    Words("payload/role", _ROLES),
                ),
                columns={
                    "time": "timestamp",
                    "id": Loose("payload/id"),
                    "sender": Loose("payload/role"),
                    "subject": Loose("payload/type"),
                    "model": (Loose("payload/info/model"), Loose("payload/model")),
                    "project": Loose("payload/cwd"),
                    "tool": Loose("payload/name"),
                    "call_id": Loose("payload/call_id"),
                    "text": (
                        Loose("payload/message"),
                        Loose("payload/text"),
                        Loose("payload/output"),
                        Loose("payload/arguments"),
                        Loose("payload/content/*/text"),
                    ),
                    "stop_reason": Loose("payload/reason"),
                    "duration_ms": Loose("payload/duration_ms"),
                    "failed": (
                        Loose("payload/exit_code"),
                        Loose("payload/result/Ok/isError"),
                        Truth("payload/status", words=_ENDED),
                    ),
                    "error": (Loose("payload/result/Err"), Loose("payload/error/message")),
                    **_counts("payload/info/last_token_usage"),
                    "total_tokens": "payload/info/last_token_usage/total_tokens",
                    "sequence": tuple(  # repeated counts share it
                        f"payload/info/total_token_usage/{of}_tokens" for of in ("total", "input")
                    ),
                },
                needs={"payload": ("object",), "timestamp": ("string",)},
                marks=_MARKS,
            ),
        ),
        Layout(
            signs={"id": (), "timestamp": (), "instructions": ()},
            kind="session",
            columns={"time": "timestamp", "id": "id", "conversation": "id", "origin": "id"},
        ),
        Layout(signs={"record_type": ("state",)}, kind="status", columns={}),
        Layout(  # from here on what ``codex exec --json`` writes
            signs={"type": ("thread.started",), "thread_id": ()},
            kind="session",
            columns={"conversation": "thread_id", "origin": "thread_id"},
        ),
        Layout(signs={"type": ("turn.started",)}, kind="status", columns={}),
        Layout(signs={"type": ("turn.failed",), "error/message": ()}, kind="error", columns={"error": "error/message"}),
        Layout(signs={"type": ("error",), "message": ()}, kind="status", columns={"error": Loose("message")}),
        Layout(signs={"type": ("turn.completed",), "usage": ()}, kind="total", columns=_counts("usage")),
        _executed("tool_call", "item.started", _TOOLS, "item/type", "item/command", "item/query"),
        _executed("tool_call", "item.started", _NAMED_TOOLS, "item/tool", "item/prompt"),
        _executed("tool_result", "item.completed", _TOOLS, "item/type", "item/aggregated_output"),
        _executed("tool_result", "item.completed", _NAMED_TOOLS, "item/tool", "item/result/content/*/text"),
        Layout(
            signs={"type": ("item.started", "item.updated", "item.completed"), "item/id": (), "item/type": ()},
            kind="event",
            kinds=(Words("item/type", _EXECUTED),),
            columns={
                "id": Loose("item/id"),
                "subject": Loose("item/type"),
                "stop_reason": Loose("item/status"),
                "text": (Loose("item/text"), Loose("item/message")),
            },
        ),
        *_with_unnamed(
            "type",
            Layout(
                signs={"type": (*CALLS, *UNNAMED, *RESULTS), "call_id": ()},
                kind="message",
                kinds=(Words("type", _ITEMS),),
                columns={"tool": Loose("name"), "call_id": "call_id", "text": (Loose("output"), Loose("arguments"))},
                marks=(2, ("call_id", "arguments")),
            ),
        ),
        Layout(
            signs={"type": ("message",), "role": tuple(_ROLES)},
            one_of=("content/*/type",),
            without=("model",),  # as those of Anthropic have
            kind="message",
            kinds=(Words("role", _ROLES),),
            columns={"id": Loose("id"), "sender": "role", "text": Loose("content/*/text")},
        ),
        Layout(
            signs={"type": ("reasoning",), "summary": ()},
            one_of=("id", "summary/*/type", "encrypted_content"),
            kind="reasoning",
            columns={"id": Loose("id"), "text": Loose("summary/*/text")},
            marks=(2, ("summary", "encrypted_content")),
        ),
    ),
    copy_of=("sequence", "input_tokens", "output_tokens", "origin"),
    keys=("timestamp", "call_id", "id"),
    echoes=_ECHOES,
    follows=("status",),
    carried=("conversation", "origin", "model", "project"),
    gathered=("tool",),
    running=(*_counts(""), "total_tokens"),
    exit_code=exit_code,
    cached_is_input=True,
    parts=(*_item_parts("payload"), *_item_parts(""), *_EXECUTED_PARTS),
    provider="openai",
    folders=("~/.codex/sessions", "~/.codex/archived_sessions"),
    home="CODEX_HOME",
)
DESCRIPTOR = TABLE.descriptor()
