"""Who runs the broker, or writes to it: what is signed cannot be changed, done twice, or made up there."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from tests.sap.scenario import task
from tests.sap.test_principals import KEYS, PUBLIC, agent_in
from tests.sap.test_transports import nats_url as nats_url
from tests.sap.test_transports import serve
from turnwire import sap
from turnwire.errors import BadAnswer
from turnwire.sap.signing import sign, signed_message
from turnwire.sap.transcripts import RESULT_KIND, STARTED_KIND
from turnwire.sap.transports import http, nats
from turnwire.sap.transports.nats import INBOX, SIGNATURE, SIGNER, TASK_ID

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def result_of(one: sap.Task, producer: str, output: Any) -> sap.Result:
    made = sap.result_for(one, sap.Outcome(output), producer)
    assert isinstance(made, sap.Result)
    return made


def test_a_signed_task_cannot_be_changed_and_is_done_once_however_often_it_is_put_back(
    tmp_path: Path, nats_url: str
) -> None:
    async def main() -> None:
        prefix, agent = f"put{id(tmp_path)}", agent_in(tmp_path)
        worker = nats.Worker(agent, nats_url, queue="b", prefix=prefix, identify=nats.signed(PUBLIC))
        async with agent, worker, nats.Client(nats_url, queue="b", prefix=prefix) as broker:
            link = broker._link
            inbox = link.connection.new_inbox()
            answers = await link.connection.subscribe(inbox)

            async def put(one: sap.Task, name: str, signature: bytes) -> str:
                headers = {TASK_ID: one.task_id, INBOX: inbox, SIGNER: name}
                headers[SIGNATURE] = base64.b64encode(signature).decode()
                await link.publish(f"{prefix}.tasks.b", sap.encode(one).encode(), headers)
                answer = sap.decode((await answers.next_msg(timeout=5)).data)
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
            for name, signature in (
                ("A-prime", mine),
                ("A-prime", b""),
                ("M-allory", mine),
                ("nobody", good),
                ("", good),
            ):
                assert "UNAUTHORIZED" in await put(one, name, signature), name
            assert agent.transcript is not None
            assert not [entry for entry in agent.transcript if entry.kind == STARTED_KIND], "nothing was done"
            told = [await put(one, "A-prime", good) for _ in range(4)]
            assert set(told) == {"Ack"}
            while RESULT_KIND not in [entry.kind for entry in agent.transcript]:
                await asyncio.sleep(0.01)
            assert [entry.kind for entry in agent.transcript].count(STARTED_KIND) == 1

    asyncio.run(asyncio.wait_for(main(), 40))


def test_a_kept_result_is_taken_from_nobody_but_who_made_it(nats_url: str) -> None:
    """Also where nobody waits for it: `result` asks the broker for what it keeps."""

    async def main() -> None:
        one = task("work.who", {})
        real = signed_message(result_of(one, "B", "real"), "B", KEYS["A-prime"])
        forged = {
            "no signature": result_of(one, "B", "forged"),
            "the signature does not fit": real.replace(output="forged"),
            "nobody knows who signed": signed_message(result_of(one, "B", "forged"), "x", KEYS["x"]),
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
        answer: list[sap.Result] = []

        async def kept_there(_request: Any) -> Response:
            return Response(sap.encode(answer[-1]), media_type="application/json")

        app = Starlette(routes=[Route("/tasks/{task}", kept_there)])
        async with serve(app) as url, http.Client(url, keys=keys, producer="B") as asking:
            for said, result in forged.items():
                answer.append(result)
                with pytest.raises(BadAnswer, match=said):
                    await asking.result(one.task_id)
            answer.append(real)
            assert (await asking.result(one.task_id)) == real

    asyncio.run(asyncio.wait_for(main(), 40))
