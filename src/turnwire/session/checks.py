"""Checks: what tells that a record was lost, moved or changed. Two marks at its end, by all records before it."""

from __future__ import annotations

from zlib import crc32

PAIRS = r"""
!! !' !( !) !, !; '' ') ', '. ': '; '> '] '} () ([ (` ({ )! )' )( )) ), ). ): ); )> )? )] )` ){ )} *) **
*/ ++ ,) ,{ -- .' .) .* ., .. .; ._ /) /* /, /. // /> :) :: :; :[ :] :{ ;; ;} <> <? == =[ ={ >' >( >) >,
>. >; >> >[ >` >{ >} ?) ?, ?; ?> [] ]' ]) ], ]. ]: ]; ]> ]] ]} _) _, _; __ `) `, `. `; `} ." }' }) }, }.
}; }> }] }` }{ }} %% ## %; &) ") ", ". "; "} "] )" }" "> ": ," :" /"
""".split()  # noqa: SIM905 - one look at the table says more than 128 quoted strings
"""128 pairs of marks, which with the line feed after them are one token in o200k_base, cl100k_base, llama3 and qwen3,
as the line feed alone would be. None of them is a JSON line, which what is left of a session could begin with."""


class Chain:
    """The checks of a session's records in order. Begins anew at each anchor, but for the sum of everything."""

    def __init__(self) -> None:
        self.since = self.all = 0
        self.whole = True

    def cover(self, lines: str) -> None:
        """Takes JSON lines in front of the header, which its check covers."""
        self.since = self.all = crc32(_bytes(lines), self.all)

    def sum(self) -> str:
        """Three digits over all records so far."""
        return f"{(self.all >> 7) % 1000:03}"

    def sealed(self, body: str) -> str:
        """A record with its check, folded or not. Anchors and ends get the sum of all before them, too."""
        if body[:1] in ("^", "."):
            body = f"{body} {self.sum()}"
        return f"{body}{self._add(body, None)}\n"

    def follows(self, body: str, pair: str | None) -> bool:
        """Takes a record that is the next one by the marks that it ends in; False: it is not, and was not taken."""
        if body[:1] in ("^", ".") and self.whole and not body.endswith(f" {self.sum()}"):
            return False
        return pair is not None and self._add(body, pair) == pair

    def resume(self, anchor: str) -> None:
        """Goes on behind an anchor after a damage: sums of everything cannot be compared any longer."""
        self.since = crc32(_bytes(anchor))
        self.whole = False

    def _add(self, body: str, pair: str | None) -> str:
        """The two marks that end the next record. It is taken unless another ``pair`` stands there."""
        data = _bytes(body + "\n")
        since = crc32(data, self.since)
        found = PAIRS[since & 127]
        if pair in (None, found):
            self.all = crc32(data, self.all)
            self.since = crc32(_bytes(body)) if body[:1] == "^" else since
        return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
