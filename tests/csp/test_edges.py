"""Numbers that the token rules count by, each just below, at and above; and what lenient reading forgets."""

from __future__ import annotations

import random

import pytest

from tests.csp.test_rules import DEFS, codes, patch, task
from turnwire import LIMITS, csp
from turnwire.csp.checkpoints import number_of
from turnwire.csp.cuts import safe_cuts
from turnwire.csp.diff import apply_diff
from turnwire.csp.history import SeenIds
from turnwire.csp.lints import LAW_TEXT_LEAST
from turnwire.csp.logs import Replaying
from turnwire.csp.notation import expand
from turnwire.csp.pairs import work
from turnwire.csp.prose import Fillers, filler
from turnwire.csp.store import PrunedStore
from turnwire.errors import DecodeError, EncodeError, WireError
from turnwire.pairs import Work
from turnwire.read.judging import conform

SMALL = ["the", "of", "and", "to", "in", "is", "it", "that", "be", "as"]
LARGE = ["alpha", "bravo", "carrots", "dinner", "engine", "folder", "garden", "hammer", "island"]


@pytest.mark.parametrize(
    ("small", "large", "found"),
    [
        *((small, 14 - small, small > 5) for small in (4, 5, 6, 7)),
        *((small, 13 - small, False) for small in (6, 10)),
        *((small, 15 - small, small > 5) for small in (5, 6, 7)),
        *((small, 20 - small, small > 7) for small in (7, 8, 9, 10)),
    ],
)
def test_prose_has_fourteen_words_and_two_fifths_of_them_are_small(small, large, found):
    words = (SMALL * 2)[:small] + (LARGE * 2)[:large]
    for text in (" ".join(words), " ".join(reversed(words)), " ".join(words).title()):
        assert filler(text) == (f"is prose of {len(words)} words" if found else None)
        assert ("filler" in codes(DEFS + task(rest=f" {text}"))) is (filler(f"find it {text}") is not None)
    assert Fillers().surely_none(" ".join(words)) is (small < 6)


def test_prose_of_the_shortest_words_is_prose_too():
    assert filler("a " * 12 + "a") is filler("a " * 13) is filler("a " * 12 + "is") is None
    assert filler("a " * 13 + "a") == filler("a\n" * 14) == filler("a " * 12 + "is a") == "is prose of 14 words"
    assert filler("it" * 40) is None


@pytest.mark.parametrize(
    ("touched", "left", "found"), [(89, 11, False), (90, 10, True), (91, 9, True), (899, 101, False), (900, 100, True)]
)
def test_a_rewrite_writes_over_nine_tenths(touched, left, found):
    """Of the bytes of names and values: here of two names of one letter, and of one that is left."""
    first = touched // 2
    values = f"DEF A = {'x' * (first - 1)}\nDEF B = {'y' * (touched - first - 1)}\nDEF C = {'z' * (left - 1)}\n\n"
    text = values + patch("~ DEF A := 1\n~ DEF B := 2\n")
    assert ("full_rewrite" in codes(text)) is found
    assert ("full_rewrite" in codes(values + patch("- DEF A\n- DEF B\n"))) is found
    log = values + memory("B") + patch("~ DEF A := 1\n~ DEF B := 2\n")
    assert bool(conform("csp", log.encode()).line("rewrite").doubts) is found, "also where its text alone is judged"


@pytest.mark.parametrize("names", [1, 2, 3, 4])
def test_a_rewrite_is_one_of_three_names_at_least(names):
    letters = "ABCDE"[:names]
    text = "".join(f"DEF {name} = {name}1\n" for name in letters) + "\n"
    text += patch("".join(f"~ DEF {name} := {name}2\n" for name in letters))
    assert ("full_rewrite" in codes(text)) is (names >= 3)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_law_that_is_said_again_has_so_many_letters(more):
    law = ("never delete any file of others" * 2)[: LAW_TEXT_LEAST + more].strip().ljust(LAW_TEXT_LEAST + more, "x")
    text = f"LAWS\n- L1: {law}\n\n" + task(rest=f" ({law})")
    assert ("restate" in codes(text)) is (more >= 0)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("DEF SRC = src/", True),
        ("DEF SRC = srcs/", False),
        ("DEF NEW = src/", False),
        ("LAWS\n- L1: refs only, always", True),
        ("LAWS\n- L1: refs only, never", False),
        ("LAWS\n- L2: refs only, always", False),
    ],
)
def test_what_is_defined_again_after_messages_is_said_again_where_it_is_the_same(said, found):
    laws = "LAWS\n- L1: refs only, always\n\n"
    for behind in ("", "\n"):
        assert ("restate" in codes(laws + DEFS + task() + f"```\n{said}\n{behind}")) is found
    assert "restate" not in codes(laws + DEFS + f"{said}\n\n" + task())


@pytest.mark.parametrize("opening", ["CSP/1;!prose\n", "CSP/1;!prose;DATA ONLY\n", "csp/1;!prose\n"])
@pytest.mark.parametrize("behind", ["DEF A = 1\n", "LAWS\n- L1: refs only\n", "plain words\n"])
def test_a_template_ends_the_message_before_it(opening, behind):
    """What stands behind a template is read as if no message stood before."""
    alone = csp.parse(f"{opening}TASK REQ:x\n\n{behind}", mode="lenient")
    whole = csp.parse(task() + f"{opening}TASK REQ:x\n\n{behind}", mode="lenient")
    kinds = [type(record) for record in alone.records]
    assert [type(record) for record in whole.records] == [csp.CspMessage, *kinds]
    assert [(one.reason, one.where - task().count("\n")) for one in whole.issues] == [
        (one.reason, one.where) for one in alone.issues
    ]


HEAD = "CSP/1\nFROM a\nTO b\nCTX c\nINTENT {}\n\n"
BLOCKS = {
    "TASK": "TASK T1\nREQ {}\nIN {}\n",
    "RESULT": "RESULT T1\nSTATUS OK\nPRODUCED {}\nDATA {}\n",
    "ERROR": "ERROR E1\nAT {}\nCAUSE {}\n",
    "QUERY": "QUERY Q1\nGOAL {}\nX {}\n",
    "FILE": "FILEOP F1 DELETE\nPATH {}\n",
    "MEM": "MEM M1\nKEY {}\nX {}\n",
    "PLAN": "PLAN P1\nGOAL {}\nX {}\n",
}


@pytest.mark.parametrize("intent", BLOCKS)
def test_values_that_are_empty_long_or_end_oddly_come_back(intent):
    values = ("", "x", " x", "x ", "x" * 80, "x" * 79 + "\u00e9", ">>>", "a <<<")
    for first in values:
        for second in values:
            text = HEAD.format(intent) + BLOCKS[intent].format(first, second) + "\n"
            for mode in ("strict", "lenient"):
                try:
                    message = csp.decode(text, mode=mode)
                except DecodeError:
                    assert mode == "strict"
                    continue
                wanted = text[:-1].replace(" \n", "\n")
                for strict in (True, False):
                    written = csp.encode(message, strict=False) if not strict else encoded(message)
                    if written is None:
                        continue
                    assert csp.decode(written, mode="lenient") == message
                    if first in ("", "x", "x" * 80):
                        assert written.splitlines()[:8] == wanted.splitlines()[:8]
                    if intent != "FILE" and not {"x ", ">>>"} & {first, second}:
                        assert written == wanted


def encoded(message):
    """What is written, or None where a value may not be."""
    try:
        return csp.encode(message)
    except EncodeError:
        return None


@pytest.mark.parametrize("size", [0, 1, 30, 31, 32, 62, 63, 64, 79, 80, 200])
@pytest.mark.parametrize("more", ["\n", "\n\n", "x\n", "\nx", "\n>>>", ">>>\n", "\r\n", "x"])
def test_values_of_several_lines_come_back_wherever_their_ends_are(size, more):
    for value in ("x" * size + more, more + "x" * size):
        message = csp.decode(HEAD.format("ERROR") + "ERROR E1\nAT a\nCAUSE y\n")
        message.block.fields[1] = ("CAUSE", value)
        try:
            written = csp.encode(message, strict=False)
        except EncodeError:
            assert "\r" in value  # which no line may have
            continue
        assert csp.decode(written).block.fields[1] == ("CAUSE", value), value


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_lenient_reading_has_the_same_limits(more):
    """Bytes of a message, of a key that no table knows, and how many fields there are."""

    def told(text, **limits):
        found = csp.parse(text, mode="lenient", limits=LIMITS._replace(**limits))
        return [type(record) for record in found.records], [str(one.reason) for one in found.issues]

    block = HEAD.format("PLAN") + "PLAN P1\n"
    text = block + "GOAL x\nKEYWORD y\n"
    whole = told(text, message=len(text) + more)
    assert whole == (([csp.CspMessage], []) if more >= 0 else ([csp.Junk], ["message_too_large"]))
    again = text.replace("CTX", "FROM A\nCTX")  # what was wrong in a message that is too large is not told
    found = told(again, message=len(again) + more)[1]
    assert found == (["dup_header"] if more >= 0 else ["message_too_large"])
    assert told(text, key=len("KEYWORD") + more)[1] == ([] if more >= 0 else ["key_too_long"])
    many = block + "".join(f"K{number} v\n" for number in range(20))
    assert told(many, fields=20 + more)[1] == ([] if more >= 0 else ["too_many_fields"])
    assert told(block + "".join(f"K{number} v\n" for number in range(21)), fields=19)[1] == ["too_many_fields"] * 2


@pytest.mark.parametrize(
    ("name", "number"),
    [("C0", 0), ("C7", 7), ("C" + "9" * 18, 10**18 - 1), ("C" + "9" * 19, 0), ("P7", 0), ("C", 0), ("Cx", 0), ("", 0)],
)
def test_numbers_of_ids(name, number):
    assert number_of("C", name) == number


@pytest.mark.parametrize("digits", [1, 18, 3999, 4000, 4001])
def test_ids_that_were_given_whatever_their_size_is(digits):
    given = SeenIds("T", 2, ["T" + "1" * digits, "other"])
    assert "T" + "1" * digits in given and "other" in given
    assert "T" + "1" * (digits + 1) not in given and "T" + "2" * digits not in given and "T01" not in given
    given.add("T2")
    given.add("T1")
    given.add("T2")
    assert all(name in given for name in ("T1", "T2")) and "T3" not in given and "T0" not in given
    full = SeenIds("T", 2, ["a", "b", "c"])
    assert "d" in full  # of more than are remembered, any may have been
    assert "d" not in SeenIds("T", 2, ["a", "b"])


@pytest.mark.parametrize(("every", "limit"), [(0, 1), (1, 0), (-1, 5), (5, -1)])
def test_cuts_want_positive_numbers(every, limit):
    assert list(safe_cuts([b"x\n"], 1, limit=1)) == []
    with pytest.raises(ValueError, match="positive"):
        list(safe_cuts([b"x\n"], every, limit=limit))


@pytest.mark.parametrize(
    "line",
    [
        *(
            "copy from x",
            "copy to y",
            "rename from x",
            "rename to y",
            "new file mode 100644",
            "deleted file mode 100644",
        ),
        *("old mode 100644", "new mode 100755", "Binary files a/x and b/x differ", "GIT binary patch"),
    ],
)
def test_diffs_that_do_more_than_change_a_text(line):
    diff = f"diff --git a/x b/x\n{line}\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".encode()
    with pytest.raises(WireError, match="changes the text of one file"):
        apply_diff(b"a\n", diff, "x")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        *((rf'"a/x\{sign}"', f"x{letter}") for sign, letter in zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
        *((rf'"a/x\{sign}"', f"x{sign}") for sign in '"\\'),
        (r'"a/x\101"', "xA"),
        ("a/x", "x"),
        ("x", "x"),
        ('"', '"'),
    ],
)
def test_names_in_diffs_with_every_escape(written, name):
    diff = f"--- {written}\n+++ {written}\n@@ -1 +1 @@\n-a\n+b\n".encode()
    assert apply_diff(b"a\n", diff, name) == b"b\n"
    with pytest.raises(WireError, match="the diff is of"):
        apply_diff(b"a\n", diff, name + "y")


@pytest.mark.parametrize("text", [b"a\n", b""])
@pytest.mark.parametrize("head", [b"@@ -0 +1 @@", b"@@ -0,0 +1 @@", b"@@ -0,1 +1 @@"])
def test_a_hunk_in_front_of_everything(text, head):
    assert apply_diff(text, head + b"\n+b\n", "x", recount=True) == b"b\n" + text


def test_laws_that_are_given_twice_before_the_first_message_are_refused():
    replaying = Replaying()
    assert replaying.feed(csp.Preamble({}, {"L1": "one"})) is None
    assert replaying.feed(csp.Preamble({}, {"L2": "two"})) is None
    error = replaying.feed(csp.Preamble({}, {"L1": "three"}))
    assert str(error.reason) == "checkpoint_exists" and "L1 is defined already" in str(error)


@pytest.mark.parametrize(
    ("defs", "laws", "text"),
    [
        ({}, {"L1": "x"}, "LAWS\n- L1: x\n"),
        ({"A": "b"}, {}, "DEF A = b\n"),
        ({"A": "b"}, {"L1": "x"}, "DEF A = b\n\nLAWS\n- L1: x\n"),
        ({"A": "b", "B": "c"}, {"L1": "x", "L2": "y"}, "DEF A = b\nDEF B = c\n\nLAWS\n- L1: x\n- L2: y\n"),
    ],
)
def test_preambles_are_written_without_a_blank_line_in_front(defs, laws, text):
    assert csp.encode(csp.Preamble(defs, laws)) == text


def test_ids_that_were_given_are_never_forgotten_while_there_is_room():
    chance = random.Random(3)
    for _ in range(200):
        room, names = chance.randrange(1, 4), set()
        given = SeenIds("P", room, ())
        for _ in range(chance.randrange(1, 12)):
            name = f"P{chance.randrange(12)}"
            given.add(name)
            names.add(name)
            assert all(one in given for one in names)
        assert not any(f"P0{number}" in given for number in range(12))


@pytest.mark.parametrize(("space", "known"), [(" ", True), ("\t", True), ("\xa0", False), ("\n", False), ("\r", False)])
def test_a_token_stands_between_spaces_and_tabs(space, known):
    text = f"{space}SRC{space},x"
    assert expand(text, {"SRC": "src/"}) == (f"{space}src/{space},x" if known else text)


@pytest.mark.parametrize("front", ["", "a", "é", "レ\n🙂"])
def test_a_lone_surrogate_is_placed_by_its_byte(front):
    with pytest.raises(DecodeError) as caught:
        csp.parse(f"{front}\ud800")
    assert (caught.value.offset, caught.value.line) == (len(front.encode()), 1 + front.count("\n"))


def test_what_is_behind_the_first_message_is_not_of_c0():
    """Whether or not it names something anew."""
    text = "DEF A = a\n\nCSP/1\nFROM X\nTO Y\nCTX C0\nINTENT MEM\n\nMEM M1\nTEXT x\n"
    for later in ("DEF B = b\n", "LAWS\n- L1: x\n"):
        found = csp.replay(f"{text}```\n{later}")
        assert [(str(error.reason), error.text) for _, error in found.refused] == [
            ("checkpoint_exists", "C0 is frozen")
        ]
        assert (dict(found.store.defs), dict(found.store.laws)) == ({"A": "a"}, {})


def _patched(name, base, value, target):
    return csp.message("X", "Y", base, csp.Patch(name, base, [("~", "A", value)], target))


def test_what_was_forgotten_is_not_given_out_again():
    store = PrunedStore({"A": "0"})
    for number in range(1, 5):
        store.apply(_patched(f"P{number}", f"C{number - 1}", f"{number}", f"C{number}"))
    store.forget((), 5)
    assert store.checkpoints == ["C0", "C4"]
    for name, target, reason in (("P2", "C9", "patch_id_reused"), ("P9", "C2", "checkpoint_exists")):
        with pytest.raises(WireError) as caught:
            store.apply(_patched(name, "C4", "x", target))
        assert str(caught.value.reason) == reason
    assert store.apply(_patched("P9", "C4", "x", "C9")).id == "C9"


DOCUMENTS = [
    "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\n",
    "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT FILE\n\nFILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\na\r\nb\n>>>\n",
    "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF A = b\n- DEF C\nAPPLY -> C1\n",
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


def memory(receiver, text="x"):
    return f"CSP/1\nFROM MAIN\nTO {receiver}\nCTX C0\nINTENT MEM\n\nMEM M1\nTEXT {text}\n\n"


def test_whoever_was_written_to_is_known_also_where_the_text_alone_was_judged():
    """Defined names are asked for where values name somebody."""
    asks = "CSP/1\nFROM MAIN\nTO CODER\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\nIN {}\n"
    log = "DEF SRC = src\n\n" + memory("FIRST") + memory("SECOND") + asks
    for name, known in (("FIRST", True), ("SECOND", True), ("MAIN", True), ("CODER", True), ("THIRD", False)):
        assert bool(conform("csp", log.format(name).encode()).line("ids").faults) is not known, name
        assert ("undef" in codes("DEF SRC = src\n\n" + asks.format(name))) is (name not in ("MAIN", "CODER"))


@pytest.mark.parametrize(("at", "task"), [("T7", "T7"), ("T7x", None), ("src/a.ts", None), ("T", None)])
def test_an_error_is_about_a_task_where_it_names_one(at, task):
    for cause in ("none", "\n<<<\nAT T1\n>>>"):
        text = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT ERROR\n\nERROR E1\nAT {at}\nCAUSE {cause}\n"
        assert work(text.replace(" \n", "\n").encode()) == Work(task)


def test_a_patch_has_a_field_for_each_of_its_lines():
    made = csp.Patch("P1", "C0", [("+", "A", "1"), ("-", "B", None), ("~", "C", "")], "C1")
    assert made.fields == [("BASE", "C0"), ("+ DEF A", "1"), ("- DEF B", ""), ("~ DEF C", ""), ("APPLY", "C1")]


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
