"""HTTP: bodies, statuses, bounds, replies, and what a client makes of any answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.sap.documents import RESULT, TASK
from tests.sap.hosts import serve
from tests.sap.scenario import make_agent, task
from tests.sap.test_agent import do, offering
from tests.sap.test_principals import agent_in
from turnwire import sap
from turnwire.errors import BadAnswer, CallError, Unanswered, Unreachable
from turnwire.sap.spec import ErrorCode
from turnwire.sap.transports import http
from turnwire.sap.transports.http import JSON, LINES

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


class Streaming(httpx.AsyncBaseTransport):
    """Answers any request with a stream of Results, given as chunks."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"Content-Type": LINES}, content=self._chunks)


async def test_a_line_of_a_stream_ends_with_a_line_feed_alone() -> None:
    """U+2028 and others end lines of Python, and stand in texts of JSON."""
    one = task("work.who", {})
    output = "a\u2028b\u2029c\x85d"
    texts = [sap.encode(sap.result_for(one, sap.Outcome(output, status=status), "B")) for status in ("RUNNING", None)]
    data = "\n".join(texts).encode()  # the last one without its end

    async def chunks(size: int) -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    for size in (1, 7, len(texts[0]) + 1, len(data)):
        async with httpx.AsyncClient(transport=Streaming(chunks(size))) as raw:
            found = [result async for result in http.Client("http://b", client=raw).statuses(one)]
        assert [(result.status, result.output) for result in found] == [("RUNNING", output), ("SUCCEEDED", output)]


async def test_a_stream_of_results_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    one, sent = task("work.who", {}), 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b" " * 1000
            await asyncio.sleep(0)

    async with httpx.AsyncClient(transport=Streaming(endless())) as raw:
        with pytest.raises(BadAnswer, match="more than 50000 bytes"):
            _ = [result async for result in http.Client("http://b", client=raw, max_body=50_000).statuses(one)]
    assert sent <= 52_000
    raw = httpx.AsyncClient(transport=Streaming(endless()))
    with monkeypatch.context() as own:
        own.setattr("httpx.AsyncClient", lambda **_: raw)  # whose time limit is the client's
        client = http.Client("http://b", timeout=0.05, max_body=1 << 40)
    async with client:
        with pytest.raises(Unanswered, match="no Result"):
            _ = [result async for result in client.statuses(one)]


async def test_http_in_detail(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    async with serve(http.app(agent, max_body=4000)) as url, httpx.AsyncClient(base_url=url) as raw:
        assert agent.running, "its server starts it"
        headers = {"Content-Type": "application/json", "X-Correlation-Id": TASK["correlationId"]}
        one = task("work.add", {"a": 1, "b": 2})
        answer = await raw.post("/tasks", content=sap.encode(one), headers=headers)
        assert answer.status_code == 200
        assert answer.headers["X-Correlation-Id"] == one.correlation_id  # the body wins over the header
        assert answer.headers["content-type"] == "application/json"
        answer = await raw.post("/tasks", content="{} x", headers=headers)
        problem = answer.json()
        assert (answer.status_code, problem["reason"], problem["offset"]) == (400, "trailing_junk", 3)
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["nack"]["correlationId"] == answer.headers["X-Correlation-Id"] == TASK["correlationId"]
        big = sap.encode(task("work.add", {"a": "x" * 5000, "b": ""}))
        assert (await raw.post("/tasks", content=big, headers=headers)).status_code == 413

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 100

        assert (await raw.post("/tasks", content=chunks(), headers=headers)).status_code == 413
        assert (await raw.post("/tasks", content="x", headers={"Content-Type": "text/plain"})).status_code == 415
        assert (await raw.get("/tasks/unknown")).status_code == 404
        assert (await raw.post("/tasks", content=sap.encode(task("no.such", {})), headers=headers)).status_code == 404
        slow = task("work.sleep", {"seconds": 0.4})
        async with http.Client(url) as client:
            assert isinstance(await client.send(slow), sap.Ack)
            assert await client.result(slow.task_id) is None
            while (result := await client.result(slow.task_id)) is None:
                await asyncio.sleep(0.02)
            assert result.output == "slept"
            with pytest.raises(KeyError):
                await client.result("7fbb32b6-0d2c-4c1a-9b75-000000000000")
    assert not agent.running


async def test_http_identity_and_pushed_results(tmp_path: Path) -> None:
    received: asyncio.Queue[sap.Result] = asyncio.Queue()
    agent = make_agent(tmp_path)

    async def identify(request: Any) -> str | None:
        return request.headers.get("x-user")

    app = http.app(agent, identify=identify, receive=received.put)
    async with agent, serve(app) as url:
        replies = agent.routes["http"] = http.Replies([f"{url}/results"], headers={"x-user": "B"})
        async with httpx.AsyncClient(headers={"x-user": "A-prime"}) as raw, http.Client(url, client=raw) as client:
            one = task("work.add", {"a": 1, "b": 1}, replyTo={"endpoint": f"{url}/results"})
            assert (await client.call(one)).output == {"sum": 2}
            assert (await received.get()).task_id == one.task_id
            elsewhere = task("work.add", {"a": 1, "b": 1}, replyTo={"endpoint": "http://127.0.0.1:1/"})
            assert (await client.call(elsewhere)).output == {"sum": 2}
        async with httpx.AsyncClient(headers={"x-user": "Mallory"}) as raw, http.Client(url, client=raw) as client:
            with pytest.raises(sap.Refused, match="UNAUTHORIZED: "):
                await client.call(task("work.add", {"a": 1, "b": 1}))
        with pytest.raises(PermissionError):
            await replies("http://127.0.0.1:1/", sap.result_for(one, sap.Outcome(), "B"))
        await replies.aclose()


async def test_http_asks_everywhere(tmp_path: Path) -> None:
    received: list[sap.Result] = []

    async def receive(result: sap.Result) -> None:
        received.append(result)

    agent = agent_in(tmp_path)
    app = http.app(agent, identify={"s": "A-prime", "m": "M-allory"}, receive=receive, body_seconds=0.3)
    async with agent, serve(app) as url, httpx.AsyncClient(base_url=url) as raw:

        def bearer(token: str | None) -> dict[str, str]:
            known = {} if token is None else {"Authorization": f"Bearer {token}"}
            return {**known, "Content-Type": "application/json"}

        one = task("work.who", {})
        for token, status in ((None, 401), ("wrong", 401), ("m", 401), ("s", 200)):
            answer = await raw.post("/tasks", content=sap.encode(one), headers=bearer(token))
            said = answer.json()["status"] if status == 200 else answer.json()["nack"]["reason"][:13]
            assert (answer.status_code, said) == (status, "SUCCEEDED" if status == 200 else "UNAUTHORIZED:")
        result = sap.decode(answer.content)
        for token, status in ((None, 401), ("m", 404), ("s", 200)):
            for method in ("DELETE", "GET"):
                answer = await raw.request(method, f"/tasks/{one.task_id.upper()}", headers=bearer(token))
                assert answer.status_code == status
        assert sap.decode(answer.content) == result
        assert isinstance(result, sap.Result)
        for producer, token, status in (("B", None, 401), ("B", "s", 401), ("A-prime", "s", 204)):
            made = result.replace(producer=sap.Producer(agent_id=producer, agent_kind="agent"))
            answer = await raw.post("/results", content=sap.encode(made), headers=bearer(token))
            assert answer.status_code == status
        assert len(received) == 1

        async def slow() -> AsyncIterator[bytes]:
            for _ in range(25):  # never as long without a byte as the limit says
                yield b" "
                await asyncio.sleep(0.02)

        answer = await raw.post("/tasks", content=slow(), headers=bearer("s"))
        assert answer.status_code == 408


STRANGE = r"""/hook/../admin /hook/%2e%2e/admin /hook/%252e%252e/admin /hook/..%2fadmin /hooked / /hook/.%2E/a
    /hook/..;/a /hook/..;x=1/a /hook/..%00/a /hook/.%0a./a /hook/%20../a /hook/%c0%ae%c0%ae/a /hook\..\a /hook/..%3f/a
    /hook/..%23 /hook%2fa /hook/1/..%EF%BC%9Fa /hook/．．/a /hook/‥/a /hook/／..／a"""
ELSEWHERE = r"""http://a/hook https://b/hook https://a:444/hook https://u@a/hook https://a\@b/hook https://a@b/hook
    https://[::1%25lo]/hook https://[a]/hook https:a/hook //a/hook https://a.b/https://a/hook file:///hook x"""


async def test_replies_reach_no_other_place() -> None:
    sent: list[str] = []

    async def take(request: httpx.Request) -> httpx.Response:
        sent.append(str(request.url))
        return httpx.Response(204)

    replies = http.Replies(["https://a/hook"], client=httpx.AsyncClient(transport=httpx.MockTransport(take)))
    result = sap.result_for(task("work.who", {}), sap.Outcome(1), "B")
    for good in ("https://a/hook", "https://a/hook/1?x=2", "https://A:443/hook/"):
        await replies(good, result)
    for bad in (*(f"https://a{path}" for path in STRANGE.split()), *ELSEWHERE.split()):
        with pytest.raises(PermissionError):
            await replies(bad, result)
    assert len(sent) == 3


async def test_what_a_receiver_says_to_a_result_is_bounded() -> None:
    """It may say more without an end, or send the Result on to another place."""
    asked: list[str] = []
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1 << 14
            yield b"x" * (1 << 14)

    async def take(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if request.url.path == "/hook/moved":
            return httpx.Response(307, headers={"Location": "https://a/admin"})
        return httpx.Response(200, content=endless())

    client = httpx.AsyncClient(transport=httpx.MockTransport(take), follow_redirects=True)
    replies = http.Replies(["https://a/hook"], client=client)
    result = sap.result_for(task("work.who", {}), sap.Outcome(1), "B")
    await replies("https://a/hook", result)
    assert read <= 2 * http.MAX_ACKNOWLEDGED
    with pytest.raises(httpx.HTTPStatusError):
        await replies("https://a/hook/moved", result)
    assert asked == ["/hook", "/hook/moved"]


def answering(status: int, text: str, kind: str = JSON) -> http.Client:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"Content-Type": kind} if kind else {}, text=text)

    return http.Client("http://b", client=httpx.AsyncClient(transport=httpx.MockTransport(answer)))


ONE = task("work.who", {})
RIGHT = sap.result_for(ONE, sap.Outcome(1), "B")
OTHER = "00000000-0000-0000-0000-000000000000"
PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("status", "kind", "text", "error"),
    [
        (200, JSON, sap.encode(RIGHT), None),
        (200, JSON, sap.encode(RIGHT.replace(task_id=RIGHT.task_id.upper())), None),
        (200, JSON, sap.encode(RIGHT.replace(task_id=OTHER)), BadAnswer),
        (200, JSON, sap.encode(RIGHT.replace(correlation_id=OTHER)), BadAnswer),
        (200, JSON, sap.encode(sap.result_for(ONE, sap.Outcome(1), "C")), BadAnswer),
        (200, JSON, sap.encode(ONE), BadAnswer),
        *((200, JSON, text, BadAnswer) for text in ("[]", "{", "", " " * (1 << 25))),
        *((status, "text/html", "<p>", BadAnswer) for status in (200, 202, 204, 400, 500)),
        *((status, "", "", BadAnswer) for status in (200, 204, 400, 500)),
        (502, "text/html", "<p>", Unreachable),
        (503, PROBLEM, '{"title": "x"}', Unreachable),
        (400, PROBLEM, "{]", BadAnswer),
        (400, PROBLEM, '{"nack": {"status": 5}}', BadAnswer),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) > 30 else str(value),
)
async def test_an_http_client_raises_one_family_whatever_a_server_answers(
    status: int, kind: str, text: str, error: type[CallError] | None
) -> None:
    if error is None:
        assert (await answering(status, text, kind).call(ONE)).output == 1
    else:
        for ask in (answering(status, text, kind).call, answering(status, text, kind).send):
            with pytest.raises(error):
                await ask(ONE)


async def test_nobody_at_an_address_is_unreachable() -> None:
    async with http.Client("http://127.0.0.1:1") as client:
        with pytest.raises(Unreachable):
            await client.call(ONE)
    assert isinstance(await answering(202, "", "").send(ONE), sap.Ack)  # the one answer without content that is one


async def posted(content: str, **headers: str) -> httpx.Response:
    agent = sap.Agent("B")
    agent.capability("work.who")(lambda task, context: {"x": 1})
    async with agent:
        transport = httpx.ASGITransport(http.app(agent))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            return await client.post("/tasks", content=content, headers=headers)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        *((kind, 200) for kind in (JSON, "Application/JSON", f" {JSON} ", f"{JSON}; charset=utf-8")),
        *((kind, 415) for kind in ("application/jsonx", "text/json", "")),
    ],
)
def test_types_of_bodies(kind, status):
    response = asyncio.run(posted(sap.encode(task("work.who", {})), **{"Content-Type": kind}))
    assert response.status_code == status


UUID = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("said", "told"), [(UUID, UUID), (UUID[:-1], None), (f"{UUID}x", None), ("no uuid", None), ("", None)]
)
def test_a_refusal_names_the_correlation_that_the_request_names(said, told):
    response = asyncio.run(posted("x", **{"Content-Type": "text/plain", http.CORRELATION: said}))
    assert response.status_code == 415 and response.json()["nack"].get("correlationId") == told


STATUSES = {
    **{"INVALID_TASK": 400, "UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "UNPROCESSABLE": 422},
    **{"RATE_LIMIT": 429, "INTERNAL": 503},
}


@pytest.mark.parametrize("code", ErrorCode)
async def test_each_code_has_a_status_and_what_belongs_to_it(code: ErrorCode) -> None:
    """RFC 9110 wants WWW-Authenticate with a 401; who may come again is told when."""

    class Refusing:
        def refusal(self, one: sap.Task, principal: Any = None, /) -> Any:
            return code, "no"

    agent = offering(lambda one, context: 1, access=Refusing())
    transport = httpx.ASGITransport(http.app(agent))
    async with agent, httpx.AsyncClient(transport=transport, base_url="http://t") as client:
        headers = {"Content-Type": JSON, "Prefer": "respond-async"}
        answer = await client.post("/tasks", content=sap.encode(do()), headers=headers)
    assert answer.status_code == answer.json()["status"] == STATUSES.get(code, 500)
    assert ("retry-after" in answer.headers) is (answer.status_code in (429, 503))
    assert ("www-authenticate" in answer.headers) is (answer.status_code == 401)
    assert answer.json()["nack"]["reason"] == f"{code}: no"


@pytest.mark.parametrize(
    ("header", "who"),
    [
        *((f"{scheme} t1", "one") for scheme in ("Bearer", "bearer", "BEARER")),
        *((header, None) for header in ("Basic t1", "t1", "Bearer", "Bearer t", "Bearer t12", "Bearer T1", "")),
        ("Bearer  t2 ", "two"),
    ],
)
def test_who_bears_a_token(header: str, who: str | None) -> None:
    """The name of the scheme is in any case (RFC 9110, section 11.1), the token is not."""
    headers = {"authorization": header} if header else {}
    assert http.bearer({"t1": "one", "t2": "two"})(SimpleNamespace(headers=headers)) == who  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING", "SUCCEEDED"])
def test_a_result_that_is_not_the_last_one_is_none_yet(status: str) -> None:
    result = sap.Result.from_dict({**RESULT, "status": status})
    client = answering(200, sap.encode(result))
    assert asyncio.run(client.result(RESULT["taskId"])) == (result if status == "SUCCEEDED" else None)
