"""LangChain: messages as ``dumps``, ``messages_to_dict`` and ``model_dump`` write them."""

from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Columns, Format, Layout, Loose, Present, Truth, Words

_TYPES = {
    **dict.fromkeys(("human", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("system", "SystemMessageChunk"), "system"),
    **dict.fromkeys(("ai", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("tool", "function", "ToolMessageChunk", "FunctionMessageChunk"), "tool_result"),
    **dict.fromkeys(("chat", "ChatMessageChunk"), "message"),
    "remove": "event",
}


def _message(at: str) -> Columns:
    """The columns of a message whose members stand at a path that ends with a slash."""
    meta, usage = f"{at}response_metadata", f"{at}usage_metadata"
    return {
        "id": f"{at}id",
        "sender": (Loose(f"{at}role"), Loose(f"{at}type")),
        "text": (Loose(f"{at}content"), Loose(f"{at}content/*/text")),
        "tool": (Loose(f"{at}tool_calls/*/name"), Loose(f"{at}name")),
        "call_id": (Loose(f"{at}tool_call_id"), Loose(f"{at}tool_calls/*/id")),
        "failed": Truth(f"{at}status", words={"error": True, "success": False}),
        "model": (Loose(f"{meta}/model_name"), Loose(f"{meta}/model")),
        "stop_reason": (Loose(f"{meta}/finish_reason"), Loose(f"{meta}/stop_reason")),
        "input_tokens": f"{usage}/input_tokens",
        "output_tokens": f"{usage}/output_tokens",
        "cache_read_tokens": f"{usage}/input_token_details/cache_read",
        "cache_write_tokens": f"{usage}/input_token_details/cache_creation",
        "reasoning_tokens": f"{usage}/output_token_details/reasoning",
    }


def _message_parts(at: str) -> tuple[PartRule, ...]:
    """The parts of a message whose members stand at a path that ends with a slash."""
    results = tuple(word for word, kind in _TYPES.items() if kind == "tool_result")
    any_of = PartRule(at.removesuffix("/"), "text", unless="" if at else "data")
    return (
        any_of._replace(kind="result", types=results, text="content", id="tool_call_id", name="name", failed="status"),
        any_of,  # of the others, which is told by what follows
        PartRule(f"{at}content", "text"),
        PartRule(f"{at}content/*", "text", ("text",), text="text"),
        PartRule(f"{at}content/*", "reasoning", ("reasoning", "thinking"), text=("thinking", "reasoning")),
        PartRule(f"{at}content/*", "call", ("server_tool_call",), id="id", name="name", arguments=("args",)),
        PartRule(f"{at}content/*", "result", ("server_tool_result",), text="output", id="tool_call_id"),
        PartRule(f"{at}content/*", "text", ("tool_use", "tool_call")),  # they are in tool_calls, too
        PartRule(f"{at}tool_calls/*", "call", id="id", name="name", arguments=("args",)),
    )


TABLE = Format(
    "langchain",
    "Messages of LangChain",
    (
        *(
            Layout(
                signs=signs,
                kind="event",
                kinds=(Words(f"{at}type", _TYPES), Present(f"{members}tool_calls/*/id", "tool_call")),
                columns=_message(members),
                marks=(2, ("lc", "kwargs", "additional_kwargs", "response_metadata")),
                nested="response_metadata",
            )
            for at, members, signs in (
                ("kwargs/", "kwargs/", {"lc": (), "type": ("constructor",), "kwargs": ()}),
                ("", "data/", {"type": tuple(_TYPES), "data/content": ()}),
                ("", "", {"type": tuple(_TYPES), "content": (), "additional_kwargs": (), "response_metadata": ()}),
            )
        ),
    ),
    copy_of=("id",),
    keys=("kwargs/id", "data/id", "id"),
    pieces=dict.fromkeys(("kwargs/type", "type"), tuple(word for word in _TYPES if word.endswith("Chunk"))),
    parts=tuple(rule for at in ("kwargs/", "data/", "") for rule in _message_parts(at)),
    messages=(MessageRule("kwargs/messages/*", _message_parts("kwargs/"), {"sender": "kwargs/type"}, retold=True),),
    cached_is_input=True,
    embeds=True,  # what the providers answered
)
DESCRIPTOR = TABLE.descriptor()
