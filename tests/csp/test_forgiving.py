"""Messages as models write them: lenient reading takes them with all that they say, and tells what it forgave."""

from __future__ import annotations

import pytest

import turnwire
from tests.above import backend  # noqa: F401  (a fixture)
from turnwire import csp

GOOD = """CSP/1
FROM MAIN
TO CODE
CTX C0
INTENT TASK

TASK T001
REQ find it
OWNER CODE
PRIORITY P1
"""


def each(before: str) -> str:
    return "".join(f"{before}{line}".rstrip() + "\n" for line in GOOD.splitlines())


HEADERS = ("FROM ", "TO ", "CTX ", "INTENT ")


def changed(keys: tuple[str, ...], form: str) -> str:
    """Each of these keys in another form, in which {} is the key."""
    text = GOOD
    for key in keys:
        text = text.replace(f"\n{key}", "\n" + form.format(key.strip()))
    return text


@pytest.mark.parametrize(
    "text",
    [
        *(each(before) for before in ("  ", "\t", "> ", "12:00 main: ", "| ")),
        *(GOOD.replace("CSP/1", magic) for magic in ("# CSP/1", "**CSP/1**", "`CSP/1`", "csp/1", "CSP/1:", "## CSP/1")),
        *(changed(HEADERS, form) for form in ("{}: ", "{}=", "{} = ", "  {} ", "{}:")),
        changed(("REQ ", "OWNER ", "PRIORITY "), "{}: "),
        changed(("REQ ", "OWNER ", "PRIORITY "), "- {}: "),
        changed(("REQ ", "OWNER "), "* {} "),
        GOOD.replace("FROM", "From").replace("TO", "To").replace("CTX", "Ctx").replace("INTENT", "Intent"),
        GOOD.lower().replace("main", "MAIN").replace(" code", " CODE").replace("c0", "C0").replace("t001", "T001"),
        GOOD.replace("INTENT TASK", "INTENT task"),
        GOOD.replace("\n\n", "\n"),
        GOOD.replace("CSP/1\n", "CSP/1\n\n"),
        GOOD.replace("REQ find it\n", "REQ find it\n\n"),
        GOOD.replace("P1", "'P1'"),
        GOOD.replace("P1", '"p1"'),
        GOOD.replace("FROM MAIN", 'FROM "MAIN" '),
        GOOD.replace("TASK T001", "TASK: T001"),
        GOOD.replace("TASK T001", "[TASK T001]"),
        *(GOOD.replace("TASK T001", head) for head in ("## TASK T001", "**TASK T001**", "TASK #T001", "TASK T001:")),
        *(changed(HEADERS, form) for form in ("**{}** ", "**{}:** ", "- {} ", "- **{}**: ", "{} -> ", "{}    ")),
        changed(("REQ ", "OWNER ", "PRIORITY "), "**{}**: "),
        changed(("REQ ", "OWNER ", "PRIORITY "), "- **{}:** "),
        changed(("REQ ", "OWNER ", "PRIORITY "), "• {} "),
        changed(("REQ ", "OWNER ", "PRIORITY "), "1. {}: "),
        GOOD.replace("REQ", "Req").replace("OWNER", "Owner").replace("PRIORITY", "Priority"),
        GOOD.replace("CTX C0", "CTX C0  # the first"),
        GOOD.replace("P1", "'P1"),
        GOOD.replace("P1", "P1 (high)"),
        GOOD.replace("\n\n", "\n\n---\n"),
        f"{GOOD}END\n",
        f"{GOOD}---\n",
        f"{GOOD}CTX C7\n",
        f"{GOOD}TASK T2\n",
        f"Here it is:\n\n{each('> ')}\nThat is all.\n",
    ],
)
def test_what_is_forgiven(text: str) -> None:
    message = csp.decode(text, mode="lenient")
    assert message == csp.decode(GOOD)
    assert message.issues
    with pytest.raises(turnwire.DecodeError):
        csp.decode(text)


PATCH = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PATCH\n\nPATCH P1\nBASE C0\n+ DEF X = a b\n- DEF Y\nAPPLY -> C1\n"
FILE = """CSP/1
FROM A
TO B
CTX C0
INTENT FILE

FILEOP F1 CREATE
PATH a.txt
CONTENT
<<<
 one

two
>>>
"""


@pytest.mark.parametrize(
    ("good", "text"),
    [
        (PATCH, PATCH.replace("+ DEF", "+DEF")),
        (PATCH, PATCH.replace("APPLY -> C1", "APPLY: C1")),
        (PATCH, PATCH.replace("APPLY -> C1", "apply → `C1`")),
        (PATCH, PATCH.replace("BASE C0", "BASE: C0")),
        (PATCH, PATCH.replace("+ DEF", "  + DEF").replace("- DEF Y", "  - DEF Y  ")),
        (FILE, FILE.replace("CREATE", "create")),
        (FILE, FILE.replace("F1 CREATE", "F1: CREATE")),
        (FILE, FILE.replace("CONTENT\n", "CONTENT ")),
        (FILE, FILE.replace("CONTENT\n", "CONTENT: ")),
        (FILE, FILE.replace("<<<", "<<< ").replace(">>>", ">>> ")),
        *((FILE, "".join(f"{indent}{line}\n" for line in FILE.splitlines())) for indent in ("  ", "\t")),
    ],
)
def test_what_is_forgiven_in_patches_and_files(good: str, text: str) -> None:
    message = csp.decode(text, mode="lenient")
    assert message == csp.decode(good) and message.issues
    with pytest.raises(turnwire.DecodeError):
        csp.decode(text)


@pytest.mark.parametrize(
    "line", ["END", "---", "RESULT T001", "FROM A", "DEF A = b", "LAWS", "# TASK T2", "EOF", "==="]
)
def test_lines_that_are_no_value_are_never_glued_to_one(line: str) -> None:
    for before in ("OWNER CODE", "REQ find it", "PRIORITY P1"):
        message = csp.decode(GOOD.replace(before, f"{before}\n{line}"), mode="lenient")
        said = message.block.fields  # type: ignore[union-attr]
        assert all(value in ("find it", "CODE", "P1") for _, value in said) and message.issues


@pytest.mark.parametrize(
    ("line", "value"),
    [("in the cellar", None), ("from the top", None), ("owner of it", None)],
)
def test_prose_is_no_field(line: str, value: str | None) -> None:
    message = csp.decode(GOOD.replace("OWNER", f"{line}\nOWNER"), mode="lenient")
    assert (message.sender, message.block.get("OWNER"), message.block.get("IN")) == ("MAIN", "CODE", value)  # type: ignore[union-attr]
