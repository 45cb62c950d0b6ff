"""Space Format: the vectors, byte identity, both twins alike, damage, writing."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire.kick._format_py as pure
from tests import vectors
from tests.conftest import BACKENDS, needs_both, raised
from tests.levels import each_level
from turnwire import kick
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.kick import Section, Space, lint, parse_space, space

native = import_module("turnwire._native.kick.format") if BACKENDS[0] == "native" else pure

PIECES = [
    "⫻", "⫻", "\n", "\n", "a", "b", "/", ":", " ", "\r", "\t", "\v", "\x85", "\u2028", "\u00a0", "\u3000", "😀", "é",
    "`", "```", "~~~~", "\\", "\ufeff", "\r\n", "⫻a/b:c/1\n", "\0", "\u2afd", "x" * 40, "x" * 200 + "\n",
]  # fmt: skip
documents = st.one_of(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.text(max_size=80))
modes = st.sampled_from(["strict", "lenient"])


def shown(found: Any) -> dict[str, Any]:
    return {
        "preamble": found.preamble,
        "sections": [
            {part: value for part, value in section.to_dict().items() if part != "raw"} for section in found.sections
        ],
        "issues": [[str(issue.reason), issue.where] for issue in found.issues],
    }


def outcome(core: ModuleType, source: str | bytes, **options: Any) -> Any:
    """Everything that reading with one twin says."""
    kept = space._core
    space._core = core
    try:
        found = parse_space(source, **options)
    except DecodeError as error:
        return error.reason, error.offset, error.line
    finally:
        space._core = kept
    assert found.text() == (source if isinstance(source, str) else source.decode())
    parts = [section.to_dict() for section in found.sections]
    return found.preamble, parts, found.issues, found.bom


@vectors.cases("kick", kind="space")
@pytest.mark.parametrize("form", [str, str.encode], ids=["str", "bytes"])
def test_vectors(twin: str, case: dict[str, Any], form: Callable[[str], Any]) -> None:
    source = form(case["text"])
    assert parse_space(source, mode="lenient").text() == case["text"], "lenient reading refuses nothing"
    if "error" in case:
        caught = raised(DecodeError, parse_space, source, mode=case["mode"])
        assert (caught.reason, caught.line, caught.wire) == (case["error"], case["at"], "kick")
        return
    found = parse_space(source, mode=case["mode"])
    assert shown(found) == case["expect"]
    assert found.text() == case["text"]


SPACES = [chr(code) for code in range(0x3100) if chr(code).isspace()]
NEIGHBOURS = sorted(
    {chr(ord(char) + step) for char in SPACES for step in (-1, 1) if ord(char) + step >= 0} - set(SPACES)
)
FOUR_BYTES = ["\U0005a000", "\U00080000", "\U000c0000"]
"""The first three bytes of each are those of a space but for the bits that tell how many there are."""


@needs_both
@pytest.mark.parametrize("char", [*SPACES, *NEIGHBOURS, *FOUR_BYTES], ids=lambda char: f"U+{ord(char):04X}")
def test_white_space_is_that_of_python(char: str) -> None:
    """At each end of each part of a header, and alone on a line, in texts of one, two and four bytes a character."""
    forms = (
        "⫻{}a",
        "⫻a{}",
        "⫻a/b:{}c",
        "⫻a/b:c{}",
        "⫻a/b:{}",
        "⫻a/b: x{}y{}",
        "⫻a/b:c{}d/1",
        "⫻a\nx\n{}\n\n⫻b",
        "⫻a\n{}",
    )
    for form in forms:
        for tail in ("", "\n😀"):
            text = form.replace("{}", char) + tail
            expected = outcome(pure, text, mode="lenient")
            assert outcome(native, text, mode="lenient") == expected
            assert outcome(native, text.encode(), mode="lenient") == outcome(pure, text.encode(), mode="lenient")


@vectors.cases("kick_forms", kind="header")
def test_lenient_headers(twin: str, case: dict[str, Any]) -> None:
    header, parts, issues = case["header"], tuple(case["parts"]), case["issues"]
    for ending in ("", "\n", "\r\n") if not header.endswith("\r") else ("",):
        found = parse_space(f"one\n\n{header}{ending}", mode="lenient")
        section = found.sections[0]
        assert (section.name, section.type, section.qualifier, section.place, section.index, section.inline) == parts
        assert [(issue.reason, issue.where, issue.severity) for issue in found.issues] == [
            (reason, 3, "warning") for reason in issues
        ]


@vectors.cases("kick_forms", kind="bad header")
def test_strict_says_where(twin: str, case: dict[str, Any]) -> None:
    header, offset = case["header"], case["at"]
    for source in (f"é\n{header}", f"é\n{header}".encode()):
        caught = raised(DecodeError, parse_space, source)
        assert (caught.reason, caught.offset, caught.line) == (Reason.BAD_HEADER, 3 + offset, 2)


def test_byte_order_mark(twin: str) -> None:
    caught = raised(DecodeError, parse_space, "\ufeff⫻a\n")
    assert (caught.reason, caught.offset, caught.line) == (Reason.BOM, 0, 1)
    found = parse_space("\ufeff⫻a\n", mode="lenient")
    assert (found.preamble, found.bom, found.text()) == ("", True, "\ufeff⫻a\n")
    assert [(issue.reason, issue.where) for issue in found.issues] == [(Reason.BOM, 1)]
    assert [str(section.name) for section in found.sections] == ["a"]
    assert parse_space("\ufeff⫻a\n".encode(), mode="lenient").sections == found.sections


@vectors.cases("kick_forms", kind="content")
def test_content(twin: str, case: dict[str, Any]) -> None:
    body, content = case["text"], case["content"]
    for source in (f"⫻a\n{body}", f"⫻a\n{body}".encode()):
        (section,) = parse_space(source).sections
        assert section.content == content
        assert section.raw == f"⫻a\n{body}"


def test_fences(twin: str) -> None:
    """CommonMark 0.31, section 4.5: which line opens one and which closes one."""
    for case in vectors.load("kick_forms"):
        for form in (str, str.encode) if case["kind"] == "fences" else ():
            found = parse_space(form(case["text"]), fences=True)
            assert found.text() == case["text"]
            assert [section.name for section in found.sections] == case["names"], case["id"]


def test_stuffing(twin: str) -> None:
    text = "⫻a\n\\⫻b\n\\\\⫻c\n\\x\n"
    section = parse_space(text, stuffing=True).sections[0]
    assert section.content == "⫻b\n\\⫻c\n\\x"
    built = Space("", [section.replace(content=section.content)], stuffing=True)
    assert built.text() == text
    assert parse_space(text).sections[0].content == "\\⫻b\n\\\\⫻c\n\\x"


@needs_both
@given(documents, modes, st.booleans(), st.booleans())
def test_twins_agree_and_lose_nothing(text: str, mode: str, fences: bool, stuffing: bool) -> None:
    options = {"mode": mode, "fences": fences, "stuffing": stuffing}
    of_text, of_bytes = outcome(pure, text, **options), outcome(pure, text.encode(), **options)
    for _ in each_level(native):
        assert outcome(native, text, **options) == of_text
        assert outcome(native, text.encode(), **options) == of_bytes


@given(st.text(alphabet=PIECES[0] + "a\n \\`~\r", max_size=30), st.booleans(), st.booleans())
def test_what_is_built_reads_back_or_is_refused(content: str, fences: bool, stuffing: bool) -> None:
    refusals = (Reason.SIGIL_IN_BODY, Reason.UNCLOSED_FENCE, Reason.LONE_RETURN, Reason.TRAILING_BLANK)
    try:
        section = Section("a", "b", place="c", index="1", content=content)
        text = Space("", [section, Section("end")], fences=fences, stuffing=stuffing).text()
    except EncodeError as error:
        if error.reason not in refusals:
            raise
        return
    first, last = parse_space(text, fences=fences, stuffing=stuffing).sections
    assert first.content == content
    assert (first.qualifier, last.name) == ("c/1", "end")


@pytest.mark.parametrize("filler", ["x", "é", "😀", "\n€"], ids=["1 byte", "2 bytes", "4 bytes", "as a sigil begins"])
def test_every_place_in_a_block(twin: str, filler: str) -> None:
    """A header right at, before and after the edges of the vectors and windows of the native search."""
    edges = [*range(20, 70), *range(120, 140), *range(250, 262), *range(16370, 16400)]
    for _ in each_level(space._core):
        for edge in edges:
            for tail in (0, 1, 40, 300):
                text = f"⫻a\n{filler * edge}\n⫻b\n{filler * tail}"
                assert [section.name for section in parse_space(text).sections] == ["a", "b"]
                assert [section.name for section in parse_space(text.encode()).sections] == ["a", "b"]


BAD_UTF8 = [
    *(b"\x80", b"\xc3", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8", b"\xe2\xab"),
    *(
        b"\xdf",
        b"\xe1",
        b"\xef\xbf",
        b"\xf0",
        b"\xf0\x9f",
        b"\xf0\x9f\x98",
        b"\xf4\x8f\xbf",
        b"\xf1\x80\x80",
        b"\xc1\xbf",
    ),
]


def test_bad_utf8_is_found_anywhere(core: Callable[[str], ModuleType]) -> None:
    module = core("kick.format")
    for level in each_level(module):
        sizes = (*range(0, 137 if level else 3), 255, 256, 16380, 16384, 40000)
        for size, piece, tail in itertools.product(sizes, BAD_UTF8, (b"", b"\n", b"x" * 150)):
            for before in ("y" * size, "é" * (size // 2))[: 1 + (size % 2 == 0 and size < 137)]:
                data = "⫻a\n".encode() + before.encode() + piece + tail
                caught = raised(DecodeError, module.parse, data, True)
                assert (caught.reason, caught.offset) == (Reason.BAD_UTF8, 5 + size)
        for good in ("é", "€", "😀", "\ud7ff", "\ue000", "\U0010ffff", "\x7f\u0080\u07ff\u0800\uffff\U00010000"):
            data = ("⫻a\n" + good * 9000).encode()
            assert module.parse(data, True)[2][0].content == good * 9000


def test_bad_utf8_comes_before_a_bad_header(core: Callable[[str], ModuleType]) -> None:
    caught = raised(DecodeError, core("kick.format").parse, "⫻ a\n".encode() + b"x" * 40000 + b"\xff")
    assert (caught.reason, caught.offset) == (Reason.BAD_UTF8, 40006)


def test_buffers(twin: str) -> None:
    data = "⫻a\nx\n".encode()
    held = bytearray(data)
    found = parse_space(held)
    held[:] = b"#" * len(held)
    assert found.text() == "⫻a\nx\n"
    assert parse_space(memoryview(data)).sections[0].content == "x"
    for value in (memoryview(data)[::2], 7, None):
        assert raised(DecodeError, parse_space, value).reason is Reason.WRONG_TYPE
    with pytest.raises(ValueError, match="mode"):
        parse_space("", mode="loose")


def test_section_is_a_value(core: Callable[[str], ModuleType]) -> None:
    made = Section
    (parsed,) = core("kick.format").parse("⫻a/b:c/1\nx\n".encode())[2]
    built = made("a", "b", "c/1", content="x", raw="⫻a/b:c/1\nx\n")
    assert parsed == built == pickle.loads(pickle.dumps(parsed)) == copy.copy(parsed)
    assert hash(parsed) == hash(built)
    assert parsed != made("a", "b", "c/2", content="x")
    assert repr(parsed) == "<Section '⫻a/b:c/1', 1 characters>"
    assert made("a", place="p", index="1").qualifier == "p/1"
    assert made("a", inline="text").qualifier == ""
    assert built.replace(index="2").qualifier == "c/2"
    assert built.replace(qualifier="z").place == "z"
    assert built.replace(inline="t").place is None
    with pytest.raises(AttributeError):
        parsed.name = "b"
    raised(TypeError, built.replace, colour="red")
    raws = [{"raw": raw} for raw in ("b", "⫻b\n", "⫻a\nx\n", "⫻a\n\n⫻b\n", "⫻a\ud800\n", "")]
    for wrong in (
        {"name": 7},
        {"index": "1"},
        {"qualifier": "a/b", "place": "c"},
        {"inline": "x", "qualifier": "y"},
        *raws,
    ):
        with pytest.raises(EncodeError):
            made(**{"name": "a", **wrong})
    with pytest.raises(DecodeError):  # an edit of one of two that say the same
        made.from_dict({**parsed.to_dict(), "content": "y"})


@pytest.mark.parametrize("tail", ["\n", "\r\n", " \n", "\n\n", "\n \t\n", "\n\u2003"])
def test_content_that_would_lose_its_end_is_refused_unless_it_is_to_be_trimmed(tail: str) -> None:
    made = Section
    for text in ("x", "\n x", ""):
        kept = f"{text} " if text and tail == " \n" else text
        caught = raised(EncodeError, made, "a", content=text + tail)
        assert (caught.reason, caught.path) == (Reason.TRAILING_BLANK, "/content")
        with pytest.raises(EncodeError):
            made("a").replace(content=text + tail)
        assert made("a", content=text + tail, trim=True).content == kept


REAL = [
    "intro\n⫻content/meta: Overview \r\none\r\n\r\n\r\n⫻end/\ntwo\n \n⫻a/b:c/d/e\n\n\n⫻ spaced\nx",
    "\ufeff⫻a\n⫻b:\n```\n⫻c d\n```\n\n⫻e\\f/⫻\n\tlast\n\n",
    "⫻only",
]


@pytest.mark.parametrize("options", [{}, {"fences": True}, {"stuffing": True}, {"fences": True, "stuffing": True}])
@pytest.mark.parametrize("text", REAL)
def test_replacing_a_section_leaves_the_rest_of_a_document_as_it_is(
    twin: str, text: str, options: dict[str, bool]
) -> None:
    """Its own header and the blank lines behind it, too: as authors write them, whatever strict reading says."""
    old = parse_space(text, mode="lenient", **options).sections
    for place, own in enumerate(old):
        for content in ("new", "a\n\nb", "```\nx\n```", ""):
            found = parse_space(text, mode="lenient", **options)
            found.sections[place] = own.replace(content=content)
            written = found.text()
            again = parse_space(written, mode="lenient", **options).sections
            changed = [content if one is own else one.content for one in old]
            assert [one.content for one in again] == changed
            before, behind = text.split(own.raw or "")
            assert written.startswith(before + (own.raw or "").partition("\n")[0]) and written.endswith(behind)


def test_a_section_with_a_line_that_begins_with_the_sigil_is_spelled_by_its_document(twin: str) -> None:
    (section,) = parse_space("⫻a\nx\n\n", stuffing=True).sections
    changed = section.replace(content="⫻b\n\\⫻c")
    assert Space("", [changed], stuffing=True).text() == "⫻a\n\\⫻b\n\\\\⫻c\n"
    assert raised(EncodeError, Space("", [changed]).text).reason is Reason.SIGIL_IN_BODY


def test_a_section_that_is_replaced_keeps_its_line_endings_and_blank_lines(twin: str) -> None:
    found = parse_space("⫻a: x \r\none\r\n \r\n\r\n⫻b\r\n\r\n⫻c\ntwo", mode="lenient")
    changes: list[dict[str, str]] = [{"content": "1"}, {"content": "2"}, {"name": "d", "content": ""}]
    found.sections = [one.replace(**change) for one, change in zip(found.sections, changes, strict=True)]
    assert found.text() == "⫻a: x \r\n1\r\n \r\n\r\n⫻b\r\n2\r\n\r\n⫻d\n"
    assert parse_space("⫻a").sections[0].replace(content="x").raw == "⫻a\nx"
    assert parse_space("⫻a\r\nx\r\n").sections[0].replace(name="b").raw == "⫻b\r\nx\r\n"
    assert parse_space("⫻a\nx\n\n").sections[0].replace(content="").raw == "⫻a\n\n"
    (fenced, *_) = parse_space("⫻a\nx\n⫻b\n", fences=True).sections
    caught = raised(EncodeError, Space("", [fenced.replace(content="```"), Section("b")], fences=True).text)
    assert caught.reason is Reason.UNCLOSED_FENCE


def test_editing_a_document(twin: str) -> None:
    found = parse_space("intro\n⫻a\none")
    found.sections.append(Section("b", content="two\n\n", trim=True))
    found.sections.insert(0, Section("c"))
    assert found.text() == "intro\n⫻c\n⫻a\none\n⫻b\ntwo\n"


@pytest.mark.parametrize(
    ("built", "reason", "path"),
    [
        (Space("⫻x"), "sigil_in_body", "/preamble"),
        (Space("", [Section("a", content="x\n⫻y")]), "sigil_in_body", "/sections/0/content"),
        (Space("", [Section("a", content="x\r")]), "lone_return", "/sections/0/content"),
        (Space("", [Section("a b")]), "bad_header", "/sections/0/name"),
        (Space("", [Section("a"), Section("a", inline="x")]), "bad_header", "/sections/1/name"),
        (Space("", [Section("a:b")]), "bad_header", "/sections/0/name"),
        (Space("", [Section("a", "b\nc")]), "bad_header", "/sections/0/name"),
        (Space("", [Section("")]), "bad_header", "/sections/0/name"),
        (Space("", [Section("a", content="```")], fences=True), "unclosed_fence", "/sections/0/content"),
        (Space("```", [Section("a")], fences=True), "unclosed_fence", "/preamble"),
        (Space("", [Section("a", content="\ud800")]), "lone_surrogate", "/sections/0"),
    ],
)
def test_writing_refuses(built: Space, reason: str, path: str) -> None:
    caught = raised(EncodeError, built.text)
    assert (caught.reason, caught.path) == (reason, path)


def test_lenient_writing() -> None:
    assert Space("", [Section("a", "b", inline="text")]).text(strict=False) == "⫻a/b: text\n"
    with pytest.raises(EncodeError):
        Space("", [Section("a:b")]).text(strict=False)


def test_space_is_a_value() -> None:
    found = parse_space("⫻ a\nx", mode="lenient")
    assert found == copy.deepcopy(found) == pickle.loads(pickle.dumps(found))
    assert found != parse_space("⫻b", mode="lenient")
    assert repr(found) == "<Space 0 characters, 1 sections, 1 issues>"


def test_lint() -> None:
    found = parse_space("⫻a:p/1\n⫻a:p/2\n⫻a:p/4\n⫻a:q/9\n⫻a:p/4\n⫻a:p/x\n⫻b\n⫻b\n")
    assert [(issue.reason, issue.where, issue.severity) for issue in lint(found)] == [
        ("index_gap", 3, "info"),
        ("duplicate_section", 5, "info"),
    ]


def test_markdown_with_sigils(twin: str) -> None:
    """A real Markdown page, full of sigils."""
    page = Path(__file__).parents[2] / "docs" / "kick.md"
    text = page.read_text("utf-8")
    assert text.count("⫻") > 20
    for fences in (False, True):
        assert parse_space(text, mode="lenient", fences=fences).text() == text
    assert parse_space(text.encode().replace(b"\n", b"\r\n"), mode="lenient").text() == text.replace("\n", "\r\n")


@pytest.mark.parametrize("digits", [1, 17, 18, 19, 30])
def test_an_index_has_18_digits_at_most_to_be_a_number(digits: int) -> None:
    first, later = int("1" + "0" * (digits - 1)), int("5" + "0" * (digits - 1))
    text = f"\u2afba/b:x/{first}\none\n\u2afba/b:x/{later}\ntwo\n"
    found = [str(issue.reason) for issue in kick.lint(kick.parse_space(text))]
    assert found == (["index_gap"] if digits <= 18 else [])


@pytest.mark.parametrize("parts", [{"place": "a"}, {"index": "2"}, {"place": "a", "index": "2"}])
def test_a_qualifier_says_what_place_and_index_say(parts: dict[str, str]) -> None:
    """Either of them alone may contradict it."""
    assert kick.Section("x", qualifier="a/1", place="a", index="1").index == "1"
    with pytest.raises(EncodeError, match="contradict each other"):
        kick.Section("x", qualifier="a/1", **parts)
