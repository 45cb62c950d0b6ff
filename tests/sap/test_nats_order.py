"""The order of a NATS queue: by priority over the whole of it, with ageing; and what becomes of it elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig

from tests.sap.hosts import Broker
from tests.sap.scenario import task
from turnwire import sap
from turnwire.errors import Unreachable
from turnwire.sap.transports import nats
from turnwire.sap.transports.nats import InOrder, Source
from turnwire.sap.waiting import ALLOWANCE, cancel_and_wait

pytestmark = [
    pytest.mark.once,
    pytest.mark.usefixtures("quiet_logs"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PERMISSIONS = """authorization {{ users: [
  {{ user: worker, password: w }}
  {{ user: one, password: o, permissions: {{ publish: ["$JS.>", "{0}.tasks.b.A-prime", "_INBOX.>"] }} }}
  {{ user: both, password: o, permissions: {{ publish: ["$JS.>", "{0}.tasks.b.A-prime", "{0}.tasks.b.A-prime.*"] }} }}
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


def named(name: str, priority: str | None, **more: Any) -> sap.Task:
    hints = {} if priority is None else {"telemetry": {"priority": priority}}
    return task("work.note", {"name": name}, replyTo={"expectAck": False}, **hints, **more)


async def noted(numbers: set[int], number: int) -> None:
    numbers.add(number)


async def emptied(client: nats.Client, queue: str = "b") -> None:
    stream = client._link.tasks_stream(queue)
    while (await client._link.stream.stream_info(stream)).state.messages:
        await asyncio.sleep(0.01)


def played(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.parametrize("principal", [None, "A-prime"])
def test_priority_orders_what_is_still_in_the_stream(broker: Broker, principal: str | None) -> None:
    async def main() -> None:
        agent, seen, go = noting()
        names: dict[str, Any] = {"queue": "b", "prefix": f"order-{principal}"}
        identify = None if principal is None else nats.by_subject
        async with nats.Client(broker.url, principal=principal, **names) as client, agent:
            order = ["low"] * 20 + ["normal", "none"] + ["high"] * 2 + ["urgent"] * 2
            for number, priority in enumerate(order):
                await client.send(named(f"{priority} {number}", None if priority == "none" else priority))
            async with nats.Worker(agent, broker.url, at_once=1, identify=identify, **names):
                go.set()
                await emptied(client)
        assert [name.split()[0] for name in seen[:6]] == ["urgent", "urgent", "high", "high", "normal", "none"]
        assert seen[6:] == [f"low {number}" for number in range(20)]

    played(main)


def test_nobody_in_the_stream_waits_for_ever(broker: Broker) -> None:
    """A task goes behind as many later ones as its allowance says, and no more."""

    async def main() -> None:
        agent, seen, go = noting()
        names: dict[str, Any] = {"queue": "b", "prefix": "ageing"}
        ahead = ALLOWANCE["normal"] - ALLOWANCE["urgent"]
        async with nats.Client(broker.url, **names) as client, agent:
            await client.send(named("normal", "normal"))
            for number in range(ahead + 6):
                await client.send(named(f"urgent {number}", "urgent"))
            async with nats.Worker(agent, broker.url, at_once=1, **names):
                go.set()
                await emptied(client)
        assert seen.index("normal") in (ahead - 1, ahead)
        assert [name for name in seen if name != "normal"] == [f"urgent {number}" for number in range(ahead + 6)]

    played(main)


def test_what_one_worker_holds_another_gets_when_it_ends(broker: Broker) -> None:
    """The heads that a worker holds are kept alive, and given back at once."""

    async def main() -> None:
        (first, seen, _never), (second, also, go) = noting(), noting()
        names: dict[str, Any] = {"queue": "b", "prefix": "given"}
        async with nats.Client(broker.url, **names) as client, first, second:
            for number, priority in enumerate(["normal", "low", "high", "urgent", "normal"]):
                await client.send(named(f"{priority} {number}", priority))
            worker = nats.Worker(first, broker.url, at_once=1, ack_wait=0.3, **names)
            async with worker:
                alive: set[int] = set()
                while len(alive) < 3:  # the server hears of each that is held
                    for source in worker._tasks._sources:
                        if source.head is not None:
                            number = source.head.metadata.sequence.stream
                            source.head.in_progress = lambda number=number: noted(alive, number)
                    await asyncio.sleep(0.01)
            go.set()
            async with nats.Worker(second, broker.url, ack_wait=30, **names):
                await emptied(client)
        assert not seen
        assert sorted(also) == ["high 2", "low 1", "normal 0", "normal 4", "urgent 3"]

    played(main)


class Swallowing:
    """A pull subscription whose fetch swallows each cancellation but the last of some, as ``asyncio.wait_for`` of
    Python 3.11 does when a message, or the server's word that there is none, comes at the same moment."""

    def __init__(self, comes: Any, cancellations: int) -> None:
        self.comes, self.cancellations, self.asked = comes, cancellations, 0

    async def fetch(self, _number: int, timeout: float) -> list[Any]:
        self.asked += 1
        try:
            await asyncio.sleep(timeout)
        except asyncio.CancelledError:
            self.cancellations -= 1
            if self.cancellations < 0:
                raise
        if self.comes is None:
            raise TimeoutError
        return [self.comes]


class Given:
    """A message that notes whether it was given back."""

    back = 0

    async def nak(self) -> None:
        self.back += 1


@pytest.mark.parametrize("comes", [None, Given()])
def test_closing_a_worker_ends_a_fetch_that_a_message_meets(comes: Any) -> None:
    async def main() -> None:
        pulled = Swallowing(comes, 1)
        order = InOrder([Source(pulled, "normal")], ack_wait=30)
        await asyncio.sleep(0)
        await order.close()
        assert (pulled.asked, pulled.cancellations) == (1, 0)
        assert comes is None or comes.back == 1

    asyncio.run(asyncio.wait_for(main(), 20))


def test_what_swallows_a_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwire.sap.waiting.CANCEL_AGAIN", 0.01)

    async def main() -> None:
        pulled = Swallowing(None, 2)

        async def forever() -> None:
            while True:
                with contextlib.suppress(TimeoutError):
                    await pulled.fetch(1, 60)

        some = [asyncio.ensure_future(forever()) for _ in range(2)]
        await asyncio.sleep(0)
        await cancel_and_wait(some)
        assert all(each.cancelled() for each in some)

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_queue_of_a_version_with_one_subject_goes_on(broker: Broker) -> None:
    async def main() -> None:
        agent, seen, go = noting()
        go.set()
        names: dict[str, Any] = {"queue": "b", "prefix": "older"}
        link = nats.Link(broker.url, "other")
        await link.open("b", 10, 60)
        await link.stream.add_stream(
            StreamConfig(
                name="older_tasks_b",
                subjects=["older.tasks.b", "older.tasks.b.*"],
                retention=RetentionPolicy.WORK_QUEUE,
                max_msgs=7,
                discard=DiscardPolicy.NEW,
            )
        )
        await link.stream.add_consumer("older_tasks_b", ConsumerConfig(durable_name="b-workers", name="b-workers"))
        await link.stream.publish("older.tasks.b", sap.encode(named("old", None)).encode())
        async with nats.Client(broker.url, **names) as client, agent, nats.Worker(agent, broker.url, **names):
            await client.call(named("new", "urgent"))
            await emptied(client)
            assert (await link.stream.stream_info("older_tasks_b")).config.max_msgs == 7
        await link.close()
        assert sorted(seen) == ["new", "old"]

    played(main)


def test_what_is_published_is_forgotten_and_a_denial_ends_all_that_wait_for_it() -> None:
    """A worker publishes to a subject of its own for each task: errors of the connection would be compared with all."""

    async def main() -> None:
        told: list[Exception] = []
        never = asyncio.get_running_loop().create_future()

        class Stream:
            async def publish(self, subject: str, _text: bytes, headers: dict[str, str]) -> None:
                if subject.startswith("P.denied"):
                    await never

        async def tell(error: Exception) -> None:
            told.append(error)

        link = nats.Link("nats://nowhere", "P", {"error_cb": tell})
        link.stream = Stream()
        for number in range(50):
            await link._published(f"P.results.{number}", b"", {})
        assert link._publishing == {}
        waiting = [asyncio.ensure_future(link._published(f"P.denied.{number // 2}", b"", {})) for number in range(4)]
        await asyncio.sleep(0)
        errors = [
            Exception(f'Permissions Violation for {what} to "p.denied.0"') for what in ("Subscription", "Publish")
        ]
        for error in errors:
            await link._noticed(error)
        for one in waiting[:2]:
            with pytest.raises(PermissionError, match=r"publish to P\.denied\.0"):
                await one
        await link._noticed(errors[1])
        assert told == [errors[0], errors[1]]  # the second time nobody waits for it
        assert [len(some) for some in link._publishing.values()] == [2]
        await cancel_and_wait(waiting)
        assert link._publishing == {}

    played(main)


@pytest.mark.parametrize(("user", "apart"), [("one", False), ("both", True)])
def test_permissions_of_one_subject_are_enough(user: str, apart: bool, tmp_path: Path) -> None:
    """Whoever may not publish by priority sends tasks of any priority all the same, at once."""
    prefix = "may"
    started = Broker(tmp_path, PERMISSIONS.format(prefix))

    async def main() -> None:
        agent, _seen, go = noting()
        go.set()
        names: dict[str, Any] = {"queue": "b", "prefix": prefix}
        worker = nats.Worker(
            agent, started.url, identify=nats.by_subject, options={"user": "worker", "password": "w"}, **names
        )
        told: list[Exception] = []

        async def tell(error: Exception) -> None:
            told.append(error)

        login = {"user": user, "password": "o", "error_cb": tell}
        async with agent, worker:
            async with nats.Client(started.url, principal="A-prime", options=login, **names) as client:
                some = [named(f"{n}", "urgent", issuer={"agentId": "A-prime", "agentKind": "agent"}) for n in range(4)]
                results = await asyncio.gather(*map(client.call, some))
                assert {str(result.status) for result in results} == {"SUCCEEDED"}
                assert client._not_apart == (set() if apart else {"urgent"})
            async with nats.Client(started.url, principal="Other", options=login, **names) as stranger:
                with pytest.raises(Unreachable, match="does not let this client publish"):
                    await stranger.call(named("x", None))

    try:
        played(main)
    finally:
        started.kill()
