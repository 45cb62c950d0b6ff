"""Logs of CSP/1 that break a clause each, and such that keep all; then conversations. A case is (name, log)."""

from __future__ import annotations

import json

from tests.read.honest.containers import fenced, held, in_json, lines
from tests.read.honest.nslip import BACK, PLAN


def csp(block: str, ctx: str = "C0", way: str = "MAIN CODE_EXP", intent: str = "") -> str:
    """A message: the header, and the block whose first word tells the intent."""
    sender, receiver = way.split()
    word = block.split()[0]
    intent = intent or word.replace("FILEOP", "FILE")
    return f"CSP/1\nFROM {sender}\nTO {receiver}\nCTX {ctx}\nINTENT {intent}\n\n{block}\n"


DEFS = "DEF SRC = src/\nDEF LIB = lib/\nDEF CODE_EXP = code-explorer\nDEF WEB_RES = web-researcher\nDEF CODER = coder\n"
LAWS = "LAWS\n- L1: Web search/fetch -> WEB_RES only\n- L2: Codebase exploration -> CODE_EXP only\n"
TASK = csp("TASK T001\nREQ find auth middleware\nIN SRC,LIB\nOUT FILE_REFS\nOWNER CODE_EXP\nPRIORITY P1")
DONE = csp("RESULT T001\nSTATUS OK\nPRODUCED FILE_REFS_001\nDATA src/auth.ts:24-67", way="CODE_EXP MAIN")
FAILED = csp("ERROR E001\nAT T001\nCAUSE no matches found\nNEXT try broader scope", way="CODE_EXP MAIN")
PATCH = csp("PATCH P001\nBASE C0\n+ DEF AUTH = src/auth.ts\n~ DEF LIB := libs/\n- DEF CODER\nAPPLY -> C1")
UNKNOWN = "\n".join((PATCH, TASK.replace("IN SRC,LIB", "IN SRC,CODER").replace("C0", "C1"), DONE.replace("C0", "C1")))
"""A task whose scope was taken back before."""
STATE = f"{DEFS}\n{TASK}\n{DONE}\n"


def log_of(*messages: str) -> str:
    """Messages one after the other."""
    return "\n".join(messages)


def behind(text: str, prefix: str = "2026-01-05 10:00:00 bus: ") -> str:
    """Each line behind the same prefix."""
    return lines(*(f"{prefix}{line}".rstrip() for line in text.splitlines()))


BROKEN: dict[str, str] = {
    "nobody to send to": log_of(TASK, DONE).replace("TO MAIN\n", ""),
    "no CTX": in_json(TASK, DONE.replace("CTX C0\n", "")),
    "an intent that is none": fenced(TASK.replace("INTENT TASK", "INTENT WORK"), DONE),
    "another block than the intent": behind(log_of(TASK, DONE.replace("INTENT RESULT", "INTENT TASK"))),
    "the header in another order": log_of(TASK, DONE.replace("FROM CODE_EXP\nTO MAIN", "TO MAIN\nFROM CODE_EXP")),
    "a task without REQ": in_json(TASK.replace("REQ find auth middleware\n", ""), DONE),
    "a priority beyond the table": fenced(TASK.replace("P1", "P4"), DONE),
    "a status beyond the table": log_of(TASK, DONE.replace("OK", "DONE")),
    "a result of no task": log_of(TASK, DONE, DONE.replace("T001", "T002")),
    "a task answered twice": in_json(TASK, DONE, DONE.replace("24-67", "24-68")),
    "an error of no task": log_of(TASK, DONE, FAILED.replace("T001", "T009")),
    "an error without a cause": in_json(TASK, FAILED.replace("CAUSE no matches found\n", "")),
    "a name defined twice": f"{STATE}{PATCH.replace('AUTH', 'SRC')}",
    "a change of no name": f"{STATE}{PATCH.replace('~ DEF LIB', '~ DEF LIBS')}",
    "a patch that leads nowhere": fenced(DEFS, PATCH.replace("APPLY -> C1\n", "")),
    "an unknown checkpoint": log_of(DEFS, TASK.replace("CTX C0", "CTX C9"), DONE),
    "an old checkpoint": log_of(DEFS, PATCH, TASK, DONE),
    "a file operation of another word": csp("FILEOP F001 RENAME\nPATH src/a.ts\nBASE abc1234"),
    "content without a heredoc": in_json(csp("FILEOP F001 CREATE\nPATH src/a.ts\nCONTENT x = 1")),
    "a heredoc that stays open": log_of(csp("FILEOP F001 CREATE\nPATH src/a.ts\nCONTENT\n<<<\nx = 1"), TASK, DONE),
    "a file operation without a path": csp("FILEOP F001 CREATE\nCONTENT\n<<<\nx = 1\n>>>"),
    "a task for another than the law says": log_of(
        DEFS, LAWS, TASK.replace("find auth middleware", "web search for auth libraries"), DONE
    ),
    "an unknown key": in_json(TASK.replace("PRIORITY P1", "DEADLINE noon"), DONE),
    "a header of another version": log_of(TASK, DONE.replace("CSP/1", "CSP/2")),
    "a header in lower case": log_of(TASK.replace("CSP/1", "csp/1"), DONE),
    "two blocks": fenced(TASK + "RESULT T001\nSTATUS OK\n"),
    "a checkpoint that is stated again": log_of(DEFS, TASK, DONE, "DEF SRC = sources/\n"),
    "a patch id twice": log_of(DEFS, PATCH, PATCH.replace("C0", "C1").replace("AUTH", "B")),
    "a sender of two words": log_of(TASK, DONE.replace("FROM CODE_EXP", "FROM CODE EXP")),
    "a task number without a T": in_json(TASK.replace("TASK T001", "TASK 1"), DONE),
    "a field twice": log_of(TASK.replace("IN SRC", "IN LIB\nIN SRC"), DONE),
    "no blank line": log_of(TASK.replace("TASK\n\nTASK", "TASK\nTASK"), DONE),
}
GOOD: dict[str, str] = {
    "the examples of the specification": log_of(DEFS, LAWS, TASK, DONE),
    "an error answers": log_of(DEFS, TASK, FAILED),
    "in JSON": in_json(TASK, DONE),
    "behind a prefix": behind(log_of(TASK, DONE)),
    "in a fence": fenced(TASK, DONE),
    "a patch, and what follows": log_of(
        DEFS, TASK, DONE, PATCH, *(one.replace("C0", "C1").replace("001", "2") for one in (TASK, DONE))
    ),
    "words of politeness in names": log_of(
        TASK.replace("auth middleware", "hello.ts, str.cheers and the thanks page"), DONE
    ),
    "magic in a heredoc": csp("FILEOP F001 CREATE\nPATH docs/csp.md\nCONTENT\n<<<\nCSP/1\nFROM A\n>>>\n").rstrip("\n")
    + "\n",
    "line ends of Windows": log_of(TASK, DONE).replace("\n", "\r\n"),
    "a template": "CSP/1;!prose;DATA ONLY\nRESULT{STATUS,DATA[file:line]}\nTASK REQ:find IN:SRC OUT:FILE_REFS\n\n"
    + TASK
    + "\n"
    + DONE,
    "plans, questions and memory": log_of(
        csp("PLAN PL1\nSTEPS a;b"), csp("QUERY Q1\nASK which file"), csp("MEM M1\nNODE auth")
    ),
    "a long heredoc": csp("FILEOP F001 PATCH\nPATH src/f.ts\nBASE hash123\nCONTENT\n<<<\n@@ -1 +1 @@\n-a\n+b\n>>>"),
    "a partial result, then the whole": log_of(TASK, DONE.replace("OK", "PARTIAL"), DONE),
}


def again(message: str, number: int, ctx: str = "C0") -> str:
    """The same message about another task, at another checkpoint."""
    return message.replace("001", f"{number:03}").replace("CTX C0", f"CTX {ctx}")


WEB = csp("TASK T002\nREQ fetch web page of the library\nOWNER CODER", way="MAIN CODER")
WEB_DONE = csp("RESULT T002\nSTATUS OK\nDATA none", way="CODER MAIN")
SECOND = PATCH.replace("P001", "P002").replace("AUTH", "API").replace("~ DEF LIB := libs/\n- DEF CODER\n", "")
FILE = csp("FILEOP F001 CREATE\nPATH src/a.ts\nCONTENT\n<<<\nx = 1\n>>>")

BROKEN |= {
    "an answer behind an answer": log_of(DEFS, TASK, FAILED, DONE, again(TASK, 2), again(DONE, 2), again(DONE, 2)),
    "the web by another than the law says": log_of(DEFS, LAWS, TASK, DONE, WEB, WEB_DONE),
    "two patches of one base": log_of(DEFS, PATCH, SECOND),
    "a patch at an old checkpoint": log_of(
        DEFS, PATCH, SECOND.replace("BASE C0", "BASE C1").replace("-> C1", "-> C2"), TASK, DONE
    ),
    "a patch to a checkpoint that is there": log_of(
        DEFS, PATCH, SECOND.replace("BASE C0", "BASE C1").replace("CTX C0", "CTX C1").replace("-> C1", "-> C0")
    ),
    "a name removed twice": log_of(DEFS, PATCH, csp("PATCH P002\nBASE C1\n- DEF CODER\nAPPLY -> C2", ctx="C1")),
    "a name that a patch took away": log_of(
        DEFS,
        PATCH,
        again(TASK, 1, "C1").replace("SRC,LIB", "SRC,CODER").replace("OWNER CODE_EXP\n", ""),
        again(DONE, 1, "C1"),
    ),
    "a heredoc that is longer than its end": log_of(TASK, DONE, FILE.replace("<<<", "<<<<")),
    "prose in a log of nothing else": log_of(TASK, "Thanks, that helped a lot!\n", DONE),
    "a damaged one in JSON": in_json(TASK, DONE.replace("STATUS OK\n", "")),
    "a damaged one behind a prefix": behind(log_of(TASK, DONE.replace("STATUS OK", "STATUS FINE"))),
    "a message without a block": log_of(TASK, DONE, "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT QUERY\n"),
    "a task of another form of id": log_of(DEFS, TASK.replace("T001", "TASK1"), DONE.replace("T001", "TASK1")),
    "a law stated again": log_of(DEFS, LAWS, TASK, DONE, LAWS.replace("WEB_RES", "CODER")),
    "an intent in lower case": fenced(TASK.replace("INTENT TASK", "INTENT task"), DONE),
    "keys with colons": log_of(TASK.replace("REQ find", "REQ: find"), DONE),
    "an arrow left out": log_of(DEFS, PATCH.replace("APPLY -> C1", "APPLY C1")),
    "the wrong sign": log_of(DEFS, PATCH.replace("+ DEF AUTH =", "+ DEF AUTH :=")),
    "a byte order mark": "\ufeff" + log_of(TASK, DONE),
    "a JSON line between": log_of(TASK, DONE.replace("CTX C0", "CTX")),
    "tabs for spaces": log_of(TASK.replace("FROM MAIN", "FROM\tMAIN"), DONE),
}
GOOD |= {
    "four checkpoints": log_of(
        DEFS,
        *(
            part
            for number in range(4)
            for part in (
                again(TASK, number + 1, f"C{number}"),
                again(DONE, number + 1, f"C{number}"),
                csp(
                    f"PATCH P{number}\nBASE C{number}\n+ DEF N{number} = v{number}\nAPPLY -> C{number + 1}",
                    f"C{number}",
                ),
            )
        ),
    ),
    "an answer at the checkpoint of its task": log_of(DEFS, TASK, PATCH, DONE),
    "the web by whom the law names": log_of(
        DEFS, LAWS, WEB.replace("CODER", "WEB_RES"), WEB_DONE.replace("CODER", "WEB_RES")
    ),
    "a task given again after it failed": log_of(TASK, FAILED, TASK, DONE),
    "several tasks at once": log_of(
        *(again(TASK, number) for number in range(5)), *(again(DONE, number) for number in range(5))
    ),
    "a diff that holds ends of heredocs": csp("FILEOP F001 CREATE\nPATH a\nCONTENT\n<<<<\n>>>\n<<<\n>>>>"),
    "other wires beside it": lines(PLAN) + log_of(TASK, DONE) + "\n" + lines(BACK),
    "prefixes and times": behind(log_of(TASK, DONE, FILE), "Jan  5 10:00:00 host agent[1]: "),
    "names of agents that are not defined": log_of(
        TASK.replace("CODE_EXP", "helper-2"), DONE.replace("CODE_EXP", "helper-2")
    ),
}

BROKEN |= {
    "a law that a string states": in_json(log_of(DEFS, LAWS, WEB, WEB_DONE)),
    "a scope that is not defined, in a string in a string": in_json(in_json(log_of(DEFS, UNKNOWN))),
    "a name defined twice, indented": behind(log_of(DEFS, PATCH.replace("AUTH = ", "SRC = ")), "    "),
    "a law behind prefixes": behind(log_of(DEFS, LAWS, WEB, WEB_DONE)),
}
GOOD |= {
    "a state that a string defines": in_json(log_of(DEFS, LAWS, TASK, DONE, PATCH)),
    "a state that is indented": behind(log_of(DEFS, LAWS, TASK, DONE, PATCH), "    "),
    "a state behind prefixes": behind(log_of(DEFS, LAWS, TASK, DONE, PATCH)),
}

BROKEN |= {
    f"{text!r} {place}": log
    for text in (
        "I have now looked at everything you asked for.",
        "Sure! Here is the task:",
        "Thanks, that helped a lot!",
        "And here's the next one:",
    )
    for place, log in {
        **held(TASK, text, DONE),
        "indented": behind(log_of(TASK, text, DONE), "    "),
        "quoted": behind(log_of(TASK, text, DONE), "> "),
    }.items()
}
BROKEN |= {
    f"other text {place}": log
    for place, log in {
        "in a string": in_json(log_of(TASK, "the task is on its way", DONE)),
        "in front in a string": in_json(log_of("next task", TASK, DONE)),
        "indented": behind(log_of(TASK, "the task is on its way", DONE), "    "),
        "quoted": behind(log_of("the task is on its way", TASK, DONE), "> "),
    }.items()
}
GOOD |= {
    f"what programs say {place}": log
    for place, log in held(TASK, "connected to 10.0.0.7: 3 agents, I/O ready", DONE).items()
    if "in a string" not in place
}
GOOD |= {
    f"a definition {place}": log
    for place, log in held(DEFS, TASK, DONE).items()
    if place.startswith(("in a", "behind"))
}
GOOD |= {
    "people beside agents": lines(
        json.dumps({"role": "user", "content": "I want the auth middleware, please."}),
        json.dumps({"role": "assistant", "content": TASK}),
        json.dumps({"role": "assistant", "content": DONE}),
    ),
    "people behind another prefix": lines("10:00:00 user: I want the auth middleware.")
    + behind(log_of(TASK, DONE), "10:00:01 bus: "),
    "indented below a heading": "task:\n" + behind(log_of(TASK, DONE), "  ") + "done:\n  at: noon\n",
    "a log in a string": in_json(f"10:00:00 started\n{TASK}\n10:00:02 stopped\n", DONE),
}
