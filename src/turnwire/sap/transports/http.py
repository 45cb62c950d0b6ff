"""HTTP: a Starlette app around an agent, an httpx client, results pushed to replyTo (section 10). Extra: ``http``.

    POST /tasks              a Task; answers 200 with the Result, or 202 with the Ack when the request says
                             ``Prefer: respond-async``
    GET  /tasks/{taskId}     200 with the final Result, 202 with the Ack while there is none, 404
    POST /results            takes Results for a replyTo (where the app was given a receiver)

A refusal is ``application/problem+json`` (RFC 9457) with the Nack as its member ``nack``. X-Correlation-Id goes both
ways; the body wins over the header.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, MissingDependency
from turnwire.sap.agent import Agent, Refused, ack
from turnwire.sap.codec import decode, encode
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import ErrorCode, Status
from turnwire.sap.times import UUID

try:
    import httpx
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
except ImportError as missing:
    raise MissingDependency(
        "HTTP needs starlette and httpx: pip install 'turnwire[http]', or '.[http]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    from typing import Self

CORRELATION = "X-Correlation-Id"
PROBLEM = "application/problem+json"
MAX_BODY = 1 << 20  # bytes of a request or response

_HTTP_STATUS = {
    ErrorCode.INVALID_TASK.value: 400,
    ErrorCode.UNAUTHORIZED.value: 401,
    ErrorCode.FORBIDDEN.value: 403,
    ErrorCode.NOT_FOUND.value: 404,
    ErrorCode.UNPROCESSABLE.value: 422,
    ErrorCode.RATE_LIMIT.value: 429,
}

Identify = Callable[[Request], Awaitable[str | None]]
Receive = Callable[[Result], Awaitable[None]]


class _TooLarge(Exception):
    pass


def app(
    agent: Agent,
    *,
    max_body: int = MAX_BODY,
    identify: Identify | None = None,
    receive: Receive | None = None,
) -> Starlette:
    """The Starlette app of an agent; the agent is started by whoever made it.

    Args:
        max_body: bytes a request may have; more is 413.
        identify: who the sender of a request is known to be, for the agent's access rules.
        receive: takes the Results that other agents post to /results.
    """
    endpoint = _Endpoint(agent, max_body, identify, receive)
    routes = [
        Route("/tasks", endpoint.post_task, methods=["POST"]),
        Route("/tasks/{task_id}", endpoint.get_task, methods=["GET"]),
    ]
    if receive is not None:
        routes.append(Route("/results", endpoint.post_result, methods=["POST"]))
    return Starlette(routes=routes)


class _Endpoint:
    def __init__(self, agent: Agent, max_body: int, identify: Identify | None, receive: Receive | None) -> None:
        self.agent = agent
        self.max_body = max_body
        self.identify = identify
        self.receive = receive

    async def post_task(self, request: Request) -> Response:
        message = await self._message(request)
        if isinstance(message, Response):
            return message
        if not isinstance(message, Task):
            return _problem(request, ErrorCode.INVALID_TASK, f"a Task is posted here, not a {type(message).__name__}")
        identity = await self.identify(request) if self.identify is not None else None
        receipt = await self.agent.submit(message, identity=identity)
        if isinstance(receipt, Nack):
            return _refusal(receipt)
        if "respond-async" in request.headers.get("prefer", ""):
            return _answer(receipt, 202, receipt.correlation_id)
        return _answer(await self.agent.result(message.task_id), 200, message.correlation_id)

    async def get_task(self, request: Request) -> Response:
        task_id = request.path_params["task_id"]
        try:
            result = self.agent.finished(task_id)
        except KeyError:
            return _problem(request, ErrorCode.NOT_FOUND, "no such task")
        if result is None:
            task = self.agent.task(task_id)
            return _answer(ack(task), 202, task.correlation_id)
        return _answer(result, 200, result.correlation_id)

    async def post_result(self, request: Request) -> Response:
        message = await self._message(request)
        if isinstance(message, Response):
            return message
        if not isinstance(message, Result) or self.receive is None:
            return _problem(request, ErrorCode.INVALID_TASK, "a Result is posted here")
        await self.receive(message)
        return Response(status_code=204, headers={CORRELATION: message.correlation_id})

    async def _message(self, request: Request) -> Task | Result | Ack | Nack | Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return _problem(request, ErrorCode.INVALID_TASK, "the body is application/json", status=415)
        try:
            return decode(await _body(request, self.max_body))
        except _TooLarge:
            return _problem(request, ErrorCode.INVALID_TASK, f"more than {self.max_body} bytes", status=413)
        except DecodeError as error:
            more = {"reason": str(error.reason), "offset": error.offset, "path": error.path}
            return _problem(request, ErrorCode.INVALID_TASK, str(error), more=more)


async def _body(request: Request, limit: int) -> bytes:
    """The body, never more of it in memory than the limit and one chunk."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _TooLarge
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _TooLarge
        chunks.append(chunk)
    return b"".join(chunks)


def _answer(message: Result | Ack, status: int, correlation: str | None) -> Response:
    headers = {CORRELATION: correlation} if correlation is not None else {}
    return Response(encode(message, strict=False), status, headers, media_type="application/json")


def _refusal(refused: Nack) -> Response:
    code = (refused.reason or "").partition(":")[0]
    return _problem_response(code, refused.reason or "", {"nack": refused.fields}, refused.correlation_id)


def _problem(
    request: Request, code: ErrorCode, text: str, *, status: int | None = None, more: dict[str, Any] | None = None
) -> Response:
    """A problem met before a task was read; its correlation can only be that of the header."""
    header = request.headers.get(CORRELATION, "")
    correlation = header if UUID.fullmatch(header) else None
    refused = Nack(message_id=request.url.path, correlation_id=correlation, reason=f"{code}: {text}")
    return _problem_response(str(code), text, {**(more or {}), "nack": refused.fields}, correlation, status)


def _problem_response(
    code: str, text: str, more: dict[str, Any], correlation: str | None, status: int | None = None
) -> Response:
    status = status or _HTTP_STATUS.get(code, 500)
    body = {"type": f"urn:ubos:sap:{code}", "title": code, "status": status, "detail": text, **more}
    headers = {CORRELATION: correlation} if correlation is not None else {}
    if status == 429:
        headers["Retry-After"] = "1"
    return JSONResponse(body, status, headers, media_type=PROBLEM)


class Client:
    """Calls an agent behind :func:`app`. Use it as an async context manager.

    Args:
        base_url: where the app is mounted.
        client: an httpx.AsyncClient to use (it is not closed); made when None.
        timeout: seconds for one request.
        max_body: bytes an answer may have.
    """

    def __init__(
        self,
        base_url: str,
        *,
        client: httpx.AsyncClient | None = None,
        timeout: float = 60.0,
        max_body: int = MAX_BODY,
    ) -> None:
        self._base = base_url.rstrip("/")
        self._owned = client is None
        self._client = client or httpx.AsyncClient(timeout=timeout)
        self._max_body = max_body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._owned:
            await self._client.aclose()

    async def send(self, task: Task) -> Ack | Nack:
        """Dispatches a task and answers with its receipt. Raises EncodeError for one that may not be written."""
        answer = await self._post("/tasks", task, {"Prefer": "respond-async"})
        if not isinstance(answer, (Ack, Nack)):
            raise TypeError(f"the server answered with a {type(answer).__name__}")
        return answer

    async def call(self, task: Task) -> Result:
        """The final Result. Raises Refused for a Nack, EncodeError, httpx.HTTPError."""
        answer = await self._post("/tasks", task, {})
        if isinstance(answer, Nack):
            raise Refused(answer)
        if not isinstance(answer, Result):
            raise TypeError(f"the server answered with a {type(answer).__name__}")
        return answer

    async def result(self, task_id: str) -> Result | None:
        """The final Result of a task sent before, None while there is none. Raises KeyError for an unknown task."""
        answer = await self._request("GET", f"/tasks/{task_id}", None, {})
        if isinstance(answer, Nack):
            raise KeyError(task_id)
        return answer if isinstance(answer, Result) and answer.status not in (Status.QUEUED, Status.RUNNING) else None

    async def _post(self, path: str, message: Task | Result, headers: dict[str, str]) -> Any:
        sent = {**headers, CORRELATION: message.correlation_id, "Content-Type": "application/json"}
        return await self._request("POST", path, encode(message), sent)

    async def _request(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Any:
        async with self._client.stream(method, self._base + path, content=body, headers=headers) as response:
            chunks, size = [], 0
            async for chunk in response.aiter_bytes():
                size += len(chunk)
                if size > self._max_body:
                    raise httpx.HTTPError(f"the answer has more than {self._max_body} bytes")
                chunks.append(chunk)
        content = b"".join(chunks)
        if response.headers.get("content-type", "").startswith(PROBLEM):
            problem = httpx.Response(response.status_code, content=content).json()
            return Nack.from_dict(problem["nack"])
        response.raise_for_status()
        return decode(content) if content else None


class Replies:
    """A route that posts Results to http(s) endpoints of replyTo; give it to ``agent.routes["https"]``.

    Args:
        allowed: prefixes of endpoints, with scheme and host. Nothing else is ever called: a task must not be able to
            make this machine send requests to wherever it likes.
    """

    def __init__(self, allowed: Iterable[str], *, client: httpx.AsyncClient | None = None) -> None:
        self._allowed = tuple(prefix if prefix.endswith("/") else prefix + "/" for prefix in allowed)
        self._client = client or httpx.AsyncClient(timeout=30.0, follow_redirects=False)

    async def __call__(self, endpoint: str, result: Result) -> None:
        if not (endpoint + "/").startswith(self._allowed) or "@" in endpoint or ".." in endpoint:
            raise PermissionError(f"{endpoint} is no allowed replyTo")
        headers = {CORRELATION: result.correlation_id, "Content-Type": "application/json"}
        answer = await self._client.post(endpoint, content=encode(result, strict=False), headers=headers)
        answer.raise_for_status()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()
