"""LangChain: messages as ``dumps`` writes them (a constructor and its arguments), and as ``messages_to_dict`` does."""

from turnwire.formats.table import Columns, Format, Layout, Loose, Words

_TYPES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "tool": "tool_result",
    "function": "tool_result",
}


def _message(at: str) -> Columns:
    """The columns of a message whose members stand at a path that ends with a slash."""
    meta, usage = f"{at}response_metadata", f"{at}usage_metadata"
    return {
        "id": f"{at}id",
        "sender": Loose(f"{at}type"),
        "text": (Loose(f"{at}content"), Loose(f"{at}content/*/text")),
        "tool": (Loose(f"{at}tool_calls/*/name"), Loose(f"{at}name")),
        "call_id": (Loose(f"{at}tool_call_id"), Loose(f"{at}tool_calls/*/id")),
        "model": (Loose(f"{meta}/model_name"), Loose(f"{meta}/model")),
        "stop_reason": (Loose(f"{meta}/finish_reason"), Loose(f"{meta}/stop_reason")),
        "input_tokens": f"{usage}/input_tokens",
        "output_tokens": f"{usage}/output_tokens",
        "cache_read_tokens": f"{usage}/input_token_details/cache_read",
        "cache_write_tokens": f"{usage}/input_token_details/cache_creation",
        "reasoning_tokens": f"{usage}/output_token_details/reasoning",
    }


TABLE = Format(
    "langchain",
    "Messages of LangChain",
    (
        Layout(
            signs={"lc": (), "type": ("constructor",), "kwargs": ()},
            kind="event",
            kinds=(Words("kwargs/type", _TYPES),),
            columns=_message("kwargs/"),
            needs={"kwargs": ("object",)},
            marks=(2, ("lc", "kwargs")),
        ),
        Layout(
            signs={"type": tuple(_TYPES), "data/content": ()},
            kind="message",
            kinds=(Words("type", _TYPES),),
            columns=_message("data/"),
            marks=(2, ("additional_kwargs", "response_metadata")),
        ),
    ),
    copy_of=("id",),
    arguments=("kwargs/tool_calls/*/args", "data/tool_calls/*/args"),
    cached_is_input=True,
)
DESCRIPTOR = TABLE.descriptor()
