"""``turnwire convert``: messages out, what was lost on standard error, the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import turnwire
from tests.cli.running import GOOD, turnwire as run
from tests.convert.messages import DEFAULTS, FULL, explicit, right
from turnwire.registry import wire_of

pytestmark = pytest.mark.once

NSLIP = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'
CSP = "CSP/1\nFROM 0\nTO 1\nCTX C0\nINTENT TASK\n\nTASK T42\nREQ refactor_auth\nPRIORITY P2\n"


@pytest.fixture
def context(tmp_path: Path) -> str:
    defaults = {wire: dict(values) for wire, values in DEFAULTS.items()}
    del defaults["kick"]["id"]  # a function
    (tmp_path / "context.json").write_text(json.dumps({"defaults": defaults, "now": "2026-01-01T00:00:00Z"}))
    return str(tmp_path / "context.json")


def test_lines_in_messages_out(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f"{NSLIP}\n\n{NSLIP}\n")
    done = run("convert", str(tmp_path / "a.log"), "--to", "csp")
    assert (done.code, done.out.decode()) == (0, f"{CSP}\n{CSP}")
    place = tmp_path / "a.log"
    assert done.err == "".join(f"{place}:{line}: dropped: conv_id, turn, slots.GOAL_ID\n" for line in (1, 3))
    assert run("convert", "-", "--to", "csp", "-q", stdin=NSLIP.encode()).err == ""


def test_what_cannot_be_read_or_converted(tmp_path: Path) -> None:
    data = f"{NSLIP}\n@a3|f0|c-#\n{{}}\n".encode()
    done = run("convert", "-", "--to", "sap", "--json", stdin=data)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 1
    errors = ["missing_field", "bad_digit"]  # an empty object is text
    assert [(row["line"], row["error"]) for row in rows] == list(enumerate(errors, 1))
    assert rows[0]["missing"][:2] == ["taskId", "correlationId"]
    assert rows[0]["known"] == {"taskId": "42", "correlationId": "3"}
    done = run("convert", "-", "--to", "sap", stdin=data)
    assert (done.code, done.out) == (1, b"")
    assert "<stdin>:1: missing_field: neither the message nor the context has issuedAt" in done.err


def test_a_message_alone_that_is_refused_has_its_row() -> None:
    header = {
        "kind": "knowledge",
        "actor_id": "a",
        "schema_id": "ioc.knowledge.v0",
        "session_id": "s",
        "logical_clock": 1,
    }
    data = json.dumps({"header": header, "payload": {"content": "c"}}).encode() + b"\n"
    for count in (1, 2):
        done = run("convert", "-", "--to", "sstp", "--json", stdin=b"\n" + data * count)
        assert (done.code, [row["line"] for row in done.records]) == (1, [*range(2, 2 + count)])
    done = run("convert", "-", "--to", "sstp", stdin=b"\n" + data)
    assert (done.code, done.err) == (1, "<stdin>:2: missing_field: confidence is required\n")


def test_an_answer_alone_is_converted_and_has_an_id(tmp_path: Path) -> None:
    roles = {"0": "Orchestrator", "1": "WePlan"}
    (tmp_path / "c.json").write_text(json.dumps({"conversations": {"c": 3}, "roles": roles}))
    given = ("--to", "kick", "--new-ids", "--now", "--context", str(tmp_path / "c.json"))
    done = run("convert", "-", *given, stdin=b'@a1|f0|c3|S1|d0|T6|u"done"|t"did it"#\n')
    assert (done.code, len(json.loads(done.out)["correlation_id"])) == (0, 36)


def test_there_and_back_with_carry(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"a key that both sides have\n")
    for message in right():
        source = wire_of(message)
        text = turnwire.encode(message)
        target = "sap" if source != "sap" else "sstp"
        values = explicit(message, target, FULL, nearest=True).values
        checks = {
            "constitutionalEvidence.policyChecks": [{"principle": "x", "status": "PASS"}]
        }  # signals to learn from
        defaults = {target: {**DEFAULTS[target], **(checks if target == "sap" else {})}}
        (tmp_path / "context.json").write_text(json.dumps({"defaults": defaults, "values": values}))
        there = run("convert", "-", "--to", target, "--carry", "--key", tmp_path / "key", "--context",
                    tmp_path / "context.json", "--nearest", "-q", stdin=text.encode())  # fmt: skip
        assert there.code in (0, 5) and "dropped" not in there.err, there.err  # 5: a near Task waits for its Result
        more = ("--restore", "--key", tmp_path / "key")
        back = run("convert", "-", "--to", str(source), "--quiet", *more, stdin=there.out)
        assert turnwire.decode(back.out, source) == message


def test_what_is_nearest_is_named() -> None:
    text = '@a6|f0|c3|S0|d1|T1|kg|t"gladly"#'
    done = run("convert", "-", "--to", "csp", stdin=text.encode())
    assert (done.code, done.out) == (1, b"") and "no_counterpart" in done.err and "nearest is MEM" in done.err
    done = run("convert", "-", "--to", "csp", "--nearest", stdin=text.encode())
    assert done.code == 0 and b"MEM 42" in done.out and "<stdin>:1: nearest: MEM\n" in done.err
    (row,) = run("convert", "-", "--to", "csp", "--nearest", "--json", stdin=text.encode()).records
    assert row["nearest"] == "MEM"


def test_json_names_what_is_dropped(context: str) -> None:
    values = json.loads(Path(context).read_text())
    Path(context).write_text(json.dumps({**values, "roles": {"0": "Orchestrator"}}))
    done = run("convert", "-", "--to", "kick", "--json", "--context", context, "--now", "--new-ids", stdin=CSP.encode())
    (row,) = map(json.loads, done.out.splitlines())
    assert (row["file"], row["line"], row["wire"], row["dropped"]) == ("<stdin>", 1, "kick", ["block.PRIORITY"])
    assert turnwire.decode(row["message"]).sender == "Orchestrator"


def test_records_of_csp_that_are_no_messages() -> None:
    text = f"DEF A = b\n\nCSP/1;!prose\nTASK REQ:x\n\n```\n{CSP}```\nnoise\n"
    done = run("convert", "-", "--to", "nslip", "--from", "csp", "-q", "--context", "/dev/null", stdin=text.encode())
    assert (done.code, done.err.count("not a message")) == (1, 1), "a preamble and noise are text"
    swallowed = CSP.replace("REQ refactor_auth\n", "REQ x\nIN\n<<<\n") + CSP
    for wire in ((), ("--from", "csp")):
        done = run("convert", "-", "--to", "nslip", *wire, stdin=swallowed.encode())
        assert (done.code, done.out) == (1, b"")
        assert "<stdin>:1: unclosed_heredoc" in done.err and "inside_unclosed_heredoc" in done.err


def test_messages_are_found_wherever_they_stand(tmp_path: Path) -> None:
    lines = ["INFO start", json.dumps({"log": f"{NSLIP}\n"}), f"[INFO] {NSLIP} sent", CSP, "```", NSLIP]
    (tmp_path / "a.log").write_text("\n".join(lines))
    done = run("convert", str(tmp_path / "a.log"), "--to", "csp", "--from", "nslip", "-q")
    assert (done.code, done.out.decode()) == (0, "\n".join([CSP] * 3))


def test_the_output_is_a_file_that_is_there_whole(tmp_path: Path) -> None:
    log, out = tmp_path / "a.log", tmp_path / "out"
    log.write_bytes(GOOD + b"\n")
    for words in (("--to", "nslip"), ("--to", "nslip", "--json"), ("--to", "jsonl"), ("--to", "csp")):
        printed = run("convert", log, *words)
        done = run("convert", log, *words, "-o", out)
        assert (done.code, done.out, done.err) == (printed.code, b"", printed.err)
        assert out.read_bytes() == printed.out == run("convert", log, *words, "-o", "-").out
