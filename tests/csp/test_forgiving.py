"""Messages as models write them: lenient reading takes them with all that they say, and tells what it forgave."""

from __future__ import annotations

import random
from typing import Any

import pytest

import turnwire
from tests import vectors
from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import raised
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
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


@vectors.cases("csp_forms", kind="forgiven")
def test_what_is_forgiven(case: dict[str, Any]) -> None:
    message = csp.decode(case["text"], mode="lenient")
    assert message == csp.decode(case.get("good", GOOD))
    assert message.issues
    raised(turnwire.DecodeError, csp.decode, case["text"])


@pytest.mark.parametrize("seed", range(81))
def test_forms_are_forgiven_in_combination(seed: int) -> None:
    """A text as a model writes it: of each part any form."""
    form = random.Random(seed).choice
    kind, name, fields = form(BLOCKS)
    head, field, value, enum = form(LINES), form(LINES), form(VALUES), form(ENUMS)
    said = [("FROM", "MAIN"), ("TO", "CODE"), ("CTX", "C0"), ("INTENT", form([kind, kind.lower(), kind.title()]))]
    lines = [form(MAGICS), *(line(head, key, value.format(word)) for key, word in said), *form(PARTED)]
    lines.append(form(FIRST).format(kind, name))
    for key, word in random.Random(seed).sample(fields, len(fields)):
        lines.append(line(field, key, enum.format(word) if key in ("STATUS", "PRIORITY") else word))
    before, behind, each_line = form(AROUND)
    text = "".join((before, *(f"{each_line}{line}\n" for line in lines), behind))
    message = csp.decode(text.replace("\n", form(["\n", "\r\n"])), mode="lenient")
    made: type[csp.Block] = {"TASK": csp.Task, "RESULT": csp.Result, "ERROR": csp.Error}[kind]
    assert message == csp.message("MAIN", "CODE", "C0", made(name, fields))  # type: ignore[arg-type]


BLOCKS = [
    ("TASK", "T001", [("REQ", "find the auth middleware"), ("IN", "SRC,LIB"), ("OWNER", "CODE"), ("PRIORITY", "P1")]),
    ("RESULT", "T001", [("STATUS", "PARTIAL"), ("PRODUCED", "F001"), ("DATA", "src/auth.ts:24-67;lib/jwt.ts:12")]),
    ("ERROR", "E001", [("AT", "T001"), ("CAUSE", "no matches in SRC"), ("NEXT", "try a broader scope")]),
]
LINES = ["{0} {1}", "{0}: {1}", "{0:t}: {1}", "{0:l}: {1}", "**{0}:** {1}", "**{0}**: {1}", "- {0}: {1}", "* {0} {1}",
         "- **{0}**: {1}", "`{0}` {1}", "{0}: {1}  ", "   {0} {1}", "1. {0}: {1}", "• {0} {1}"]  # fmt: skip
VALUES = ["{}", '"{}"', "'{}'", "`{}`", "**{}**", "{}  # note"]
ENUMS = ["{}", '"{}"', "'{}", "`{}`", "**{}**", "{} (high)", "{}."]
MAGICS = ["CSP/1", "# CSP/1", "## CSP/1", "**CSP/1**", "`CSP/1`", "csp/1", "CSP/1:", "CSP/1 ", " CSP/1"]
PARTED = [[""], [], ["---"], ["", ""], ["", "---", ""], ["***"]]
FIRST = ["{0} {1}", "{0}: {1}", "## {0} {1}", "**{0} {1}**", "[{0} {1}]", "{0} {1}:", "{0} `{1}`", "**{0}** {1}"]
AROUND = [
    *(("", "", before) for before in ("", "> ", "    ", "MAIN: ")),
    *(("", "END\n", ""), ("", "---\n", ""), ("Here it is:\n\n", "\nThat is all.\n", "")),
    *(("```csp\n", "```\n", ""), ("~~~\n", "~~~\n", "")),
]


def line(form: str, key: str, value: str) -> str:
    """``form`` with the key in the case that it asks for."""
    for mark, said in (("{0:t}", key.title()), ("{0:l}", key.lower()), ("{0}", key)):
        form = form.replace(mark, said)
    return form.replace("{1}", value)


@pytest.mark.parametrize(
    "line", ["END", "---", "RESULT T001", "FROM A", "DEF A = b", "LAWS", "# TASK T2", "EOF", "==="]
)
def test_lines_that_are_no_value_are_never_glued_to_one(line: str) -> None:
    for before in ("OWNER CODE", "REQ find it", "PRIORITY P1"):
        message = csp.decode(GOOD.replace(before, f"{before}\n{line}"), mode="lenient")
        said = message.block.fields  # type: ignore[union-attr]
        assert all(value in ("find it", "CODE", "P1") for _, value in said) and message.issues


@pytest.mark.parametrize("line", ["Deadline: tomorrow", "NOTE be quick", "...", "- and more", "(end of message)"])
@pytest.mark.parametrize("before", ["IN SRC", "OWNER CODE"])
def test_only_a_comma_lets_names_go_on(before: str, line: str) -> None:
    good = csp.decode(GOOD.replace("OWNER", "IN SRC\nOWNER"))
    text = csp.encode(good).replace(before, f"{before}\n{line}")
    message = csp.decode(text, mode="lenient")
    assert message == good and message.issues
    several = csp.decode(csp.encode(good).replace("IN SRC", "IN SRC,\nLIB"), mode="lenient")
    assert several.block.get("IN") == "SRC,\nLIB"  # type: ignore[union-attr]


@pytest.mark.parametrize("line", ["in the cellar", "from the top", "owner of it"])
def test_prose_is_no_field(line: str) -> None:
    message = csp.decode(GOOD.replace("OWNER", f"{line}\nOWNER"), mode="lenient")
    assert (message.sender, message.block.get("OWNER"), message.block.get("IN")) == ("MAIN", "CODE", None)  # type: ignore[union-attr]


MISSPELT = ["DEF X y", " DEF X= y", "- L1 text", "-L2: text"]


@pytest.mark.parametrize("line", MISSPELT)
def test_a_misspelt_name_or_law_is_told_by_all_that_read_a_log(line: str) -> None:
    text = f"DEF A = b\n{line}\n\n{GOOD}"
    document = csp.parse(text, mode="lenient")
    assert [one.where for one in document.issues] == [2]
    assert [(one.reason, one.where) for one in csp.lint(document) if one.reason == "junk"] == [("junk", 2)]
    assert [(error.reason, error.line) for _, error in csp.replay(document).refused] == [("junk", 2)]
    log = csp.read_log(text)
    assert [(error.reason, error.line, error.offset) for error in log.damaged] == [("junk", 2, 10)]
    assert len(log.document) == 2 and not csp.read_log(text.replace(line, "L1 is a cache")).damaged


KEYS = ["- {} {}", "**{}:** {}", "**{}** {}", "**{}**: {}", "* **{}:** {}", "`{}` {}", "1. {}: {}", "\u2022 {}: {}"]
MARKDOWN = [
    "# CSP/1\n\n- **FROM**: the sender\n- TO DO\n",
    "CSP/1 has a header:\n- FROM: sender\n- TO: receiver\n",
    "The header of `CSP/1`\n\n- FROM: sender\n- TO: receiver\n",
    "**CSP/1**\n\n- from scratch\n- **To** be done\n",
]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(
    "title", ["CSP/1", "**CSP/1**", "`CSP/1`", "# CSP/1", "## **CSP/1:**", "> **CSP/1**", "CSP/1:"]
)
@pytest.mark.parametrize("form", ["{} {}", *KEYS])
@pytest.mark.parametrize("case", [str.upper, str.title])
def test_what_is_read_out_of_markdown_is_at_least_a_reject_of_a_scan(title: str, form: str, case: Any) -> None:
    pairs = {"FROM": "A", "TO": "B", "CTX": "C0", "INTENT": "TASK"}
    lines = [form.format(case(key) if ":" in form else key, value) for key, value in pairs.items()]
    text = "\n".join([title, *lines, "", "TASK T1", "REQ go"]) + "\n"
    assert csp.decode(text, mode="lenient").sender == "A"
    found = turnwire.scan(text.encode())
    assert sum(len(batch) for batch in found) + len(list(found.rejects.rows())) == 1


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("text", MARKDOWN)
def test_ordinary_markdown_is_no_reject(text: str) -> None:
    found = turnwire.scan(text.encode())
    assert sum(len(batch) for batch in found) + len(list(found.rejects.rows())) == 0


@pytest.mark.parametrize("prefix", ["> ", "[12:00:01] bot: ", "12 | "])
def test_messages_behind_a_prefix_are_parsed_and_the_text_around_them_is_kept(prefix: str) -> None:
    quoted = "".join(f"{prefix}{line}".rstrip() + "\n" for line in (GOOD + "\n" + GOOD).splitlines())
    document = csp.parse(f"He wrote:\n{quoted}Thanks\n", mode="lenient")
    texts = [one.text for one in document.records if isinstance(one, csp.Junk)]
    assert ([one for one in document.records if isinstance(one, csp.CspMessage)], texts) == (
        [csp.decode(GOOD)] * 2,
        ["He wrote:", "Thanks"],
    )
    assert [(str(found.reason), found.where) for found in document.issues] == [("bad_magic", 2)]
    document = csp.parse(quoted.replace("MAIN", "A B"), mode="lenient")
    assert [str(found.reason) for found in document.issues] == ["bad_magic", "bad_header_value", "bad_header_value"]
