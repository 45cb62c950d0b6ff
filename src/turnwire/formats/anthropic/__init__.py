"""Anthropic's API: requests, messages with their blocks, events of their streams, results of batches, errors."""

from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Columns, Format, Layout, Loose, Words

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
BLOCKS = {
    **dict.fromkeys(_CALLS, "tool_call"),
    **dict.fromkeys(("thinking", "redacted_thinking"), "reasoning"),
    "tool_result": "tool_result",
}
"""Types of blocks -> the kinds of records whose last block they are."""

USAGE = {
    "input_tokens": "usage/input_tokens",
    "output_tokens": "usage/output_tokens",
    "cache_read_tokens": "usage/cache_read_input_tokens",
    "cache_write_tokens": "usage/cache_creation_input_tokens",
    "reasoning_tokens": "usage/output_tokens_details/thinking_tokens",
}
"""The columns of tokens -> their paths in a message."""
_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


def message(at: str) -> Columns:
    """The columns of a message at a path, "" or one that ends with a slash."""
    return {
        "id": f"{at}id",
        "sender": f"{at}role",
        "model": f"{at}model",
        "stop_reason": f"{at}stop_reason",
        "tool": Loose(f"{at}content/*/name"),
        "call_id": (Loose(f"{at}content/*/id"), Loose(f"{at}content/*/tool_use_id")),
        "text": tuple(Loose(f"{at}content{part}") for part in ("", "/*/text", "/*/content", "/*/thinking")),
        **{name: f"{at}{path}" for name, path in USAGE.items()},
        "cache_write_1h_tokens": Loose(f"{at}usage/cache_creation/ephemeral_1h_input_tokens"),
        "speed": Loose(f"{at}usage/speed"),
    }


REQUESTED = (
    *("system", "stop_sequences", "thinking", "anthropic_version", "metadata/user_id", "tools/*/input_schema"),
    *(f"messages/*/content/*/{member}" for member in ("source", "tool_use_id")),
)
"""Members of requests that those to OpenAI do not have; ``top_k`` is none, since servers that speak its API take it."""


def request(at: str = "") -> Columns:
    """The columns of a request at a path, also of one to OpenAI's chat; its text is that of the last message."""
    return {
        "model": Loose(f"{at}model"),
        "sender": Loose(f"{at}messages/*/role"),
        "text": (Loose(f"{at}messages/*/content"), Loose(f"{at}messages/*/content/*/text")),
        "call_id": tuple(Loose(f"{at}messages/*/{path}") for path in _IDS),
    }


_IDS = ("content/*/tool_use_id", "content/*/id", "tool_call_id", "tool_calls/*/id")
"""The paths of call ids in a message of a request, also of one to OpenAI."""


def message_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of a message at a path, "" or one that ends with a slash."""
    return PartRule(f"{at}content", "text"), *_blocks(f"{at}content/*")


def _blocks(at: str) -> tuple[PartRule, ...]:
    """The parts that are blocks at a path."""
    several = ("mcp", "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution")
    results = ("tool_result", *(f"{tool}_tool_result" for tool in (*several, "tool_search", "advisor")))
    return (
        PartRule(at, "text", ("text",), text="text"),
        PartRule(at, "reasoning", ("thinking",), text="thinking"),
        PartRule(at, "call", _CALLS, id="id", name="name", arguments=("input",)),
        PartRule(at, "result", results, text="content", id="tool_use_id", failed="is_error"),
    )


_DELTA, _INDEX = ("type", "content_block_delta"), ("/index",)
_PIECES = (
    *(rule._replace(block=_INDEX) for rule in _blocks("content_block")),
    PartRule("delta", "text", ("text_delta",), "text", when=_DELTA, block=_INDEX),
    PartRule("delta", "reasoning", ("thinking_delta",), "thinking", when=_DELTA, block=_INDEX),
    PartRule("delta", "call", ("input_json_delta",), arguments=("partial_json",), when=_DELTA, block=_INDEX),
)
_EVENTS = tuple(f"content_block_{name}" for name in ("start", "delta", "stop"))

TABLE = Format(
    "anthropic",
    "Messages of Anthropic's API",
    (
        Layout(
            signs={"type": ("message",), "role": (), "content": (), "model": ()},
            kind="assistant",
            kinds=(Words("content/*/type", BLOCKS),),
            columns=message(""),
            needs={"content": ("array",)},
            marks=(2, ("stop_reason", "stop_sequence", "input_tokens")),
            nested="response",
        ),
        Layout(  # a message of a request
            signs={"role": ("user", "assistant"), "content/*/type": ()},
            one_of=tuple(f"content/*/{member}" for member in ("text", "input", "tool_use_id", "thinking", "source")),
            kind="message",
            kinds=(Words("role", {"user": "user", "assistant": "assistant"}), Words("content/*/type", BLOCKS)),
            columns={**message(""), "failed": Loose("content/*/is_error")},
            without=("type", "model", "usage", "tool_calls", "tool_call_id", "object"),
        ),
        Layout(
            signs={"max_tokens": (), "messages/*/role": ()},
            one_of=REQUESTED,
            kind="request",
            columns=request(),
            without=("choices", "response", "usage"),
        ),
        Layout(  # of a batch
            signs={"custom_id": (), "params/max_tokens": (), "params/messages": ()},
            kind="request",
            columns={**request("params/"), "request_id": "custom_id"},
        ),
        Layout(
            signs={"custom_id": (), "result/type": ("succeeded", "errored", "canceled", "expired")},
            kind="response",
            kinds=(Words("result/type", {"errored": "error", "canceled": "error", "expired": "error"}),),
            columns={
                **message("result/message/"),
                "request_id": "custom_id",
                "error": Loose("result/error/error/message"),
                "subject": "result/type",
            },
            marks=(2, ("custom_id", "stop_reason", "result")),
        ),
        Layout(  # from here to the next comment the events of a stream
            signs={"type": ("message_start",), "message/id": (), "message/type": ("message",)},
            kind="response",
            columns={**message("message/"), "subject": "type"},
        ),
        Layout(
            signs={"type": _EVENTS, "index": ()},
            kind="event",
            kinds=(Words("content_block/type", BLOCKS),),
            columns={
                "subject": "type",
                "sequence": Loose("index"),
                "tool": Loose("content_block/name"),
                "call_id": (Loose("content_block/id"), Loose("content_block/tool_use_id")),
                "text": tuple(Loose(f"delta/{name}") for name in ("text", "thinking", "partial_json")),
            },
        ),
        Layout(
            signs={"type": ("message_delta",), "delta": (), "usage": ()},
            kind="usage",
            columns={**{name: Loose(path) for name, path in USAGE.items()}, "stop_reason": Loose("delta/stop_reason")},
        ),
        Layout(signs={"type": ("message_stop",)}, kind="status", columns={"subject": "type"}),
        Layout(  # an error
            signs={"type": ("error",), "error/type": (), "request_id": ()},
            kind="error",
            columns={"request_id": Loose("request_id"), "error": "error/message", "subject": "error/type"},
        ),
    ),
    copy_of=("id",),
    answers=("tool_result", "request"),  # the messages of the next request have the results
    keys=("id", "result/message/id", "request_id"),
    pieces={"type": ("message_start", *_EVENTS, "message_delta", "message_stop")},
    follows=("status",),
    begins=("response",),
    gathered=("id", "model", "tool", "speed", *_TOKENS),
    parts=(*message_parts(""), *message_parts("result/message/"), *_PIECES),
    messages=(
        *(MessageRule(f"{at}system", role="system") for at in ("", "params/")),
        *(MessageRule(f"{at}messages/*", message_parts("")) for at in ("", "params/")),
    ),
    provider="anthropic",
)
DESCRIPTOR = TABLE.descriptor()
