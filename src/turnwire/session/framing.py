"""The frame of a session: its first line, how it is cut into records, anchors, and the checks that records end in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import NamedTuple
from zlib import crc32

HEADER = "%1"
"""The beginning of the first line: version 1 of the form."""
BARE = "-"
"""The end of the setting that says that UUIDs are written without their hyphens."""
_EXPLAINED = {
    "?": "? same",
    "+": "+ next",
    "=": "=p last p",
    "^": "^ last+1",
    "~": "~ n later",
    "#": "# table",
    "$": "$ JSON text",
    "b=a": "b=a{…} changed a",
}
ALL = (*_EXPLAINED, "&", BARE)
PAIRS = r"""
!! !' !( !) !, !; '' ') ', '. ': '; '> '] '} () ([ (` ({ )! )' )( )) ), ). ): ); )> )? )] )` ){ )} *) **
*/ ++ ,) ,{ -- .' .) .* ., .. .; ._ /) /* /, /. // /> :) :: :; :[ :] :{ ;; ;} <> <? == =[ ={ >' >( >) >,
>. >; >> >[ >` >{ >} ?) ?, ?; ?> [] ]' ]) ], ]. ]: ]; ]> ]] ]} _) _, _; __ `) `, `. `; `} ." }' }) }, }.
}; }> }] }` }{ }} %% ## %; &) ") ", ". "; "} "] )" }" "> ": ," :" /"
""".split()  # noqa: SIM905 - one look at the table says more than 128 quoted strings
"""128 pairs of marks, which with the line feed after them are one token in o200k_base, cl100k_base, llama3 and qwen3,
as the line feed alone would be. None of them is a JSON line, which what is left of a session could begin with."""
_COUNT = "(0|[1-9][0-9]{0,17})"
_FIRST = re.compile(rf"{HEADER}((?: @[^ ]*)*)(?: &([^ ]*))?(?: .*)?", re.DOTALL).fullmatch
_MARK = re.compile(rf"(?:\.{_COUNT}|\^{_COUNT}((?: @\S+)*)(?: &(\S{{1,2}}))?)(?: [0-9]{{3}})?", re.ASCII).fullmatch
_FEEDS = re.compile("\n").finditer
ENDS = re.compile(r"(?<!\n)\n++(?! |\Z)")
"""The line feeds behind a record: the next line that is not empty begins another one."""
_UNFOLDED = re.compile(r"\n(?!\n)")
_FOLDED = re.compile(r"\n.?")


class Settings(NamedTuple):
    """Settings of the records after a header or an anchor.

    keys: the paths that name the conversation. aliases: the first letter of their alphabet, if there are any, and ``-``
    where UUIDs have no hyphens.
    """

    keys: tuple[str, ...] = ()
    aliases: str = ""

    def line(self, begin: str, text: str = "") -> str:
        """The header or anchor with these settings, up to its check. begin: of it. text: an explanation."""
        aliases = f"&{self.aliases}" if self.aliases else ""
        return " ".join([begin, *(f"@{key}" for key in self.keys), *filter(None, [aliases, text])])


def explanation(parts: Collection[str] = ALL, checks: bool = True, letter: str = "") -> str:
    """The text that explains a session in which these parts occur. letter: an alias to explain them by."""
    letter = letter or "あ"
    words = [text for part, text in _EXPLAINED.items() if part in parts]
    sentences: dict[str, object] = {
        "a={…}: event; a x|y: like it with x, y at marks.": True,
        f"Empty: {', '.join(words)}.": words,
        f"{letter}x{letter}: {letter}=x.": "&" in parts,
        "UUIDs without -.": BARE in parts,
        "Ends: checks.": checks,
    }
    return " ".join([sentence for sentence, is_needed in sentences.items() if is_needed])


def prompt() -> str:
    """Returns a short text that explains the session format to a model, for sessions written with ``prompt=False``."""
    return explanation() + "\n"


def settings_of(line: str) -> Settings:
    """The settings in a first line. Raises ValueError for a line that is none of version 1."""
    if (found := _FIRST(line)) is None:
        raise ValueError("the first line has another version")
    return _settings(*found.groups())


def mark_of(line: str) -> tuple[int | None, Settings | None]:
    """The number of events before an anchor, and the settings after it; that before the end, and None. None if a
    line is neither."""
    if (found := _MARK(line)) is None:
        return None, None
    end, anchor, *said = found.groups()
    return (int(anchor), _settings(*said)) if end is None else (int(end), None)


def _settings(paths: str, aliases: str | None) -> Settings:
    return Settings(tuple(paths.split(" @")[1:]), aliases or "")


def folded(body: str) -> str:
    """A body as lines of a record: those after the first get a space in front, unless they are empty and not last."""
    return _UNFOLDED.sub("\n ", body)


def unfolded(lines: str) -> str:
    """The body whose lines these are: the inverse of :func:`folded`."""
    return _FOLDED.sub("\n", lines)


class Record(NamedTuple):
    """A record, or a JSON line before the header: its lines without the check, the two marks at their end (""
    in a session without checks; None: it is a JSON line), its first line (from 1 on), its place in characters and in
    bytes, and whether a line feed follows."""

    raw: str
    pair: str | None
    line: int
    start: int
    offset: int
    closed: bool


def beginning(text: str) -> int:
    """The place of a session's header, after the JSON lines before it; the text's length if there is none."""
    return 0 if text[:1] == HEADER[:1] else text.find("\n" + HEADER[:1]) + 1 or len(text)


def size_of(text: str) -> int:
    """The bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def records(text: str, sealed: bool, header: int = 0, line: int = 1, offset: int = 0) -> Iterator[Record]:
    """JSON lines up to the header and the records from there on, in order. Their checks are not compared yet; a last
    line without its feed is one, too. header: where it begins. line, offset: of the text, what is before it counted."""
    lines = (feed.start() for feed in _FEEDS(text, 0, header))
    # of several feeds behind a record, each but the first ends an empty one
    ends = (end for run in ENDS.finditer(text, header) for end in range(run.start(), run.end()))
    start = 0
    for end in chain(lines, ends, [len(text)]):
        whole, is_closed = text[start:end], end < len(text)
        if not is_closed:
            if not whole:
                break
            is_closed, whole = whole[-1] == "\n", whole.removesuffix("\n")
        raw, pair = (whole[:-2], whole[-2:]) if sealed and start >= header else (whole, "")
        yield Record(raw, pair if start >= header else None, line, start, offset, is_closed)
        line += 1 + whole.count("\n")
        offset += 1 + size_of(whole)
        start = end + 1


class Chain:
    """The checks of a session's records in order: each record ends in two marks, by all records before it. Restarts at
    each anchor, except for the sum of everything. written: whether records get checks."""

    def __init__(self, written: bool = True) -> None:
        self.since = self.all = 0
        self._written, self.whole = written, True

    def cover(self, lines: str) -> None:
        """Takes JSON lines before the header, which its check covers."""
        self.since = self.all = _crc(lines, self.all)

    def sum(self) -> str:
        """Three digits over all records so far."""
        return f"{(self.all >> 7) % 1000:03}"

    def sealed(self, body: str) -> str:
        """A record with its check, folded or not. Anchors and ends get the sum of all before them, too."""
        if not self._written:
            return body + "\n"
        if body[:1] in ("^", "."):
            body = f"{body} {self.sum()}"
        return f"{body}{self._add(body, None)}\n"

    def follows(self, body: str, pair: str | None) -> bool:
        """Takes a record that is the next one by the marks that it ends in; False: it is not, and was not taken."""
        if body[:1] in ("^", ".") and self.whole and not body.endswith(f" {self.sum()}"):
            return False
        return pair is not None and self._add(body, pair) == pair

    def resume(self, anchor: str) -> None:
        """Continues at an anchor after damage: sums of everything can no longer be compared."""
        self.since = _crc(anchor)
        self.whole = False

    def _add(self, body: str, pair: str | None) -> str:
        """The two marks that end the next record. It is taken unless another ``pair`` stands there."""
        since = _crc(body + "\n", self.since)
        found = PAIRS[since & 127]
        if pair in (None, found):
            self.all = _crc(body + "\n", self.all)
            self.since = _crc(body) if body[:1] == "^" else since
        return found


def _crc(text: str, before: int = 0) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"), before)
