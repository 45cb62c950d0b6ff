"""Logs of SSTP that break a clause each, and such that keep all; then conversations. A case is (name, log)."""

from __future__ import annotations

import json
from typing import Any

from tests.read.honest.containers import fenced, held, in_json, lines, prefixed

PAYLOADS: dict[str, dict[str, Any]] = {
    "intent": {"goal": "agree on the budget", "assumptions": [], "success_criteria": "all sign", "constraints": []},
    "query": {
        "question": "what does the rack cost?",
        "required_fields": [],
        "uncertainty": 0.5,
        "directed_to": "blake",
    },
    "knowledge": {"content": "the rack costs 40 k", "confidence": 0.9, "evidence_refs": []},
    "delegation": {
        "task": "list the vendors",
        "assigned_to": "blake",
        "required_capabilities": [],
        "output_schema_id": "ioc.result.v0",
        "evaluation_criteria": "three at least",
    },
    "commit": {"decision": "buy it", "scope": "this year", "commit_mode": "unilateral", "supersedes": None},
    "evidence_bundle": {
        "claim": "it is in stock",
        "artifacts": [{"type": "fact", "name": "stock", "value": 3}],
        "verdict": "pass",
        "checks_run": [],
    },
    "memory_delta": {
        "memory_type": "episodic",
        "summary": "the rack was bought",
        "derived_rule": "ask early",
        "propagation": "domain-wide",
    },
}
SCHEMAS = {"evidence_bundle": "ioc.evidence.v0"}


def said(kind: str, actor: str, clock: Any, header: Any = (), without: str = "", **payload: Any) -> str:
    """An SSTP message; ``header`` has further fields of the header, ``without`` names one that is left out."""
    head = {"kind": kind, "actor_id": actor, "schema_id": SCHEMAS.get(kind, f"ioc.{kind}.v0")}
    head = {**head, "session_id": "s-1", "logical_clock": clock, **dict(header)}
    body = {**PAYLOADS[kind], **payload}
    for part in (head, body):
        part.pop(without, None)
    return json.dumps({"header": head, "payload": body}, ensure_ascii=False)


GOAL, ASK = said("intent", "alex", 1), said("query", "alex", 1)
SAY, SAY2 = said("knowledge", "blake", 1), said("knowledge", "blake", 2, content="the switch costs 4 k")

BROKEN: dict[str, str] = {
    "nobody speaks": prefixed(GOAL, said("intent", "blake", 1, without="actor_id")),
    "a clock in a string": in_json(GOAL, said("intent", "blake", "1")),
    "the schema of another kind": lines(said("intent", "alex", 1, {"schema_id": "ioc.query.v0"})),
    "a confidence over 1": prefixed(ASK, said("knowledge", "blake", 1, confidence=1.5)),
    "a clock that leaps": in_json(ASK, SAY, said("commit", "alex", 3)),
    "a clock used twice": lines(ASK, SAY, said("commit", "alex", 1)),
    "a clock that goes back": lines(
        ASK, SAY, said("commit", "alex", 2), SAY2, said("commit", "alex", 1, decision="buy two")
    ),
    "two messages in a row": prefixed(GOAL, said("commit", "alex", 2)),
    "an acknowledgement": in_json(GOAL, said("knowledge", "blake", 1, content="Got it.")),
    "an echo": lines(GOAL, said("intent", "blake", 1)),
    "a fence": fenced(ASK, SAY),
    "prose around": f"Here is my message:\n{GOAL}\nI hope it helps.\n",
    "no goal": lines(said("intent", "alex", 1, without="goal")),
    "two addressees": in_json(said("query", "alex", 1, {"directed_to": "carol"}), SAY),
    "a placeholder": lines(said("query", "alex", 1, question="<specific question>"), SAY),
    "labels that are not lists": prefixed(said("intent", "alex", 1, {"policy_labels": "retention:90d"})),
    "a clock that begins at 5": in_json(said("intent", "alex", 5)),
    "a clock of 0": lines(said("intent", "alex", 0)),
    "no payload": lines('{"header": ' + json.dumps(json.loads(GOAL)["header"]) + "}"),
    "a bundle without artifacts": prefixed(said("evidence_bundle", "alex", 1, without="artifacts")),
    "an artifact without a name": lines(said("evidence_bundle", "alex", 1, artifacts=[{"type": "fact", "value": 1}])),
    "a name like another's": lines(GOAL, said("commit", "Alex", 1)),
    "a key twice": lines(GOAL, said("commit", "blake", 1).replace('"scope"', '"decision": "no", "scope"')),
    "a commit without a mode": in_json(GOAL, said("commit", "blake", 1, without="commit_mode")),
    "a query to nobody": lines(said("query", "alex", 1, without="directed_to")),
    "assumptions in a string": lines(said("intent", "alex", 1, assumptions="none")),
    "another speaks while one is given a task": lines(said("delegation", "alex", 1), said("commit", "carol", 1)),
    "another session in the middle": lines(ASK, SAY, said("commit", "alex", 2, {"session_id": "s-2"})),
}
GOOD: dict[str, str] = {
    "a question and its answer": lines(ASK, SAY),
    "behind a prefix": prefixed(ASK, SAY, said("commit", "alex", 2), SAY2),
    "in JSON": in_json(ASK, SAY),
    "a list": json.dumps([json.loads(ASK), json.loads(SAY)]) + "\n",
    "an object over several lines": json.dumps(json.loads(GOAL), indent=2) + "\n",
    "answers without a session": lines(
        ASK, said("knowledge", "blake", 1, without="session_id"), said("commit", "alex", 2)
    ),
    "proofs of a delegation in a row": lines(
        said("delegation", "alex", 1),
        said("evidence_bundle", "blake", 1),
        said("evidence_bundle", "blake", 2, claim="it is cheap"),
        said("knowledge", "blake", 3),
    ),
    "two sessions at once": lines(ASK, said("query", "carol", 1, {"session_id": "s-2"}, directed_to="dan"), SAY)
    + lines(said("knowledge", "dan", 1, {"session_id": "s-2"})),
    "yes is an answer": lines(ASK, said("knowledge", "blake", 1, content="Yes.")),
    "directed_to in the header": lines(said("query", "alex", 1, {"directed_to": "blake"}, without="none"), SAY),
    "labels, risk and fields of one's own": lines(
        said("commit", "alex", 1, {"policy_labels": ["retention:90d"], "risk_score": 0.3, "x": 1}, supersedes="d-1")
    ),
}

HAND = said("delegation", "alex", 1)
ASK2 = said("query", "alex", 2, question="and the switch?", directed_to="carol")
OTHER = {"session_id": "s-2"}

BROKEN |= {
    "the third of three clocks leaps": lines(ASK, SAY, ASK2, said("knowledge", "carol", 2)),
    "an answer by the wrong one of two": prefixed(ASK, SAY, ASK2, said("knowledge", "blake", 2, content="4 k")),
    "received, in another language": in_json(
        HAND, said("knowledge", "blake", 1, content="Alles klar."), said("commit", "alex", 2)
    ),
    "five bundles in a row, of nothing": lines(
        *(said("evidence_bundle", "alex", n + 1, claim=f"c{n}") for n in range(5))
    ),
    "a bundle, and then the same speaker": lines(said("evidence_bundle", "alex", 1), said("commit", "alex", 2)),
    "a memory, and then the same speaker": lines(said("memory_delta", "alex", 1), said("memory_delta", "alex", 2)),
    "the clock of another session goes on": lines(
        ASK, SAY, said("query", "alex", 2, OTHER), said("knowledge", "blake", 2, OTHER)
    ),
    "one session among two with a gap": lines(
        ASK, said("query", "dan", 1, OTHER, directed_to="eve"), SAY, said("knowledge", "eve", 3, OTHER)
    ),
    "an echo of an answer": lines(ASK, SAY, said("knowledge", "alex", 2)),
    "the addressee in capitals, and then another": lines(
        said("query", "alex", 1, directed_to="Blake"), said("knowledge", "carol", 1)
    ),
    "half of a list is damaged": f"[{ASK}, {SAY.replace('ioc.knowledge.v0', 'knowledge')}]\n",
    "a fence in a string": in_json(f"```json\n{ASK}\n```", f"```json\n{SAY}\n```"),
    "a clock with a fraction": lines(ASK, SAY.replace('"logical_clock": 1', '"logical_clock": 1.5')),
    "a clock that is true": prefixed(ASK, SAY.replace('"logical_clock": 1', '"logical_clock": true')),
    "uncertainty in words": lines(said("query", "alex", 1, uncertainty="high"), SAY),
    "an evidence of another schema": lines(said("evidence_bundle", "alex", 1, {"schema_id": "ioc.evidence_bundle.v0"})),
    "a commit by one who was not asked": in_json(ASK, said("commit", "carol", 1), SAY),
    "a message that repeats": lines(ASK, SAY, SAY),
    "NaN": lines(ASK, SAY.replace("0.9", "NaN")),
}
GOOD |= {
    "twenty questions": lines(
        *(
            one
            for number in range(1, 21)
            for one in (
                said("query", "alex", number, question=f"what is {number}?"),
                said("knowledge", "blake", number, content=f"it is {number}"),
            )
        )
    ),
    "a delegation with proofs and a decision": prefixed(
        HAND,
        said("evidence_bundle", "blake", 1),
        said("evidence_bundle", "blake", 2, claim="it is new"),
        said("knowledge", "blake", 3),
        said("commit", "alex", 2),
    ),
    "questions back and forth": lines(
        ASK,
        said("query", "blake", 1, question="which rack?", directed_to="alex"),
        said("knowledge", "alex", 2),
        said("knowledge", "blake", 2, content="40 k"),
    ),
    "three agents in turn": in_json(
        said("intent", "alex", 1),
        said("intent", "blake", 1, goal="another"),
        said("intent", "carol", 1, goal="a third"),
    ),
    "sessions one after the other": lines(
        ASK, SAY, said("query", "alex", 1, OTHER), said("knowledge", "blake", 1, OTHER)
    ),
    "a long list over several lines": "[\n"
    + ",\n".join((ASK, SAY, ASK2, said("knowledge", "carol", 1, content="4 k")))
    + "\n]\n",
    "kinds without a session": lines(
        ASK,
        said("knowledge", "blake", 1, without="session_id"),
        said("commit", "alex", 2),
        said("memory_delta", "blake", 2, without="session_id"),
    ),
    "an acknowledgement in a longer text": lines(
        ASK, said("knowledge", "blake", 1, content="Understood: the rack costs 40 k.")
    ),
}

END = said("commit", "alex", 2)
TALK = (ASK, SAY, END)
BROKEN |= {
    f"{name}, {place}": log
    for name, text in {
        "nothing but a kind": '{"kind": "commit"}',
        "all in one object": json.dumps({"kind": "query", "actor_id": "blake", "question": "why?"}),
        "a type for a kind": '{"type": "intent", "goal": "agree"}',
        "a header alone": '{"header": {"kind": "commit"}}',
        "an empty header": '{"header": {}, "payload": {}}',
        "a header that is a number": '{"header": 7}',
        "a payload alone": '{"payload": {"goal": "agree"}}',
    }.items()
    for place, log in {
        "on a line": lines(*TALK, text),
        "in a list": json.dumps([json.loads(one) for one in (*TALK, text)]),
        "as a member": json.dumps({"good": json.loads(GOAL), "bad": json.loads(text)}),
        "in strings": in_json(*TALK, text),
        "in strings of strings": in_json(in_json(*TALK), in_json(text)),
        "behind prefixes": prefixed(*TALK, text),
    }.items()
}
BROKEN |= {
    f"{text} in a list": f"[{', '.join((*TALK[:2], text, END))}]\n" for text in ("7", '"x"', "null", "[]", "[1, {}]")
}
BROKEN |= {
    f"{text} for an answer": lines(ASK, said("knowledge", "blake", 1, content=text))
    for text in ("Acknowledged.", "Noted", "Thanks!", "Got it.", "Understood.", "Danke", "了解")
}
GOOD |= {
    f"{answer} for an answer to {question}": lines(
        said("query", "alex", 1, question=question), said("knowledge", "blake", 1, content=answer)
    )
    for question, answer in {
        "may we buy it?": "OK.",
        "is it done?": "Done",
        "have you received the offer?": "Received.",
        "is that understood?": "Understood.",
        "was the limit noted?": "Noted, it is 40 k.",
    }.items()
}
GOOD |= {
    f"prefixes such as {prefix!r}": "".join(f"{prefix}{text}\n" for text in TALK)
    for prefix in (
        "INFO:root:",
        "INFO [bus] ",
        "2026/01/05 10:00:00 ",
        "10:00:00,5 ",
        "1767600000.25 ",
        "<13>Jan  5 ",
        "ts=1 ",
    )
}
GOOD |= {
    "other JSON beside it": lines(
        ASK,
        '{"level": "info", "header": {"kind": "http"}}',
        '{"kind": "commit", "sha": "4f2a"}',
        '{"type": "query"}',
        '{"header": {"alg": "none"}, "payload": {"sub": "a"}}',
        "{}",
        SAY,
    ),
    "a list with other objects": f'[{{"session": "s-1"}}, {", ".join(TALK)}]\n',
    "pairs of numbers and messages": f"[{', '.join(f'[{n}, {text}]' for n, text in enumerate(TALK))}]\n",
}

BROKEN |= {
    f"{text} {place}": log
    for text in (
        "7",
        '"x"',
        "null",
        "[1, 2]",
        "Sure, here is the message:",
        "Here's the next one:",
        "I will answer now.",
    )
    for place, log in {**held(ASK, text, SAY), "in a list in a string": in_json(f"[{ASK}, 7, {SAY}]")}.items()
}
BROKEN |= {
    "prose in a string": in_json(f"the next message\n{ASK}\n"),
    "prose behind a prefix, in the same line": prefixed(f"Here is my message: {ASK}"),
    "half a message in a list of strings": json.dumps([ASK, '{"header": {"kind": "intent"}}', SAY]),
}
GOOD |= {
    f"what programs say {place}": log
    for place, log in held(ASK, "connected, 3 agents", SAY).items()
    if "in a" not in place and "name" not in place
}
GOOD |= {
    "in a line of text in a string": in_json(f"received: {ASK}", f"received: {SAY}"),
    "a list of strings": json.dumps([ASK, SAY]),
    "a log in a string": in_json(f"10:00:00 bus: {ASK}\n10:00:01 bus: {SAY}\n"),
    "people beside agents": lines(
        json.dumps({"role": "user", "content": "I want a budget."}), *in_json(ASK, SAY).splitlines()
    ),
}

GOOD |= {
    "messages and a preamble of CSP/1 beside it": "DEF SRC = src/\nLAWS\n- L1: Web search -> WEB_RES only\n\nCSP/1\n"
    "FROM A\nTO B\nCTX C0\nINTENT QUERY\n\nQUERY Q1\nASK which\n\n" + lines(ASK, SAY)
}
