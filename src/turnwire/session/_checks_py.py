"""The sums that a session's checks are made from: chained over all records before."""

from __future__ import annotations

from zlib import crc32

PAIRS = r"""
!! !' !( !) !, !; '' ') ', '. ': '; '> '] '} () ([ (` ({ )! )' )( )) ), ). ): ); )> )? )] )` ){ )} *) **
*/ ++ ,) ,{ -- .' .) .* ., .. .; ._ /) /* /, /. // /> :) :: :; :[ :] :{ ;; ;} <> <? == =[ ={ >' >( >) >,
>. >; >> >[ >` >{ >} ?) ?, ?; ?> [] ]' ]) ], ]. ]: ]; ]> ]] ]} _) _, _; __ `) `, `. `; `} ." }' }) }, }.
}; }> }] }` }{ }} %% ## %; &) ") ", ". "; "} "] )" }" "> ": ," :" /"
""".split()  # noqa: SIM905 - one look at the table says more than 128 quoted strings
"""128 pairs of marks. None of them is a JSON line, which what is left of a session could begin with."""


class Chain:
    """The checks of a session's records in order. Begins anew at each anchor, but for the sum of everything.

    before: the JSON lines in front of the header, which its check covers.
    """

    def __init__(self, before: str = "") -> None:
        self.since = self.all = crc32(before.encode("utf-8", "surrogatepass"))

    def pair(self, body: str) -> str:
        """The two marks that end the next record."""
        data = (body + "\n").encode("utf-8", "surrogatepass")
        self.since = crc32(data, self.since)
        self.all = crc32(data, self.all)
        return PAIRS[self.since & 127]

    def follows(self, body: str, pair: str) -> bool:
        """Whether a record ends in the marks that it must end in; only then does it count as the next one."""
        data = (body + "\n").encode("utf-8", "surrogatepass")
        since = crc32(data, self.since)
        if PAIRS[since & 127] != pair:
            return False
        self.since, self.all = since, crc32(data, self.all)
        return True

    def sum(self) -> str:
        """Three digits over all records so far."""
        return f"{(self.all >> 7) % 1000:03}"

    def anchor(self, body: str) -> None:
        """The records after this one are chained to it alone."""
        self.since = crc32(body.encode("utf-8", "surrogatepass"))

    def sealed(self, body: str) -> str:
        """A record with its check, folded or not. Anchors and ends get the sum of all before them, too."""
        if body[:1] in ("^", "."):
            body = f"{body} {self.sum()}"
        whole = f"{body}{self.pair(body)}\n"
        if body[:1] == "^":
            self.anchor(body)
        return whole
