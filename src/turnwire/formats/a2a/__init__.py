"""A2A: messages, tasks, artifacts and their updates, alone or as JSON-RPC."""

from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Columns, Digits, Format, Layout, Loose, Present, Words, sources_of

_METHODS = (
    *("message/send", "message/stream", "tasks/resubscribe", "tasks/send", "tasks/sendSubscribe"),
    *(f"tasks/pushNotificationConfig/{verb}" for verb in ("set", "get", "list", "delete")),
    *("agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"),
    *("SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask"),
    *(f"{verb}TaskPushNotificationConfig" for verb in ("Create", "Get", "Delete")),
    "ListTaskPushNotificationConfigs",
)
_KINDS = {"task": "task", "message": "message", "status-update": "status", "artifact-update": "artifact"}
_WRAPPERS = {"task": "task", "message": "message", "statusUpdate": "status", "artifactUpdate": "artifact"}
_ROLES = ("user", "agent", "ROLE_USER", "ROLE_AGENT")
_MARKS = (2, ("messageId", "contextId", "taskId"))


def _object(at: str) -> Columns:
    """The columns of a task, a message or an update at a path, "" or one that ends with a slash."""
    return {
        "id": tuple(Loose(f"{at}{member}") for member in ("messageId", "taskId", "id")),
        "conversation": f"{at}contextId",
        "parent": Loose(f"{at}taskId"),
        "sender": Loose(f"{at}role"),
        "stop_reason": Loose(f"{at}status/state"),
        "time": Loose(f"{at}status/timestamp"),
        "text": tuple(Loose(f"{at}{holder}parts/*/text") for holder in ("", "artifact/", "status/message/")),
    }


def _wrapped(at: str) -> Columns:
    """The columns of an object in one of the wrappers, each of which is a member of what stands at a path."""
    several = [_object(f"{at}{member}/") for member in _WRAPPERS]
    return {name: tuple(source for one in several for source in sources_of(one[name])) for name in several[0]}


_REQUEST: Columns = {
    **_object("params/message/"),
    "id": (Loose("params/message/messageId"), Loose("params/id")),
    "call_id": Digits("id"),
    "subject": "method",
}

_MESSAGE = {"sender": "role", "id": "messageId", "conversation": "contextId", "parent": "taskId"}
_TASKS = tuple(f"{at}{one}" for at in ("", "result/") for one in ("", "task/", "statusUpdate/", "tasks/*/"))
"""The paths of tasks and of their updates."""
_ARTIFACTS = ("artifact/", "artifactUpdate/artifact/", "result/artifact/", "result/artifactUpdate/artifact/")


def _parts(at: str) -> tuple[PartRule, ...]:
    """The parts of a message or an artifact at a path, "" or one that ends with a slash."""
    return PartRule(f"{at}parts/*", "text", text="text"), PartRule(f"{at}parts/*", "data")


TABLE = Format(
    "a2a",
    "Messages of A2A",
    (
        Layout(signs={"jsonrpc": ("2.0",), "method": _METHODS}, kind="request", columns=_REQUEST, marks=_MARKS),
        Layout(  # MCP has methods of these names, which take a ``taskId``
            signs={"jsonrpc": ("2.0",), "method": ("tasks/get", "tasks/cancel"), "params/id": ()},
            kind="request",
            columns=_REQUEST,
        ),
        *(
            Layout(
                signs={**rpc, **signs},
                kind="task",
                kinds=(Words(f"{at}kind", _KINDS),),
                columns={**_object(at), **call},
                without=() if f"{at}kind" in signs else (f"{at}kind",),
                marks=_MARKS,
            )
            for at, rpc, call in (("", {}, {}), ("result/", {"jsonrpc": ("2.0",)}, {"call_id": Digits("id")}))
            for signs in (
                {f"{at}kind": tuple(_KINDS), **({} if at else {"contextId": ()})},
                {f"{at}{member}": () for member in ("contextId", "id", "status/state")},
            )
        ),
        Layout(
            signs={"jsonrpc": ("2.0",), "id": ()},
            one_of=(
                *("result/task/contextId", "result/message/messageId", "result/statusUpdate/taskId"),
                *("result/artifactUpdate/taskId", "result/tasks/*/contextId"),
            ),
            kind="response",
            kinds=tuple(Present(f"result/{member}", kind) for member, kind in _WRAPPERS.items()),
            columns={**_wrapped("result/"), "call_id": Digits("id")},
        ),
        *(
            Layout(
                signs=signs,
                one_of=one_of,
                kind="response",
                kinds=tuple(Present(member, kind) for member, kind in _WRAPPERS.items()),
                columns=_wrapped(""),
            )
            for signs, one_of in (
                ({}, tuple(f"{member}/contextId" for member in ("statusUpdate", "artifactUpdate"))),
                ({"task/contextId": (), "task/id": (), "task/status": ()}, ()),
                ({"message/messageId": (), "message/role": _ROLES, "message/parts": ()}, ()),
                ({"tasks/*/contextId": (), "tasks/*/status/state": ()}, ()),
            )
        ),
        Layout(
            signs={"messageId": (), "role": _ROLES, "parts": ()},
            kind="message",
            columns=_object(""),
            needs={"parts": ("array",)},
            marks=_MARKS,
        ),
    ),
    keys=("messageId", "params/message/messageId", "result/messageId"),
    ids_restart=True,
    asks=("request",),
    answers=("task", "message", "status", "artifact", "response", "error"),
    errors="mcp",
    parts=tuple(
        rule
        for start in ("", "message/", "result/", "result/message/", "params/message/", *_ARTIFACTS)
        for rule in _parts(start)
    ),
    messages=tuple(
        rule
        for start in _TASKS
        for rule in (
            MessageRule(f"{start}history/*", _parts(""), _MESSAGE),
            MessageRule(f"{start}status/message", _parts(""), _MESSAGE),
            MessageRule(f"{start}artifacts/*", _parts(""), {"id": "artifactId", "subject": "name"}, role="assistant"),
        )
    ),
)
DESCRIPTOR = TABLE.descriptor()
