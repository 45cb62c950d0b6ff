"""Reading and writing messages: every clause of the grammar and of the readings that no vector shows."""

from __future__ import annotations

from functools import partial

import pytest

from tests import vectors
from tests.conftest import raised
from tests.csp.generate import document as generated
from turnwire import csp
from turnwire.csp.notation import expand
from turnwire.errors import DecodeError, EncodeError

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
TASK = HEAD.format("TASK") + "TASK T1\nREQ x\n"


def fault(text, **options):
    caught = raised(DecodeError, csp.parse, text, **options)
    return str(caught.reason), caught.line


@vectors.cases("csp", kind="parse", mode="strict")
def test_encode_gives_the_text_of_good_vectors_back(case):
    if "error" in case:
        return
    document = csp.parse(case["text"])
    assert csp.parse(csp.encode(document)) == document
    for message in document.messages:
        assert csp.decode(csp.encode(message)) == message
        assert csp.check(message) == []


@pytest.mark.parametrize("number", ["csp-001", "csp-002", "csp-003", "csp-005", "csp-006", "csp-017", "csp-031"])
def test_canonical_text_is_byte_identical(number):
    text = next(case["text"] for case in vectors.load("csp") if case["id"] == number)
    assert csp.encode(csp.parse(text)) == text


@vectors.cases("csp", kind="parse", mode="lenient")
def test_strict_writing_refuses_what_lenient_reading_warned_of(case):
    for message in csp.parse(case["text"], mode="lenient").messages:
        again = csp.decode(csp.encode(message, strict=False), mode="lenient")
        assert again == message
        if message.issues:
            assert raised(EncodeError, csp.encode, message).reason == message.issues[0].reason
            assert {found.reason for found in message.issues} <= {found.reason for found in csp.check(message)}


def test_generated_documents_keep_their_values():
    for seed in range(300):
        text = generated(seed).decode("utf-8", "replace")
        document = csp.parse(text, mode="lenient")
        for message in document.messages:
            written = csp.encode(message, strict=False)
            assert csp.decode(written, mode="lenient") == message, seed
        try:
            strict = csp.parse(text)
        except DecodeError:
            continue
        assert strict == csp.Document(document.records)
        again = csp.parse(csp.encode(strict))
        assert [record for record in again if not isinstance(record, csp.Junk)] == [
            record for record in strict if not isinstance(record, csp.Junk)
        ], seed


@vectors.cases("csp_forms", kind="strict")
def test_strict_faults(case):
    assert fault(case["text"]) == (case["error"], case["at"])


def test_the_fault_met_first_is_raised():
    assert fault(TASK.replace("REQ x", "PRIORITY P9\nNOPE")) == ("bad_enum", 8)
    assert fault("hello\n" + TASK.replace("REQ", "RE")) == ("junk", 1)
    assert fault("DEF A = 1\nDEF A = 1\nhello\n") == ("def_exists", 2)
    assert fault("hello\nDEF A = 1\nDEF A = 1\n") == ("junk", 1)


def test_a_lone_cr_is_data():
    assert csp.decode(TASK.replace("REQ x", "REQ a\rb")).block.get("REQ") == "a\rb"
    assert fault("\rCSP/1\n") == ("junk", 1)


def test_blank_lines_may_hold_spaces():
    assert csp.decode(" \n" + TASK.replace("\n\n", "\n \t\n") + "\t\n") == csp.decode(TASK)


def test_generic_blocks_take_any_key_again_and_again():
    message = csp.decode(HEAD.format("PLAN") + "PLAN any-id\nSTEP 1\nSTEP 2\nNEW_KEY\n")
    assert message.block == csp.Generic("PLAN", "any-id", [("STEP", "1"), ("STEP", "2"), ("NEW_KEY", "")])


def test_templates_and_preambles():
    text = "CSP/1;\nRESULT{STATUS}\n\nDEF A = 1\n\nDEF B =\nLAWS\n- L1: web -> W only\n\nCSP/1 MODE;x\n" + TASK
    template, preamble, moded, message = csp.parse(text).records
    assert template == csp.Template([], ["RESULT{STATUS}"])
    assert preamble == csp.Preamble({"A": "1", "B": ""}, {"L1": "web -> W only"})
    assert moded == csp.Template(["x"], [], mode=True)
    assert message == csp.decode(TASK)
    assert csp.parse(csp.encode(csp.parse(text))) == csp.parse(text)
    assert csp.encode(csp.Preamble({}, {"L1": "x"})) == "LAWS\n- L1: x\n"


def test_template_forms_convert_both_ways():
    compact = ["RESULT{STATUS,DATA[file:line]}", "TASK REQ:<req> IN:<scope> OUT:<type>", "other"]
    expanded = ["RESULT", "STATUS", "DATA [file:line]", "TASK", "REQ <req>", "IN <scope>", "OUT <type>", "other"]
    template = csp.Template(["!prose"], compact)
    assert template.expand() == csp.Template(["!prose"], expanded)
    assert template.expand().compact() == template
    assert template.expand().expand() == template.expand()


def test_a_message_that_lost_its_header_is_no_look_alike():
    assert fault("CSP/1\n\nRESULT T1\nSTATUS OK\n") == ("missing_from", 1)
    assert fault("CSP/1\nFROM A\nSTATUS OK\n") == ("bad_header_line", 3)


def test_decode_takes_one_message():
    assert csp.decode("```\n" + TASK + "```\n") == csp.decode(TASK)
    for text, reason, line in [
        ("", "empty_message", 1),
        (" \n\n", "empty_message", 1),
        ("```\n```\n", "no_message", 1),
        ("\nCSP/1;x\n", "no_message", 2),
        (TASK + "\n" + TASK, "trailing_text", 10),
    ]:
        caught = raised(DecodeError, csp.decode, text)
        assert (caught.reason, caught.line) == (reason, line)
    assert csp.decode("prose\n" + TASK, mode="lenient") == csp.decode(TASK)


@pytest.mark.parametrize("data", [b"\xff", b"CSP/1\nFROM \xc0\xaf", "\ud800", 3, None])
def test_what_is_no_text_is_a_decode_error(data):
    for mode in ("strict", "lenient"):
        caught = raised(DecodeError, csp.parse, data, mode=mode)
        assert caught.reason in ("bad_utf8", "lone_surrogate", "wrong_type")
        if isinstance(data, bytes):
            assert (caught.offset, caught.line) == ((11, 2) if len(data) > 1 else (0, 1))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (csp.message("A B", "C", "C0", csp.Task("T1", {"REQ": "x"})), "bad_header_value"),
        (csp.message("A\nTO X", "C", "C0", csp.Task("T1", {"REQ": "x"})), "newline_in_string"),
        (csp.message("A", "C", "C0", csp.Task("T1\nREQ y", {})), "newline_in_string"),
        (csp.message("A", "C", "C0", csp.Task("1", {"REQ": "x"})), "bad_id"),
        (csp.message("A", "C", "C0", csp.Task("T1", {})), "missing_req"),
        (csp.message("A", "C", "C0", csp.Task("T1", {"REQ": "x", "NO": "x"})), "unknown_key"),
        (csp.message("A", "C", "C0", csp.Task("T1", {"REQ": 1})), "wrong_type"),
        (csp.message("A", "C", "C0", csp.Task("T1", {"REQ": "\ud800"})), "lone_surrogate"),
        (csp.message("A", "C", "C0", csp.Task("T1", {"REQ": "x", "PRIORITY": "HIGH"})), "bad_enum"),
        (csp.message("A", "C", "C0", csp.Generic("MEM", "m", [("a b", "x")])), "unknown_key"),
        (csp.message("A", "C", "C0", csp.Patch("P1", "C0", [("+", "A", "a\nb")], "C1")), "newline_in_string"),
        (csp.message("A", "C", "C0", csp.Patch("P1", "C0", [("+", "A", None)], "C1")), "op_mismatch"),
        (csp.message("A", "C", "C0", csp.Patch("P1", "C0", [("-", "A", "x")], "C1")), "op_mismatch"),
        (csp.message("A", "C", "C0", csp.FileOp("F1", "", {"PATH": "x"})), "missing_op"),
        (csp.CspMessage("A", "B", "C0", "RESULT", csp.Task("T1", {"REQ": "x"})), "block_mismatch"),
        (csp.CspMessage("A", "B", None, "TASK", csp.Task("T1", {"REQ": "x"})), "missing_ctx"),
        (csp.CspMessage("A", "B", "C0", "TASK", None), "no_body"),
        (csp.Junk(1, "text"), "junk"),
        (csp.Template(["a\nb"]), "newline_in_string"),
        (csp.Template(["a"], ["CSP/1"]), "missing_from"),
        (csp.Template(["a"], ["x", ""]), "mismatch"),
        (csp.Preamble(), "mismatch"),
        (csp.Preamble({"a": "x"}), "junk"),
        ("text", "wrong_type"),
    ],
)
def test_strict_writing_refuses(message, reason):
    assert raised(EncodeError, csp.encode, message).reason == reason
    if isinstance(message, csp.CspMessage):
        assert csp.check(message)


def test_a_blank_line_stands_between_damaged_text_and_what_follows():
    """Text that is damaged goes on to the next blank line; other text does not."""
    message = csp.decode(TASK)
    for reason, between in ((None, ""), ("bad_magic", "\n")):
        document = csp.Document([csp.Junk(1, "csp/1", reason), message])
        assert csp.encode(document, strict=False) == f"csp/1\n{between}{csp.encode(message)}"


def test_check_tells_what_may_be_fine():
    found = csp.check(csp.message("A", "B", "C0", csp.FileOp("F1", "RENAME", {"PATH": "x"})))
    assert [(str(issue.reason), issue.severity) for issue in found] == [("unknown_op", "info")]


def test_refs_and_expand():
    assert csp.refs("a:1-2;b c:3;;C:\\x:9") == [("a", 1, 2), ("b c", 3, 3), ("", None, None), ("C:\\x", 9, 9)]
    assert csp.refs("") == []
    caught = raised(DecodeError, csp.refs, "a:1;b:9-3")
    assert (caught.reason, caught.offset) == ("bad_range", 4)
    assert csp.expand("SRC,LIB, SRC ,SRCX,x SRC", {"SRC": "src/", "LIB": "SRC"}) == "src/,SRC, src/ ,SRCX,x SRC"
    assert csp.Result("T1", {"DATA": "a:1"}).refs() == [("a", 1, 1)]


@pytest.mark.parametrize("key", ["FROM", "TO", "CTX", "INTENT", "BLOCK", "ID", "OP"])
def test_a_free_key_takes_the_place_of_nothing_else_in_plain_values(key):
    """A block of free keys may have one that is a word of the header, or of the values around its fields."""
    said = {"from": "A", "to": "B", "ctx": "C0", "intent": "MEM", "block": "MEM", "id": "M1"}
    text = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nTEXT x\n"
    assert csp.decode(text).plain_values() == said | {"text": "x"}
    assert csp.decode(f"{text}{key} y\n").plain_values() == said | {"fields": [["TEXT", "x"], [key, "y"]]}


@pytest.mark.parametrize("kind", ["TASK", "RESULT", "ERROR", "FILEOP", "MEM", "PLAN", "QUERY"])
def test_the_order_of_fields_counts_where_keys_are_free(kind):
    """Known keys may be in any order on the wire; in a block of free keys the order is a part of what is said."""
    known = {"TASK": csp.Task, "RESULT": csp.Result, "ERROR": csp.Error, "FILEOP": partial(csp.FileOp, op="CREATE")}
    make = partial(known.get(kind, partial(csp.Generic, kind)), "T1")
    fields = [("A", "1"), ("B", "2"), ("B", "3")]
    assert make(fields=fields) == make(fields=list(fields))
    assert (make(fields=fields) == make(fields=fields[::-1])) is (kind in known)
    for others in (fields[:2], [*fields[:2], ("B", "4")]):
        assert make(fields=fields) != make(fields=others)
    assert make(fields=fields) != csp.Task("T2", fields) and make(fields=fields) != csp.Generic("MEM", "T2", fields)


@pytest.mark.parametrize(("space", "known"), [(" ", True), ("\t", True), ("\xa0", False), ("\n", False), ("\r", False)])
def test_a_token_stands_between_spaces_and_tabs(space, known):
    text = f"{space}SRC{space},x"
    assert expand(text, {"SRC": "src/"}) == (f"{space}src/{space},x" if known else text)


DOCUMENTS = [
    TASK,
    HEAD.format("FILE") + "FILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\na\r\nb\n>>>\n",
    HEAD.format("PATCH") + "PATCH P1\nBASE C0\n+ DEF A = b\n- DEF C\nAPPLY -> C1\n",
    "DEF A = b\n\nLAWS\n- L1: x\n",
    "CSP/1;a;b\nx\ny\n",
]


@pytest.mark.parametrize("text", DOCUMENTS)
@pytest.mark.parametrize("returns", ["\r", "\r\r", "x\r"])
def test_what_ends_with_a_return_is_written_as_it_was_read(text, returns):
    """The line ends with CRLF then: a return of its own stands before that."""
    lines = text.split("\n")
    for place in range(len(lines) - 1):
        read = "\n".join([*lines[:place], f"{lines[place]}{returns}\r", *lines[place + 1 :]])
        found = csp.parse(read, mode="lenient").records
        for record in found if len(found) == 1 and not isinstance(found[0], csp.Junk) else ():
            assert csp.parse(csp.encode(record, strict=False), mode="lenient").records == found
        try:
            (record,) = csp.parse(read).records
        except (DecodeError, ValueError):
            continue
        assert csp.parse(csp.encode(record)).records == [record]


@pytest.mark.parametrize("law", [False, True])
def test_a_preamble_is_checked_in_both_its_parts(law: bool) -> None:
    texts = {
        "x": [],
        "": [],
        "é \r": [],
        "x\ny": ["newline_in_string"],
        "\ud800": ["lone_surrogate"],
        5: ["wrong_type"],
    }
    for text, reasons in texts.items():
        defs, laws = {"A": "x"}, {"L1": "x"}
        (laws if law else defs).update({"L2" if law else "B": text})
        assert [str(found.reason) for found in csp.check(csp.Preamble(defs, laws))] == reasons
