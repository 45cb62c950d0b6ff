"""inspect_ai: what says which evaluation it is, and each of its samples."""

from turnwire.formats.parts import MessageRule, PartRule
from turnwire.formats.table import Between, Columns, Digits, Format, Layout, Loose, Seconds, Sum


def _evaluation(at: str) -> Columns:
    """The columns of what says which evaluation it is, at a path, "" or one that ends with a slash."""
    return {
        "conversation": f"{at}run_id",
        "id": Loose(f"{at}eval_id"),
        "subject": f"{at}task",
        "model": Loose(f"{at}model"),
        "time": Loose(f"{at}created"),
    }


_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "input_tokens_cache_read",
    "cache_write_tokens": "input_tokens_cache_write",
    "reasoning_tokens": "reasoning_tokens",
    "total_tokens": "total_tokens",
}
"""The columns of tokens -> their names in the usage of a model."""

_PARTS = (
    PartRule("", "result", text="content", id="tool_call_id", name="function", failed="error", when=("role", "tool")),
    PartRule("content", "text"),
    PartRule("content/*", "text", ("text",), text="text"),
    PartRule("content/*", "reasoning", ("reasoning",), text="reasoning"),
    PartRule("tool_calls/*", "call", id="id", name="function", arguments=("arguments",)),
)
"""The parts of a message."""

TABLE = Format(
    "inspect",
    "Logs of inspect_ai",
    (
        Layout(
            signs={"eval/run_id": (), "eval/task": ()},
            kind="evaluation",
            columns={
                **_evaluation("eval/"),
                "duration_ms": Between("stats/completed_at", start="stats/started_at"),
                "stop_reason": Loose("status"),
                "error": Loose("error/message"),
            },
            marks=(2, ("eval_id", "run_id", "task_version")),
            without=("samples",),
        ),
        Layout(
            signs={"run_id": (), "task": (), "task_id": (), "task_version": ()},
            kind="evaluation",
            columns=_evaluation(""),
            nested="task_version",
        ),
        Layout(
            signs={"epoch": (), "input": (), "target": (), "messages": ()},
            kind="sample",
            columns={
                "id": Digits("id"),
                "sequence": "epoch",
                "model": Loose("output/model"),
                "text": Loose("output/completion"),
                "stop_reason": Loose("output/choices/*/stop_reason"),
                "error": Loose("error/message"),
                "request_id": Loose("uuid"),
                "call_id": (Loose("messages/*/tool_call_id"), Loose("messages/*/tool_calls/*/id")),
                "time": (Loose("started_at"), Loose("events/*/timestamp")),
                "duration_ms": (Seconds("total_time"), Between("completed_at", start="started_at")),
                **{name: (Sum(f"model_usage/{{}}/{path}"), f"output/usage/{path}") for name, path in _USAGE.items()},
            },
            marks=(3, ("epoch", "target", "scores", "model_usage")),
            nested="epoch",
        ),
    ),
    copy_of=("request_id",),
    keys=("uuid", "eval/eval_id", "eval_id"),
    carried=("conversation",),
    archive=".eval",
    cached_is_input=None,  # providers differ
    reasoning_is_output=None,
    embeds=True,  # what the providers answered
    parts=(
        PartRule("output/completion", "text", unless="messages"),
        PartRule("target", "data", name="target"),
        PartRule("scores", "data", name="scores"),
    ),
    messages=(
        MessageRule("input", _PARTS, unless="messages"),
        MessageRule("input/*", _PARTS, unless="messages"),
        MessageRule("messages/*", _PARTS, {"sender": "role", "id": "id", "model": "model"}),
    ),
)
DESCRIPTOR = TABLE.descriptor()
