"""Logs of nSLIP that break a clause each, and such that keep all; then conversations. A case is (name, log)."""

from __future__ import annotations

import json

from tests.read.honest.containers import fenced, held, in_json, lines, prefixed

PLAN = '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#'
BACK = '@a1|f2|c3|S1|d0|T2|kg|u"done"#'

BROKEN: dict[str, str] = {
    "a frame beyond the table": prefixed(PLAN, "@a3|f5|c3|S0|d1|T2#"),
    "no turn": in_json(PLAN, "@a3|f0|c3|S0|d1|gH#"),
    "a header field twice": fenced(PLAN, "@a3|f0|c3|c3|S0|d1|T2#"),
    "a string for an id": in_json('@a3|f0|c3|S0|d1|T2|g"H"#'),
    "a bare word for a tag": prefixed("@a3|f0|c3|S0|d1|T2|tdone#"),
    "a slot beyond the table": fenced("@a3|f0|c3|S0|d1|T2|x1#"),
    "a slot twice": prefixed(PLAN, "@a3|f0|c3|S0|d1|T2|g1|g2#"),
    "a log in a tag": in_json(f'@a3|f0|c3|S0|d1|T2|t"{"all of the log " * 12}"#'),
    "an empty field": lines("@a3|f0|c3|S0|d1|T2||gH#"),
    "a digit that is none": prefixed("@a3|f0|c3|S0|d1|T2|g1_7#"),
    "lower-case header": lines(PLAN, "@a3|f0|c3|s0|d1|t1|gH#"),
    "leading zeros": fenced("@a3|f0|c03|S0|d1|T2#"),
    "the header in another order": in_json("@f0|a3|c3|S0|d1|T2#"),
    "an open string": lines('@a3|f0|c3|S0|d1|T2|t"half#', BACK),
    "a line break in a string": lines('@a3|f0|c3|S0|d1|T2|t"two\nlines"#'),
    "an integer without end": lines("@a3|f0|c3|S0|d1|T2|gzzzzzzzzzzzz#"),
    "text behind a string": prefixed('@a3|f0|c3|S0|d1|T2|t"a"b|g1#'),
    "a value left out": lines("@a3|f0|c3|S0|d1|T2|g#"),
    "a header behind the slots": lines("@a3|f0|c3|S0|d1|gH|T2#"),
    "a status in single quotes": in_json("@a3|f0|c3|S0|d1|T2|u'done'#"),
}
GOOD: dict[str, str] = {
    "the example of the specification": lines(PLAN),
    "behind a prefix": prefixed(PLAN, BACK),
    "in JSON": in_json(PLAN, BACK),
    "in a fence, among prose": f"The plan is:\n\n{fenced(PLAN, BACK)}\nand bob@example.com took it.\n",
    "quotes, bars and ends in a string": lines(r'@a3|f0|c3|S0|d1|T1|t"a|b#c \"d\" \\e"#'),
    "zero and the greatest integer": lines("@a0|f0|c0|S0|d0|T0|gLygHa16AHYF#"),
    "all slots": lines('@a8|f3|c1|S1|d0|T1|g1|k2|p3|r4|q5|s6|u"ok"|e7|t"x"#'),
    "many on a line": f"{PLAN} {BACK} {PLAN}\n",
    "other languages": lines('@a1|f2|c3|S1|d0|T2|t"レビュー済み"#'),
    "no slots": lines("@aA|f4|c1|S0|d1|T1#"),
}

BROKEN |= {
    "one of many": lines(*[PLAN] * 20, "@a3|f0|c3|S0|d1|T1|gH|kg|q2|t3#", *[BACK] * 20),
    "in a list in a string": in_json(f"[{PLAN}, @a3|f0|c3|S0|T1#]"),
    "JSON in JSON": in_json(in_json(BACK, '@a3|f0|c3|S0|d1|T1|e"x"#')),
    "behind a good one": f"{PLAN}@a3|f0|c3|S0|d1|T1|g1|h2#\n",
    "a space in front of a field": prefixed("@a3|f0|c3|S0|d1|T1| gH#"),
    "64 bits and one more": lines("@a3|f0|c3|S0|d1|T1|gLygHa16AHYG#"),
    "a fraction": in_json("@a3|f0|c3|S0|d1|T1|s0.9#"),
    "a backslash at the end": lines('@a3|f0|c3|S0|d1|T1|t"a\\"#', PLAN),
    "a heading in quotes": fenced('@a3|f0|c3|S"0"|d1|T1#'),
}
GOOD |= {
    "hundreds": lines(*[PLAN, BACK] * 200),
    "in a list in a string": in_json(f"[{PLAN}, {BACK}]"),
    "JSON in JSON": in_json(in_json(BACK)),
    "line ends of Windows": f"{PLAN}\r\n{BACK}\r\n",
    "mail addresses and handles": f"mail a3@f0.example, ask @a or @alice | bob\n{PLAN}\n",
    "an empty tag": lines('@a3|f0|c3|S0|d1|T1|t""#'),
    "strings of 64 characters": lines(f'@a3|f0|c3|S0|d1|T1|t"{"x" * 64}"#'),
    "in a string with much else": in_json(f"agent said {PLAN} twice"),
}

BROKEN |= {
    "no @ in front": lines(PLAN, BACK[1:]),
    "no @, in the same string": in_json(f"{PLAN}\n{BACK[1:]}\n{PLAN}"),
    "blanks between the fields": prefixed(PLAN, "@a1 | f2 | c3 | S1 | d0 | T2#"),
    "semicolons between the fields": in_json(PLAN, "@a1;f2;c3;S1;d0;T2#"),
    "nothing between the marks": lines(PLAN, "@#", BACK),
}
GOOD |= {
    "several in one string": in_json(f"{PLAN}\n{BACK} {PLAN}", f"{BACK}{PLAN}"),
    "what looks a little like it": lines(
        PLAN, "a|f|c", "and/for/cats", "@home; f 2", "table a3|g0|c3", "see #@1", BACK
    ),
}

BROKEN |= {
    f"{text} {place}": log
    for text in ("@#", "@ #", "@a1;f2;c3;S1;d0;T2#", BACK[1:])
    for place, log in {**held(PLAN, text, BACK), "in a list": json.dumps([PLAN, text, BACK])}.items()
}
GOOD |= {f"other text {place}": log for place, log in held(PLAN, "see #@1, or @# and so on", BACK).items()}
GOOD |= {
    f"marks in another string: {text}": in_json(PLAN) + lines(text) for text in ('{"to": "@#1"}', '"# @"', '"@ a#"')
}
