"""Every single edit of a message: what stands at each place made another byte, left out, or written twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

SIGNS = b'"\\\n \r0@A_`z{[,#\x80'
"""What is written in each place, beside the neighbours of what stands there."""
ID, LATER = "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"
_CSP = "CSP/1\nFROM MAIN\nTO B_1\nCTX C0\nINTENT "
_SSTP = (
    '{"header":{"kind":"%s","actor_id":"a","schema_id":"ioc.%s.v0","session_id":"s","logical_clock":12},"payload":{%s}}'
)
_SAP = f'{{"protocolVersion":"2.0","taskId":"{ID}","correlationId":"{LATER}","%s":"2025-09-28T10:15:23Z",'
_LETTER = (
    f'{{"id":"{ID}","timestamp":"2026-01-15T10:00:00Z","sender":"Orchestrator","receiver":"WePlan","type":"Command",'
    '"channel":"\u2afbcommand/dispatch","content":"%s"}'
)
MESSAGES: dict[str, tuple[str, ...]] = {
    "nslip": (
        '@a3|f0|c1x|S0|d1|TZ9|gH|k7|t"he\\"l\u00e9o"#',
        '@a5|f2|cLygHa16AHYF|S3|dZz|T10|t"twelve bytes of text and more than thirty-two of them"#',
    ),
    "csp": (
        f"{_CSP}PATCH\n\nPATCH P1\nBASE C0\n+ DEF T_1 = x/\n~ DEF SRC := y z\n- DEF LIB\nAPPLY -> C1\n",
        f"{_CSP}FILE\n\nFILEOP F001 PATCH\nPATH a b.ts\nBASE h1\nCONTENT\n<<<\n>>> x\nCSP/1\n>>>\n",
        f"{_CSP}TASK\n\nTASK T001\nREQ find it\nIN SRC,LIB\nOUT FILE_REFS\nOWNER B_1\nPRIORITY P1\n",
        f"{_CSP}RESULT\n\nRESULT T001\nSTATUS OK\nPRODUCED F_1\nDATA a:1-2;b:3\n",
    ),
    "sstp": (
        _SSTP % ("query", "query", '"question":"q\\n","required_fields":["a","b"],"uncertainty":0.5,"directed_to":"b"'),
        _SSTP
        % (
            "evidence_bundle",
            "evidence",
            '"claim":"c","artifacts":[{"type":"fact","name":"n","value":"v"}],"verdict":"pass","checks_run":[]',
        ),
    ),
    "sap": (
        _SAP % "issuedAt" + '"issuer":{"agentId":"A","agentKind":"agent"},"target":{"agentId":"B","capability":"c.d"},'
        '"constitutionalContext":{"pressureLevel":"instant","pressure":{"a":41}},"payload":{"t":-1.5e3},"parentTaskId":null}',
        _SAP
        % "reportedAt"
        + '"producer":{"agentId":"B","agentKind":"agent"},"status":"FAILED","output":{"x":"\u00e9"},'
        '"constitutionalEvidence":{"alignment":"VALID"},"error":{"code":"TIMEOUT","message":"m"}}',
    ),
    "kick": (
        _LETTER % r"\u2afbgoal\nwin",
        _LETTER % "\u2afbgoal\\nwin\\n",
        _LETTER % "\u2afbtask/a:WePlan/001\\nx\\n\u2afbdata\\n1",
    ),
}
"""Messages of the usual form, which the quickest code reads."""


def edits(text: bytes, step: int = 1) -> Iterator[bytes]:
    """All single edits, and every beginning. step: in each place only one in so many bytes is written, others in the
    places beside it."""
    for place, byte in enumerate(text):
        written = tuple(dict.fromkeys((*SIGNS, (byte + 1) & 255, (byte - 1) & 255, byte ^ 32)))
        for new in written[place % step :: step]:
            if new != byte:
                yield text[:place] + bytes([new]) + text[place + 1 :]
        yield text[:place] + text[place + 1 :]
        yield text[:place] + text[place : place + 1] * 2 + text[place + 1 :]
        yield text[:place]


def log(edited: Iterable[bytes], wire: str) -> bytes:
    """All of them as one log, none the neighbour of the other."""
    between = b"\n```\n" if wire == "csp" else b"\n"
    return between.join(edited) + b"\n"
