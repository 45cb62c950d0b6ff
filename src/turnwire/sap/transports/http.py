"""HTTP: a Starlette app around an agent, results pushed to replyTo, and a client (section 10). Extra: ``http``.

    POST /tasks              a Task; answers 200 with the Result, 202 with the Ack when the request says
                             ``Prefer: respond-async`` (with no body where replyTo.expectAck is false), or each Result
                             as a line when it accepts application/x-ndjson
    GET  /tasks/{taskId}     200 with the final Result, 202 with the Ack while there is none, 404
    DELETE /tasks/{taskId}   cancels a task for who issued it; 200 with its Result, 404
    POST /results            takes Results for a replyTo (where the app was given a receiver)

A refusal is ``application/problem+json`` (RFC 9457) with the Nack as its member ``nack``. X-Correlation-Id goes both
ways; the body wins over the header.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS
from turnwire.errors import BadAnswer, DecodeError, Unanswered, Unreachable, needs
from turnwire.json import text as json_text
from turnwire.sap import transports
from turnwire.sap.access import Action, Named, authorise
from turnwire.sap.builders import Refused, expects_ack
from turnwire.sap.codec import encode
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import UUID, WIRE, ErrorCode

with needs("http", "HTTP needs starlette and httpx"):
    import httpx
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Unpack

CORRELATION = "X-Correlation-Id"
JSON, PROBLEM = "application/json", "application/problem+json"
LINES = "application/x-ndjson"
MAX_BODY = 1 << 20  # bytes of a request
MAX_ANSWER = LIMITS.message + (1 << 16)  # bytes of a response
_GATEWAYS = frozenset({502, 503, 504})


_HTTP_STATUS = {
    ErrorCode.INVALID_TASK.value: 400,
    ErrorCode.UNAUTHORIZED.value: 401,
    ErrorCode.FORBIDDEN.value: 403,
    ErrorCode.NOT_FOUND.value: 404,
    ErrorCode.UNPROCESSABLE.value: 422,
    ErrorCode.RATE_LIMIT.value: 429,
    ErrorCode.INTERNAL.value: 503,
}

Receive = Callable[[Result], Awaitable[None]]
BODY_SECONDS = 30.0
"""Seconds that the body of a request may take."""
MAX_ACKNOWLEDGED = 1 << 16
"""Bytes of what the receiver of a Result says to it that are read, at most; then the connection ends."""


class _Problem(Refused):
    """A refusal of what was met before a task was read: it has the correlation of the header, if there is one."""

    def __init__(self, request: Request, code: str, text: str, status: int | None = None) -> None:
        header = request.headers.get(CORRELATION, "")
        correlation = header if UUID.fullmatch(header) else None
        super().__init__(Nack(message_id=request.url.path, correlation_id=correlation, reason=f"{code}: {text}"))
        self.status = status


def bearer(table: Mapping[str, Named]) -> transports.Identify:
    """An ``identify`` by ``Authorization: Bearer <token>``: the principal of the token, None if it is unknown."""
    known = [(token.encode(), principal) for token, principal in table.items()]

    def identify(request: Request) -> Named:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given, found = token.strip().encode(), None
        for secret, principal in known:  # all of them, so that the time says nothing
            if hmac.compare_digest(secret, given) and scheme.lower() == "bearer":
                found = principal
        return found

    return identify


def app(
    agent: transports.Serving,
    *,
    max_body: int = MAX_BODY,
    identify: transports.Identify | Mapping[str, Named] | None = None,
    receive: Receive | None = None,
    body_seconds: float = BODY_SECONDS,
) -> Starlette:
    """The Starlette app of an agent, or of the agents of a bus, which a server starts with it unless they run already.

    Args:
        max_body: bytes a request may have; more is 413. body_seconds: how long it may take; more is 408.
        identify: who the sender of a request is: a callable, or a table of bearer tokens. Where it is set, None is
            denied everything, and a task's own claim of its issuer is not enough. Without it all senders are ANONYMOUS.
        receive: takes the Results that other agents post to /results.
    """
    judge = bearer(identify) if isinstance(identify, Mapping) else identify
    endpoint = _Endpoint(agent, max_body, judge, receive, body_seconds)
    routes = [
        Route("/tasks", endpoint.post_task, methods=["POST"]),
        Route("/tasks/{task_id}", endpoint.ask_about_task, methods=["GET", "DELETE"]),
    ]
    if receive is not None:
        routes.append(Route("/results", endpoint.post_result, methods=["POST"]))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with nullcontext() if agent.running else agent:
            yield

    return Starlette(routes=routes, exception_handlers={Refused: _problem}, lifespan=lifespan)


@dataclass(eq=False)
class _Endpoint:
    agent: transports.Serving
    max_body: int
    identify: transports.Identify | None
    receive: Receive | None
    body_seconds: float

    async def post_task(self, request: Request) -> Response:
        caller = await transports.identified(self.identify, request)
        task = await self._message(request, Task)  # which nobody but the agent keeps
        job = await self.agent.receive(task, principal=caller, given=True)
        del task
        if isinstance(job, Nack):
            raise Refused(job)
        if LINES in request.headers.get("accept", ""):
            headers = {CORRELATION: job.correlation_id}
            lines = (f"{text}\n" async for text in job.results())
            return StreamingResponse(lines, 200, headers, media_type=LINES)
        if "respond-async" not in request.headers.get("prefer", ""):
            return _response(await job.text_of_result(), 200, job.correlation_id)
        return _response(encode(job.ack()) if job.expects_ack else "", 202, job.correlation_id)

    async def ask_about_task(self, request: Request) -> Response:
        caller = await transports.identified(self.identify, request)
        action = Action.CANCEL if request.method == "DELETE" else Action.READ
        found = await transports.asked(self.agent, action, request.path_params["task_id"], caller)
        if isinstance(found, Nack):
            raise Refused(found)
        return _response(encode(found, strict=False), 202 if isinstance(found, Ack) else 200, found.correlation_id)

    async def post_result(self, request: Request) -> Response:
        caller = await transports.identified(self.identify, request)
        if caller is None:
            raise _Problem(request, ErrorCode.UNAUTHORIZED, "the credentials are unknown")
        result = await self._message(request, Result)
        if (denial := authorise(caller, Action.DELIVER, result)) is not None:
            raise _Problem(request, *denial)
        assert self.receive is not None
        await self.receive(result)
        return _response("", 204, result.correlation_id)

    async def _message(self, request: Request, kind: type[transports.M]) -> transports.M:
        """The message of a body, of which it reads no more than the limit and one chunk; its bytes are counted until it
        is there."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise _Problem(request, ErrorCode.INVALID_TASK, f"the body is {JSON}", 415)
        body = bytearray()
        try:
            async with asyncio.timeout(self.body_seconds):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > self.max_body:
                        raise _Problem(request, ErrorCode.INVALID_TASK, f"more than {self.max_body} bytes", 413)
                    if not self.agent.reserve(len(chunk)):
                        raise _Problem(request, ErrorCode.RATE_LIMIT, "there is not enough memory for the body now")
                    body += chunk
            correlation = request.headers.get(CORRELATION)
            return transports.read_message(kind, bytes(body), message_id=request.url.path, correlation=correlation)
        except TimeoutError:
            text = f"the body took more than {self.body_seconds:g} seconds"
            raise _Problem(request, ErrorCode.INVALID_TASK, text, 408) from None
        except ClientDisconnect:
            raise _Problem(request, ErrorCode.INVALID_TASK, "the connection ended before the end of the body") from None
        finally:
            self.agent.release(len(body))


def _response(text: str, status: int, correlation: str | None, kind: str = JSON) -> Response:
    """A response, with the correlation in its header."""
    headers = {} if correlation is None else {CORRELATION: correlation}
    return Response(text, status, headers, kind if text else None)


async def _problem(_request: Request, refused: Any) -> Response:
    """The problem document (RFC 9457) of a refusal; of what could not be read, with reason, offset and path."""
    nack, error, code = refused.nack, refused.__cause__, refused.code
    status = getattr(refused, "status", None) or _HTTP_STATUS.get(code, 500)
    body = {"type": f"urn:ubos:sap:{code}", "title": code, "status": status, "detail": nack.reason, "nack": nack.fields}
    if isinstance(error, DecodeError):
        body.update(reason=str(error.reason), offset=error.offset, path=error.path)
    made = _response(json_text.write(body, WIRE), status, nack.correlation_id, PROBLEM)
    if status in (429, 503):
        made.headers["Retry-After"] = "1"
    if status == 401:
        made.headers["WWW-Authenticate"] = "Bearer"
    return made


class Replies:
    """A route that posts Results to http(s) endpoints of replyTo; give it to ``agent.routes["https"]``.

    Args:
        allowed: prefixes of endpoints, with scheme and host, in ASCII. Nothing else is ever called: a task must not be
            able to make this machine send requests to wherever it likes.
        client: an httpx.AsyncClient to use; what redirects is not followed, whatever it is set to.
        headers: sent with each Result, e.g. the Authorization by which the receiver knows this agent.
    """

    def __init__(
        self,
        allowed: Iterable[str],
        *,
        client: httpx.AsyncClient | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._allowed = [_parts(prefix) for prefix in allowed]
        self._client = client or httpx.AsyncClient(timeout=30.0, follow_redirects=False)
        self._headers = dict(headers or {})

    async def __call__(self, endpoint: str, result: Result) -> None:
        try:
            origin, steps = _parts(endpoint)
        except ValueError as error:
            raise PermissionError(f"{endpoint} is not an allowed replyTo: {error}") from error
        if not any(origin == where and steps[: len(path)] == path for where, path in self._allowed):
            raise PermissionError(f"{endpoint} is not an allowed replyTo")
        headers = {**self._headers, CORRELATION: result.correlation_id, "Content-Type": JSON}
        body = encode(result, strict=False)
        sending = self._client.stream("POST", endpoint, content=body, headers=headers, follow_redirects=False)
        async with sending as answer:
            answer.raise_for_status()
            with suppress(BadAnswer, httpx.StreamConsumed):  # there by itself, as of some transports
                # Nobody asks for it: read to its end, the connection can be kept.
                await _content(answer.aiter_raw(), MAX_ACKNOWLEDGED)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()


_ENDPOINT = re.compile(
    r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?((?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+,=-]+)*/?)(?:\?[!-~]*)?",
    re.ASCII,
)
"""An endpoint that no server can take for another place: its steps are plain names, none of them ".", ".." or empty."""


def _parts(text: str) -> tuple[tuple[str, str, int], list[str]]:
    """(scheme, host, port) of a URL and the steps of its path. Raises ValueError for what could lead elsewhere."""
    if (found := _ENDPOINT.fullmatch(text)) is None or "#" in text:
        raise ValueError("an endpoint must be http(s)://host/path with a path of plain names")
    scheme, host, port, path = found.groups()
    return (scheme, host.lower(), int(port or _PORTS[scheme])), [step for step in path.split("/") if step]


_PORTS = {"http": 80, "https": 443}


class Client(transports.Caller):
    """Calls an agent behind :func:`turnwire.sap.http.app`. Use it as an async context manager.

    Args:
        base_url: where the app is mounted.
        client: an httpx.AsyncClient to use (it is not closed, and its own timeouts hold); made when None.
        timeout: seconds for one request, its answer included; of a stream, for each Result of it.
        ack_seconds: for a receipt, and for the begin of a stream of Results.
        max_body: bytes an answer may have.
        token: sent as ``Authorization: Bearer``.
        issuer, producer, keys: as in :class:`turnwire.sap.Caller`.
    """

    def __init__(
        self,
        base_url: str,
        *,
        client: httpx.AsyncClient | None = None,
        timeout: float = 60.0,
        ack_seconds: float = 10.0,
        max_body: int = MAX_ANSWER,
        token: str | None = None,
        **caller: Unpack[transports.CallerOptions],
    ) -> None:
        super().__init__(**caller)
        self._base = base_url.rstrip("/")
        self._owned = client is None
        self._client = client or httpx.AsyncClient(timeout=None)  # each request has the time that it is given here
        self._timeout = timeout if client is None else None
        self._ack_seconds = ack_seconds
        self._max_body = max_body
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._owned:
            await self._client.aclose()

    async def statuses(self, task: Task) -> AsyncIterator[Result]:
        """Yields the Results of a task as they arrive. Raises the errors of :meth:`call`."""
        headers = {**self._sent(task), "Accept": LINES}
        seconds = self._ack_seconds if expects_ack(task) else None  # what begins the stream is the Ack
        asking = self._client.stream("POST", self._base + "/tasks", content=encode(task), headers=headers)
        async with AsyncExitStack() as opened:
            async with self._within(seconds, f"no receipt of task {task.task_id}"):
                response = await opened.enter_async_context(asking)
                if not response.headers.get("content-type", "").startswith(LINES):
                    answer = _message_of(response, await _content(response.aiter_bytes(), self._max_body))
                    raise Refused(answer) if isinstance(answer, Nack) else BadAnswer("no stream of Results arrived")
            lines = _split(response, self._max_body)
            while True:
                async with self._within(self._timeout, f"no Result of task {task.task_id}"):
                    line = await anext(lines, None)
                if line is None:
                    raise Unreachable(f"the stream of Results of task {task.task_id} ended before the final one")
                result = self.answered(task, transports.read_answer(line))
                yield result
                if transports.is_final(result):
                    return

    async def _asked(self, task: Task, *, receipt: bool = False) -> Any:
        headers, seconds = self._sent(task), self._timeout
        if receipt:
            headers["Prefer"], seconds = "respond-async", self._ack_seconds
        return await self._request("POST", "/tasks", encode(task), headers, seconds)

    async def _told(self, action: Action, task_id: str) -> Any:
        method = "GET" if action is Action.READ else "DELETE"
        return await self._request(method, f"/tasks/{task_id}", None, self._headers, self._timeout)

    def _sent(self, message: Task | Result) -> dict[str, str]:
        return {**self._headers, CORRELATION: message.correlation_id, "Content-Type": JSON}

    async def _request(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str], seconds: float | None
    ) -> Any:
        asking = self._client.stream(method, self._base + path, content=body, headers=headers)
        async with self._within(seconds, f"{self._base}: no answer"), asking as response:
            return _message_of(response, await _content(response.aiter_bytes(), self._max_body))

    @asynccontextmanager
    async def _within(self, seconds: float | None, what: str) -> AsyncIterator[None]:
        """Takes so long at most, where httpx counts from byte to byte. Raises Unanswered, and Unreachable for what
        httpx says."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise Unanswered(f"{what} within {seconds:g} seconds") from error
        except httpx.HTTPError as error:
            kind = Unanswered if isinstance(error, httpx.TimeoutException) else Unreachable
            raise kind(f"{self._base}: {type(error).__name__}: {error}") from error


async def _content(chunks: AsyncIterator[bytes], limit: int) -> bytes:
    """The content of an answer. Raises BadAnswer if it has more bytes."""
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > limit:
            raise BadAnswer(f"the answer has more than {limit} bytes")
    return bytes(content)


async def _split(response: httpx.Response, limit: int) -> AsyncGenerator[bytes]:
    """The lines of an answer, which end with LF alone: httpx would cut at U+2028, too, which JSON has in its texts.
    Raises BadAnswer for one that is longer than ``limit`` bytes."""
    left = bytearray()
    async for chunk in response.aiter_bytes():
        left += chunk
        *ended, left = left.split(b"\n") if b"\n" in chunk else (left,)
        if max(map(len, (*ended, left))) > limit:
            raise BadAnswer(f"a Result has more than {limit} bytes")
        for line in ended:
            yield bytes(line)
    if left:
        yield bytes(left)


def _message_of(response: httpx.Response, content: bytes) -> Any:
    """The message of an answer, None if it has none.

    Raises BadAnswer, and Unreachable where a gateway says that it reaches nobody.
    """
    status, kind = response.status_code, response.headers.get("content-type", "")
    if status == 202 and not content:
        return None
    if kind.startswith(PROBLEM):
        try:
            fields = json_text.read_object(content, WIRE).get("nack")
        except DecodeError as error:
            raise BadAnswer(f"HTTP {status} with an unreadable problem description: {error}") from error
        if isinstance(fields, dict):
            answer = transports.read_answer(json_text.write(fields, WIRE).encode())
            if isinstance(answer, Nack):
                return answer
    elif kind.startswith(JSON):
        return transports.read_answer(content)
    if status in _GATEWAYS:
        raise Unreachable(f"HTTP {status}")
    raise BadAnswer(f"HTTP {status} with {kind or 'no content type'} instead of a SAP message")
