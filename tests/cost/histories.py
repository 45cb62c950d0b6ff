"""Conversations of any length, as bytes: what grows with what was said before, in each wire. All are generated."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.cost.units import KICK, SSTP
from tests.sap.documents import RESULT, TASK
from tests.sstp.examples import example
from turnwire.sstp.spec import Kind


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _id(number: int) -> str:
    return str(uuid.UUID(int=number, version=4))


def _each(make: Callable[[int], bytes], size: int) -> Callable[[int], bytes]:
    """Messages number 0, 1, ... of about ``size`` bytes each."""
    return lambda n: b"".join(make(number) for number in range(max(n // size, 1)))


# --- CSP/1 ------------------------------------------------------------------------------------------------------------


def csp(intent: str, body: str, ctx: str = "C0") -> bytes:
    return f"CSP/1\nFROM A\nTO B\nCTX {ctx}\nINTENT {intent}\n\n{body}\n\n".encode()


_TASK = csp("TASK", "TASK T1\nREQ x")


def _patch(number: int, sign: str = "+", name: str = "AB{}", base: str = "") -> bytes:
    base = base or f"C{number}"
    operation = f"{sign} DEF {name.format(number)} {':=' if sign == '~' else '='} v{number}"
    return csp("PATCH", f"PATCH P{number + 1}\nBASE {base}\n{operation}\nAPPLY -> C{number + 1}", base)


def _operations(n: int, tail: str = "") -> bytes:
    lines = "".join(f"+ DEF AB{number} = v{number}\n" for number in range(n // 18))
    return csp("PATCH", f"PATCH P1\nBASE C0\n{lines}{tail}APPLY -> C1")


def _word(number: int) -> str:
    return "".join("bcfhjklmnp"[int(digit)] for digit in str(number))


def _laws(n: int, law: str, task: str) -> bytes:
    """Half of it laws, in preambles of a hundred, the other half tasks. Each has a word of its own."""
    lines = [f"- L{number}: {law.format(_word(number))}\n" for number in range(n // 80)]
    laws = "\n".join("LAWS\n" + "".join(lines[at : at + 100]) for at in range(0, len(lines), 100))
    tasks = b"".join(csp("TASK", f"TASK T{number}\nREQ {task.format(_word(number))}") for number in range(n // 160))
    return laws.encode() + b"\n" + tasks


def _laws_and_one(n: int, text: str) -> bytes:
    """Half of it laws, each with a text of its own, the other half one value that says what none of them does."""
    laws = "LAWS\n" + "".join(f"- L{number}: never do {_word(number):>6} again\n" for number in range(n // 60))
    return laws.encode() + b"\n" + csp("TASK", f"TASK T1\nREQ\n<<<\n{text * (n // 2 // len(text))}\n>>>")


def _laws_of_one_text(n: int) -> bytes:
    laws = "LAWS\n" + "".join(f"- L{number}: always do the thing\n" for number in range(n // 60))
    return laws.encode() + b"\n" + csp("TASK", "TASK T1\nREQ always do the thing") * (n // 160)


def _law_in_front(number: int) -> bytes:
    law = f"LAWS\n- L{number}: topic {_word(number)} -> A{number} only\n\n".encode()
    return law + csp("TASK", f"TASK T{number}\nREQ zz") + b"```\n"


def _behind_a_prefix(n: int) -> bytes:
    return b"app | DEF A = b\napp | text\n" * (n // 27) + b"app | " + _TASK.replace(b"\n", b"\napp | ")


CSP: dict[str, Callable[[int], bytes]] = {
    "csp tasks": _each(lambda number: csp("TASK", f"TASK T{number}\nREQ x\nOWNER A{number}"), 68),
    "csp results": _each(lambda number: csp("RESULT", f"RESULT T{number}\nSTATUS OK\nPRODUCED a{number}.py"), 80),
    "csp errors": _each(lambda number: csp("ERROR", f"ERROR E{number}\nAT T{number}\nCAUSE none\nNEXT try"), 80),
    "csp contexts": _each(lambda number: csp("TASK", f"TASK T{number}\nREQ x", f"C{number}"), 60),
    "csp patches": _each(_patch, 90),
    "csp patches of one name": _each(lambda number: _patch(number, "~" if number else "+", "AB"), 90),
    "csp patches without base": _each(lambda number: _patch(number, base=f"C{number + 77}"), 90),
    "csp one patch": _operations,
    "csp one patch, a name twice": lambda n: _operations(n, "+ DEF ZZ = a\n+ DEF ZZ = b\n"),
    "csp defs": lambda n: "".join(f"DEF AB{one} = v{one}\n" for one in range(n // 16)).encode() + b"\n" + _TASK,
    "csp laws": lambda n: _laws(n, "always do the thing {}", "always do the thing {}"),
    "csp laws that route": lambda n: _laws(n, "topic number x{0} -> {0} only", "topic number x{0}"),
    "csp laws, then one long value": lambda n: _laws_and_one(n, "do a thing. "),
    "csp laws of one text": _laws_of_one_text,
    "csp laws between tasks": _each(_law_in_front, 110),
    "csp preambles behind a prefix": _behind_a_prefix,
    "csp value over many lines": lambda n: csp("TASK", "TASK T1\nREQ x\n" + "y\n" * (n // 2) + "OWNER A"),
    "csp files": _each(lambda one: csp("FILE", f"FILEOP CREATE\nPATH a{one}.py\nCONTENT\n<<<\nx\n>>>"), 90),
    "csp many fields": lambda n: csp("TASK", "TASK T1\n" + "".join(f"K{one} v\n" for one in range(n // 7))),
    "csp many names": lambda n: csp("TASK", "TASK T1\nREQ x\nIN " + "AB," * (n // 3) + "AB"),
    "csp polite": lambda n: csp("TASK", "TASK T1\nREQ " + "please the " * (n // 11)),
    "csp dotted": lambda n: csp("TASK", "TASK T1\nREQ " + "a." * (n // 2)),
    "csp quoted": lambda n: csp("TASK", "TASK T1\nREQ " + '"a`' * (n // 3)),
}

# --- KickLang ---------------------------------------------------------------------------------------------------------

_DISPATCH = {"sender": "Orchestrator", "receiver": "Dima", "channel": "⫻command/dispatch"}
_VIOLATION = {
    "sender": "SystemMonitor",
    "receiver": "Broadcast",
    "type": "Alert",
    "channel": "⫻alert/violation",
    "content": "⫻alert/violation:V/1\nbad\n",
}
_QUERY = {"sender": "Dima", "receiver": "WePlan", "type": "Query", "channel": "⫻query/ask"}


def kick(number: int, **fields: Any) -> bytes:
    made = {**KICK, "id": _id(number), **fields}
    return _line({name: value for name, value in made.items() if value is not None})


def _dispatch(number: int, group: int = 0) -> bytes:
    return kick(number, **_DISPATCH, content=f"⫻task/dispatch:T-{number}/001\nx\n", correlation_id=_id(group))


def _halves(n: int, one: Callable[[int], bytes], other: Callable[[int], bytes]) -> bytes:
    """Half of the messages of one kind, then as many of the other, as many bytes as ``n`` or so."""
    count = max(n // 600, 1)
    return b"".join(map(one, range(1, count))) + b"".join(map(other, range(count, 2 * count)))


GROUP = 1 << 40
KICKS: dict[str, Callable[[int], bytes]] = {
    "kick tasks": _each(lambda number: _dispatch(number, number), 300),
    "kick tasks of one correlation": _each(lambda number: _dispatch(number, GROUP), 300),
    "kick violations": _each(lambda number: kick(number, **_VIOLATION, correlation_id=_id(GROUP)), 300),
    "kick tasks, then violations": lambda n: _halves(
        n,
        lambda number: _dispatch(number, GROUP),
        lambda number: kick(number, **_VIOLATION, correlation_id=_id(GROUP)),
    ),
    "kick violations, then escalations": lambda n: _halves(
        n,
        lambda number: kick(number, **_VIOLATION, correlation_id=_id(GROUP)),
        lambda number: kick(
            number,
            sender="Orchestrator",
            receiver="Supervisor",
            channel="⫻command/escalate",
            content="⫻command/escalate:V/1\nbad\n",
            correlation_id=_id(GROUP),
        ),
    ),
    "kick tasks, then reports of others": lambda n: _halves(
        n,
        lambda number: _dispatch(number, GROUP),
        lambda number: kick(
            number,
            sender="Dima",
            receiver="Orchestrator",
            type="Info",
            channel="⫻report/status",
            content=f"⫻task/status:X-{number}/001\nAccepted\n",
            correlation_id=_id(GROUP),
        ),
    ),
    "kick tasks, then resumptions": lambda n: _halves(
        n,
        lambda number: _dispatch(number, number),
        lambda number: kick(
            number,
            **{**_DISPATCH, "channel": "⫻command/resume"},
            content="⫻command/resume\nx\n",
            correlation_id=None,
        ),
    ),
    "kick tasks, then stops": lambda n: _halves(
        n,
        lambda number: _dispatch(number, GROUP),
        lambda number: kick(
            number,
            **{**_DISPATCH, "channel": "⫻command/stop"},
            content="⫻command/stop\nx\n",
            correlation_id=_id(GROUP),
        ),
    ),
    "kick questions, then answers": lambda n: _halves(
        n,
        lambda number: kick(
            number, **_QUERY, content="⫻query/ask:x/1\nwhat\n", correlation_id=_id(1) if number > 1 else None
        ),
        lambda number: kick(
            number,
            **{**_QUERY, "sender": "WePlan", "receiver": "Dima", "channel": "⫻query/answer"},
            content="⫻query/answer:x/1\nthat\n",
            correlation_id=_id(1),
        ),
    ),
    "kick one long content": lambda n: kick(1, content="".join(f"⫻a/b:c{one}/1\ntext\n" for one in range(n // 20))),
}

# --- SAP and SSTP -----------------------------------------------------------------------------------------------------


def sstp(document: dict[str, Any], **header: Any) -> bytes:
    return _line({**document, "header": {**document["header"], **header}})


def _evidence(n: int) -> bytes:
    made = example(Kind.EVIDENCE_BUNDLE)
    for name, value in made["payload"].items():
        if isinstance(value, list) and value and isinstance(value[0], str):
            made["payload"][name] = [f"x{one}" for one in range(n // 8)]
    return _line(made)


QUERY = example(Kind.QUERY)
OBJECTS: dict[str, Callable[[int], bytes]] = {
    "sap tasks": _each(lambda number: _line({**TASK, "taskId": _id(number), "correlationId": _id(number)}), 1050),
    "sap tasks of one correlation": _each(lambda number: _line({**TASK, "taskId": _id(number)}), 1050),
    "sap tasks in tasks": _each(
        lambda number: _line({**TASK, "taskId": _id(number), "parentTaskId": _id(number - 1) if number else None}), 1050
    ),
    "sap results": _each(lambda number: _line({**RESULT, "taskId": _id(number)}), 800),
    "sap results of one task": _each(lambda number: _line({**RESULT, "status": "RUNNING", "output": number}), 700),
    "sap many principles": lambda n: _line(
        {
            **TASK,
            "constitutionalContext": {
                **TASK["constitutionalContext"],
                "principles": [f"p{one}" for one in range(n // 20)],
                "pressure": {f"p{one}": 1 for one in range(n // 20)},
            },
        }
    ),
    "sap many tags": lambda n: _line({**TASK, "tags": [f"t{one}" for one in range(n // 8)]}),
    "sstp sessions": _each(lambda number: sstp(SSTP, session_id=f"s-{number}"), 290),
    "sstp clocks": _each(lambda number: sstp(SSTP, logical_clock=number + 1), 290),
    "sstp clocks back": _each(lambda number: sstp(SSTP, logical_clock=(1 << 30) - 2 * number), 290),
    "sstp actors": _each(lambda number: sstp(SSTP, actor_id=f"agent {number}"), 290),
    "sstp queries": _each(lambda number: sstp(QUERY, logical_clock=number + 1), 300),
    "sstp much evidence": _evidence,
}

# --- events of sessions -----------------------------------------------------------------------------------------------

EVENTS: dict[str, Callable[[int], bytes]] = {
    "events of many kinds": _each(lambda number: _line({f"k{number}": number, "say": "so"}), 24),
    "events of two kinds in turn": _each(lambda number: _line({"ab"[number % 2]: number, "say": "so"}), 20),
    "events with ever more members": lambda n: b"".join(
        _line({f"m{one}": 1 for one in range(many)}) for many in range(int((n / 4) ** 0.5))
    ),
    "events that repeat what is far back": lambda n: b"".join(
        _line({"say": f"the words of number {number % max(n // 200, 1)} again"}) for number in range(n // 50)
    ),
    "events of words of all kinds": _each(
        lambda number: _line({"say": " ".join(map(_word, range(number, number + 9)))}), 60
    ),
    "events deep in arrays": _each(lambda number: _line({"a": [[[[number, [number]]]]]}), 24),
    "one event of many members": lambda n: _line({f"k{one}": one for one in range(n // 12)}) * 2,
    "one event of many members under a long name": lambda n: _line(
        {"k" * min(n // 2, 1 << 15): {f"m{one}": 1 for one in range(n // 16)}}
    ),
    "one event of many items": lambda n: _line({"a": [{"b": one} for one in range(n // 10)]}),
}

HISTORIES = {name: cache(make) for table in (CSP, KICKS, OBJECTS, EVENTS) for name, make in table.items()}
