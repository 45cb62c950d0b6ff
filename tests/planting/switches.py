"""All faults of ``faults.py`` in one core, each behind a switch, so that nothing is compiled anew for any of them.

A header is written with each fault as a choice: ``size < 20`` becomes, in effect, ``planted == 17 ? size <= 20 :
size < 20``. The number of the one that is planted is a variable of a library of its own, which all modules share. What
the compiler refuses (a size of an array, say) is left out.

Or each fault is only watched: the code does what it does without faults, and notes for each whether its place was
reached with values of which the fault would have made something else (``size`` was 20).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.planting.faults import HIDDEN, ROOT, Fault, possible

VARIABLE = "turnwire_planted"
"""The number of the fault that is planted."""
NOTES = "turnwire_notes"
"""A byte for each fault, where they are watched."""
TOLD, UNTOLD = 1, 2
"""Bits of it: the fault would have made something else; that cannot be told, since it would have asked more."""
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|<<=|>>=|->|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|[^\s\\\w]")
BINDING = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7}
"""How strongly operators bind; what is not here binds stronger still."""
ENDS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "?", ":", ",", ";", "{", "}"}
ENDS |= {"return", "else", "case", "do", "goto"}
"""What an operand of one of these operators does not go across."""
PAIRS = {"(": ")", "[": "]"}
OPENING = {closing: opening for opening, closing in PAIRS.items()}


class Token(NamedTuple):
    """A word or sign of C; ``start`` and ``stop`` are places in the header."""

    text: str
    start: int
    stop: int


def tokens(source: str) -> list[Token]:
    """What a header is made of: no comments, each text one word, ``;`` for each line of the preprocessor."""

    def masked(found: re.Match[str]) -> str:
        if found["text"]:
            return "S" * len(found[0])
        blank = re.sub(r"[^\n]", " ", found[0])
        return ";" + blank[1:] if found["line"] else blank

    return [Token(one[0], one.start(), one.end()) for one in TOKEN.finditer(HIDDEN.sub(masked, source))]


def _is_operand_end(token: Token) -> bool:
    return token.text in OPENING or ((token.text[0].isalnum() or token.text[0] == "_") and token.text not in ENDS)


def _left(found: list[Token], at: int) -> int:
    """The first token of the left operand of the operator ``at``."""
    place, least = at - 1, BINDING[found[at].text]
    while place >= 0:
        text = found[place].text
        if text in OPENING:
            depth = 1
            while depth and place > 0:
                place -= 1
                depth += (found[place].text in OPENING) - (found[place].text in PAIRS)
        elif (
            text in PAIRS
            or text in ENDS
            or (BINDING.get(text, 99) < least and place > 0 and _is_operand_end(found[place - 1]))
        ):
            break
        place -= 1
    return place + 1


def _right(found: list[Token], at: int) -> int:
    """The token behind the right operand of the operator ``at``."""
    place, most = at + 1, BINDING[found[at].text]
    while place < len(found):
        text = found[place].text
        if text in PAIRS:
            depth = 1
            while depth and place + 1 < len(found):
                place += 1
                depth += (found[place].text in PAIRS) - (found[place].text in OPENING)
        elif text in OPENING or text in ENDS or (BINDING.get(text, 99) <= most and _is_operand_end(found[place - 1])):
            break
        place += 1
    return place


class Switch(NamedTuple):
    """A fault with its number; ``start`` to ``stop`` is what is written anew, both operands of an operator included."""

    fault: Fault
    number: int
    start: int
    stop: int


def located(header: str, faults: list[tuple[int, Fault]]) -> list[Switch]:
    """The faults of a header, by number, with what each writes anew."""
    source = (ROOT / header).read_text("utf-8")
    found = tokens(source)
    starts = [token.start for token in found]
    switches = []
    for number, fault in faults:
        start, stop = fault.start, fault.stop
        at = bisect_right(starts, fault.start) - 1
        if found[at].text in BINDING:
            first, behind = _left(found, at), _right(found, at)
            if not first < at < behind - 1:
                continue
            start, stop = found[first].start, found[behind - 1].stop
        switches.append(Switch(fault, number, start, stop))
    return switches


class Writing(NamedTuple):
    """How a fault is written into a header: one where it stands alone; "and" or "or", and other operators, with their
    operands."""

    alone: Callable[[str, str, int], str]
    logical: Callable[[str, str, str, int], str]
    compared: Callable[[str, str, str, str, int], str]


def _chosen_alone(before: str, text: str, number: int) -> str:
    planted = f"({VARIABLE} == {number})"
    if before == "continue;":
        return f"{{ if {planted} break; continue; }}"
    return f"+ ({planted} ? -1 : 1) *" if before == "+" else f"({planted} ? {text} : {before})"


def _chosen_logical(left: str, before: str, right: str, number: int) -> str:
    both, one = ("!!(" + right + ")", f"l_{number}") if before == "&&" else (f"l_{number}", "!!(" + right + ")")
    return f"({{ int l_{number} = !!({left}); (l_{number} ^ ({VARIABLE} == {number})) ? {both} : {one}; }})"


def _chosen_compared(left: str, before: str, text: str, right: str, number: int) -> str:
    a, b = f"l_{number}", f"r_{number}"
    operands = f"__auto_type {a} = ({left}); __auto_type {b} = ({right});"
    return f"({{ {operands} ({VARIABLE} == {number}) ? {a} {text} {b} : {a} {before} {b}; }})"


def _watched_alone(before: str, _text: str, number: int) -> str:
    told = f"({NOTES}[{number}] = {TOLD})"
    if before == "continue;":
        return f"{{ {told}; continue; }}"
    return f"+ {told} *" if before == "+" else f"({told}, {before})"


def _watched_logical(left: str, before: str, right: str, number: int) -> str:
    a, b, decided = f"l_{number}", f"r_{number}", int(before == "||")
    told, untold = (f"({NOTES}[{number}] |= {bit})" for bit in (TOLD, UNTOLD))
    asked = f"({{ int {b} = !!({right}); if ({b} == {decided}) {told}; {b}; }})"
    return f"({{ int {a} = !!({left}); {a} == {decided} ? ((void){untold}, {decided}) : {asked}; }})"


def _watched_compared(left: str, before: str, text: str, right: str, number: int) -> str:
    a, b, c = f"l_{number}", f"r_{number}", f"c_{number}"
    operands = f"__auto_type {a} = ({left}); __auto_type {b} = ({right}); int {c} = {a} {before} {b};"
    return f"({{ {operands} if ({c} != ({a} {text} {b})) {NOTES}[{number}] |= {TOLD}; {c}; }})"


CHOSEN = Writing(_chosen_alone, _chosen_logical, _chosen_compared)
WATCHED = Writing(_watched_alone, _watched_logical, _watched_compared)


def written(source: str, switches: list[Switch], how: Writing = CHOSEN) -> str:
    """A header with these faults, each behind its switch or watched."""
    ordered = sorted(switches, key=lambda one: (one.start, -one.stop, one.fault.start))
    return _written(source, ordered, 0, len(source), how)


def _written(source: str, switches: list[Switch], start: int, stop: int, how: Writing) -> str:
    """The text from ``start`` to ``stop`` with the switches that lie in it."""
    text, place = [], start
    for number, switch in enumerate(switches):
        if switch.start < place:
            continue
        inside = [one for one in switches[number + 1 :] if one.stop <= switch.stop]
        text += [source[place : switch.start], _one(source, switch, inside, how)]
        place = switch.stop
    return "".join([*text, source[place:stop]])


def _one(source: str, switch: Switch, inside: list[Switch], how: Writing) -> str:
    fault, number = switch.fault, switch.number
    before = source[fault.start : fault.stop]
    if (switch.start, switch.stop) == (fault.start, fault.stop):
        return how.alone(before, fault.text, number)
    left = _written(source, [one for one in inside if one.stop <= fault.start], switch.start, fault.start, how)
    right = _written(source, [one for one in inside if one.start >= fault.stop], fault.stop, switch.stop, how)
    if before in ("&&", "||"):
        return how.logical(left, before, right, number)
    return how.compared(left, before, fault.text, right, number)


def numbered(headers: list[Path]) -> dict[str, list[tuple[int, Fault]]]:
    """All faults of all headers, numbered from 1 on, by header."""
    every: dict[str, list[tuple[int, Fault]]] = {}
    number = 0
    for header in headers:
        for fault in possible(header):
            number += 1
            every.setdefault(fault.header, []).append((number, fault))
    return every
