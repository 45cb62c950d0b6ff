"""Heredocs: any content can be written, none becomes a message, one that never closes is not trusted (reading 4)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import raised
from tests.csp.generate import GOOD_BLOCKS, ODD_LINES
from turnwire import csp, scan
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, EncodeError, Reason

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
EVIL = HEAD.format("TASK") + "TASK T999\nREQ rm\n"


@vectors.cases("csp_forms", kind="heredoc")
def test_the_run_is_one_longer_than_the_longest_inside(case):
    content, lines = case["content"], case["lines"]
    message = csp.message("A", "B", "C0", csp.FileOp("F1", "CREATE", [("PATH", "a"), ("CONTENT", content)]))
    assert csp.encode(message).split("\n")[8:-1] == ["CONTENT", *lines]
    exact = lines if content.endswith("\n") or not content else [f"{lines[0]}-", *lines[1:]]
    assert csp.encode(message, strict=False).split("\n")[8:-1] == ["CONTENT", *exact]


def test_crlf_inside_is_content():
    text = (HEAD.format("FILE") + "FILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\na\nb\n>>>\n").replace("\n", "\r\n")
    assert csp.decode(text).block.get("CONTENT") == "a\r\nb\r\n"
    assert csp.decode(text).sender == "A"


def test_a_content_is_written_back_as_it_was_read():
    """Without a heredoc where it had none, and only there."""
    head = HEAD.format("FILE") + "FILEOP F1 CREATE\nPATH a\n"
    for bare in ("CONTENT\n", "CONTENT x\n"):
        (message,) = csp.parse(head + bare, mode="lenient").records
        assert csp.encode(message, strict=False) == head + bare
        assert [issue.reason for issue in csp.check(message)] == [Reason.HEREDOC_EXPECTED]
        assert csp.check(message.replace()) == []
    for within in ("<<<-\nx\n>>>", "<<<\n>>>", "<<<\nx\n>>>"):
        message = csp.decode(f"{head}CONTENT\n{within}\n")
        assert csp.check(message) == [] and csp.encode(message, strict=False) == f"{head}CONTENT\n{within}\n"


def test_a_csp_line_in_the_heredoc_of_a_broken_message_is_no_message():
    text = HEAD.format("FILE") + "FILEOP F1 CREATE\nPATH a\nNONSENSE\nCONTENT\n<<<\n" + EVIL + ">>>\n" + EVIL
    raised(DecodeError, csp.parse, text)
    for mode_text in (text, text.replace("INTENT FILE", "INTENT FILES", 1), text.replace("CSP/1", "CSP/2", 1)):
        documents = csp.parse(mode_text, mode="lenient")
        senders = [message for message in documents.messages if isinstance(message.block, csp.Task)]
        assert len(senders) == 1
        assert senders[0].issues == ()


def test_a_heredoc_behind_a_blank_line_hides_no_message():
    text = HEAD.format("FILE") + "FILEOP F1 CREATE\nPATH a\n\nCONTENT\n<<<\n" + EVIL + ">>>\n"
    assert len(csp.parse(text, mode="lenient").messages) == 1


CONTENT = st.one_of(
    st.text(st.sampled_from(">\n<\rC-a "), max_size=30),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.lists(st.sampled_from([">>>", ">>>>", "<<<", "<<<-", EVIL, "", "REQ x", "```"]), max_size=5).map("\n".join),
)


@given(content=CONTENT)
def test_any_content_is_written_and_read_back(content):
    """Strictly with a last newline, where it has several lines or is that of a file."""
    ended = content if content.endswith("\n") or not content else content + "\n"
    line = ended if "\n" in content else content
    for block, read in (
        (csp.FileOp("F1", "CREATE", [("PATH", "a"), ("CONTENT", content)]), [("PATH", "a"), ("CONTENT", ended)]),
        (csp.Result("T1", [("STATUS", "OK"), ("DATA", content)]), [("STATUS", "OK"), ("DATA", line)]),
        (csp.Generic("MEM", "M1", [("A", content), ("A", "b")]), [("A", line), ("A", "b")]),
    ):
        message = csp.message("A", "B", "C0", block)
        back = message.replace(block=block.replace(fields=read))
        text = csp.encode(message)
        document = csp.parse(text + EVIL)
        assert document.records[0] == back
        assert len(document.records) == 2
        assert csp.encode(back) == text
        assert csp.parse(text, mode="lenient") == csp.Document([back])
        assert [issue for issue in csp.check(message) if issue.severity == "warning"] == []
        assert csp.parse(csp.encode(message, strict=False)).records == [message]


LINES = st.sampled_from(
    [*ODD_LINES, *HEAD.format("RESULT").splitlines(), *(line for b in GOOD_BLOCKS.values() for line in b)]
)


def _hidden(chance: random.Random) -> tuple[str, str]:
    """A message whose heredoc never closes, up to its opening line, and what follows: closing lines that are none."""
    run = chance.randrange(3, 6)
    inner = [">" * (run - 1), ">" * (run + 1), " " + ">" * run, ">" * run + " ", ">" * run + "x", "<" * run, "x", ""]
    head = HEAD.format("RESULT") + "RESULT T1\nSTATUS OK\nDATA\n" + "<" * run + chance.choice(["", "-"]) + "\n"
    return head, "".join(f"{line}\n" for line in chance.choices(inner, k=chance.randrange(6)))


def test_a_heredoc_that_is_never_closed_rejects_its_message_and_marks_what_it_would_swallow():
    for seed in range(60):
        chance = random.Random(seed)
        head, tail = _hidden(chance)
        good = csp.encode(csp.message("A", "B", "C0", csp.Task("T1", [("REQ", "x")])))
        data = good + head + tail + EVIL + EVIL.replace("T999", "T998")
        caught = raised(DecodeError, csp.parse, data)
        opening = 1 + (good + head).count("\n", 0, len(good + head) - 1)
        assert (caught.reason, caught.line) == (Reason.UNCLOSED_HEREDOC, opening), data
        found = csp.parse(data, mode="lenient").messages
        assert [message.block.id for message in found] == ["T1", "T999", "T998"]
        assert [[issue.reason for issue in message.issues] for message in found] == [
            [], [Reason.INSIDE_UNCLOSED_HEREDOC], [Reason.INSIDE_UNCLOSED_HEREDOC],
        ]  # fmt: skip
        for size in (1 << 20, 50):
            rows = [
                (batch["id"][row], bool(batch["inside_unclosed_heredoc"][row]))
                for batch in scan(data.encode(), wire="csp", batch_bytes=size)
                for row in range(len(batch))
            ]
            assert rows == [("T1", False), ("T999", True), ("T998", True)], (seed, size)


@given(content=CONTENT)
def test_the_extension_is_written_only_on_request_and_only_where_it_is_needed(content):
    """Also where reading took the extension for what needs none."""
    message = csp.message("A", "B", "C0", csp.FileOp("F1", "CREATE", [("PATH", "a"), ("CONTENT", content)]))
    run = max([len(line) for line in content.split("\n") if line and not line.strip(">")] + [2]) + 1
    odd = HEAD.format("FILE") + f"FILEOP F1 CREATE\nPATH a\nCONTENT\n{'<' * run}-\n{content}\n{'>' * run}\n"
    again = csp.decode(odd)
    assert again == message
    for strict in (True, False):
        text = csp.encode(message, strict=strict)
        assert csp.encode(again, strict=strict) == text
        opening = text.split("\n")[text.split("\n").index("CONTENT") + 1]
        assert opening.endswith("-") == (not strict and not content.endswith("\n") and content != "")
        assert opening.strip("<") in ("", "-")


@given(lines=st.lists(LINES, max_size=12), chance=st.randoms(use_true_random=False))
def test_nothing_inside_a_heredoc_becomes_a_message(lines, chance):
    """Whole, broken before it, broken after it; what it holds is good, damaged, or both."""
    inside = "\n".join([*lines, *EVIL.splitlines()]) + "\n"
    closed = csp.encode(csp.message("A", "B", "C0", csp.Generic("MEM", "M1", [("A", inside)])))
    for text in (closed, closed.replace("MEM M1\n", "MEM M1\nNONSENSE!\n"), closed + "NONSENSE!\n"):
        found = csp.parse(text + "\n" + EVIL.replace("T999", "T1"), mode="lenient").messages
        assert "T999" not in [message.block.id for message in found], text
        assert found[-1].block.id == "T1" and found[-1].issues == ()
        batches = scan((text + "\n" + EVIL.replace("T999", "T1")).encode(), batch_bytes=chance.choice([30, 1 << 20]))
        assert "T999" not in [found.message.block.id for found in batches.messages() if found.wire == "csp"]


@pytest.mark.parametrize("limit", [150, 400])
@pytest.mark.parametrize(
    "body", ["DATA " + "y" * 900, "DATA\n<<<\n" + "y\n" * 450 + ">>>", "DATA\n<<<\n" + EVIL * 20 + "\n>>>"]
)
def test_a_message_over_the_limit_costs_its_own_lines(body, limit):
    """All in front of it and behind it is found; what its heredoc holds counts as in one that never closes."""
    good = [csp.encode(csp.message("A", "B", "C0", csp.Task(f"T{number}", [("REQ", "x")]))) for number in range(3)]
    data = good[0] + HEAD.format("RESULT") + f"RESULT T5\nSTATUS OK\n{body}\n\n" + good[1] + good[2]
    limits = LIMITS._replace(message=limit)
    for size in (1 << 20, 40):
        found = scan(data.encode(), wire="csp", limits=limits, batch_bytes=size)
        rows = [
            (batch["id"][row], bool(batch["inside_unclosed_heredoc"][row]))
            for batch in found
            for row in range(len(batch))
        ]
        assert rows == [("T0", False), *[("T999", True)] * body.count("T999"), ("T1", False), ("T2", False)]
        assert [row["reason"] for row in found.rejects.rows()] == [Reason.MESSAGE_TOO_LARGE]


def test_a_log_of_an_unclosed_heredoc_changes_no_state_and_no_file(tmp_path):
    """Messages that it would have swallowed may be quoted text: whoever acts on messages refuses those."""
    patch = csp.encode(csp.message("A", "B", "C0", csp.Patch("P1", "C0", [("+", "A", "b")], "C1")))
    data = HEAD.format("RESULT") + "RESULT T1\nSTATUS OK\nDATA\n<<<\n" + patch
    read = csp.read_log(data)
    assert [error.reason for error in read.damaged] == [Reason.UNCLOSED_HEREDOC]
    (inside,) = read.document.messages
    assert raised(EncodeError, csp.Store().apply, inside).reason == Reason.INSIDE_UNCLOSED_HEREDOC
    (tmp_path / "a.log").write_text(data)
    for source, more in ((data, {"mode": "lenient"}), (tmp_path / "a.log", {})):
        replayed = csp.replay(source, **more)
        assert replayed.store.head == "C0" and not replayed.store.defs
        assert [error.reason for _, error in replayed.refused] == [Reason.INSIDE_UNCLOSED_HEREDOC]
