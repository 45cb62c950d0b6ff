"""A client of agents behind HTTP (section 10). Extra: ``http``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS
from turnwire.errors import BadAnswer, DecodeError, MissingDependency, Unanswered, Unreachable
from turnwire.json import text as json_text
from turnwire.sap.builders import Refused, ack, expects_ack
from turnwire.sap.calls import Caller, CallerOptions, is_final, read_answer
from turnwire.sap.codec import encode
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.spec import WIRE

try:
    import httpx
except ImportError as missing:
    raise MissingDependency(
        "HTTP needs starlette and httpx: pip install 'turnwire[http]', or '.[http]' in a checkout"
    ) from missing

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Unpack

CORRELATION = "X-Correlation-Id"
PROBLEM = "application/problem+json"
LINES = "application/x-ndjson"
MAX_BODY = 1 << 20  # bytes of a request
MAX_ANSWER = LIMITS.message + (1 << 16)  # bytes of a response
_GATEWAYS = frozenset({502, 503, 504})
_reader = json_text.reader(WIRE)


class Client(Caller):
    """Calls an agent behind :func:`turnwire.sap.http.app`. Use it as an async context manager.

    Args:
        base_url: where the app is mounted.
        client: an httpx.AsyncClient to use (it is not closed, and its own timeouts hold); made when None.
        timeout: seconds for one request, its answer included; of a stream, for each Result of it.
        ack_seconds: for a receipt, and for the begin of a stream of Results.
        max_body: bytes an answer may have.
        token: sent as ``Authorization: Bearer``.
        issuer, producer, keys, objects: as in :class:`turnwire.sap.Caller`.
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
        **caller: Unpack[CallerOptions],
    ) -> None:
        super().__init__(**caller)
        self._base = base_url.rstrip("/")
        self._owned = client is None
        self._client = client or httpx.AsyncClient(timeout=timeout)
        self._timeout = timeout if client is None else None
        self._ack_seconds = ack_seconds
        self._max_body = max_body
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._owned:
            await self._client.aclose()

    async def send(self, task: Task) -> Ack | Nack:
        """Dispatches a task and answers with its receipt, for which it waits ``ack_seconds``.

        Where replyTo.expectAck is false the server sends none, and the Ack is the client's own word that it was taken.
        Raises EncodeError for one that may not be written, CallError.
        """
        body, headers = encode(task), {**self._sent(task), "Prefer": "respond-async"}
        answer = await self._request("POST", "/tasks", body, headers, timeout=self._ack_seconds)
        if answer is None:
            return ack(task)
        return self.receipt(task, answer)

    async def result(self, task_id: str) -> Result | None:
        """As :meth:`~turnwire.sap.transports.Transport.result`."""
        found = self.answer_to(task_id, await self._request("GET", f"/tasks/{task_id}", None, dict(self._headers)))
        return found if found is not None and is_final(found) else None

    async def cancel(self, task_id: str) -> Result:
        """As :meth:`~turnwire.sap.transports.Transport.cancel`."""
        return self.final_answer_to(
            task_id, await self._request("DELETE", f"/tasks/{task_id}", None, dict(self._headers))
        )

    async def statuses(self, task: Task) -> AsyncIterator[Result]:
        """The Results of a task as they come. Raises as :meth:`call`."""
        headers = {**self._sent(task), "Accept": LINES}
        seconds = self._ack_seconds if expects_ack(task) else None  # what begins the stream is the Ack
        asking = self._client.stream("POST", self._base + "/tasks", content=encode(task), headers=headers)
        response = None
        try:
            async with AsyncExitStack() as opened:
                async with asyncio.timeout(seconds):
                    response = await opened.enter_async_context(asking)
                if not response.headers.get("content-type", "").startswith(LINES):
                    answer = _read(response, await self._content(response))
                    raise Refused(answer) if isinstance(answer, Nack) else BadAnswer("no stream of Results came")
                lines = _lines(response, self._max_body)
                seconds = self._timeout
                while True:
                    async with asyncio.timeout(seconds):  # httpx counts from byte to byte
                        line = await anext(lines, None)
                    if line is None:
                        break
                    result = self.checked(task, read_answer(line))
                    yield result
                    if is_final(result):
                        return
        except TimeoutError as error:
            what = "no receipt" if response is None else "no Result"
            raise Unanswered(f"{what} of task {task.task_id} within {seconds} seconds") from error
        except httpx.HTTPError as error:
            raise self._lost(error) from error
        raise Unreachable(f"the Results of task {task.task_id} ended before the last one")

    async def _result_of(self, task: Task) -> Result:
        answer = await self._request("POST", "/tasks", encode(task), self._sent(task))
        if isinstance(answer, Nack):
            raise Refused(answer)
        return answer  # type: ignore[no-any-return]

    def _sent(self, message: Task | Result) -> dict[str, str]:
        return {**self._headers, CORRELATION: message.correlation_id, "Content-Type": "application/json"}

    async def _request(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str], *, timeout: float | None = None
    ) -> Any:
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        seconds = self._timeout if timeout is None else timeout
        asking = self._client.stream(method, self._base + path, content=body, headers=dict(headers), **more)
        try:
            async with asyncio.timeout(seconds), asking as response:  # httpx counts from byte to byte
                content = await self._content(response)
        except TimeoutError as error:
            raise Unanswered(f"{self._base}: no answer within {seconds:g} seconds") from error
        except httpx.HTTPError as error:
            raise self._lost(error) from error
        return _read(response, content)

    async def _content(self, response: httpx.Response) -> bytes:
        chunks, size = [], 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > self._max_body:
                raise BadAnswer(f"the answer has more than {self._max_body} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def _lost(self, error: httpx.HTTPError) -> Exception:
        kind = Unanswered if isinstance(error, httpx.TimeoutException) else Unreachable
        return kind(f"{self._base}: {type(error).__name__}: {error}")


async def _lines(response: httpx.Response, limit: int) -> AsyncGenerator[bytes]:
    """The lines of an answer, which end with LF alone: httpx would cut at U+2028, too, which JSON has in its texts.
    Raises BadAnswer for one that is longer than ``limit`` bytes."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        *ended, left = chunk.split(b"\n")
        for piece in ended:
            _bounded(size + len(piece), limit)
            parts.append(piece)
            yield b"".join(parts)
            parts, size = [], 0
        size += len(left)
        _bounded(size, limit)
        parts.append(left)
    if size:
        yield b"".join(parts)


def _bounded(size: int, limit: int) -> None:
    if size > limit:
        raise BadAnswer(f"a Result has more than {limit} bytes")


def _read(response: httpx.Response, content: bytes) -> Any:
    """The message of an answer, None where it has none.

    Raises BadAnswer, and Unreachable where a gateway says that it reaches nobody.
    """
    status, kind = response.status_code, response.headers.get("content-type", "")
    if status == 202 and not content:
        return None
    if kind.startswith(PROBLEM):
        try:
            fields = _reader.read(content).get("nack")
        except DecodeError as error:
            raise BadAnswer(f"HTTP {status} with a problem that cannot be read: {error}") from error
        if isinstance(fields, dict):
            answer = read_answer(json_text.write(fields, WIRE).encode())
            if isinstance(answer, Nack):
                return answer
    elif kind.startswith("application/json"):
        return read_answer(content)
    if status in _GATEWAYS:
        raise Unreachable(f"HTTP {status}")
    raise BadAnswer(f"HTTP {status} with {kind or 'no content type'} instead of a SAP message")
