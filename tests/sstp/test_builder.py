"""Agents: the right message is the easy one."""

from __future__ import annotations

from threading import Thread

import pytest

from turnwire import sstp
from turnwire.errors import EncodeError, Reason
from turnwire.sstp.spec import HEADER, PAYLOADS, Kind


def speak(agent, kind, **header):
    return {
        Kind.INTENT: lambda: agent.intent("g", success_criteria="c", assumptions=("a",), **header),
        Kind.QUERY: lambda: agent.query("q", directed_to="b", uncertainty=0.5, **header),
        Kind.KNOWLEDGE: lambda: agent.knowledge("k", confidence=1, **header),
        Kind.DELEGATION: lambda: agent.delegation(
            "t", assigned_to="b", output_schema_id="ioc.result.v0", evaluation_criteria="e", **header
        ),
        Kind.COMMIT: lambda: agent.commit("d", scope="s", commit_mode="unilateral", **header),
        Kind.EVIDENCE_BUNDLE: lambda: agent.evidence_bundle(
            "c", artifacts=[{"type": "fact", "name": "n", "value": 1}], verdict="pass", checks_run=["x"], **header
        ),
        Kind.MEMORY_DELTA: lambda: agent.memory_delta(
            "s", memory_type="episodic", derived_rule="r", propagation="domain-wide", **header
        ),
    }[kind]()


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_complete(kind):
    agent = sstp.Agent("alex", "s")
    message = speak(agent, kind, risk_score=0.1, policy_labels=["retention:3d"], provenance="p")
    assert sstp.decode(sstp.encode(message)) == message and sstp.check(message) == []
    assert list(message.header) == [field.name for field in HEADER]
    assert list(message.payload) == [field.name for field in PAYLOADS[kind]]
    assert (message.actor_id, message.session_id, message.logical_clock) == ("alex", "s", 1)
    assert agent.clock == 2


def test_clocks_and_turns_come_out_right():
    session = sstp.Session(["a", "b"], strict=True)
    first, second = sstp.Agent("a", "s"), sstp.Agent("b", "s")
    for _ in range(3):
        assert session.feed(first.query("q?", directed_to="b", uncertainty=0.2)) == []
        assert session.feed(second.knowledge("k!", confidence=0.9)) == []
    assert session.open_queries == []
    late = sstp.Agent("a", "s", clock=session.next_clock("a"))
    assert session.feed(late.intent("g", success_criteria="c")) == []


def test_a_refused_message_uses_up_no_clock():
    agent = sstp.Agent("a", "s")
    with pytest.raises(EncodeError) as caught:
        agent.knowledge("k", confidence=1.5)
    assert (caught.value.reason, caught.value.path) == (Reason.OUT_OF_RANGE, "/payload/confidence")
    with pytest.raises(TypeError, match="actor"):
        agent.knowledge("k", confidence=1, actor="x")
    assert agent.knowledge("k", confidence=1).logical_clock == 1
    with pytest.raises(EncodeError):
        sstp.Agent("<your-agent-id>", "s").knowledge("k", confidence=1)


def test_threads_share_an_agent():
    agent = sstp.Agent("a", "s")
    clocks = []
    threads = [
        Thread(target=lambda: clocks.extend(agent.knowledge("k", confidence=1).logical_clock for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(clocks) == list(range(1, 201))
