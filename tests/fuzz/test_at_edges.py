"""Both cores say the same of a log, whatever stands at the edge of what is looked at together: a byte at each place of
long text, ends of lines as Windows has them, what is damaged in front of something good."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import PURE_ONLY
from tests.fuzz.cores import Core
from tests.fuzz.edits import MESSAGES
from tests.fuzz.targets import TARGETS, said_of
from tests.fuzz.variants import conversations, lines, objects

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]
WHOLE = b"\xff%c\0\0"
"""How a target of scans is told to take one block, and the code of a level."""
CSP = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\nOWNER me\n\n"
SLIP = '@a3|f0|c1|S0|d1|T1|gH|t"he\\"l|lo#"#'
INTENT = {
    "header": {"kind": "intent", "actor_id": "a", "schema_id": "x.y.v0", "session_id": "s", "logical_clock": 1},
    "payload": {"goal": "g", "assumptions": [], "success_criteria": "c", "constraints": []},
}
GOOD = json.dumps(INTENT)
BEHIND = (
    "2026-01-01T00:00:00Z INFO x",
    "[2026-01-01T00:00:00Z] x",
    "text",
    "",
    GOOD,
    SLIP,
    "CSP/1",
    "\u2afba/b",
    '{"log":"x"}',
    "```",
)
Family = Callable[[], Iterator[str | bytes]]


def bad_bytes_in_csp() -> Iterator[bytes]:
    for bad in (b"\xff", b"\xc3", b"\xe3\x83"):
        messages = []
        for size in range(0, 700, 3):
            text = b"REQ " + b"x" * size
            for place in {len(text), max(4, size - 60), 4 + size // 2}:
                messages.append(CSP.encode().replace(b"REQ x", text[:place] + bad + text[place:]))
        yield b"".join(messages) + CSP.encode()
        plan = CSP.replace("TASK T1\nREQ x\nOWNER me", "PLAN P1\nA b\nB\n<<<\n@\n>>>\nC c").replace(
            "INTENT TASK", "INTENT PLAN"
        )
        yield b"".join(
            plan.encode().replace(b"@", one) for one in (bad, b"good", bad + b"x", b"x\ny", b"x" + bad, b"z")
        )


def parts_of_cri() -> Iterator[str]:
    """Messages that a container engine cut, with each kind of tag."""
    for stream in ("stdout", "stderr", "stdin", "stdoutx"):
        for tag in ("P", "F", "P:x", "P:", "F:x", ":P", "p", "PP", "P;", ""):
            for record in (GOOD, SLIP):
                half = len(record) // 2
                front = f"2026-01-01T00:00:00.123456789Z {stream}"
                yield f"{front} {tag} {record[:half]}\n{front} F {record[half:]}\n{front} {tag} {record}\n"


def ends_of_lines() -> Iterator[str]:
    """What is torn over lines, with each kind of end, in front of what may stand behind it."""
    broken = json.dumps(INTENT, indent=1)
    for torn in (
        broken[: broken.index('"session')],
        broken[:-2],
        GOOD[:90],
        CSP[:40],
        CSP + "broken line\n",
        SLIP[:-3],
    ):
        for end in ("\n", "\r\n", "\r\r\n", " \r\n", "\r"):
            yield "".join((torn + "\n" + line + "\n").replace("\n", end) for line in BEHIND)


def records_in_damage() -> Iterator[str]:
    """Records in a damaged message of CSP/1, behind each of its lines, with each kind of end."""
    lines = (CSP + "broken line\nOWNER x\n").splitlines()
    for end in ("\n", "\r\n"):
        for place in range(1, len(lines)):
            for record in (GOOD, SLIP, GOOD[:-1], SLIP[:-1], f"{GOOD} x", json.dumps({"log": GOOD}), json.dumps(CSP)):
                yield end.join([*lines[:place], record, *lines[place:], CSP.replace("\n", end)])


def rejects_in_strings() -> Iterator[str]:
    """As many in one block as are kept of strings, and more."""
    bad = GOOD.replace('"g"', "5")
    for number in (512, 513):
        yield json.dumps({"a": bad * number, "b": GOOD}) + f"\n{GOOD}\n"
        yield "".join(json.dumps({"a": f"{bad} {GOOD}"}) + "\n" for _ in range(number))


def times_at_the_head() -> Iterator[str]:
    for space in (" ", "\t"):
        for front in (*range(space == "\t", 4), 15, 16, 31, 32, *range(60, 72)):
            for opened in ("", "[", "("):
                yield "".join(
                    f"{space * front}{opened}{time} INFO {SLIP}\n"
                    for time in ("2026-01-01T00:00:00Z", "2026-01-01 00:00:00.5", "1767225600", "2026-01-01T00:00Z")
                )


def escapes_over_blocks() -> Iterator[str]:
    """One that an edge of 64 bytes cuts, and another one, good or bad, in a later block."""
    for first in ("\\ud83d\\ude00", "\\u00e9", "\\n", "\\\\"):
        lines = []
        for size in range(50, 66):
            for second in ("\\q", "\\n", "\\u12", "\\ud83d", '\\"'):
                for gap in (50, 56, 60, 63, 70, 120):
                    text = "x" * size + first + "y" * gap + second + "z" * 90
                    lines.append(GOOD.replace('"g"', f'"{text}"'))
        yield "\n".join(lines)


def words_like_headers() -> Iterator[str]:
    for magic in ("CSP/1", "Csp/1", "csp/1", "CSP / 1"):
        for word in ("FROM", "from", "To", "ctx", "Task"):
            for form in (" set{}", "{}", "{} set", " set{} ", " {}", " a b{}"):
                ends = ".,:;!?=-)('\"/\\*#@|<>[]{}~`^&%$+_0"
                yield "".join(f"{magic}\n{word}{form.format(end)}\nabc\n\nx\n" for end in ends)


def tags_that_do_not_close() -> Iterator[str]:
    for slot in ('t"', 'u"', 't"a\\"', "g", ""):
        for end in ("\n", "\r\n", "\r", "\r\r\n", "\n\r", ""):
            for behind in (SLIP, "text", "", "@a3|", "@"):
                yield f"@a3|f0|c1|S0|d1|T1|{slot}{end}{behind}{end}{SLIP}{end}"


def documents() -> Iterator[str]:
    """Fences and headers of Space, with white space, marks and signs behind them."""
    for space in ("", " ", "\t", " \t", "\ufeff", "\u00a0", "\r", "x", "\u2afb", "~", "`"):
        for fence in ("```", "~~~~", "   ```"):
            yield f"\u2afba/b:c\ntext\n{fence}{space}\n\u2afbnone\n{fence.strip()}{space}\n\u2afbd/e{space}\nx{space}\n"
        for size in (0, 29, 62, 63, 64):
            yield f"\u2afba/b:c\n{'y' * size}{space}{'y' * 70}\n\u2afbd{space}/e\n"


def letters_with_marks() -> Iterator[str]:
    """Envelopes of KickLang with a content that has a sign at one of its places, or a blank or odd line."""
    letter = json.loads(MESSAGES["kick"][0])
    for sign in ("\ufeff", "\u2afb", "\ufefe", "\ud800", "\u2028", "\x00", "\x85", "\u00a0", "/", ":", "#", "```"):
        for content in ("a", "a/b:c", "a\nx\ny\n", "a/b\n\nx", "é/ü\nβ\n"):
            for place in range(len(content) + 1):
                text = f"\u2afb{content[:place]}{sign}{content[place:]}"
                yield json.dumps({**letter, "content": text}) + "\n" + json.dumps({**letter, "channel": text})


def arrays_of_bytes() -> Iterator[str]:
    """Records as journald writes what is not UTF-8, with one item that is another number, or none."""
    odd = (
        "255",
        "256",
        "257",
        "300",
        "999",
        "1000",
        "-1",
        "-0",
        "00",
        "07",
        "1.0",
        "1e1",
        '"1"',
        "null",
        "[1]",
        "2 5",
        "",
    )
    for record in (GOOD, SLIP, CSP):
        items = [str(byte) for byte in record.encode()]
        for place in (0, 1, len(items) // 2, len(items) - 1, len(items)):
            for one in odd:
                changed = ",".join([*items[:place], one, *items[place:]])
                yield f'{{"MESSAGE":[{changed}],"__REALTIME_TIMESTAMP":"1767225600000000"}}\n{record}\n'


def lines_of_values() -> Iterator[str]:
    """Strings and arrays with words and numbers beside them, and what only begins as these do."""
    words = (
        "true",
        "true_x",
        "true.x",
        "truex",
        "true1",
        "1",
        "1_x",
        "1.x",
        "1x",
        "-",
        "-x",
        "null_",
        "nul",
        "01",
        "1e5_",
    )
    for word in (*words, "1.5.", "_", ".", "1 2", "falsee", "-1-", "+1", "\u00e9"):
        for record in (GOOD, SLIP, CSP):
            said = json.dumps(record)
            yield "".join(
                f"{line}\n"
                for line in (
                    f'["a", {word}, {said}]',
                    f"{said} {word}",
                    f"{said}, {word}",
                    f"[{word}] {said}",
                    f"[{word}, {said}",
                )
            )


def messages_after_each_other() -> Iterator[str]:
    """Each behind each other one: what is kept of the first must not tell of the second what is not so."""
    evidence = next(text for text in MESSAGES["sstp"] if "fact" in text)
    names = ("n", "", "<x>", "\\u003cn", "\\n", "n" * 63, "n" * 64, "n" * 65)
    variants = [
        GOOD,
        *(GOOD.replace('"g"', one) for one in ("5", '""', '"<g>"', '"\\u003cg"', f'"{"g" * 64}"', "null")),
    ]
    variants += [GOOD.replace('"intent"', one) for one in ('"\\u0069ntent"', '"x\\u0069ntent"', '"xintent"', "5")]
    variants += [GOOD.replace('"g"', f'"{"z" * 30}","x":"{"z" * 27}"'), GOOD.replace('"a"', '"<a>"')]
    variants += [evidence.replace('"name":"n"', f'"name":"{name}"') for name in names]
    one = '{"type":"fact","name":%s,"value":"v"}'
    for items in (
        ('"n"', "5"),
        ("5", '"n"'),
        ('"nnnnn"', "5"),
        ('"n"', '"k"', "5"),
        ("5", '"n"', '"nn"'),
        ('"n"', "5", '"n"'),
    ):
        variants.append(evidence.replace(one % '"n"', ",".join(one % item for item in items)))
    for first in variants:
        yield "\n".join("\n".join((first, first, second)) for second in variants)


FAMILIES: dict[str, tuple[Family, tuple[str, ...]]] = {
    "bad bytes in CSP/1": (bad_bytes_in_csp, ("scan-csp", "scan-all")),
    "ends of lines": (ends_of_lines, ("scan-sstp", "scan-csp", "scan-nslip", "scan-all", "salvage")),
    "records in damage": (records_in_damage, ("scan-csp", "scan-all")),
    "rejects in strings": (rejects_in_strings, ("scan-sstp",)),
    "times": (times_at_the_head, ("scan-nslip", "scan-all")),
    "escapes": (escapes_over_blocks, ("scan-sstp",)),
    "words": (words_like_headers, ("scan-csp", "scan-all")),
    "tags": (tags_that_do_not_close, ("scan-nslip", "scan-all")),
    "letters": (letters_with_marks, ("scan-kick", "lines of kick")),
    "arrays of bytes": (arrays_of_bytes, ("scan-all",)),
    "lines of values": (lines_of_values, ("scan-sstp", "scan-all")),
    "after each other": (messages_after_each_other, ("scan-sstp",)),
    "parts of CRI": (parts_of_cri, ("scan-all", "heads")),
    "objects of SSTP": (lambda: objects("sstp"), ("decode-sstp",)),
    "objects of SAP": (lambda: objects("sap"), ("decode-sap",)),
    "objects of KickLang": (lambda: objects("kick"), ("decode-kick",)),
    "lines of CSP/1": (lines, ("decode-csp", "csp-lenient", "tables-csp")),
    "conversations": (conversations, ("conform", "csp-lenient")),
    "documents": (documents, ("scan-kick", "scan-all", "space-strict", "space-lenient")),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_both_cores_say_the_same(family: str, cores: tuple[Core, Core]) -> None:
    make, names = FAMILIES[family]
    texts = list(dict.fromkeys(text if isinstance(text, bytes) else text.encode() for text in make()))
    assert texts
    for name in names:
        scans, given = name.startswith("scan"), texts
        if name.startswith("lines of "):
            name = f"decode-{name.removeprefix('lines of ')}"
            given = [line for text in texts for line in text.splitlines()]
        expected = said_of(TARGETS[name], [WHOLE % 0 + text if scans else text for text in given], cores[1])
        for level in range(3 if scans else 1):
            found = said_of(TARGETS[name], [WHOLE % level + text if scans else text for text in given], cores[0])
            assert [one for one in zip(given, expected, found, strict=True) if one[1] != one[2]] == []


def test_the_messages_of_these_logs_are_good() -> None:
    package = Core("native").package
    assert all(package.decode(text, wire) for wire, text in (("csp", CSP), ("nslip", SLIP), ("sstp", GOOD)))
