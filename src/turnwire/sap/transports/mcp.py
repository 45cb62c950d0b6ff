"""MCP: a server whose tools are an agent's capabilities, and a client that calls them (section 10). Extra: ``mcp``.

A tool is for a model: its arguments are the payload, by the capability's own schema, and it gives the output. The
envelope is made by the server: fresh ids, the principal of the session as issuer, the context that the server was given
(pressureLevel instant by default), and ``meta`` with its origin. Whoever has an envelope sends it in ``_meta``:

    urn:ubos:sap/task             a whole Task; its payload stands for the arguments if there are none
    urn:ubos:sap/context          a constitutionalContext
    urn:ubos:sap/correlationId    the correlationId
    urn:ubos:sap/receipt          true: the answer is the receipt, at once; the same task called again has the Result
    urn:ubos:sap/result           a taskId: the answer is what there is of that task, its Result or its Ack
    urn:ubos:sap/cancel           a taskId: that task of the caller is cancelled, and the answer is its Result

The answer's ``_meta`` has the whole Result, Ack or Nack (urn:ubos:sap/result, urn:ubos:sap/ack, urn:ubos:sap/nack) and
the correlationId, so that ids and evidence are kept. A caller that wants progress hears when the task is accepted (not
where replyTo.expectAck is false) and when it is running.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnwire.errors import BadAnswer, DecodeError, EncodeError, Unanswered, Unreachable, needs
from turnwire.json import text as json_text
from turnwire.sap.access import ANONYMOUS, Action, Named, Principal
from turnwire.sap.builders import NOBODY, ContextLike, Refused, make_task, nack, unreadable
from turnwire.sap.codec import decode, encode
from turnwire.sap.handlers import Job
from turnwire.sap.messages import Ack, ConstitutionalContext, Issuer, Nack, Result, Task
from turnwire.sap.spec import UUID, WIRE, ErrorCode, Status
from turnwire.sap.transports import USABLE, Caller, CallerOptions, Identify, Serving, asked, identified, read_message

with needs("mcp", "MCP needs the SDK, version 2"):
    import anyio
    import mcp_types as types
    from mcp import Client as McpClient, MCPError
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from pydantic import ValidationError

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Unpack

CORRELATION = "urn:ubos:sap/correlationId"
TASK, CONTEXT = "urn:ubos:sap/task", "urn:ubos:sap/context"
RECEIPT, CANCEL = "urn:ubos:sap/receipt", "urn:ubos:sap/cancel"
RESULT, ACK, NACK = "urn:ubos:sap/result", "urn:ubos:sap/ack", "urn:ubos:sap/nack"
ENVELOPE = "urn:ubos:sap/envelope"
"""Keys in ``_meta`` of calls and answers. ENVELOPE is in the meta of a Task that the server made: "server"."""

_PROGRESS = {Status.QUEUED: 0.0, Status.RUNNING: 0.5}  # of 1


def server(
    agent: Serving,
    *,
    name: str = "turnwire-sap",
    version: str = "2.0",
    context: ContextLike | None = None,
    identify: Identify | None = None,
) -> Server[Any]:
    """The MCP server of an agent, or of the agents of a bus, to run over any transport of the SDK.

    They are started by whoever made them.

    Args:
        context: the constitutionalContext of tasks for which the caller gives none (default: pressureLevel instant).
        identify: who makes a request, e.g. :func:`by_token`. Without it all callers are ANONYMOUS.
    """
    tools = _Tools(agent, context, identify)
    return Server(name, version=version, on_list_tools=tools.list, on_call_tool=tools.call)


async def serve_stdio(server: Server[Any]) -> None:
    """Runs a server over standard input and output until the input ends. What cannot be read, such as half a surrogate
    pair in an argument, is answered with an error of JSON-RPC; the SDK alone does not answer it."""
    async with stdio_server() as (read, write):
        sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def answer_unreadable() -> None:
            async with sending:
                async for item in read:
                    if not isinstance(item, Exception):
                        await sending.send(item)
                    elif (error := _error_of(item)) is not None:
                        await write.send(SessionMessage(error))

        async with asyncio.TaskGroup() as group:
            reading = group.create_task(answer_unreadable())
            await server.run(receiving, write, server.create_initialization_options())
            reading.cancel()


def _error_of(error: Exception) -> types.JSONRPCError | None:
    """The answer to a line that the SDK cannot read, None for a notification and what is no request at all."""
    line = error.errors()[0].get("input") if isinstance(error, ValidationError) else None
    number: Any = None
    data = types.ErrorData(code=types.PARSE_ERROR, message="a line is not JSON")
    with contextlib.suppress(ValueError):
        request = json.loads(line) if isinstance(line, (str, bytes)) else None
        number = request.get("id") if isinstance(request, dict) else None
        if not isinstance(number, (int, str)) or str(number).encode("utf-8", "ignore").decode() != str(number):
            return None
        text = "the request cannot be read: it contains half a surrogate pair, or violates the MCP schema"
        data = types.ErrorData(code=types.INVALID_REQUEST, message=text)
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=data)


def by_token(_request: Any) -> Named:
    """The client that the SDK's bearer authentication let in, or None: an ``identify`` over HTTP."""
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    return None if token is None else token.client_id


@dataclass(eq=False)
class _Tools:
    agent: Serving
    context: ContextLike | None
    identify: Identify | None

    async def list(self, _context: Any, _params: Any) -> types.ListToolsResult:
        tools = [
            types.Tool(name=name, description=one.description or None, input_schema=one.schema or {"type": "object"})
            for name, one in self.agent.capabilities.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call(self, request: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = await identified(self.identify, request)
        meta: Mapping[str, Any] = params.meta or {}
        for key, action in ((RESULT, Action.READ), (CANCEL, Action.CANCEL)):
            if isinstance(task_id := meta.get(key), str):
                return _answered(await asked(self.agent, action, task_id, caller))
        try:
            task = self._task_of(params, caller, meta)
        except Refused as refused:
            return _answered(refused.nack)
        receiving = asyncio.ensure_future(self.agent.receive(task, principal=caller, given=True))
        del task
        try:
            job = await asyncio.shield(receiving)
            if isinstance(job, Nack):
                return _answered(job)
            if meta.get(RECEIPT) is True:
                return _answered(job.ack())
            await _progress(request, job)
            return _answered(await job.wait())
        except asyncio.CancelledError:  # the caller's wish, whatever has become of the task by now
            receiving.add_done_callback(_cancel)
            raise

    def _task_of(self, params: types.CallToolRequestParams, caller: Principal | None, meta: Mapping[str, Any]) -> Task:
        """The Task that a caller brings, whose body wins over the key of the correlation; else one made of the
        arguments. Raises Refused."""
        arguments = dict(params.arguments or {})
        correlation = meta.get(CORRELATION)
        correlation = correlation if isinstance(correlation, str) and UUID.fullmatch(correlation) else None
        if (whole := meta.get(TASK)) is None:
            named = None if caller is None or caller is ANONYMOUS else caller.name
            issuer = NOBODY if named is None else Issuer(agent_id=named, agent_kind="agent")
            given = meta.get(CONTEXT, self.context)
            return make_task(
                params.name,
                arguments,
                issuer=issuer,
                context=given if isinstance(given, (Mapping, ConstitutionalContext, type(None))) else {"given": given},
                agent_id=self.agent.agent_id,
                correlation_id=correlation,
                meta={ENVELOPE: "server"},
            )
        try:
            text = json_text.write(whole, WIRE)
        except EncodeError as error:  # half a surrogate pair
            raise Refused(unreadable("", error, message_id=params.name, correlation=correlation)) from error
        task = read_message(Task, text, message_id=params.name, correlation=correlation)
        fault = ""
        if task.target.capability != params.name:
            fault = f"the task is for {task.target.capability}, but the tool is {params.name}"
        if arguments and arguments != task.payload:
            fault = "/payload: the arguments are not the payload of the task"
        if fault:
            raise Refused(nack(task, ErrorCode.INVALID_TASK, fault))
        return task


def _cancel(receiving: asyncio.Future[Job | Nack]) -> None:
    if not receiving.cancelled() and receiving.exception() is None and isinstance(job := receiving.result(), Job):
        job.cancel()


async def _progress(request: Any, job: Job) -> None:
    """Tells the states of a task to a caller who asked for progress; the SDK sends nothing to others."""
    if job.expects_ack:
        await request.session.report_progress(_PROGRESS[Status.QUEUED], 1.0, "accepted")
    waited: set[asyncio.Future[Any]] = {job.begun, job.done}
    await asyncio.wait(waited, return_when="FIRST_COMPLETED")
    if job.begun.done():
        await request.session.report_progress(_PROGRESS[Status.RUNNING], 1.0, str(Status.RUNNING))


def _answered(found: Result | Ack | Nack) -> types.CallToolResult:
    """The answer of a tool: for the model the output of a Result; the whole message in ``_meta``."""
    text, structured = str(Status.QUEUED), None
    key, failed = (ACK, False) if isinstance(found, Ack) else (NACK, True)
    if isinstance(found, Nack):
        text = found.reason or ""
    elif isinstance(found, Result):
        key, failed, error = RESULT, found.status not in USABLE, found.error
        if failed:
            text = f"{error.code or found.status}: {error.message or ''}" if error is not None else str(found.status)
        else:
            output = found.output
            text = output if isinstance(output, str) else json_text.write(output, WIRE)
            structured = output if isinstance(output, dict) else {"output": output}
    meta = {key: json_text.read_object(encode(found, strict=False), WIRE), CORRELATION: found.correlation_id}
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structured, is_error=failed, _meta=meta)


class Client(Caller):
    """Calls an agent behind :func:`server`. Use it as an async context manager.

    Args:
        where: what the SDK's Client takes: a URL, the parameters of a stdio server, or a Server in this process.
        timeout: seconds for an answer. ack_seconds: how long :meth:`send` waits for a receipt.
        issuer, producer, keys: as in :class:`turnwire.sap.Caller`.
    """

    def __init__(
        self, where: Any, *, timeout: float = 60.0, ack_seconds: float = 10.0, **caller: Unpack[CallerOptions]
    ) -> None:
        super().__init__(**caller)
        self._ack_seconds = ack_seconds
        self._client = McpClient(where, read_timeout_seconds=timeout)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__(None, None, None)  # told of an error it would raise a group of one in its place

    async def capabilities(self) -> list[str]:
        """The names of the tools."""
        page = await self._client.list_tools()
        names = [tool.name for tool in page.tools]
        while (cursor := page.next_cursor) is not None:
            page = await self._client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
        return names

    async def _asked(self, task: Task, *, receipt: bool = False) -> Any:
        sent = json_text.read_object(encode(task), WIRE)
        meta = {CORRELATION: task.correlation_id, TASK: sent, **({RECEIPT: True} if receipt else {})}
        return await self._called(task.target.capability, sent["payload"], meta, self._ack_seconds if receipt else None)

    async def _told(self, action: Action, task_id: str) -> Any:
        key = RESULT if action is Action.READ else CANCEL
        return await self._called(key, {}, {key: task_id}, None)

    async def _called(
        self, tool: str, arguments: dict[str, Any], meta: Any, seconds: float | None
    ) -> Result | Ack | Nack:
        try:
            answer = await self._client.call_tool(tool, arguments, meta=meta, read_timeout_seconds=seconds)
        except MCPError as error:
            failed = Unanswered if "timed out" in str(error).lower() else BadAnswer
            raise failed(f"the server answered with an error: {error}") from error
        except (OSError, TimeoutError) as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        said: Mapping[str, Any] = answer.meta or {}
        for key, kind in ((NACK, Nack), (ACK, Ack), (RESULT, Result)):
            if isinstance(said.get(key), dict) and (key is not ACK or {RECEIPT, RESULT} & {*meta}):
                try:
                    read = decode(json_text.write(said[key], WIRE))
                except (DecodeError, EncodeError) as error:
                    raise BadAnswer(f"the {kind.__name__} cannot be read: {error}") from error
                if isinstance(read, kind):
                    return read
        raise BadAnswer("the server answered with neither Result nor Nack")
