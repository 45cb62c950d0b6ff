"""A2A: messages, tasks, artifacts and what becomes of them, alone or as JSON-RPC."""

from turnwire.formats.parts import PartRule
from turnwire.formats.table import Columns, Digits, Format, Layout, Loose, Words

_METHODS = (
    *("message/send", "message/stream", "tasks/resubscribe"),
    *("SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask"),
)
_KINDS = {"task": "task", "message": "message", "status-update": "status", "artifact-update": "artifact"}


def _object(at: str) -> Columns:
    """The columns of a task, a message or an update at a path, "" or one that ends with a slash."""
    return {
        "id": (Loose(f"{at}messageId"), Loose(f"{at}taskId"), Loose(f"{at}id")),
        "conversation": f"{at}contextId",
        "parent": Loose(f"{at}taskId"),
        "sender": Loose(f"{at}role"),
        "stop_reason": Loose(f"{at}status/state"),
        "time": Loose(f"{at}status/timestamp"),
        "text": (
            Loose(f"{at}parts/*/text"),
            Loose(f"{at}artifact/parts/*/text"),
            Loose(f"{at}status/message/parts/*/text"),
        ),
    }


_REQUEST: Columns = {
    **_object("params/message/"),
    "id": (Loose("params/message/messageId"), Loose("params/id")),
    "call_id": Digits("id"),
    "subject": "method",
}

TABLE = Format(
    "a2a",
    "Messages of A2A",
    (
        Layout(
            signs={"jsonrpc": ("2.0",), "method": _METHODS},
            kind="request",
            columns=_REQUEST,
            marks=(2, ("messageId", "contextId", "taskId")),
        ),
        Layout(  # methods of these names of MCP take a ``taskId``
            signs={"jsonrpc": ("2.0",), "method": ("tasks/get", "tasks/cancel"), "params/id": ()},
            kind="request",
            columns=_REQUEST,
        ),
        Layout(
            signs={"jsonrpc": ("2.0",), "result/kind": tuple(_KINDS)},
            kind="response",
            kinds=(Words("result/kind", _KINDS),),
            columns={**_object("result/"), "call_id": Digits("id")},
            marks=(2, ("messageId", "contextId", "taskId")),
        ),
        Layout(
            signs={"kind": ("task", "status-update", "artifact-update"), "contextId": ()},
            kind="task",
            kinds=(Words("kind", _KINDS),),
            columns=_object(""),
            marks=(2, ("messageId", "contextId", "taskId")),
        ),
        Layout(
            signs={"messageId": (), "role": ("user", "agent", "ROLE_USER", "ROLE_AGENT"), "parts": ()},
            kind="message",
            columns=_object(""),
            needs={"parts": ("array",)},
            marks=(2, ("messageId", "contextId", "taskId")),
        ),
    ),
    asks=("request",),
    answers=("task", "message", "status", "artifact"),
    parts=tuple(
        PartRule(f"{at}parts/*", "text", text="text")
        for start in ("", "result/", "params/message/")
        for at in (start, f"{start}artifact/", f"{start}status/message/")
    ),
)
DESCRIPTOR = TABLE.descriptor()
