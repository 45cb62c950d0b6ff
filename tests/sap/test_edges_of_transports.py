"""Transports at their edges: statuses and headers, addresses, subjects, pages, and what is given back to a queue."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.sap.scenario import make_agent, task
from tests.sap.test_agent import do, offering
from turnwire import sap
from turnwire.errors import BadAnswer, Unreachable
from turnwire.sap.spec import ErrorCode
from turnwire.sap.transports import bus, http, mcp, nats
from turnwire.sap.transports.bus import Provider, provider_for
from turnwire.sap.transports.http_client import _lines
from turnwire.sap.transports.nats import Source

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("quiet_logs")]
STATUSES = {"INVALID_TASK": 400, "UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "UNPROCESSABLE": 422}
STATUSES |= {"RATE_LIMIT": 429, "INTERNAL": 503}


@pytest.mark.parametrize("code", ErrorCode)
def test_each_code_has_a_status_and_what_belongs_to_it(code: ErrorCode) -> None:
    """RFC 9110 wants WWW-Authenticate with a 401; who may come again is told when."""

    class Refusing:
        def refusal(self, one: sap.Task, principal: Any = None, /) -> Any:
            return code, "no"

    async def main() -> httpx.Response:
        agent = offering(lambda one, context: 1, access=Refusing())
        transport = httpx.ASGITransport(http.app(agent))
        async with agent, httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            headers = {"Content-Type": "application/json", "Prefer": "respond-async"}
            return await client.post("/tasks", content=sap.encode(do()), headers=headers)

    answer = asyncio.run(main())
    assert answer.status_code == answer.json()["status"] == STATUSES.get(code, 500)
    assert ("retry-after" in answer.headers) is (answer.status_code in (429, 503))
    assert ("www-authenticate" in answer.headers) is (answer.status_code == 401)
    assert answer.json()["nack"]["reason"] == f"{code}: no"


@pytest.mark.parametrize("status", [400, 404, 500, 501, 502, 503, 504, 505])
@pytest.mark.parametrize("kind", ["text/html", "application/problem+json", ""])
def test_a_gateway_that_reaches_nobody_is_not_an_answer(status: int, kind: str) -> None:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"Content-Type": kind} if kind else {}, content=b"{}")

    async def main() -> Any:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as raw:
            return await http.Client("http://b", client=raw).call(do())

    with pytest.raises(Unreachable if status in (502, 503, 504) else BadAnswer):
        asyncio.run(main())


@pytest.mark.parametrize("base", ["http://b", "http://b/", "http://b/x/y", "http://b/x/y/", "http://b//"])
def test_the_address_of_an_agent_may_end_in_a_slash(base: str) -> None:
    one = do()
    result = sap.encode(sap.result_for(one, sap.Outcome(1), "B"))
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        kind = http.LINES if http.LINES in request.headers["accept"] else "application/json"
        return httpx.Response(200, headers={"Content-Type": kind}, text=result)

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as raw:
            client = http.Client(base, client=raw)
            await client.call(one)
            assert [each.output async for each in client.statuses(one)] == [1]
            await client.result(one.task_id)

    asyncio.run(main())
    path = "/x/y" if "x" in base else ""
    assert seen == [f"{path}/tasks", f"{path}/tasks", f"{path}/tasks/{one.task_id}"]


def test_the_payload_of_a_whole_task_stands_for_arguments_that_are_not_there(tmp_path: Path) -> None:
    async def main() -> None:
        agent = make_agent(tmp_path)
        async with agent, mcp.Client(mcp.server(agent)) as client:
            for arguments, good in (({}, True), (None, True), ({"a": 1, "b": 2}, True), ({"a": 1, "b": 3}, False)):
                whole = task("work.add", {"a": 1, "b": 2}).to_dict()
                answer = await client._client.call_tool("work.add", arguments, meta={mcp.TASK: whole})
                assert answer.is_error is not good and answer.meta is not None
                if good:
                    assert answer.structured_content == {"sum": 3}
                else:
                    assert answer.meta[mcp.NACK]["reason"].startswith("INVALID_TASK: /payload: ")

    asyncio.run(main())


@pytest.mark.parametrize("pages", [[[]], [["a", "b"]], [["a"], ["b", "c"], [], ["d"]]])
def test_the_capabilities_of_a_server_may_come_in_pages(
    pages: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pages:
        async def list_tools(self, *, cursor: str | None) -> Any:
            number = int(cursor or 0)
            tools = [SimpleNamespace(name=name) for name in pages[number]]
            return SimpleNamespace(tools=tools, next_cursor=str(number + 1) if number + 1 < len(pages) else None)

    client = mcp.Client(mcp.server(sap.Agent("B")))
    monkeypatch.setattr(client, "_client", Pages())
    assert asyncio.run(client.capabilities()) == [name for page in pages for name in page]


@pytest.mark.parametrize("finished", [(True, False), (False, True), (False, False), (True, True)])
def test_a_bus_gives_the_result_of_whoever_has_it(finished: tuple[bool, bool]) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def wait(_task: sap.Task, _context: sap.Context) -> None:
            await gate.wait()

        line, one = bus.Bus(":memory:"), task("work.do", {}, target={"capability": "work.do"})
        for name, ended in zip("BC", finished, strict=True):
            agent = sap.Agent(name)
            agent.capability("work.do")((lambda one, context: 1) if ended else wait)
            line.register(agent)
        for provider in line._providers.values():  # each has what it wrote itself
            provider.agent.transcript = None
        async with line:
            for provider in line._providers.values():
                await provider.agent.submit(one)
                if any(finished):
                    for _ in range(10):
                        await asyncio.sleep(0)
            found = await line.look_up(one.task_id)
            assert isinstance(found, sap.Result if any(finished) else sap.Ack)

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize(
    ("steps", "who"),
    [
        ("A-prime", "A-prime"),
        *((f"A-prime.{priority}", "A-prime") for priority in ("urgent", "high", "low")),
        *((f"{name}", None) for name in ("~", "", "A prime", "é", "*", "A-prime.normal", "A-prime.other", "A.B")),
        *((f"{name}.urgent", None) for name in ("~", "", "é", "A.B")),
        ("A-prime.urgent.more", None),
        ("a" * 64, "a" * 64),
        ("a" * 65, None),
    ],
)
def test_who_is_named_by_a_subject(steps: str, who: str | None) -> None:
    assert nats.by_subject(SimpleNamespace(subject=f"sap.tasks.b.{steps}")) == who
    assert nats.by_subject(SimpleNamespace(subject="sap.tasks.b")) is None


@pytest.mark.parametrize("delivered", [1, 2, 3])
@pytest.mark.parametrize("code", ["RATE_LIMIT", "NOT_FOUND"])
def test_what_may_have_been_accepted_before_is_given_back_to_the_queue(code: str, delivered: int) -> None:
    """Where the agent has no place for it now. What comes for the first time is refused."""
    done: list[str] = []

    class Message:
        def __init__(self) -> None:
            self.data = sap.encode(do() if code == "RATE_LIMIT" else task("work.none", {})).encode()
            self.headers = {nats.INBOX: "_INBOX.x"}
            self.metadata = SimpleNamespace(num_delivered=delivered)

        async def nak(self, delay: float = 0) -> None:
            done.append("given back")

        async def ack_sync(self) -> None:
            done.append("done")

    class Connection:
        max_payload = 1 << 20

        async def publish(self, subject: str, text: bytes, headers: Any) -> None:
            done.append(str(sap.decode(text)["reason"]).partition(":")[0])

    async def main() -> None:
        async with offering(lambda one, context: 1, queue=0) as agent:
            worker = nats.Worker(agent, "nats://x", queue="b")
            worker._link.connection = Connection()
            await worker._answer(Message())

    asyncio.run(main())
    assert done == (["given back"] if code == "RATE_LIMIT" and delivered > 1 else [code, "done"])


@pytest.mark.parametrize("issuer", [None, "C", sap.Issuer(agent_id="D", agent_kind="system")])
@pytest.mark.parametrize("principal", [None, "A-prime"])
def test_the_tasks_of_a_client_are_issued_by_it(issuer: Any, principal: str | None) -> None:
    client = nats.Client("nats://x", queue="b", principal=principal, issuer=issuer)
    name = {None: principal or "anonymous", "C": "C"}.get(issuer if issuer in (None, "C") else "", "D")
    assert client.task("work.do", {}).issuer.agent_id == name
    assert bus.Bus(":memory:", issuer=issuer).task("work.do", {}).issuer.agent_id == (name if issuer else "anonymous")
    assert bus.Bus(":memory:").acting(principal).task("work.do", {}).issuer.agent_id == (principal or "anonymous")
    raw = httpx.AsyncClient(transport=httpx.ASGITransport(http.app(sap.Agent("B"))))
    in_process = mcp.Client(mcp.server(sap.Agent("B")), issuer=issuer)
    for other in (http.Client("http://x", client=raw, issuer=issuer), in_process):
        assert other.task("work.do", {}).issuer.agent_id == (name if issuer else "anonymous")


def test_nothing_is_known_of_what_comes_behind_a_head_that_was_taken() -> None:
    async def main() -> None:
        source, message = (
            Source(None, "high"),
            SimpleNamespace(metadata=SimpleNamespace(sequence=SimpleNamespace(stream=7))),
        )
        source.head, source.empty = message, True
        source.looking = looking = asyncio.ensure_future(asyncio.sleep(60))
        assert source.rank == 7 + 16 and source.take() is message
        assert (source.head, source.empty, source.looking, source.taken.is_set()) == (None, False, None, True)
        await asyncio.wait({looking})
        assert looking.cancelled()

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize(
    ("allowed", "path", "good"),
    [
        ("/x/y", "/x/y", True),
        ("/x/y", "/x/y/z", True),
        ("/x/y/", "/x/y", True),
        *((("/x/y"), path, False) for path in ("/x", "/x/", "/x/z", "/x/yz", "/y/x", "/X/y", "/")),
        ("/", "/anything", True),
        ("", "/", True),
    ],
)
def test_a_reply_goes_below_all_steps_of_an_allowed_address(allowed: str, path: str, good: bool) -> None:
    sent: list[str] = []

    def take(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(204)

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(take)) as raw:
            await http.Replies([f"https://a{allowed}"], client=raw)(f"https://a{path}", result)

    result = sap.result_for(do(), sap.Outcome(1), "B")
    if good:
        asyncio.run(main())
        assert sent == [path]
    else:
        with pytest.raises(PermissionError):
            asyncio.run(main())
        assert sent == []


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


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("A-1", "A-1"),
        ("a" * 64, "a" * 64),
        ("a" * 65, "x" + "61" * 65),
        ("é", "xc3a9"),
        ("a.b", "x612e62"),
        ("~", "x7e"),
    ],
)
def test_the_step_of_a_subject_for_each_principal(name: str, step: str) -> None:
    assert nats.step_of(sap.Principal(name)) == step
    link = nats.Link("nats://x", "sap")
    assert link.subject("results", "t", sap.Principal(name)) == f"sap.results.{step}.t"
    assert link.subject_of("b", sap.Principal(name), "normal") == f"sap.tasks.b.{step}"
    assert link.subject_of("b", sap.Principal(name), "urgent") == f"sap.tasks.b.{step}.urgent"
    assert link.subject_of("b", sap.ANONYMOUS, "low") == "sap.tasks.b.~.low"


@pytest.mark.parametrize("expected", [True, False])
def test_progress_tells_of_an_ack_where_one_is_expected(expected: bool) -> None:
    async def main() -> list[str]:
        told: list[str] = []

        class Session:
            async def report_progress(self, done: float, of: float, text: str) -> None:
                told.append(f"{done}/{of} {text}")

        async with offering(lambda one, context: 1) as agent:
            one = do(replyTo={"expectAck": expected})
            job = await agent.receive(one)
            await mcp._progress(SimpleNamespace(session=Session()), job, one)  # type: ignore[arg-type]
        return told

    assert asyncio.run(main()) == ["0.0/1.0 accepted"] * expected + ["0.5/1.0 RUNNING"]


@pytest.mark.parametrize("queues", [[], [3], [3, 4], [1, 1, 1]])
def test_as_many_tasks_may_wait_on_a_bus_as_with_its_agents(queues: list[int]) -> None:
    line = bus.Bus(":memory:")
    for number, queue in enumerate(queues):
        line.register(sap.Agent(f"B{number}", queue=queue))
    assert line.queue == sum(queues)


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        ([{"zone": "eu"}, {"zone": "us"}], 1),
        ([{"zone": "eu"}, {}], 1),  # whoever has another value is left out
        ([{}, {"zone": "us"}], 1),  # that label and value rather than none
        ([{"zone": "eu"}, {"zone": "asia"}], 0),  # unless nobody is left then
        ([{"zone": "us", "gpu": 1}, {"zone": "us"}], 0),
        ([{"zone": "us", "gpu": 2}, {"zone": "us"}], 1),
        ([{"zone": "us", "gpu": 2}, {}], 1),  # what is right of those that are left out counts for nobody
        ([{"gpu": 1}, {"zone": "eu", "gpu": 1}], 0),
    ],
)
def test_whom_a_hint_prefers(labels: list[dict[str, Any]], chosen: int) -> None:
    providers = {}
    for number, each in enumerate(labels):
        agent = SimpleNamespace(capabilities={"work.do": 1}, holds=lambda *_: False, unfinished=number, agent_id=number)
        providers[str(number)] = Provider(agent, each)  # type: ignore[arg-type]
    hints = {"priority": "low", "zone": "us", **({"gpu": 1} if "gpu" in str(labels) else {})}
    one = task("work.do", {}, target={"capability": "work.do", "routingHints": hints})
    found = provider_for(one, providers)
    assert found is not None and found.agent_id == chosen


def test_what_is_asked_for_before_there_is_a_result_is_accepted_for_processing() -> None:
    """RFC 9110: 202. With it, it is 200."""

    async def main() -> None:
        gate = asyncio.Event()

        async def wait(_task: sap.Task, _context: sap.Context) -> None:
            await gate.wait()

        agent, one = offering(wait), do()
        transport = httpx.ASGITransport(http.app(agent))
        async with agent, httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            await agent.submit(one)
            early = await client.get(f"/tasks/{one.task_id}")
            gate.set()
            await agent.result(one.task_id)
            late = await client.get(f"/tasks/{one.task_id}")
            assert [early.status_code, late.status_code] == [202, 200]
            assert [early.json()["status"], late.json()["status"]] == ["ACK", "SUCCEEDED"]

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize("ends", [b"\n", b""])
@pytest.mark.parametrize("first", range(6))
@pytest.mark.parametrize("size", [4, 5, 6, 9])
def test_a_line_in_pieces_is_as_long_as_all_of_them(size: int, first: int, ends: bytes) -> None:
    class Response:
        async def aiter_bytes(self) -> Any:
            yield b"a\n" + b"x" * first
            yield b"x" * (size - first) + ends

    async def main() -> list[bytes]:
        return [line async for line in _lines(Response(), 5)]  # type: ignore[arg-type]

    if size <= 5:
        assert asyncio.run(main()) == [b"a", b"x" * max(size, first)]
    else:
        with pytest.raises(BadAnswer, match="more than 5 bytes"):
            asyncio.run(main())
