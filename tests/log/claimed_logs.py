"""Logs in which lines that belong together reach over what CSP/1 claims of them, or stand between such claims."""

from __future__ import annotations

import random

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
TASK = HEAD.format("TASK") + "TASK T1\nREQ x\n"
RESULT = HEAD.format("RESULT") + "RESULT T1\nSTATUS OK\nDATA\n"
MODE = "CSP/1 MODE;A\nSTATUS ok\n"
ALIKE = "CSP/1;A\nSTATUS ok\nPACT x\n"
HELD = ("x\n", "CSP/1\nFROM X\n", TASK, MODE, "<<<\n", "<<<<\n", ">>>\n", "```\n", "  CSP/1\n  FROM Y\n", "\n", "> q\n")
CRI = "2026-05-04T10:00:00Z {} {} {}\n"
STAMP = "2026-05-04T10:00:00Z "
FRONTS = ("    ", " ", "\t", "> ", "> > ", "app: ", "- ", f"{STAMP}[a] ", f"{STAMP}stdout F ", "CSP/1 x ")
LINES = (
    *("CSP/1\n", "  CSP/1\n", "csp / 1\n", "CSP/1;A\n", "> CSP/1\n", "x CSP/1\n", "CSP/1 is good\n", "\ufeffCSP/1\n"),
    *("FROM A\n", "  FROM A\n", "TO B\n", "TASK T1\n", "STATUS ok\n", "DATA\n", "\n", "  \n", "\n\n", "text\n"),
    *("<<<\n", "<<<-\n", "<<<<\n", "<<<<-\n", "<<<<<\n", ">>>\n", ">>>>\n", ">>>>>\n", "```\n", "~~~\n", " ```\n"),
    *("@a3|f0|c1|S0|d1|T1#\n", '{"a": "CSP/1"}\n', "INFO a: b\n", " <<<\n", "<<\n"),
)


def message(chance: random.Random) -> str:
    """A message or a template, good or damaged; its heredocs closed or not."""
    text = chance.choice((TASK, TASK, TASK, RESULT, MODE, ALIKE, HEAD.format("TASK"), "CSP/1\nFROM A\n"))
    if text is RESULT:
        run = chance.choice((3, 3, 3, 4))
        held = "".join(chance.choice(HELD) for _ in range(chance.randrange(4)))
        closing = "" if chance.random() < 0.15 else ">" * (run + (chance.random() < 0.1)) + "\n"
        text = f"{RESULT}{'<' * run}{chance.choice(('', '', '-'))}\n{held}{closing}"
    if chance.random() < 0.2:
        lines = text.splitlines(True)
        del lines[chance.randrange(len(lines))]
        if chance.random() < 0.5:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(LINES))
        text = "".join(lines)
    return text


def behind(front: str, text: str, chance: random.Random) -> str:
    """A text behind something: on each line, or on the first one."""
    lines = text.splitlines(True)
    if chance.random() < 0.2:
        return front + text
    if chance.random() < 0.1 and len(lines) > 1:
        return front + lines[0] + "".join(" " * len(front) + line for line in lines[1:])
    return "".join(front + line for line in lines)


def in_parts(chance: random.Random) -> str:
    """A line that CRI cut, and between its parts what is none of it."""
    between = chance.choice((message(chance), behind("  ", TASK, chance), CRI.format("stderr", "F", "x"), "text\n"))
    last = chance.choice(("F", "F", "P"))
    return CRI.format("stdout", "P", chance.choice(("a", "  CS"))) + between + CRI.format("stdout", last, "P/1")


def piece(chance: random.Random) -> str:
    """A message, as it is or behind something, or a line or two."""
    kind = chance.random()
    if kind < 0.45:
        indent = chance.random() < 0.6
        return behind(chance.choice(FRONTS[:3] if indent else FRONTS), message(chance), chance) + chance.choice(
            ("", "\n", "\n", "    \n")
        )
    if kind < 0.65:
        return message(chance) + chance.choice(("", "\n", "\n"))
    if kind < 0.68:
        return in_parts(chance)
    return "".join(chance.choice(LINES) for _ in range(chance.randrange(1, 4)))


def claimed_log(chance: random.Random, most: int = 12) -> bytes:
    """Some such pieces, a few of them again and again."""
    kinds = [piece(chance) for _ in range(chance.randrange(1, most))]
    pieces = [chance.choice(kinds) for _ in range(chance.randrange(1, 2 * most))]
    text = "".join(pieces)
    if chance.random() < 0.15:
        text = text.replace("\n", "\r\n")
    if chance.random() < 0.1:
        text = "\ufeff" + text
    if chance.random() < 0.3:
        text = text.rstrip("\n")
    data = text.encode()
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.1 else data
