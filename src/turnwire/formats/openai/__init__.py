"""OpenAI's API: requests, chat completions and their chunks, responses and their events, batches and their results."""

from turnwire.formats.anthropic import REQUESTED, request
from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Columns, Epoch, Format, Layout, Loose, Present, Words


_TEXTS = ("choices/*/text", "output/*/content/*/text")


def _object(at: str) -> Columns:
    """The columns of a chat completion or a response at a path, "" or one that ends with a slash."""
    said, usage = (f"{at}choices/*/message", f"{at}choices/*/delta"), f"{at}usage"
    return {
        "id": f"{at}id",
        "model": f"{at}model",
        "time": tuple(Epoch(f"{at}{name}") for name in ("created", "created_at")),
        "sender": tuple(Loose(f"{one}/role") for one in (*said, f"{at}output/*")),
        "text": (*(Loose(f"{one}/content") for one in said), *(Loose(f"{at}{path}") for path in _TEXTS)),
        "tool": (*(Loose(f"{one}/tool_calls/*/function/name") for one in said), Loose(f"{at}output/*/name")),
        "call_id": (*(Loose(f"{one}/tool_calls/*/id") for one in said), Loose(f"{at}output/*/call_id")),
        "stop_reason": (Loose(f"{at}choices/*/finish_reason"), Loose(f"{at}status")),
        "error": Loose(f"{at}error/message"),
        "input_tokens": (f"{usage}/prompt_tokens", f"{usage}/input_tokens"),
        "output_tokens": (f"{usage}/completion_tokens", f"{usage}/output_tokens"),
        "cache_read_tokens": tuple(f"{usage}/{of}_tokens_details/cached_tokens" for of in ("prompt", "input")),
        "cache_write_tokens": tuple(f"{usage}/{of}_tokens_details/cache_write_tokens" for of in ("prompt", "input")),
        "reasoning_tokens": tuple(f"{usage}/{of}_tokens_details/reasoning_tokens" for of in ("completion", "output")),
    }


_STATES = ("created", "queued", "in_progress", "completed", "incomplete", "failed")
_HOSTED = ("local_shell", "shell", "apply_patch", "computer", "web_search", "file_search", "code_interpreter")
UNNAMED = tuple(f"{tool}_call" for tool in (*_HOSTED, "image_generation", "tool_search"))
"""Calls of tools that have no other name than their type."""
CALLS, _KINDS = ("function_call", "custom_tool_call"), dict.fromkeys((*UNNAMED, "mcp_call"), "tool_call")
RESULTS = (*(f"{call}_output" for call in (*CALLS, *UNNAMED[:4])), "tool_search_output")
_CALL = PartRule("tool_calls/*", "call", id="id", name="function/name", arguments=("function/arguments",))


def chat_parts(member: str) -> tuple[PartRule, ...]:
    """The parts of a message of a chat, of which ``member`` is the path of a member."""
    content = member.format("content")
    return (
        PartRule(content, "text", unless=f"{content}/*/type"),  # JSON of OTLP may be the text of blocks
        PartRule(f"{content}/*", "text", ("text", "input_text", "output_text"), text="text"),
        _CALL._replace(at=f"{member.format('tool_calls')}/*"),
    )


def item_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of items that are calls and results, at a path."""
    arguments = ("arguments", "input", "action/command", "action", "code", "queries", "operation")
    return (
        PartRule(at, "call", UNNAMED, id="call_id", name="type", arguments=arguments),
        PartRule(at, "call", CALLS, id="call_id", name="name", arguments=arguments),
        PartRule(at, "result", RESULTS, text=("output", "tools"), id="call_id"),
    )


def _response_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of a response at a path."""
    items = f"{at}output/*"
    return (
        PartRule(f"{items}/summary/*", "reasoning", text="text"),
        PartRule(f"{items}/content/*", "text", ("output_text", "text"), text="text"),
        *item_parts(items),
        PartRule(items, "call", ("mcp_call",), id="id", name="name", arguments=("arguments",), text="output"),
        PartRule(items, "text", ("message", "reasoning")),
    )


_MESSAGE_PARTS = (
    PartRule("", "result", text="content", id="tool_call_id", when=("role", "tool")),
    *item_parts(""),
    PartRule("", "text"),
    *chat_parts("{}"),
)
"""The parts of a message in a request."""

TABLE = Format(
    "openai",
    "Objects of OpenAI's API",
    (
        Layout(
            signs={"object": ("chat.completion", "chat.completion.chunk", "text_completion"), "choices": ()},
            kind="assistant",
            kinds=(
                Words("object", {"chat.completion.chunk": "event"}),
                *(Present(f"choices/*/{said}/tool_calls/*/id", "tool_call") for said in ("message", "delta")),
            ),
            columns=_object(""),
            needs={"choices": ("array",)},
            marks=(2, ("choices", "finish_reason", "prompt_tokens", "completion_tokens")),
            nested="response",
        ),
        Layout(
            signs={"object": ("response", "response.compaction"), "output": ()},
            kind="assistant",
            kinds=(Words("output/*/type", _KINDS), Present("output/*/call_id", "tool_call")),
            columns=_object(""),
            needs={"output": ("array",)},
            marks=(2, ("created_at", "incomplete_details", "previous_response_id", "parallel_tool_calls")),
            nested="response",
        ),
        Layout(  # events of a stream
            signs={"type": tuple(f"response.{state}" for state in _STATES), "response/id": ()},
            kind="event",
            kinds=(Words("type", {"response.completed": "assistant", "response.failed": "error"}),),
            columns={**_object("response/"), "subject": "type", "sequence": Loose("sequence_number")},
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
                *("text/format", "text/verbosity", "tools/*/type"),
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
                **_object("response/body/"),
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
        *(rule for at in ("", "response/body/") for rule in chat_parts(f"{at}choices/*/message/{{}}")),
        *(rule for at in ("", "response/", "response/body/") for rule in _response_parts(at)),
        PartRule("choices/*", "text", text=("delta/content", "text"), block=("index",)),
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
    embeds=True,  # items that Codex writes, too
)
DESCRIPTOR = TABLE.descriptor()
