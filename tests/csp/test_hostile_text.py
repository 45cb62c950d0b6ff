"""Text that tries to break what docs/csp.md says of reading and writing, on both cores."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.csp.generate import GOOD_BLOCKS, ODD_LINES
from turnwire import csp, scan
from turnwire.contract import LIMITS
from turnwire.csp.lenient import parse_leniently
from turnwire.csp.spec import BLOCK_WORD, FIELDS
from turnwire.errors import DecodeError, EncodeError, Reason

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
EVIL = HEAD.format("TASK") + "TASK T999\nREQ rm\n"
LINES = st.sampled_from(
    [*ODD_LINES, *HEAD.format("RESULT").splitlines(), *(line for b in GOOD_BLOCKS.values() for line in b)]
)
TEXTS = st.lists(
    st.one_of(LINES, LINES, LINES, st.text(st.characters(codec="utf-8"), max_size=8)), max_size=25
).flatmap(lambda lines: st.sampled_from(["\n", "\r\n", "\n\n", "\r"]).map(lambda end: end.join(lines)))
TIGHT = st.sampled_from(
    [LIMITS, LIMITS._replace(message=40), LIMITS._replace(fields=1, key=3), LIMITS._replace(message=1)]
)


def refusal(text, limits):
    """(reason, line) of what strict reading raises, or None."""
    try:
        csp.parse(text, limits=limits)
    except DecodeError as error:
        return error.reason, error.line
    return None


@given(text=TEXTS, limits=TIGHT, start=st.sampled_from(["", EVIL, HEAD.format("MEM"), "\ufeff", "DEF A = 1\n"]))
def test_lenient_reads_any_text_and_tells_what_strict_raises(text, limits, start):
    """Not only random documents: bare lines of every kind, all ends of lines, limits that everything breaks."""
    text = start + text
    lenient = csp.parse(text, mode="lenient", limits=limits)
    assert lenient == csp.parse(text.encode(), mode="lenient", limits=limits)
    told = [(issue.reason, issue.where) for issue in lenient.issues]
    told += [(Reason.JUNK, record.line) for record in lenient if isinstance(record, csp.Junk)]
    refused = refusal(text, limits)
    if refused is not None:  # three faults have a name of their own, by what lenient reading makes of the line
        line = refused[1]
        names = {refused, *((reason, line) for reason in (Reason.CONTINUED, Reason.BOM, Reason.LOOK_ALIKE))}
        whole = [one for one in lenient if isinstance(one, csp.Junk) and one.text.startswith("CSP/1")]
        within = [one for one in whole if one.line <= line <= one.line + one.text.count("\n")]
        assert names & set(told) or within, "a message that is refused as a whole has one reason"
    else:
        assert lenient == csp.parse(text, limits=limits)


@pytest.mark.parametrize("intent", [intent for intent, word in BLOCK_WORD.items() if word in FIELDS])
def test_known_blocks_take_their_keys_once_and_no_others(intent):
    """Every key of every other block, and every key of its own a second time, wherever it stands."""
    good = GOOD_BLOCKS[intent]
    assert csp.decode(HEAD.format(intent) + "\n".join(good) + "\n")
    own = FIELDS[BLOCK_WORD[intent]]
    foreign = {key for keys in FIELDS.values() for key in keys} | {"X", "DEADLINE"}
    behind = [place for place in range(1, len(good) + 1) if "<<<" not in good[:place] or ">>>" in good[:place]]
    behind = [place for place in behind if good[place - 1] != "CONTENT"]  # its heredoc belongs to it
    for key in sorted(foreign | set(own)):
        twice = key in own
        for place in behind:
            extra = [key, "<<<", ">>>"] if key == "CONTENT" else [f"{key} x"]
            lines = [*good[:place], *extra, *good[place:]]
            with pytest.raises(DecodeError) as caught:
                csp.decode(HEAD.format(intent) + "\n".join(lines) + "\n")
            if not twice:
                assert (caught.value.reason, caught.value.line) == (Reason.UNKNOWN_KEY, 7 + place), (key, place)
            elif key not in ("STATUS", "PRIORITY", "AT") or caught.value.line > 7 + place:
                first = [number for number, line in enumerate(lines) if line.split(" ")[0] == key]
                assert (caught.value.reason, caught.value.line) == (Reason.DUP_FIELD, 7 + first[1]), (key, place)


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
        with pytest.raises(DecodeError) as caught:
            csp.parse(data)
        opening = 1 + (good + head).count("\n", 0, len(good + head) - 1)
        assert (caught.value.reason, caught.value.line) == (Reason.UNCLOSED_HEREDOC, opening), data
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


CONTENT = st.one_of(
    st.text(st.sampled_from(">\n<\rC-a "), max_size=30),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.lists(st.sampled_from([">>>", ">>>>", "<<<", "<<<-", EVIL, "", "REQ x", "```"]), max_size=5).map("\n".join),
)


@given(content=CONTENT)
def test_only_content_without_a_last_newline_is_written_with_the_extension(content):
    """Also where reading took the extension for what needs none."""
    message = csp.message("A", "B", "C0", csp.FileOp("F1", "CREATE", [("PATH", "a"), ("CONTENT", content)]))
    texts = [csp.encode(message), csp.encode(message, strict=False)]
    run = max([len(line) for line in content.split("\n") if line and not line.strip(">")] + [2]) + 1
    odd = HEAD.format("FILE") + f"FILEOP F1 CREATE\nPATH a\nCONTENT\n{'<' * run}-\n{content}\n{'>' * run}\n"
    again = csp.decode(odd)
    assert again == message
    texts += [csp.encode(again), csp.encode(again, strict=False)]
    for text in texts:
        opening = text.split("\n")[text.split("\n").index("CONTENT") + 1]
        assert opening.endswith("-") == (not content.endswith("\n") and content != "")
        assert opening.strip("<") in ("", "-")


def _as_the_specification_has_it(text: str) -> str | None:
    """CONTENT of a FILEOP, by the grammar of the specification alone: a heredoc is `<<<`, lines, `>>>`, each alone on
    its line; None where the line after CONTENT opens none, or it is never closed, or lines of no field follow."""
    lines = text.split("\n")
    start = lines.index("CONTENT") + 1
    if not re.fullmatch("<{3,}", lines[start]):
        return None
    closing = ">" * len(lines[start])
    if closing not in lines[start + 1 :]:
        return None
    end = lines.index(closing, start + 1)
    return "".join(f"{line}\n" for line in lines[start + 1 : end]) if lines[end + 1 :] == [""] else None


@given(content=CONTENT)
def test_a_reader_without_the_extension_refuses_it_and_reads_the_rest_right(content):
    text = csp.encode(csp.message("A", "B", "C0", csp.FileOp("F1", "CREATE", [("PATH", "a"), ("CONTENT", content)])))
    plain = content == "" or content.endswith("\n")
    assert _as_the_specification_has_it(text) == (content if plain else None)


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


def test_what_strict_reading_refuses_strict_writing_refuses():
    """Of lines that were put into fields by hand."""
    for line in ODD_LINES:
        if not line.strip():
            continue
        message = csp.message("A", "B", "C0", csp.Task("T1", [("REQ", f"x\n{line}")]))
        try:
            text = csp.encode(message)
        except EncodeError:
            continue
        assert csp.decode(text) == message, line


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
    """What it would have swallowed may be quoted text: whoever acts on messages refuses those."""
    patch = csp.encode(csp.message("A", "B", "C0", csp.Patch("P1", "C0", [("+", "A", "b")], "C1")))
    data = HEAD.format("RESULT") + "RESULT T1\nSTATUS OK\nDATA\n<<<\n" + patch
    read = csp.read_log(data)
    assert [error.reason for error in read.damaged] == [Reason.UNCLOSED_HEREDOC]
    (inside,) = read.document.messages
    with pytest.raises(EncodeError) as caught:
        csp.Store().apply(inside)
    assert caught.value.reason == Reason.INSIDE_UNCLOSED_HEREDOC
    (tmp_path / "a.log").write_text(data)
    for source, more in ((data, {"mode": "lenient"}), (tmp_path / "a.log", {})):
        replayed = csp.replay(source, **more)
        assert replayed.store.head == "C0" and not replayed.store.defs
        assert [error.reason for _, error in replayed.refused] == [Reason.INSIDE_UNCLOSED_HEREDOC]


@pytest.mark.parametrize("unit", ["CSP/1\nx y\n", "CSP/1\nFROM A\nTO B\nCTX C\nINTENT X\n\nFOO\n", "CSP/1\nREQ\n<<<\n"])
def test_lines_of_issues_are_counted_near_by(unit):
    """Issues of a message go to and fro in it: each costs some hundred bytes of counting at most."""
    looked_at = []

    class Text(bytes):
        def count(self, sub, start=0, stop=None):
            looked_at.append((len(self) if stop is None else stop) - start)
            return super().count(sub, start, stop)

    text = Text(unit.encode() * 500)
    found = parse_leniently(text, LIMITS)
    lines = [int(issue.where) for issue in found.issues]
    assert len(lines) > 500 and lines == sorted(lines) and lines[-1] <= text.decode().count("\n") + 1
    assert looked_at and max(looked_at) <= 1024
