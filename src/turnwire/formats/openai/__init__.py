"""OpenAI's API: requests, chat completions and their chunks, responses and their events, batches and their results."""

from turnwire.formats.anthropic import REQUESTED, request
from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Columns, Epoch, Format, Layout, Loose, Present, Words, sources_of


def _chat(at: str) -> Columns:
    """The columns of a chat completion at a path, "" or one that ends with a slash."""
    message, delta, usage = f"{at}choices/*/message", f"{at}choices/*/delta", f"{at}usage"
    return {
        "model": f"{at}model",
        "time": Epoch(f"{at}created"),
        "sender": tuple(Loose(f"{said}/role") for said in (message, delta)),
        "text": (Loose(f"{message}/content"), Loose(f"{delta}/content")),
        "tool": tuple(Loose(f"{said}/tool_calls/*/function/name") for said in (message, delta)),
        "call_id": tuple(Loose(f"{said}/tool_calls/*/id") for said in (message, delta)),
        "stop_reason": Loose(f"{at}choices/*/finish_reason"),
        "input_tokens": (f"{usage}/prompt_tokens", f"{usage}/input_tokens"),
        "output_tokens": (f"{usage}/completion_tokens", f"{usage}/output_tokens"),
        "cache_read_tokens": tuple(f"{usage}/{of}_tokens_details/cached_tokens" for of in ("prompt", "input")),
        "cache_write_tokens": tuple(f"{usage}/{of}_tokens_details/cache_write_tokens" for of in ("prompt", "input")),
        "reasoning_tokens": tuple(f"{usage}/{of}_tokens_details/reasoning_tokens" for of in ("completion", "output")),
    }


def _chat_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of a chat completion at a path."""
    message = f"{at}choices/*/message"
    return (
        PartRule(f"{message}/content", "text"),
        PartRule(f"{message}/content/*", "text", ("text",), text="text"),
        _CALL._replace(at=f"{message}/tool_calls/*"),
    )


_CALL = PartRule("tool_calls/*", "call", id="id", name="function/name", arguments=("function/arguments",))


def _response(at: str) -> Columns:
    """The columns of a response at a path, beside those that a chat completion has, too."""
    return {
        "tool": Loose(f"{at}output/*/name"),
        "call_id": Loose(f"{at}output/*/call_id"),
        "sender": Loose(f"{at}output/*/role"),
        "text": Loose(f"{at}output/*/content/*/text"),
        "stop_reason": Loose(f"{at}status"),
    }


_STATES = ("created", "queued", "in_progress", "completed", "incomplete", "failed")


def _response_object(at: str) -> Columns:
    """The columns of a response at a path, with its tokens."""
    return {
        **{name: where for name, where in _chat(at).items() if name.endswith("_tokens") or name == "model"},
        "id": f"{at}id",
        "time": Epoch(f"{at}created_at"),
        "error": Loose(f"{at}error/message"),
        **_response(at),
    }


def _response_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of a response at a path."""
    items = f"{at}output/*"
    return (
        PartRule(f"{items}/summary/*", "reasoning", text="text"),
        PartRule(f"{items}/content/*", "text", ("output_text", "text"), text="text"),
        PartRule(items, "call", ("function_call",), id="call_id", name="name", arguments=("arguments",)),
        PartRule(items, "call", ("mcp_call",), id="id", name="name", arguments=("arguments",), text="output"),
        PartRule(items, "text", ("message", "reasoning")),
    )


def _either(at: str) -> Columns:
    """The columns of a chat completion or a response at a path."""
    chat, response = _chat(at), _response(at)
    return {
        **chat,
        **{name: (*sources_of(chat[name]), *sources_of(where)) for name, where in response.items()},
        "time": tuple(Epoch(f"{at}{name}") for name in ("created", "created_at")),
    }


_MESSAGE_PARTS = (
    PartRule("", "result", text="content", id="tool_call_id", when=("role", "tool")),
    PartRule("", "result", ("function_call_output",), text="output", id="call_id"),
    PartRule("", "call", ("function_call",), id="call_id", name="name", arguments=("arguments",)),
    PartRule("", "text"),
    PartRule("content", "text"),
    PartRule("content/*", "text", ("text", "input_text", "output_text"), text="text"),
    _CALL,
)
"""The parts of a message in a request."""

TABLE = Format(
    "openai",
    "Objects of OpenAI's API",
    (
        Layout(
            signs={"object": ("chat.completion", "chat.completion.chunk"), "choices": ()},
            kind="assistant",
            kinds=(
                Words("object", {"chat.completion.chunk": "event"}),
                *(Present(f"choices/*/{said}/tool_calls/*/id", "tool_call") for said in ("message", "delta")),
            ),
            columns={**_chat(""), "id": "id"},
            needs={"choices": ("array",)},
            marks=(2, ("choices", "finish_reason", "prompt_tokens", "completion_tokens")),
            nested="response",
        ),
        Layout(
            signs={"object": ("response",), "output": ()},
            kind="assistant",
            kinds=(Words("output/*/type", {"mcp_call": "tool_call"}), Present("output/*/call_id", "tool_call")),
            columns=_response_object(""),
            needs={"output": ("array",)},
            marks=(2, ("created_at", "incomplete_details", "previous_response_id", "parallel_tool_calls")),
            nested="response",
        ),
        Layout(  # events of a stream
            signs={"type": tuple(f"response.{state}" for state in _STATES), "response/id": ()},
            kind="event",
            kinds=(Words("type", {"response.completed": "assistant", "response.failed": "error"}),),
            columns={**_response_object("response/"), "subject": "type", "sequence": Loose("sequence_number")},
        ),
        Layout(
            signs={"type": (), "sequence_number": (), "output_index": ()},
            kind="event",
            columns={
                "subject": "type",
                "sequence": "sequence_number",
                "parent": Loose("item_id"),
                "text": tuple(Loose(name) for name in ("delta", "text", "arguments")),
            },
        ),
        Layout(
            signs={"model": (), "messages/*/role": ()},
            kind="request",
            columns=request(),
            without=("choices", "response", "usage", "epoch", *REQUESTED),
        ),
        Layout(
            signs={"model": (), "input": ()},
            one_of=(
                *("input/*/role", "instructions", "max_output_tokens", "previous_response_id", "reasoning/effort"),
                *("text/format", "text/verbosity"),
            ),
            kind="request",
            columns={
                "model": Loose("model"),
                "sender": Loose("input/*/role"),
                "text": (Loose("input"), Loose("input/*/content"), Loose("input/*/content/*/text")),
                "call_id": Loose("input/*/call_id"),
            },
            without=("object", "output", "response", "event", "usage"),
        ),
        Layout(
            signs={"custom_id": (), "method": ("POST",), "url": (), "body": ()},
            kind="request",
            columns={"request_id": "custom_id", "subject": "url", "model": "body/model"},
            needs={"body": ("object",)},
            marks=(3, ("custom_id", "method", "url", "body")),
        ),
        Layout(
            signs={"custom_id": (), "response": (), "id": ()},
            kind="response",
            kinds=(Present("error/message", "error"), Present("response/body/error/message", "error")),
            columns={
                **_either("response/body/"),
                "id": "id",
                "request_id": "custom_id",
                "error": (Loose("error/message"), Loose("response/body/error/message")),
            },
            marks=(3, ("custom_id", "response", "status_code", "body")),
        ),
    ),
    copy_of=("id",),
    answers=("tool_result", "request"),  # the messages of the next request have the results
    keys=("id", "response/id"),
    pieces={"object": ("chat.completion.chunk",)},
    parts=(
        *(rule for at in ("", "response/body/") for rule in _chat_parts(at)),
        *(rule for at in ("", "response/", "response/body/") for rule in _response_parts(at)),
        PartRule("choices/*", "text", text="delta/content", block=("index",)),
        _CALL._replace(at="choices/*/delta/tool_calls/*", block=("/choices/*/index", "index")),
    ),
    messages=(
        *(MessageRule(f"{at}instructions", role="system") for at in ("body/", "")),
        *(
            MessageRule(f"{at}{member}", _MESSAGE_PARTS)
            for at in ("body/", "")
            for member in ("input", "input/*", "messages/*")
        ),
    ),
    provider="openai",
    cached_is_input=True,
)
DESCRIPTOR = TABLE.descriptor()
