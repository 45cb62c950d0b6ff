"""Sessions to measure: real ones, and generated ones of every wire, of tool calls and of traces, the same at every run.

Nothing here uses ``turnwire.session``. Every generator takes a seed and how many events are wanted; what it gives are
JSON objects as ``turnwire.tokens`` sees the messages of that wire.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import turnwire
from turnwire.tokens.comparison import plain

ROOT = Path(__file__).parent.parent
VERBS = [
    "review",
    "refactor",
    "test",
    "document",
    "deploy",
    "profile",
    "migrate",
    "inspect",
    "summarise",
    "translate",
    "index",
    "validate",
]
THINGS = [
    "the payment service",
    "login page",
    "nightly export",
    "search index",
    "billing report",
    "mobile client",
    "cache layer",
    "mail queue",
    "access log",
    "release notes",
    "user table",
    "error budget",
    "retry policy",
    "schema of orders",
    "session store",
]
REASONS = [
    "before the release on Friday",
    "because customers complained",
    "so that the tests pass again",
    "as agreed in the review",
    "with the new limits in mind",
    "and list what is still open",
    "without touching the public interface",
]
FILES = [
    f"src/{place}/{name}.py" for place in ("api", "core", "web", "jobs") for name in ("views", "models", "util", "auth")
]
Event = dict[str, Any]


class Source:
    """Random words, ids and times."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = datetime(2026, 1, 5, 9, 30, tzinfo=UTC) + timedelta(seconds=self.random.randrange(10**6))

    def pick(self, given: Any) -> Any:
        return self.random.choice(given)

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def token(self, size: int) -> str:
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        return "".join(self.random.choice(letters) for _ in range(size))

    def time(self, most: int = 90) -> str:
        self.now += timedelta(seconds=self.random.randrange(1, most))
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def task(self) -> str:
        return f"{self.pick(VERBS)} {self.pick(THINGS)} {self.pick(REASONS)}"

    def code(self) -> str:
        lines = [f"def {self.pick(VERBS)}_{self.random.randrange(100)}(self, value):"]
        for _ in range(self.random.randrange(2, 9)):
            name = self.pick(["total", "found", "rows", "index"])
            lines.append(f"    {name} = self.{self.pick(VERBS)}(value, {self.random.randrange(50)})")
        return "\n".join([*lines, "    return value", ""])


def real_nslip(seed: int, count: int) -> list[Event]:
    """Consecutive real messages, from a conversation's beginning on."""
    lines = _upstream()
    start = random.Random(seed).randrange((len(lines) - count) // 4) * 4
    return [plain(turnwire.decode(line)) for line in lines[start : start + count]]


def interleaved_nslip(seed: int, count: int) -> list[Event]:
    """Four real conversations at a time, in any order; each is followed by the next."""
    lines, rnd = _upstream(), random.Random(seed)
    at = [rnd.randrange(len(lines) // 4 - count) * 4 for _ in range(4)]
    found = []
    while len(found) < count:
        one = rnd.randrange(4)
        found.append(plain(turnwire.decode(lines[at[one]])))
        at[one] += 1
    return found


def _upstream() -> list[str]:
    return (ROOT / "examples/data/nslip_upstream.txt").read_text("utf-8").split("\n")[:-1]


def real_sstp(seed: int, count: int) -> list[Event]:
    """The 16 real SSTP messages."""
    return [json.loads(line) for line in (ROOT / "tests/data/sstp_real.jsonl").read_text("utf-8").split("\n") if line]


def longer_sstp(seed: int, count: int) -> list[Event]:
    """The real SSTP messages again and again: each time another session, the words of each text in another order."""
    rnd = random.Random(seed)

    def other(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: other(each) for key, each in value.items()}
        if isinstance(value, list):
            return [other(each) for each in value]
        words = value.split(" ") if isinstance(value, str) else []
        return " ".join(rnd.sample(words, len(words))) if len(words) > 3 else value

    found: list[Event] = []
    while len(found) < count:
        for event in real_sstp(seed, count):
            again = other(event)
            again["header"]["session_id"] = f"{event['header']['session_id'][:-3]}{len(found) // 16 + 1:03}"
            found.append(again)
    return found[:count]


def sap(seed: int, count: int) -> list[Event]:
    """Tasks and their results, one to four of a correlation."""
    source, found = Source(seed), []
    agents = [f"{name}-{source.token(4)}" for name in ("planner", "coder", "critic", "archivist")]
    while len(found) < count:
        correlation = source.uuid()
        for _ in range(source.random.randrange(1, 5)):
            task, issuer, worker = source.uuid(), source.pick(agents), source.pick(agents)
            capability = source.pick(["code.review", "consult.align", "doc.write", "data.query"])
            found.append(
                {
                    "protocolVersion": "2.0",
                    "taskId": task,
                    "correlationId": correlation,
                    "issuedAt": source.time(),
                    "issuer": {"agentId": issuer, "agentKind": "agent"},
                    "target": {"agentId": worker, "capability": capability},
                    "constitutionalContext": {
                        "territory": source.pick(["delivery", "research"]),
                        "pressureLevel": source.pick(["instant", "consulted"]),
                        "principles": ["clarity", "no-harm"],
                    },
                    "payload": {"goal": source.task(), "depth": source.random.randrange(1, 4)},
                }
            )
            failed = source.random.random() < 0.15
            result: Event = {
                "protocolVersion": "2.0",
                "taskId": task,
                "correlationId": correlation,
                "reportedAt": source.time(),
                "producer": {"agentId": worker, "agentKind": "agent"},
                "status": "FAILED" if failed else "SUCCEEDED",
            }
            if failed:
                result["error"] = {"code": "TIMEOUT", "message": f"no answer: {source.task()}"}
            else:
                result["output"] = {"summary": source.task(), "score": round(source.random.random(), 2)}
            result["constitutionalEvidence"] = {
                "alignment": "ESCALATE" if failed else "VALID",
                "policyChecks": [{"name": "no-harm", "outcome": "pass"}],
            }
            result["cache"] = {"hit": source.random.random() < 0.3}
            found.append(result)
    return found[:count]


def kick(seed: int, count: int) -> list[Event]:
    """Commands, what becomes of them, queries and alerts."""
    source, found = Source(seed), []
    workers = ["PromptEngineer", "SystemMonitor", "RoleDefiner", "Dima"]

    def envelope(sender: str, receiver: str, kind: str, channel: str, content: str, correlation: str | None) -> None:
        event = {"id": source.uuid(), "timestamp": source.time(), "sender": sender, "receiver": receiver}
        event |= {"type": kind, "channel": channel, "content": content}
        found.append(event if correlation is None else event | {"correlation_id": correlation})

    number = 0
    while len(found) < count:
        number += 1
        worker, correlation = source.pick(workers), source.uuid()
        place = f"T-{number}"
        envelope(
            "Orchestrator",
            worker,
            "Command",
            "⫻command/execute",
            f"⫻task/dispatch:{place}/001\n{source.task()}",
            correlation,
        )
        for status in ("Accepted", "In Progress", "Completed"):
            text = f"⫻task/status:{place}/001\n{status}"
            if status == "Completed":
                text += f"\n\n⫻data/artifact:out/{place}\n{source.task()}"
            envelope(worker, "Orchestrator", "Info", "⫻report/progress", text, correlation)
        if source.random.random() < 0.2:
            envelope(worker, "Broadcast", "Alert", "⫻alert/load", f"⫻alert/load:cpu/{number}\n{source.task()}", None)
    return found[:count]


def csp(seed: int, count: int) -> list[Event]:
    """Tasks, their results, errors and patches."""
    source, texts = Source(seed), []
    number = 0
    while len(texts) < count:
        number += 1
        expert, task = source.pick(["CODE_EXP", "TEST_EXP", "DOC_EXP"]), f"T{number:03}"
        ctx = f"C{number // 9}"
        texts.append(
            f"CSP/1\nFROM MAIN\nTO {expert}\nCTX {ctx}\nINTENT TASK\n\nTASK {task}\nREQ {source.task()}\n"
            f"IN {source.pick(FILES)}\nOUT FILE_REFS\nOWNER {expert}\nPRIORITY P{source.random.randrange(1, 4)}\n"
        )
        if source.random.random() < 0.15:
            texts.append(
                f"CSP/1\nFROM {expert}\nTO MAIN\nCTX {ctx}\nINTENT ERROR\n\nERROR E{number:03}\nAT {task}\n"
                f"CAUSE cannot {source.task()}\nNEXT {source.task()}\n"
            )
        else:
            first = source.random.randrange(1, 300)
            texts.append(
                f"CSP/1\nFROM {expert}\nTO MAIN\nCTX {ctx}\nINTENT RESULT\n\nRESULT {task}\nSTATUS OK\n"
                f"PRODUCED REFS_{number:03}\nDATA {source.pick(FILES)}:{first}-{first + source.random.randrange(60)}\n"
            )
    return [plain(turnwire.decode(text)) for text in texts[:count]]


def _arguments(source: Source, tool: str) -> Event:
    if tool == "read_file":
        return {"path": source.pick(FILES), "limit": source.pick([100, 200])}
    if tool == "search":
        return {"query": source.task(), "glob": "**/*.py"}
    return {"command": f"pytest -q {source.pick(FILES)} -k {source.pick(VERBS)}"}


def _answer(source: Source, tool: str) -> str:
    if tool == "read_file":
        return source.code()
    if tool == "search":
        hits = [
            {"file": source.pick(FILES), "line": source.random.randrange(400), "text": source.task()}
            for _ in range(source.random.randrange(1, 5))
        ]
        return json.dumps({"hits": hits})
    return f"{source.random.randrange(1, 40)} passed in {source.random.random() * 9:.2f}s"


def openai_tools(seed: int, count: int) -> list[Event]:
    """Chat messages with tool calls as OpenAI's API has them."""
    source = Source(seed)
    found: list[Event] = [{"role": "system", "content": "You are a careful programmer."}]
    while len(found) < count:
        found.append({"role": "user", "content": source.task()})
        for _ in range(source.random.randrange(1, 5)):
            calls = [
                (f"call_{source.token(24)}", source.pick(["read_file", "search", "run"]))
                for _ in range(source.pick([1, 1, 1, 2]))
            ]
            found.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": name,
                            "type": "function",
                            "function": {"name": tool, "arguments": json.dumps(_arguments(source, tool))},
                        }
                        for name, tool in calls
                    ],
                }
            )
            found += [{"role": "tool", "tool_call_id": name, "content": _answer(source, tool)} for name, tool in calls]
        found.append({"role": "assistant", "content": f"I did {source.task()}: {source.task()}."})
    return found[:count]


def anthropic_tools(seed: int, count: int) -> list[Event]:
    """Chat messages with blocks of tool use as Anthropic's API has them."""
    source = Source(seed)
    found: list[Event] = []
    while len(found) < count:
        found.append({"role": "user", "content": source.task()})
        for _ in range(source.random.randrange(1, 5)):
            name, tool = f"toolu_01{source.token(22)}", source.pick(["read_file", "search", "run"])
            blocks: list[Event] = [{"type": "text", "text": f"Next I {source.task()}."}] * source.pick([0, 1])
            blocks.append({"type": "tool_use", "id": name, "name": tool, "input": _arguments(source, tool)})
            found.append({"role": "assistant", "content": blocks})
            answer = {"type": "tool_result", "tool_use_id": name, "content": _answer(source, tool)}
            found.append({"role": "user", "content": [answer]})
        found.append({"role": "assistant", "content": [{"type": "text", "text": f"I did {source.task()}."}]})
    return found[:count]


def trace(seed: int, count: int) -> list[Event]:
    """Spans of agents' work."""
    source, found = Source(seed), []
    clock = 1_767_605_400_000_000 + source.random.randrange(10**9)
    while len(found) < count:
        trace_id, parent = source.random.randbytes(16).hex(), None
        for _ in range(source.random.randrange(3, 8)):
            span = source.random.randbytes(8).hex()
            clock += source.random.randrange(200, 90_000)
            kind = source.pick(["llm.chat", "tool.call", "db.query"])
            attributes: Event = {"agent": source.pick(["planner", "coder", "critic"])}
            if kind == "llm.chat":
                attributes |= {
                    "model": source.pick(["large-2", "small-1"]),
                    "input_tokens": source.random.randrange(200, 9000),
                    "output_tokens": source.random.randrange(10, 900),
                }
            elif kind == "tool.call":
                attributes |= {"tool": source.pick(["read_file", "search", "run"]), "ok": source.random.random() < 0.9}
            else:
                attributes |= {"rows": source.random.randrange(500)}
            found.append(
                {
                    "trace_id": trace_id,
                    "span_id": span,
                    "parent_id": parent,
                    "name": kind,
                    "start_us": clock,
                    "duration_us": source.random.randrange(50, 50_000),
                    "status": source.pick(["OK", "OK", "OK", "ERROR"]),
                    "attributes": attributes,
                }
            )
            parent = parent or span
    return found[:count]


def mixed(seed: int, count: int) -> list[Event]:
    """Messages of all five wires, each wire's in order, interleaved."""
    rnd = random.Random(seed)
    queues = [source(seed, count) for source in (real_nslip, real_sstp, sap, kick, csp)]
    at = [0] * len(queues)
    found = []
    while len(found) < count:
        one = rnd.randrange(len(queues))
        if at[one] < len(queues[one]):
            found.append(queues[one][at[one]])
            at[one] += 1
    return found


SESSIONS: dict[str, tuple[str, Callable[[int, int], list[Event]]]] = {
    "nSLIP, consecutive": ("real", real_nslip),
    "nSLIP, four conversations interleaved": ("real", interleaved_nslip),
    "SAP": ("generated", sap),
    "KickLang": ("generated", kick),
    "CSP/1": ("generated", csp),
    "SSTP (16)": ("real", real_sstp),
    "tool calls, OpenAI": ("generated", openai_tools),
    "tool calls, Anthropic": ("generated", anthropic_tools),
    "trace events": ("generated", trace),
    "mixed, five wires": ("mixed", mixed),
}
"""The traffic measured: name -> (where it comes from, generator)."""
