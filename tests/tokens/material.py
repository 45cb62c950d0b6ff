"""Messages of every wire, and what it takes to write them in the others."""

from __future__ import annotations

import itertools
from typing import Any

import turnwire
from turnwire.conversion import Context

REQUEST = '@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#'
UUID = "123e4567-e89b-42d3-a456-426614174000"
OTHER = "9b2c8a3e-1f44-4c1a-8f64-1d8f5a6b7c8d"
CSP = "CSP/1\nFROM planner\nTO worker\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ fix the parser\nPRIORITY P1\n"
PATCH = "CSP/1\nFROM a\nTO b\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF X = 1\n- DEF Y\nAPPLY -> C1\n"
SSTP = (
    '{"header":{"kind":"query","actor_id":"a","schema_id":"ioc.query.v0","session_id":"s","logical_clock":1},'
    '"payload":{"question":"how many?","required_fields":["n"],"uncertainty":1.0,"directed_to":"b"}}'
)
SAP = (
    f'{{"protocolVersion":"2.0","taskId":"{UUID}","correlationId":"{OTHER}","issuedAt":"2026-01-01T00:00:00Z",'
    '"issuer":{"agentId":"a","agentKind":"agent"},"target":{"capability":"x.y"},'
    '"constitutionalContext":{"pressureLevel":"instant"},"payload":{"text":"do it"}}'
)
KICK = (
    f'{{"id":"{UUID}","timestamp":"2026-01-01T00:00:00Z","sender":"Orchestrator","receiver":"Dima","type":"Command",'
    f'"channel":"⫻command/dispatch","content":"⫻task/dispatch:T-7/001\\ndo it\\n","correlation_id":"{OTHER}"}}'
)
TEXTS = {"nslip": REQUEST, "csp": CSP, "sstp": SSTP, "sap": SAP, "kick": KICK}
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e</style>"


def hostile(text: str = HOSTILE) -> Any:
    """An nSLIP message whose text would like to be markup."""
    message = turnwire.decode(REQUEST)
    message.slots[turnwire.nslip.Slot.TAG] = text
    return message


def context() -> Context:
    """Names, ids and a time, always the same."""
    numbers = itertools.count(1)
    return Context(
        agents={"planner": 0, "worker": 1, "critic": 2, "tester": 3},
        uuids={str(number): f"{number:08x}-1111-4111-8111-111111111111" for number in range(1, 20)},
        roles={"planner": "Orchestrator", "worker": "PromptEngineer"},
        now="2026-01-01T00:00:00Z",
        new_id=lambda: f"{next(numbers):08x}-2222-4222-8222-222222222222",
        defaults={
            "sap": {
                "constitutionalContext.pressureLevel": "instant",
                "issuer.agentKind": "agent",
                "target.capability": "task.run",
            },
            "sstp": {
                "payload.required_capabilities": [],
                "payload.output_schema_id": "ioc.result.v0",
                "payload.evaluation_criteria": "",
            },
        },
    )
