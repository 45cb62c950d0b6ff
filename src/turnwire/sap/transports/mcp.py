"""MCP: a server whose tools are an agent's capabilities, and a client that calls them (section 10). Extra: ``mcp``.

A tool takes ``{"task": <Task>}`` and gives ``{"result": <Result>}``, or ``{"nack": <Nack>}`` as an error of the tool:
taskId and correlationId stay inside the messages and are not translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, MissingDependency
from turnwire.json import text as json_text
from turnwire.sap.agent import Agent, Capability, Refused
from turnwire.sap.codec import decode, encode
from turnwire.sap.messages import Nack, Result, Task
from turnwire.sap.schema import json_schema
from turnwire.sap.spec import WIRE, ErrorCode

try:
    import mcp_types as types
    from mcp import Client as McpClient
    from mcp.server.lowlevel import Server
except ImportError as missing:
    raise MissingDependency(
        "MCP needs the SDK, version 2: pip install 'turnwire[mcp]', or '.[mcp]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    from typing import Self

CORRELATION = "urn:ubos:sap/correlationId"
"""Key in ``_meta`` of a call."""


def server(agent: Agent, *, name: str = "turnwire-sap", version: str = "2.0") -> Server[Any]:
    """The MCP server of an agent, to run over any transport of the SDK; the agent is started by whoever made it."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(capability) for capability in agent.capabilities.values()])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(agent, params.name, params.arguments or {})

    return Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(capability: Capability) -> types.Tool:
    objects = json_schema()["$defs"]
    task = dict(objects["Task"])
    if capability.schema is not None:
        task["properties"] = {**task["properties"], "payload": capability.schema}
    schema = {
        "type": "object",
        "required": ["task"],
        "properties": {"task": {"$ref": "#/$defs/Task"}},
        "$defs": {**objects, "Task": task},
    }
    return types.Tool(name=capability.name, description=capability.description or None, input_schema=schema)


async def _call(agent: Agent, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    try:
        task = decode(json_text.write(arguments.get("task"), WIRE))
    except DecodeError as error:
        return _refused(Nack(message_id=tool, correlation_id=None, reason=f"{ErrorCode.INVALID_TASK}: {error}"))
    if not isinstance(task, Task):
        return _refused(Nack(message_id=tool, correlation_id=None, reason=f"{ErrorCode.INVALID_TASK}: no Task"))
    if task.target.capability != tool:
        text = f"{ErrorCode.INVALID_TASK}: the task is for {task.target.capability}, the tool is {tool}"
        return _refused(Nack(message_id=task.task_id, correlation_id=task.correlation_id, reason=text))
    try:
        result = await agent.call(task)
    except Refused as refused:
        return _refused(refused.nack)
    return _content({"result": result.fields}, encode(result, strict=False), failed=False)


def _refused(nack: Nack) -> types.CallToolResult:
    return _content({"nack": nack.fields}, encode(nack, strict=False), failed=True)


def _content(structured: dict[str, Any], text: str, *, failed: bool) -> types.CallToolResult:
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structured, is_error=failed)


class Client:
    """Calls an agent behind :func:`server`. Use it as an async context manager.

    Args:
        where: what the SDK's Client takes: a URL, the parameters of a stdio server, or a Server in this process.
    """

    def __init__(self, where: Any, *, timeout: float = 60.0) -> None:
        self._client = McpClient(where, read_timeout_seconds=timeout)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> None:
        await self._client.__aexit__(*details)

    async def capabilities(self) -> list[str]:
        """The names of the tools."""
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            names.extend(tool.name for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def call(self, task: Task) -> Result:
        """The final Result. Raises Refused for a Nack, EncodeError for a task that may not be written."""
        sent = json_text.read_object(encode(task), WIRE)
        meta: Any = {CORRELATION: task.correlation_id}
        answer = await self._client.call_tool(task.target.capability, {"task": sent}, meta=meta)
        content = answer.structured_content
        if isinstance(content, dict) and "nack" in content:
            raise Refused(Nack.from_dict(content["nack"]))
        if not isinstance(content, dict) or "result" not in content:
            raise TypeError("the server answered with neither result nor nack")
        result = decode(json_text.write(content["result"], WIRE))
        if not isinstance(result, Result):
            raise TypeError(f"the server answered with a {type(result).__name__}")
        return result
