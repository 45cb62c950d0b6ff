"""Faults that the suite did not find and that change nothing that can be seen: header, row, and why nothing changes.

The row is written as `make plant` prints it, with what is changed in brackets. What stands here does not count as a
survivor. Only who has read the code around a fault adds it; where a test could tell, the test is what is missing.
"""

from __future__ import annotations

SAME = {
    (
        "_native/json/line_signs.h",
        "return k->signed_line = signs != 0 || (magic [&& -> ||] k->signs == TW_SIGNS_ALL);",
    ): "more lines than need be are looked at by Python, which finds nothing on them",
    (
        "_native/json/templates.h",
        "tw_leaf leaf[TW_MOST_LEAVES [+ -> -] 1];        /* the last one is the end */",
    ): "the leaf that is too many is written into the size behind it: such a template fits nothing, and decode reads",
    (
        "_native/log/line_signs.h",
        "if (first [> -> >=] start && (first - start > 1 || s[start] != '\\n')) "
        "signs |= tw_line_signs(s, start, first, NULL);",
    ): "a range without a byte is looked at, and has no sign",
}
