"""Handlers for ``logging`` and for LangChain (extra ``langchain``) that write logs for a scan."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import UTC, datetime
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any

from turnwire import registry
from turnwire.errors import needs
from turnwire.formats.table import COLUMNS
from turnwire.json.text import write
from turnwire.read.exporting import Span, held_by, span_line

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.callbacks import BaseCallbackHandler


class JsonFormatter(logging.Formatter):
    """Formats each record as a JSON line with ``time`` (RFC 3339), ``level``, ``logger``, ``message``, and ``error``
    if any.

    A message of a wire (``log.info(message)``) is written as wire text, a dict or a list as JSON. A scan finds it in
    the line, with the time of the line. Of ``extra=``, values named as a column of formats are written (``tool``,
    ``input_tokens``).
    """

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line for a record."""
        if registry.wire_of(record.msg):
            said = registry.encode(record.msg)  # type: ignore[arg-type] # typeshed knows of texts alone
        elif isinstance(record.msg, dict | list) and not record.args:
            said = _json(record.msg)
        else:
            said = record.getMessage()
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        line: dict[str, Any] = {"time": moment.replace("+00:00", "Z"), "level": record.levelname, "logger": record.name}
        line["message"] = _written(said)
        for column in COLUMNS:
            value = vars(record).get(column.name)
            if value is not None:
                line[column.name] = value if isinstance(value, bool | int) else _value(value)
        if record.exc_info:
            line["error"] = _written(self.formatException(record.exc_info))
        return write(line)


def _value(value: Any) -> Any:
    """A number that JSON can hold as it is, any other value as text."""
    return value if isinstance(value, float) and isfinite(value) else _written(str(value))


def _written(text: str) -> str:
    """A text that JSON can hold: lone surrogates are escaped as Python shows them."""
    return text.encode("utf-8", "backslashreplace").decode()


class LogHandler(logging.FileHandler):
    """Appends log records to a file, formatted by :class:`JsonFormatter`, which other handlers of ``logging``
    accept, too."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        super().__init__(path, encoding="utf-8", **options)
        self.setFormatter(JsonFormatter())


def langchain_callback(path: str | os.PathLike[str]) -> BaseCallbackHandler:
    """Returns a LangChain callback handler that appends an OpenTelemetry span (OTLP JSON) for each response of a
    model and each tool call: ``chain.invoke(..., config={"callbacks": [langchain_callback("agent.jsonl")]})``.

    A scan with ``wire="otlp"``, ``turnwire usage``, ``turnwire stats`` and collectors read the file. Runs of one
    root form one trace. Raises OSError for a file that cannot be written, MissingDependency without langchain-core.
    """
    with needs("langchain", "the callback needs langchain-core"):
        from langchain_core.callbacks import BaseCallbackHandler

    class Callback(BaseCallbackHandler):
        """Writes the spans of the runs that it is told of."""

        def __init__(self) -> None:
            self._runs = _Runs(path)

        def on_chain_start(self, *_: Any, **told: Any) -> None:
            self._runs.begin("", {}, told)

        def on_chain_end(self, *_: Any, **told: Any) -> None:
            self._runs.drop(told)

        on_chain_error = on_chain_end

        def on_chat_model_start(self, *_: Any, **told: Any) -> None:
            self._runs.begin("chat", _asked(told), told)

        on_llm_start = on_chat_model_start

        def on_llm_end(self, response: Any, **told: Any) -> None:
            self._runs.end(_answered(response), told)

        def on_llm_error(self, error: BaseException, **told: Any) -> None:
            self._runs.end({"error.type": type(error).__qualname__}, told, failed=True)

        def on_tool_start(self, serialized: Any, input_str: str, **told: Any) -> None:
            name = (serialized or {}).get("name") or told.get("name") or ""
            arguments = told.get("inputs")
            text = _json(arguments) if isinstance(arguments, dict) else input_str
            said = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": text}
            self._runs.begin("execute_tool", _session(told) | said, told)

        def on_tool_end(self, output: Any, **told: Any) -> None:
            said = {"gen_ai.tool.call.result": str(getattr(output, "content", output))}
            if getattr(output, "tool_call_id", None):
                said["gen_ai.tool.call.id"] = output.tool_call_id
            self._runs.end(said, told, failed=getattr(output, "status", None) == "error")

        on_tool_error = on_llm_error

    return Callback()


class _Runs:
    """The runs of LangChain that have begun, each with its root; many threads tell of them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._lock = path, Lock()
        self._append("")
        self._open: dict[UUID, tuple[UUID, int, str, dict[str, Any]]] = {}

    def begin(self, operation: str, attributes: dict[str, Any], told: dict[str, Any]) -> None:
        run, parent = told["run_id"], told.get("parent_run_id")
        with self._lock:
            root = self._open[parent][0] if parent in self._open else parent or run
            self._open[run] = root, time.time_ns(), operation, attributes

    def drop(self, told: dict[str, Any]) -> None:
        with self._lock:
            self._open.pop(told["run_id"], None)

    def end(self, attributes: dict[str, Any], told: dict[str, Any], failed: bool = False) -> None:
        run, parent = told["run_id"], told.get("parent_run_id")
        with self._lock:
            if run not in self._open:
                return  # it began before the handler was there
            root, start, operation, known = self._open.pop(run)
            said = {"gen_ai.operation.name": operation, **known, **attributes}
            of = said.get("gen_ai.response.model") or said.get("gen_ai.request.model") or said.get("gen_ai.tool.name")
            span = Span(
                trace=root.bytes,
                id=run.bytes[8:],
                parent=None if parent is None else parent.bytes[8:],
                name=f"{operation} {of}" if of else operation,
                kind="internal" if operation == "execute_tool" else "client",
                start=start,
                end=time.time_ns(),
                attributes={name: _written(value) if isinstance(value, str) else value for name, value in said.items()},
                failed=failed,
                held=held_by("langchain"),
                of=("", 0, ()),
            )
            self._append(span_line(span) + "\n")

    def _append(self, text: str) -> None:
        with open(self._path, "a", encoding="utf-8") as file:  # spans are few; nobody has to close it
            file.write(text)


def _asked(told: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a call of a model that are known when it begins."""
    meta = told.get("metadata") or {}
    names = {"gen_ai.provider.name": meta.get("ls_provider"), "gen_ai.request.model": meta.get("ls_model_name")}
    return _session(told) | {name: str(value) for name, value in names.items() if value}


def _session(told: dict[str, Any]) -> dict[str, Any]:
    """The conversation of a run."""
    meta = told.get("metadata") or {}
    name = meta.get("thread_id") or meta.get("session_id")
    return {"gen_ai.conversation.id": str(name)} if name else {}


def _answered(response: Any) -> dict[str, Any]:
    """The attributes of a response: model, tokens, why it stopped, and what it says."""
    generations = [one for some in response.generations for one in some]
    messages = [one.message for one in generations if getattr(one, "message", None) is not None]
    found: dict[str, Any] = {}
    said = []
    for message in messages:
        meta, usage = getattr(message, "response_metadata", None) or {}, getattr(message, "usage_metadata", None) or {}
        model = meta.get("model_name") or meta.get("model")
        stop = meta.get("finish_reason") or meta.get("stop_reason")
        found |= {"gen_ai.response.model": model} if model else {}
        found |= {"gen_ai.response.id": message.id} if message.id else {}
        found |= {"gen_ai.response.finish_reasons": [stop]} if stop else {}
        details = usage.get("input_token_details") or {}
        counts = {
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
            "cache_read.input_tokens": details.get("cache_read"),
            "cache_creation.input_tokens": details.get("cache_creation"),
        }
        found |= {f"gen_ai.usage.{name}": count for name, count in counts.items() if count is not None}
        parts: list[dict[str, Any]] = [{"type": "text", "content": _text(message.content)}] if message.content else []
        for call in getattr(message, "tool_calls", None) or ():
            part = {"type": "tool_call", "id": call.get("id"), "name": call["name"], "arguments": call["args"]}
            parts.append(part)
        said.append({"role": "assistant", "parts": parts})
    if not messages:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": one.text}]} for one in generations]
    return {**found, "gen_ai.output.messages": _json(said)}


def _json(value: Any) -> str:
    """Any value as JSON: objects that JSON has no form for as Python shows them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(one if isinstance(one, str) else one.get("text", "") for one in content)
