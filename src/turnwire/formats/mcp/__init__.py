"""The Model Context Protocol: JSON-RPC between hosts and servers of tools."""

from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Columns, Digits, Format, Layout, Loose, Present

_METHODS = (
    *("tools/list", "resources/list", "resources/read", "resources/templates/list", "resources/subscribe"),
    *("prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "ping"),
    *("roots/list", "sampling/createMessage", "elicitation/create", "tasks/list", "resources/unsubscribe"),
    *("server/discover", "subscriptions/listen", "notifications/tasks", "tasks/update"),
    *("notifications/initialized", "notifications/cancelled", "notifications/message", "notifications/progress"),
    *("notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/resources/updated"),
    *("notifications/prompts/list_changed", "notifications/roots/list_changed", "notifications/tasks/status"),
    *("notifications/elicitation/complete", "notifications/subscriptions/acknowledged"),
)
_TASKS = ("tasks/get", "tasks/result", "tasks/cancel")  # A2A has methods of these names, which take an ``id``
_RESULTS = (
    ("content", "tools", "resources", "resourceTemplates", "prompts", "contents/*/uri", "messages/*/content", "roots"),
    (
        *("structuredContent", "completion", "action", "task/taskId", "tasks/*/taskId", "lastUpdatedAt"),
        *("supportedVersions", "resultType"),
    ),
)
"""Members of results; a response has one of them."""
_RPC = {"jsonrpc": ("2.0",)}
_LISTS = ("tools", "resources", "resourceTemplates", "prompts", "roots")
_REQUEST: Columns = {"call_id": Digits("id"), "subject": "method", "request_id": Digits("params/requestId")}
_RESPONSE: Columns = {
    "call_id": Digits("id"),
    "failed": Loose("result/isError"),
    "text": (Loose("result/content/*/text"), Loose("result/content/text")),
    "subject": Loose("result/serverInfo/name"),
    "model": Loose("result/model"),
    "stop_reason": Loose("result/stopReason"),
}
_KINDS = (
    Present("result/tools", "tools"),
    Present("result/structuredContent", "tool_result"),
    Present("result/content", "tool_result"),
    Present("result/model", "assistant"),
    Present("result/roots", "roots"),
    Present("result/action", "elicitation"),
)
_BACK = ("assistant", "roots", "elicitation")
"""The kinds of answers of clients, to requests of servers."""
_PART = PartRule("content/*", "text", ("text",), text="text")

TABLE = Format(
    "mcp",
    "Messages of MCP",
    (
        Layout(
            signs={**_RPC, "method": _METHODS},
            kind="notification",
            kinds=(Present("id", "request"),),
            columns=_REQUEST,
        ),
        Layout(
            signs={**_RPC, "method": ("tools/call",)},
            kind="tool_call",
            columns={**_REQUEST, "tool": Loose("params/name")},
        ),
        Layout(signs={**_RPC, "method": _TASKS, "params/taskId": ()}, kind="request", columns=_REQUEST),
        Layout(  # of LSP's, which has no version, and of ACP's, which has no capabilities
            signs={**_RPC, "method": ("initialize",), "params/protocolVersion": (), "params/capabilities": ()},
            kind="request",
            columns={**_REQUEST, "sender": Loose("params/clientInfo/name")},
            needs={"params/protocolVersion": ("string",)},
        ),
        Layout(
            signs={**_RPC, "id": (), "result/protocolVersion": (), "result/serverInfo": ()},
            kind="response",
            columns=_RESPONSE,
        ),
        *(
            Layout(
                signs={**_RPC, "id": ()},
                one_of=tuple(f"result/{member}" for member in members),
                kind="response",
                kinds=_KINDS,
                columns=_RESPONSE,
                needs={f"result/{name}": ("array", "missing") for name in _LISTS if name in members},
            )
            for members in _RESULTS
        ),
        Layout(  # those of any protocol may be
            signs={**_RPC, "id": (), "result": ()},
            kind="status",
            columns={"call_id": Digits("id")},
            empty=("result",),
        ),
        Layout(
            signs={**_RPC, "error/code": ()},
            kind="error",
            columns={"call_id": Digits("id"), "error": Loose("error/message")},
        ),
    ),
    follows=("status", "error"),
    ids_restart=True,
    back=(("roots/list", "sampling/createMessage", "elicitation/create"), _BACK),
    asks=("request", "tool_call"),
    answers=("response", "tool_result", "tools", "status", *_BACK, "error"),
    parts=(
        PartRule("params", "call", name="name", arguments=("arguments",), when=("method", "tools/call")),
        PartRule("params", "data", name="params", unless="params/messages"),
        PartRule("result/content/*", "text", ("text",), text="text"),
        PartRule("result/content", "text", ("text",), text="text"),
        PartRule("result/contents/*", "text", text="text", id="uri"),
        PartRule("result/contents/*", "data"),
        PartRule("result/structuredContent", "data", name="structuredContent"),
        PartRule("error", "text", text="message"),
        *(PartRule(f"result/{name}/*", "data", name=name.removesuffix("s")) for name in _LISTS),
    ),
    messages=tuple(
        MessageRule(f"{at}/messages/*", (_PART, _PART._replace(at="content")), {"sender": "role"})
        for at in ("params", "result")
    ),
)
DESCRIPTOR = TABLE.descriptor()
