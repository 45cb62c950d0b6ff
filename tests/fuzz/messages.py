"""Messages of the usual form of each wire, which the quickest code reads, at the edges of tables of characters."""

from __future__ import annotations

ID, LATER = "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "1B9F0AFd-90fa-4A0F-bF0a-AF90af096b9A"
_CSP = "CSP/1\nFROM AZ_09\nTO Z9\nCTX C90\nINTENT "
_SSTP = (
    '{"header":{"kind":"%s","actor_id":"a","schema_id":"ioc.%s.v0","session_id":"s","logical_clock":909},'
    '"payload":{%s}}'
)
_SAP = f'{{"protocolVersion":"2.0","taskId":"{ID}","correlationId":"{LATER}","%s":"2024-02-29T23:59:59Z",'
_LETTER = (
    f'{{"id":"{ID}","timestamp":"2026-12-31T23:59:59Z","sender":"Orchestrator","receiver":"WePlan","type":"Command",'
    '"channel":"\u2afbcommand/dispatch","content":"%s"}'
)
MESSAGES: dict[str, tuple[str, ...]] = {
    "nslip": (
        '@a3|f0|c0z|S0|d1|TZ9|gAa|k90|t"he\\"l\u00e9o"#',
        '@a5|f2|cLygHa16AHYF|S3|dZz|TA0|t"twelve bytes of text and more than thirty-two of them"#',
    ),
    "csp": (
        f"{_CSP}PATCH\n\nPATCH P90\nBASE C90\n+ DEF Z_09A = x/\n~ DEF A0 := y z\n- DEF Z9\nAPPLY -> C91\n",
        f"{_CSP}FILE\n\nFILEOP F090 PATCH\nPATH a b.ts\nBASE h1\nCONTENT\n<<<\n>>> x\nCSP/1\n>>>\n",
        f"{_CSP}TASK\n\nTASK T090\nREQ find it\nIN SRC,LIB\nOUT FILE_REFS\nOWNER A_9\nPRIORITY P3\n",
        f"{_CSP}RESULT\n\nRESULT T090\nSTATUS OK\nPRODUCED Z_9\nDATA a:1-2;b:3\n",
        f"{_CSP}RESULT\n\nRESULT T090\nSTATUS PARTIAL\n",
        f"{_CSP}RESULT\n\nRESULT T090\nSTATUS FAIL\nDATA\n<<<-\n>>\n>>>\n",
        f"{_CSP}MEM\n\nMEM Z_09\nAZ_09 x y\nZ9 z\n",
    ),
    "sstp": (
        _SSTP
        % (
            "query",
            "query",
            '"question":"q\\u0AF9\\u90fa","required_fields":["a","b"],"uncertainty":0.509,"directed_to":"b"',
        ),
        _SSTP
        % (
            "evidence_bundle",
            "evidence",
            '"claim":"c","artifacts":[{"type":"fact","name":"n","value":"v"}],"verdict":"pass","checks_run":[]',
        ),
    ),
    "sap": (
        _SAP % "issuedAt" + '"issuer":{"agentId":"A","agentKind":"agent"},"target":{"agentId":"B","capability":"c.d"},'
        '"constitutionalContext":{"pressureLevel":"instant","pressure":{"a":99}},"payload":{"t":-9.09e09,"u":909,"v":[true,"\\u90fa"]},"parentTaskId":null}',
        _SAP
        % "reportedAt"
        + '"producer":{"agentId":"B","agentKind":"agent"},"status":"FAILED","output":{"x":"\u00e9","\\u0AF9":0},'
        '"constitutionalEvidence":{"alignment":"VALID"},"error":{"code":"TIMEOUT","message":"m"}}',
    ),
    "kick": (
        _LETTER % r"\u2afbgoal\nwin",
        _LETTER % "\u2afbgoal\\nwin\\n",
        _LETTER % "\u2afbtask/azAZ_09:WePlan/090\\nx\\n\u2afbdata\\n1",
    ),
}
"""Messages of the usual form, which the quickest code reads. Words and numbers begin and end with the first and the
last of their letters and digits: what is beside each of them in the table of characters is none any more."""
