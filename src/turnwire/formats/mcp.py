"""The Model Context Protocol: JSON-RPC between hosts and servers of tools. ``call_id`` is the id of a request."""

from turnwire.formats.parts import PartRule
from turnwire.formats.table import Digits, Format, Layout, Loose, Present, Words

_MARKS = (1, ("jsonrpc",))

TABLE = Format(
    "mcp",
    "Messages of MCP",
    (
        Layout(
            signs={"jsonrpc": ("2.0",), "method": ()},
            kind="notification",
            kinds=(Present("id", "request"), Words("method", {"tools/call": "tool_call"})),
            columns={
                "call_id": Digits("id"),
                "subject": "method",
                "tool": Loose("params/name"),
                "request_id": Loose("params/requestId"),
            },
            marks=_MARKS,
        ),
        Layout(
            signs={"jsonrpc": ("2.0",), "id": (), "result": ()},
            kind="response",
            kinds=(Present("result/content", "tool_result"), Present("result/tools", "tools")),
            columns={
                "call_id": Digits("id"),
                "failed": Loose("result/isError"),
                "text": Loose("result/content/*/text"),
                "subject": Loose("result/serverInfo/name"),
            },
            marks=_MARKS,
        ),
        Layout(
            signs={"jsonrpc": ("2.0",), "error": ()},
            kind="error",
            columns={"call_id": Digits("id"), "error": "error/message"},
            needs={"error": ("object",), "error/message": ("string",)},
            marks=_MARKS,
        ),
    ),
    asks=("request", "tool_call"),
    answers=("response", "tool_result", "tools", "error"),
    parts=(
        PartRule("params", "call", id="", name="name", arguments=("arguments",)),
        PartRule("result/content/*", "text", ("text",), text="text"),
        PartRule("error", "text", text="message"),
    ),
)
DESCRIPTOR = TABLE.descriptor()
