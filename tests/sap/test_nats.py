"""NATS: the order of a queue, what is delivered when, and a broker that nobody trusts."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import raised
from tests.sap.documents import RESULT, TASK
from tests.sap.hosts import Broker, reached
from tests.sap.scenario import make_agent, task
from tests.sap.test_agent import do, offering
from tests.sap.test_principals import KEYS, PUBLIC, agent_in
from turnwire import sap
from turnwire.errors import BadAnswer, Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.access import sign, signed_message
from turnwire.sap.agent import cancel_and_wait
from turnwire.sap.transcripts import RESULT_KIND, STARTED_KIND
from turnwire.sap.transports import nats
from turnwire.sap.transports.nats import INBOX, SIGNATURE, SIGNER, TASK_ID

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
PERMISSIONS = """authorization {{ users: [
  {{ user: worker, password: w }}
  {{ user: one, password: o, permissions: {{ publish: ["$JS.>", "{0}.tasks.b.A-prime", "_INBOX.>"] }} }}
] }}"""


def noting() -> tuple[sap.Agent, list[str], asyncio.Event]:
    """An agent that notes what it does, one task at a time, and begins when it is told to."""
    agent = sap.Agent("B", workers=1, queue=1000)
    seen: list[str] = []
    go = asyncio.Event()

    @agent.capability("work.note")
    async def note(one: sap.Task, _context: sap.Context) -> str:
        await go.wait()
        seen.append(one.payload["name"])
        return "done"

    return agent, seen, go


def named(name: str, **more: Any) -> sap.Task:
    return task("work.note", {"name": name}, replyTo={"expectAck": False}, **more)


async def emptied(client: nats.Client) -> None:
    stream = client._link.tasks_stream
    while (await client._link.stream.stream_info(stream)).state.messages:
        await asyncio.sleep(0.01)


async def test_a_worker_that_ends_gives_its_tasks_to_another(broker: Broker) -> None:
    (first, seen, _never), (second, also, go) = noting(), noting()
    names: dict[str, Any] = {"queue": "b", "prefix": "given"}
    async with nats.Client(broker.url, **names) as client, first, second:
        for number in range(5):
            await client.send(named(str(number)))
        async with nats.Worker(first, broker.url, at_once=2, **names):
            while first.unfinished < 2:
                await asyncio.sleep(0.01)
        go.set()
        async with nats.Worker(second, broker.url, ack_wait=30, **names):
            await emptied(client)
    assert not seen
    assert sorted(also) == ["0", "1", "2", "3", "4"]


async def test_what_swallows_a_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``asyncio.wait_for`` of Python 3.11 does, when what it waits for comes at the same moment."""
    monkeypatch.setattr("turnwire.sap.agent.CANCEL_SECONDS", 0.01)

    async def swallows() -> None:
        for _ in range(2):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
        await asyncio.sleep(60)

    some = [asyncio.ensure_future(swallows()) for _ in range(2)]
    await asyncio.sleep(0)
    await cancel_and_wait(some)
    assert all(each.cancelled() for each in some)


@pytest.fixture
def permitting(tmp_path: Path) -> Iterator[Broker]:
    started = Broker(tmp_path, PERMISSIONS.format("may"))
    yield started
    started.kill()


async def test_permissions_say_who_publishes(permitting: Broker) -> None:
    agent, _seen, go = noting()
    go.set()
    names: dict[str, Any] = {"queue": "b", "prefix": "may"}
    login: dict[str, Any] = {"user": "worker", "password": "w"}
    worker = nats.Worker(agent, permitting.url, identify=nats.by_subject, options=login, **names)
    told: list[Exception] = []

    async def tell(error: Exception) -> None:
        told.append(error)

    login = {"user": "one", "password": "o", "error_cb": tell}
    async with agent, worker:
        async with nats.Client(permitting.url, principal="A-prime", options=login, **names) as client:
            some = [named(f"{n}", issuer={"agentId": "A-prime", "agentKind": "agent"}) for n in range(4)]
            results = await asyncio.gather(*map(client.call, some))
            assert {str(result.status) for result in results} == {"SUCCEEDED"}
        async with nats.Client(permitting.url, principal="Other", options=login, **names) as stranger:
            with pytest.raises(Unreachable, match="does not let this client publish"):
                await stranger.call(named("x"))
    assert {str(error).rpartition(" ")[2].lower() for error in told} == {'"may.tasks.b.other"'}


async def test_nats_in_detail(tmp_path: Path, nats_url: str) -> None:
    async def what(client: nats.Client) -> None:
        connection = client._link.connection
        replies = await connection.subscribe("more.replies.me")
        one = task("work.add", {"a": 1, "b": 2}, replyTo={"endpoint": "nats:more.replies.me"})
        result = await client.call(one)
        assert sap.decode((await replies.next_msg(timeout=300)).data) == result
        async with asyncio.timeout(10):  # the server hands a Result on before it has stored it
            while (kept := await client.result(one.task_id)) is None:
                await asyncio.sleep(0.01)
        assert kept == result
        assert await client.result(TASK["taskId"]) is None
        assert await client.call(one) == result
        receipts = await connection.subscribe("more.receipts.*")
        await client._link.stream.publish("more.tasks.b", b"{]", headers={"Sap-Task-Id": "abc"})
        refused = sap.decode((await receipts.next_msg(timeout=300)).data)
        assert isinstance(refused, sap.Nack)
        assert (refused.reason or "").startswith("INVALID_TASK")
        with pytest.raises(ValueError, match="subject"):
            client._link.subject("tasks", "a.b")

    async with reached("nats", make_agent(tmp_path), nats_url, "more", timeout=300) as client:
        await what(client)


async def test_nats_delivers_in_earnest(tmp_path: Path, nats_url: str) -> None:
    prefix = "earnest"
    first, second = agent_in(tmp_path, access=None), agent_in(tmp_path, access=None)
    client = nats.Client(nats_url, queue="b", prefix=prefix, timeout=300)
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
        refused = sap.decode((await inbox.next_msg(timeout=300)).data)
        assert isinstance(refused, sap.Nack)
        assert refused.correlation_id == two.correlation_id
        assert (refused.reason or "").startswith("INVALID_TASK: /taskId: ")
    rows = [entry for entry in Ledger(tmp_path / "t") if entry.key == one.task_id]
    assert [entry.kind for entry in rows].count(RESULT_KIND) == 1


async def test_a_forged_result_is_named_where_no_other_comes(nats_url: str) -> None:
    async with nats.Client(nats_url, queue="b", prefix="forged", timeout=0.6) as client:
        one = task("work.who", {}, replyTo={"expectAck": False})
        forged = sap.result_for(task("work.who", {}), sap.Outcome(1), "B")
        listen = client._next

        async def forged_first(*asked: Any) -> sap.Result:
            """The forged Result is there before the time begins that the client waits for one."""
            await client._link.connection.publish(f"forged.results.{one.task_id}", sap.encode(forged).encode())
            await client._link.connection.flush()
            return await listen(*asked)

        client._next = forged_first  # type: ignore[method-assign]
        with pytest.raises(BadAnswer, match="of task"):
            await client.call(one)
        client._next = listen  # type: ignore[method-assign]
        with pytest.raises(Unanswered):
            await client.call(task("work.who", {}))


async def test_each_queue_has_its_own_bound(nats_url: str) -> None:
    full = nats.Client(nats_url, queue="full", prefix="bounds", waiting=1, timeout=300)
    free = nats.Client(nats_url, queue="free", prefix="bounds", waiting=1, timeout=300)
    async with full, free:
        quiet = {"replyTo": {"expectAck": False}}
        assert isinstance(await full.send(task("work.who", {}, **quiet)), sap.Ack)
        refused = await full.send(task("work.who", {}, **quiet))
        assert isinstance(refused, sap.Nack) and (refused.reason or "").startswith("RATE_LIMIT")
        assert isinstance(await free.send(task("work.who", {}, **quiet)), sap.Ack)


def result_of(one: sap.Task, producer: str, output: Any) -> sap.Result:
    made = sap.result_for(one, sap.Outcome(output), producer)
    assert isinstance(made, sap.Result)
    return made


async def test_a_signed_task_cannot_be_changed_and_is_done_once_however_often_it_is_put_back(
    tmp_path: Path, nats_url: str
) -> None:
    prefix, agent = f"put{id(tmp_path)}", agent_in(tmp_path)
    worker = nats.Worker(agent, nats_url, queue="b", prefix=prefix, identify=nats.signed(PUBLIC))
    async with agent, worker, nats.Client(nats_url, queue="b", prefix=prefix) as broker:
        link = broker._link
        inbox = link.connection.new_inbox()
        answers = await link.connection.subscribe(inbox)

        async def put(one: sap.Task, name: str, signature: str) -> str:
            headers = {TASK_ID: one.task_id, INBOX: inbox, SIGNER: name}
            headers[SIGNATURE] = signature
            await link.publish(f"{prefix}.tasks.b", sap.encode(one).encode(), headers)
            answer = sap.decode((await answers.next_msg(timeout=300)).data)
            return "Ack" if isinstance(answer, sap.Ack) else json.dumps(answer.to_dict())

        one = task("work.who", {})
        good = sign(sap.encode(one).encode(), KEYS["A-prime"])
        for other in (
            one.replace(payload={"x": 1}),
            one.replace(task_id=one.task_id[:-1] + ("1" if one.task_id[-1] == "0" else "0")),
            task("work.who", {}),
        ):
            assert "UNAUTHORIZED" in await put(other, "A-prime", good)
        mine = sign(sap.encode(one).encode(), KEYS["M-allory"])
        for name, signature in (("A-prime", mine), ("A-prime", ""), ("M-allory", mine), ("nobody", good), ("", good)):
            assert "UNAUTHORIZED" in await put(one, name, signature), name
        assert not [entry for entry in agent.transcript if entry.kind == STARTED_KIND], "nothing was done"
        told = [await put(one, "A-prime", good) for _ in range(4)]
        assert set(told) == {"Ack"}
        while RESULT_KIND not in [entry.kind for entry in agent.transcript]:
            await asyncio.sleep(0.01)
        assert [entry.kind for entry in agent.transcript].count(STARTED_KIND) == 1


async def test_a_kept_result_is_taken_from_nobody_but_who_made_it(nats_url: str) -> None:
    """Also where nobody waits for it: `result` asks the broker for what it keeps."""

    one = task("work.who", {})
    real = signed_message(result_of(one, "B", "real"), "B", KEYS["A-prime"])
    forged = {
        "no signature": result_of(one, "B", "forged"),
        "the signature does not match": real.replace(output="forged"),
        "the signer of the message is unknown": signed_message(result_of(one, "B", "forged"), "x", KEYS["x"]),
        "M signed a Result of B": signed_message(result_of(one, "B", "forged"), "M", KEYS["M-allory"]),
        "M answered": signed_message(result_of(one, "M", "forged"), "M", KEYS["M-allory"]),
    }
    keys = {"B": PUBLIC["A-prime"], "M": PUBLIC["M-allory"]}
    prefix = f"kept{id(one)}"
    async with nats.Client(nats_url, queue="b", prefix=prefix, keys=keys, producer="B") as client:
        assert await client.result(one.task_id) is None
        for said, result in forged.items():
            await client._link.publish(f"{prefix}.results.{one.task_id.lower()}", sap.encode(result).encode(), {})
            with pytest.raises(BadAnswer, match=said):
                await client.result(one.task_id)
        await client._link.publish(f"{prefix}.results.{one.task_id.lower()}", sap.encode(real).encode(), {})
        kept = await client.result(one.task_id)
        assert kept is not None and kept.output == "real"


@pytest.mark.parametrize(
    ("steps", "who"),
    [
        ("A-prime", "A-prime"),
        *((name, None) for name in ("~", "", "A prime", "é", "*", "A-prime.urgent", "A.B")),
        ("a" * 64, "a" * 64),
        ("a" * 65, None),
    ],
)
def test_who_is_named_by_a_subject(steps: str, who: str | None) -> None:
    assert nats.by_subject(SimpleNamespace(subject=f"sap.tasks.b.{steps}")) == who
    assert nats.by_subject(SimpleNamespace(subject="sap.tasks.b")) is None


@pytest.mark.parametrize("delivered", [1, 2, 3])
@pytest.mark.parametrize("code", ["RATE_LIMIT", "NOT_FOUND"])
async def test_what_may_have_been_accepted_before_is_given_back_to_the_queue(code: str, delivered: int) -> None:
    """The agent has no place for it now. A task that comes for the first time is refused."""
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

    async with offering(lambda one, context: 1, queue=0) as agent:
        worker = nats.Worker(agent, "nats://x", queue="b")
        worker._link.connection = Connection()
        await worker._answer(Message())
    assert done == (["given back"] if code == "RATE_LIMIT" and delivered > 1 else [code, "done"])


@pytest.mark.parametrize(
    ("subject", "good"),
    [("sap.replies.a", True), *((one, False) for one in ("sap.replies.", "sap.replies.a.b", "sap.replies.*", "a"))],
)
def test_a_reply_goes_to_one_name_below_replies(subject: str, good: bool) -> None:
    sent = []

    async def publish(to: str, _data: bytes, headers: Any) -> None:
        sent.append(to)

    worker = nats.Worker(sap.Agent("B"), "nats://x", queue="b")
    worker._link.connection = SimpleNamespace(publish=publish)
    going = worker._route(f"nats:{subject}", sap.Result.from_dict(RESULT))
    if good:
        asyncio.run(going)
    else:
        raised(PermissionError, asyncio.run, going)
    assert sent == [subject] * good
