"""Who calls, on all four transports; and what clients do not take from a server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from tests.sap.scenario import task
from tests.sap.test_transports import nats_url as nats_url
from tests.sap.test_transports import serve
from turnwire import sap
from turnwire.errors import BadAnswer, CallError, RuleError, Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.access import LONGEST_NAME, authenticated, principal_of
from turnwire.sap.signing import signed_message, verify_message
from turnwire.sap.transcripts import REFUSED_KIND, RESULT_KIND, STARTED_KIND, TASK_KIND
from turnwire.sap.transports import bus, http, mcp, nats

pytestmark = pytest.mark.once

RULES = sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("M-*", ("work.*",))])
KEYS = {
    name: Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    for number, name in enumerate(("A-prime", "M-allory", "x"))
}
PUBLIC = {name: key.public_key().public_bytes_raw() for name, key in KEYS.items()}


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def agent_in(folder: Path, **more: Any) -> sap.Agent:
    agent = sap.Agent("B", **{"transcript": Ledger(folder / "t"), "access": RULES, **more})

    @agent.capability("work.who")
    def who(_task: sap.Task, context: sap.Context) -> Any:
        return {"for": context.principal}

    @agent.capability("work.wait")
    async def wait(one: sap.Task, _context: sap.Context) -> Any:
        await asyncio.sleep(one.payload.get("seconds", 0.1))
        return "x" * one.payload.get("size", 1)

    return agent


Clients = Callable[[str | None], Any]
"""A client of somebody by name; of None, somebody with credentials that nobody knows."""


@asynccontextmanager
async def over_bus(agent: sap.Agent, _url: str) -> AsyncIterator[Clients]:
    line = bus.Bus(agent.transcript)
    line.register(agent)

    @asynccontextmanager
    async def client(name: str | None) -> AsyncIterator[Any]:
        yield line.acting(name)

    async with line:
        yield client


@asynccontextmanager
async def over_http(agent: sap.Agent, _url: str) -> AsyncIterator[Clients]:
    app = http.app(agent, identify={f"token of {name}": name for name in KEYS})
    async with agent, serve(app) as url:
        yield lambda name: http.Client(url, token=f"token of {name}")


@asynccontextmanager
async def over_mcp(agent: sap.Agent, _url: str) -> AsyncIterator[Clients]:
    def client(name: str | None) -> Any:
        return mcp.Client(mcp.server(agent, identify=lambda _request: name))

    async with agent:
        yield client


@asynccontextmanager
async def over_nats(agent: sap.Agent, url: str) -> AsyncIterator[Clients]:
    prefix = f"who{id(agent)}"

    def client(name: str | None) -> Any:
        key = KEYS["x" if name is None else name]
        return nats.Client(url, queue="b", prefix=prefix, timeout=8, principal=name or "A-prime", signer=key)

    async with agent, nats.Worker(agent, url, queue="b", prefix=prefix, identify=nats.signed(PUBLIC)):
        yield client


@pytest.mark.parametrize("opened", [over_bus, over_http, over_mcp, over_nats])
def test_everybody_gets_his_own_and_strangers_nothing(tmp_path: Path, nats_url: str, opened: Any) -> None:
    async def main() -> None:
        agent = agent_in(tmp_path)
        one = task("work.who", {})
        mine = one.replace(issuer=sap.Issuer(agent_id="M-allory", agent_kind="agent"))
        async with (
            opened(agent, nats_url) as client,
            client(None) as stranger,
            client("M-allory") as mallory,
            client("A-prime") as prime,
        ):
            for thief in (stranger, mallory):
                result = await thief.call(one)
                assert result.error is not None and result.error.code == "UNAUTHORIZED"
                receipt = await thief.send(one)
                assert isinstance(receipt, sap.Nack) and (receipt.reason or "").startswith("UNAUTHORIZED")
            assert (await prime.call(one)).output == {"for": "A-prime"}
            assert (await mallory.call(mine)).output == {"for": "M-allory"}
            assert (await prime.call(one)).output == {"for": "A-prime"}
            result = await mallory.call(one)
            assert result.error is not None and "output" not in result
            assert await prime.call("work.who", {}, issuer="A-prime") == {"for": "A-prime"}
        assert agent.transcript is not None
        kinds = [entry.kind for entry in agent.transcript]
        assert kinds.count(TASK_KIND) == kinds.count(RESULT_KIND) == kinds.count(STARTED_KIND) == 3
        assert kinds.count(REFUSED_KIND) == 5

    asyncio.run(asyncio.wait_for(main(), 40))


def test_names() -> None:
    assert principal_of(None) is None
    assert principal_of(sap.ANONYMOUS) is principal_of(sap.Principal("")) is sap.ANONYMOUS
    assert principal_of("a") == sap.Principal("a")
    assert authenticated(sap.ANONYMOUS) == sap.Principal("anonymous")
    assert authenticated(None) is authenticated("") is None
    for name in ("", "a\n", "a" * (LONGEST_NAME + 1)):
        with pytest.raises(ValueError):
            principal_of(name)
    assert sap.authorise(None, "read") is not None
    assert sap.authorise("a", "read") is None
    with pytest.raises(TypeError):
        sap.authorise("a", "submit")


def test_http_asks_everywhere(tmp_path: Path) -> None:
    async def main() -> None:
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
                assert (answer.status_code, answer.json()["status"]) == (
                    status,
                    "SUCCEEDED" if status == 200 else "FAILED",
                )
            result = sap.decode(answer.content)
            for token, status in ((None, 401), ("m", 404), ("s", 200)):
                answer = await raw.get(f"/tasks/{one.task_id.upper()}", headers=bearer(token))
                assert answer.status_code == status
            assert sap.decode(answer.content) == result
            assert isinstance(result, sap.Result)
            for producer, token, status in (("B", None, 401), ("B", "s", 401), ("A-prime", "s", 204)):
                made = result.replace(producer=sap.Producer(agent_id=producer, agent_kind="agent"))
                answer = await raw.post("/results", content=sap.encode(made), headers=bearer(token))
                assert answer.status_code == status
            assert len(received) == 1

            async def slow() -> AsyncIterator[bytes]:
                for _ in range(50):  # never as long without a byte as the limit says
                    yield b" "
                    await asyncio.sleep(0.02)

            answer = await raw.post("/tasks", content=slow(), headers=bearer("s"))
            assert answer.status_code == 408

    asyncio.run(asyncio.wait_for(main(), 30))


def test_replies_reach_no_other_place() -> None:
    sent: list[str] = []

    async def take(request: httpx.Request) -> httpx.Response:
        sent.append(str(request.url))
        return httpx.Response(204)

    async def main() -> None:
        replies = http.Replies(["https://a/hook"], client=httpx.AsyncClient(transport=httpx.MockTransport(take)))
        result = sap.result_for(task("work.who", {}), sap.Outcome(1), "B")
        for good in ("https://a/hook", "https://a/hook/1?x=2", "https://A:443/hook/"):
            await replies(good, result)
        strange = ("/hook/../admin", "/hook/%2e%2e/admin", "/hook/%252e%252e/admin", "/hook/..%2fadmin", "/hooked", "/")
        strange += ("/hook/.%2E/a", "/hook/..;/a", "/hook/..;x=1/a", "/hook/..%00/a", "/hook/.%0a./a", "/hook/%20../a")
        strange += (
            "/hook/%c0%ae%c0%ae/a",
            "/hook/\uff0e\uff0e/a",
            "/hook/\u2025/a",
            "/hook/\uff0f..\uff0fa",
            "/hook\\..\\a",
            "/hook/..%3f/a",
            "/hook/..%23",
            "/hook%2fa",
            "/hook/1/..%EF%BC%9Fa",
        )
        elsewhere = (
            "http://a/hook",
            "https://b/hook",
            "https://a:444/hook",
            "https://u@a/hook",
            "https://a\\@b/hook",
            "https://a@b/hook",
            "https://[::1%25lo]/hook",
            "https://[a]/hook",
            "https:a/hook",
            "//a/hook",
            "https://a.b/https://a/hook",
            "file:///hook",
            "x",
        )
        for bad in (*(f"https://a{path}" for path in strange), *elsewhere):
            with pytest.raises(PermissionError):
                await replies(bad, result)
        assert len(sent) == 3

    asyncio.run(main())


def test_what_a_receiver_says_to_a_result_is_bounded() -> None:
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

    async def main() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(take), follow_redirects=True)
        replies = http.Replies(["https://a/hook"], client=client)
        result = sap.result_for(task("work.who", {}), sap.Outcome(1), "B")
        await replies("https://a/hook", result)
        assert read <= 2 * http.MAX_ACKNOWLEDGED
        with pytest.raises(httpx.HTTPStatusError):
            await replies("https://a/hook/moved", result)
        assert asked == ["/hook", "/hook/moved"]

    asyncio.run(asyncio.wait_for(main(), 30))


def test_an_http_client_raises_one_family_whatever_a_server_answers() -> None:
    one = task("work.who", {})
    right = sap.result_for(one, sap.Outcome(1), "B")
    json_type, problem = "application/json", "application/problem+json"
    other = "00000000-0000-0000-0000-000000000000"
    answers: list[tuple[int, str, str, type[Exception] | None]] = [
        (200, json_type, sap.encode(right), None),
        (200, json_type, sap.encode(right.replace(task_id=right.task_id.upper())), None),
        (200, json_type, sap.encode(right.replace(task_id=other)), BadAnswer),
        (200, json_type, sap.encode(right.replace(correlation_id=other)), BadAnswer),
        (200, json_type, sap.encode(sap.result_for(one, sap.Outcome(1), "C")), BadAnswer),
        (200, json_type, "[]", BadAnswer),
        (200, json_type, "{", BadAnswer),
        (200, json_type, "", BadAnswer),
        (200, json_type, sap.encode(one), BadAnswer),
        (200, "text/html", "<p>", BadAnswer),
        (500, "text/plain", "oh", BadAnswer),
        (502, "text/html", "<p>", Unreachable),
        (503, problem, '{"title": "x"}', Unreachable),
        (400, problem, "{]", BadAnswer),
        (400, problem, '{"nack": {"status": 5}}', BadAnswer),
        (200, json_type, " " * (1 << 21), BadAnswer),
    ]

    async def main() -> None:
        for status, kind, text, error in answers:
            transport = httpx.ASGITransport(
                Starlette(
                    routes=[
                        Route(
                            "/tasks",
                            lambda _r, s=status, k=kind, t=text: Response(t, s, media_type=k),
                            methods=["POST"],
                        )
                    ]
                )
            )
            async with http.Client("http://x", client=httpx.AsyncClient(transport=transport)) as client:
                if error is None:
                    assert (await client.call(one)).output == 1
                    continue
                with pytest.raises(error) as caught:
                    await client.call(one)
                assert isinstance(caught.value, CallError)
        async with http.Client("http://127.0.0.1:1") as client:
            with pytest.raises(Unreachable):
                await client.call(one)

    asyncio.run(main())


def test_nats_delivers_in_earnest(tmp_path: Path, nats_url: str) -> None:
    async def main() -> None:
        prefix = "earnest"
        first, second = agent_in(tmp_path, access=None), agent_in(tmp_path, access=None)
        client = nats.Client(nats_url, queue="b", prefix=prefix, timeout=8)
        async with (
            first,
            second,
            nats.Worker(first, nats_url, queue="b", prefix=prefix),
            nats.Worker(second, nats_url, queue="b", prefix=prefix),
            client,
        ):
            one = task("work.wait", {"seconds": 0.2})
            results = await asyncio.gather(*(client.call(one) for _ in range(6)))
            assert all(result == results[0] for result in results)
            huge = await client.call(task("work.wait", {"size": 1_200_000}))
            assert huge.error is not None and (huge.error.details or {})["bytes"] > 1_200_000
            while (kept := await client.result(huge.task_id)) is None:
                await asyncio.sleep(0.02)  # the server hands a Result on before it has stored it
            assert kept == huge
            while (await client._link.stream.stream_info(f"{prefix}_tasks_b")).state.messages:
                await asyncio.sleep(0.02)  # each is taken out of the queue behind its Result
            two = task("work.who", {})
            forged = sap.result_for(one, sap.Outcome("forged"), "B")
            subject = client._link.subject("results", two.task_id)
            getting = asyncio.create_task(client.call(two))
            await client._link.connection.publish(subject, sap.encode(forged).encode())
            assert (await getting).output == {"for": ""}
            bad = two.replace(task_id="no uuid")
            inbox = await client._link.connection.subscribe("_INBOX.me")
            headers = {nats.INBOX: "_INBOX.me"}
            body = sap.encode(bad, strict=False).encode()
            await client._link.stream.publish(f"{prefix}.tasks.b", body, headers=headers)
            refused = sap.decode((await inbox.next_msg(timeout=5)).data)
            assert isinstance(refused, sap.Nack)
            assert refused.correlation_id == two.correlation_id
            assert (refused.reason or "").startswith("INVALID_TASK: /taskId: ")
        rows = [entry for entry in Ledger(tmp_path / "t") if entry.key == one.task_id]
        assert [entry.kind for entry in rows].count(RESULT_KIND) == 1

    asyncio.run(asyncio.wait_for(main(), 40))


def test_a_forged_result_is_named_where_no_other_comes(nats_url: str) -> None:
    async def main() -> None:
        async with nats.Client(nats_url, queue="b", prefix="forged", timeout=0.5) as client:
            one = task("work.who", {}, replyTo={"expectAck": False})
            forged = sap.result_for(task("work.who", {}), sap.Outcome(1), "B")
            listen = client._next

            async def forged_first(asked: sap.Task, results: Any) -> sap.Result:
                """The forged Result is there before the time begins that the client waits for one."""
                await client._link.connection.publish(f"forged.results.{one.task_id}", sap.encode(forged).encode())
                await client._link.connection.flush()
                return await listen(asked, results)

            client._next = forged_first  # type: ignore[method-assign]
            with pytest.raises(BadAnswer, match="of task"):
                await client.call(one)
            client._next = listen  # type: ignore[method-assign]
            with pytest.raises(Unanswered):
                await client.call(task("work.who", {}))

    asyncio.run(asyncio.wait_for(main(), 20))


def test_each_queue_has_its_own_bound(nats_url: str) -> None:
    async def main() -> None:
        full = nats.Client(nats_url, queue="full", prefix="bounds", waiting=1, timeout=0.2)
        free = nats.Client(nats_url, queue="free", prefix="bounds", waiting=1, timeout=0.2)
        async with full, free:
            quiet = {"replyTo": {"expectAck": False}}
            assert isinstance(await full.send(task("work.who", {}, **quiet)), sap.Ack)
            refused = await full.send(task("work.who", {}, **quiet))
            assert isinstance(refused, sap.Nack) and (refused.reason or "").startswith("RATE_LIMIT")
            assert isinstance(await free.send(task("work.who", {}, **quiet)), sap.Ack)

    asyncio.run(main())


def test_mcp_progress_and_cancellation(tmp_path: Path) -> None:
    async def main() -> None:
        told: list[Any] = []

        async def progress(done: float, total: float | None, text: str | None) -> None:
            told.append((done, text))

        agent = agent_in(tmp_path, access=None)
        async with agent, mcp.Client(mcp.server(agent)) as client:
            answer = await client._client.call_tool("work.wait", {}, progress_callback=progress)
            assert answer.structured_content == {"output": "x"}
            assert told and told[0] == (0.0, "accepted")
            assert answer.meta[mcp.RESULT]["status"] == "SUCCEEDED"
            calling = asyncio.create_task(client._client.call_tool("work.wait", {"seconds": 30}))
            while not (jobs := [job for job in agent._jobs.values() if job.task.payload.get("seconds")]):
                await asyncio.sleep(0)
            calling.cancel()
            assert (await jobs[0].wait()).status == "CANCELLED"

    asyncio.run(asyncio.wait_for(main(), 20))


def test_results_are_signed_and_clients_see_by_whom(tmp_path: Path) -> None:
    async def main() -> None:
        agent = agent_in(tmp_path, access=None, signer=KEYS["A-prime"])
        async with agent, serve(http.app(agent)) as url:
            async with http.Client(url, keys={"B": PUBLIC["A-prime"]}) as client:
                result = await client.call(task("work.who", {}))
                assert verify_message(result, {"B": PUBLIC["A-prime"]}) == "B"
                for change in ({"output": 2}, {"correlation_id": result.task_id}):
                    with pytest.raises(RuleError):
                        verify_message(result.replace(**change), {"B": PUBLIC["A-prime"]})
            async with http.Client(url, keys={"B": PUBLIC["x"]}) as client:
                with pytest.raises(BadAnswer, match="does not fit"):
                    await client.call(task("work.who", {}))
        bare = task("work.who", {})
        with pytest.raises(RuleError, match="no signature"):
            verify_message(bare, PUBLIC)
        assert verify_message(signed_message(bare, "x", KEYS["x"]), PUBLIC) == "x"

    asyncio.run(asyncio.wait_for(main(), 20))
