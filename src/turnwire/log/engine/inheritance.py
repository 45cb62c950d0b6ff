"""Inheritance: records of formats pass values of columns on to later ones of their input, block by block, and the heads
of their lines, by which damage is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.contract import FORMATS, text_span
from turnwire.errors import Reason
from turnwire.formats.table import KINDS
from turnwire.log.engine.columns import REASONS
from turnwire.log.output.texts import span_of
from turnwire.log.search.rows import REJECT_DTYPES
from turnwire.log.search.texts import BOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from turnwire.log.engine.all_wires import BlockResult, Finder

    Mask = NDArray[np.bool_]
    Tables = list[tuple[dict[str, NDArray[Any]], int]]


def handed_on(inherited: dict[str, dict[str, str]], before: str | None, now: str | None) -> dict[str, dict[str, str]]:
    """The part of ``inherited`` that passes to the next input, named ``now``: both are in one ``Format.archive``."""
    found = {}
    for wire in inherited.keys() - {FORMATS}:
        described: Any = registry.wire(wire)
        end = f"{described.table.archive}/"
        if before and now and len(end) > 1 and end in now and before.partition(end)[0] == now.partition(end)[0]:
            found[wire] = dict(inherited[wire])
    return found


class Inheritance:
    """The rules of the formats in a scan, by their tables: ``Format.carried``, ``gathered``, ``running`` and
    ``exit_code``.

    asked: the columns that the scan looks at; every: what else is inherited is read, too, so that a later scan may
    continue with other columns. columns: those that the rules need, () if records inherit nothing.
    """

    def __init__(self, finder: Finder, asked: set[str], every: bool) -> None:
        self._finder = finder
        self._rules: list[tuple[int, Any, list[str], list[str], tuple[str, ...], bool]] = []
        names: set[str] = set()
        for wire in finder.wires:
            found: Any = registry.wire(wire)
            table = found.table
            subtracts = table.running and (every or asked & {*table.running, "sequence"})
            running = (*table.running, "sequence") if subtracts else ()
            read = asked | {"conversation"} if running else asked
            read = read | {"conversation", "origin"} if read & {"conversation", "project"} else read
            carried, gathered = ([one for one in of if every or one in read] for of in (table.carried, table.gathered))
            judged = table.exit_code is not None and "failed" in asked
            if carried or gathered or running or judged or table.follows or table.errors:
                self._rules.append((registry.codes().index(wire), table, carried, gathered, running, judged))
                names |= {"kind", *carried, *gathered, *running, *(("text", "failed") if judged else ())}
        self.columns = tuple(column for column in finder.columns if column.name in names)

    def belonging(self, found: BlockResult) -> Mask | None:
        """The records that are some by what came before them (``Format.follows``), None for all."""
        kept: Mask | None = None
        for code, table, *_ in self._rules:
            several = self._finder.code is None  # who names the format says whose its lines are
            of = {other.name: at for at, other, *_ in self._rules if table.name in (other.name, other.errors)}
            if several and table.follows and table.name in found.wires and not of.keys() & found.state.inherited.keys():
                wires, kinds = (found.arrays[name][: found.rows] for name in ("wire", "kind"))
                follows = (wires == code) & np.isin(kinds, [*map(KINDS.index, table.follows)])
                own = ~follows | np.logical_or.accumulate(np.isin(wires, [*of.values()]) & ~follows)
                kept = own if kept is None else kept & own
        return kept

    def damage(self, found: BlockResult, mid: bool, given: int) -> Damage:
        """The damage in a block."""
        return Damage(found, mid, given)

    def fill(self, found: BlockResult) -> None:
        """Adds to the records of a block what they inherit, and moves ``found.state.inherited`` to the end of it."""
        kinds = next((column.names for column in self.columns if column.name == "kind"), ())
        rows = _Rows(found, self._finder)
        for code, table, carried, gathered, running, judged in self._rules:
            if table.name not in found.wires:
                continue
            rows.of_wire(code)
            begun, counted = (np.isin(rows.kinds, [*map(kinds.index, of)]) for of in (table.begins, ("usage",)))
            totals = rows.kinds == kinds.index("total")
            counted |= totals
            before = found.state.inherited.get(table.name, {})
            after = rows.continue_copies(begun, before) if {"conversation", "origin"} <= {*carried} else {}
            if running:
                after |= rows.subtract(table.running, begun, counted, totals, before)
            after |= {name: rows.carry(name, begun, before.get(name)) for name in carried}
            after |= {name: rows.gather(name, begun, counted, before.get(name)) for name in gathered}
            if judged:
                rows.judge(np.isin(rows.kinds, [kinds.index(kind) for kind in table.answers]), table.exit_code)
            every = {**before, **after}
            found.state.inherited[table.name] = {name: text for name, text in every.items() if text is not None}
        if len(rows.texts) > 1:
            found.arrays["arena"] = b"".join(rows.texts)  # type: ignore[assignment] # the arena is no column


_THREAD, _MOST_THREADS = "thread ", 1 << 12
"""Before a conversation: its running totals. Of more in one input those are forgotten, behind a block, that were told
first."""
_HEAD, MOST_HEADS, FIRST = 8, 16, 1 << 20
"""Bytes of the head of a line, which its first colon ends; how many different ones of an input are known, and the bytes
of it in which they are."""
_HEAD_OF_LINE = re.compile(r'\{ ?"[^\n:]*:?')
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_HEAD + 1)], np.uint64)


def head_of(line: bytes) -> str:
    """The head of a line, "" if it begins no object."""
    found = _HEAD_OF_LINE.match(line[:_HEAD].decode("latin-1"))
    return found[0] if found else ""


def are_lines(data: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
    """True if no more than the end of a line (two bytes at most) stands between records, before and after them."""
    ends, starts = np.append(0, starts + sizes), np.append(starts, len(data))
    gaps = starts - ends
    if ((gaps < 0) | (gaps > 2)).any():
        return False
    between = data[np.concatenate([ends[gaps > 0], ends[gaps > 1] + 1])]
    return bool(((between == 0x0A) | (between == 0x0D)).all())


def _begins(begun: NDArray[np.uint64], head: bytes) -> Mask:
    """True for each of these first bytes (as a number) that begins so."""
    found: Mask = (begun ^ np.uint64(int.from_bytes(head, "little"))) & _MASKS[len(head)] == 0
    return found


class Damage:
    """The damage in a block that only the records before it tell, where a line begins and behind what was found there:
    NUL bytes, and objects that begin as lines with records do and are no good JSON. mid: the block begins in a line;
    given: the damage up to there was given already."""

    def __init__(self, found: BlockResult, mid: bool, given: int) -> None:
        self._found, self._mid, self._given, self._base = found, mid, given, found.block.base
        self._data = np.frombuffer(found.buffer, np.uint8)[: found.position]
        self._offsets, self._lengths = (found.arrays[name][: found.rows] for name in ("offset", "length"))

    def _begun(self, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The first bytes at some places, as numbers."""
        data = np.append(self._data, np.zeros(_HEAD, np.uint8))
        every: NDArray[np.uint64] = np.ndarray(len(self._data) + 1, "<u8", data, strides=(1,))
        return every[places]

    def _heads(self) -> dict[bytes, tuple[int, int]]:
        """The heads of records: the number of the wire of each, and the row behind which it is known. Adds those of the
        block to its state."""
        told, codes = dict(self._found.state.inherited.get(FORMATS, {})), registry.codes()
        known = {head.encode("latin-1"): (codes.index(wire), -1) for head, wire in told.items()}
        at = self._offsets[: np.searchsorted(self._offsets, FIRST)] - self._base
        if not len(at) or len(known) >= MOST_HEADS:
            return known
        begin = -1 if self._mid else len(BOM) if bytes(self._data[: len(BOM)]) == BOM else 0
        at = np.where((at >= 0) & (at < len(self._data)), at, len(self._data))
        begun = self._begun(at)
        new = ((at == begin) | ((at > 0) & (self._data[at - 1] == 0x0A))) & (
            _begins(begun, b'{"') | _begins(begun, b'{ "')
        )
        for head in known:
            new &= ~_begins(begun, head)
        while len(known) < MOST_HEADS and new.any():
            row = int(new.argmax())
            code = int(self._found.arrays["wire"][row])
            line = bytes(self._data[at[row] : at[row] + _HEAD])
            told[head_of(line)] = codes[code]
            known[head := head_of(line).encode("latin-1")] = code, row
            new &= ~_begins(begun, head)
            self._found.state.inherited[FORMATS] = told
        return known

    def rejects(self, line: int, search: Callable[[], Tables]) -> Tables:
        """The rejects of the block with these, as its tables are. line: that at the beginning of the block; search: all
        that is damaged in it."""
        known = self._found.rejects
        if not len(self._data) or not (heads := self._heads()):
            return known
        if not known and are_lines(self._data, self._offsets - self._base, self._lengths):
            return known  # mostly nothing else is there
        starts, sizes = (
            np.concatenate([self._found.arrays[name][: self._found.rows], *(one[name] for one, _ in known)])
            for name in ("offset", "length")
        )
        order, size = np.argsort(starts, kind="stable"), len(self._data)
        ends = np.append(0, np.maximum.accumulate((starts + sizes)[order] - self._base))
        starts = np.append(starts[order] - self._base, size)
        if are_lines(self._data, starts[:-1], ends[1:] - starts[:-1]):
            return known
        numbers = [int.from_bytes(head, "little") for head in heads]
        lines = np.flatnonzero(self._data == 0x0A) + 1

        def free(at: NDArray[np.int64]) -> NDArray[np.int64]:
            """The places in text."""
            return at[(at < size) & (at >= ends[np.searchsorted(starts[:-1], at, "right")])]

        places = free(np.union1d(lines, ends[self._mid :]))
        tables = []
        if len(nul := places[self._data[places] == 0]):
            others = np.append(np.flatnonzero(self._data), size)
            stops = others[np.searchsorted(others, nul)]
            whole = np.isin(np.append(self._data, 0x0A)[stops], np.frombuffer(b"\r\n{", np.uint8))
            told = {"offset": nul, "length": stops - nul, "fault": nul, "inner": -1, "own_bytes": stops - nul}
            told["reason"] = REASONS.index(Reason.CONTROL_CHARACTER)
            tables.append({name: np.broadcast_to(array, len(nul))[whole] for name, array in told.items()})
            places = np.append(places, free(stops))
        begun = self._begun(places)
        if any(((begun ^ np.uint64(head)) & _MASKS[3] == 0).any() for head in numbers):
            for table, _ in search():
                at = table["offset"] - self._base
                behind = starts[np.searchsorted(starts[:-1], at, "right")]
                fits = np.isin(at, places) & (table["inner"] < 0) & (at + table["length"] <= behind)
                fits &= table["length"] > 2  # so much of a head is asked for above
                told = {name: array[fits] for name, array in table.items()}
                tables.append(told | {name: told[name] - self._base for name in ("offset", "fault")})
        if not tables:
            return known
        found = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        at, begun = found["offset"], self._begun(found["offset"])
        found["row"] = np.searchsorted(self._offsets, at + self._base)
        found["line"] = line + np.searchsorted(lines, at, "right")
        wires = np.full(len(at), -1)
        for head, number in reversed([*zip(heads, numbers, strict=True)]):
            code, since = heads[head]
            alike = (begun ^ np.uint64(number)) & _MASKS[np.minimum(found["length"], len(head))] == 0
            wires[(alike | (self._data[at] == 0)) & (found["row"] > since)] = code
        found |= {"wire": wires, "offset": at + self._base, "fault": found["fault"] + self._base}
        new = (wires >= 0) & (found["offset"] > self._given)
        found = {name: found[name][new].astype(kind) for name, kind in REJECT_DTYPES.items()}
        found = {name: np.concatenate([*(one[name] for one, _ in known), array]) for name, array in found.items()}
        order = np.lexsort((found["offset"], found["row"]))
        return [({name: array[order] for name, array in found.items()}, len(order))] if new.any() else known


class _Rows:
    """The rows of one wire in a block, by numbers of their own. texts: the arena, and what is added to it."""

    def __init__(self, found: BlockResult, finder: Finder) -> None:
        self._arrays: dict[str, Any] = found.arrays
        self._found = found
        self._count, self._buffer, self._finder = found.rows, found.buffer, finder
        self.texts: list[bytes] = [found.arrays.get("arena", b"")]  # type: ignore[list-item] # the arena is no column
        self._end = len(self._buffer) + len(self.texts[0])

    def of_wire(self, code: int) -> None:
        """Goes on with the rows of a wire."""
        self.at = np.flatnonzero(self._arrays["wire"][: self._count] == code)
        self._mine: Any = slice(self._count) if len(self.at) == self._count else self.at
        self.kinds: NDArray[np.uint8] = self._arrays["kind"][self._mine]

    def _bits(self, name: str) -> list[Any]:
        """The bits of rows that have a value in a column, and of texts with escapes."""
        return [np.uint64(1 << of[name] if name in of else 0) for of in (self._finder.valid, self._finder.escaped)]

    def _has(self, name: str) -> Mask:
        found: Mask = self._arrays["present"][self._mine] & self._bits(name)[0] != 0
        return found

    def _written(self, rows: Any, name: str) -> Iterator[memoryview]:
        """The texts of rows of the block that have one, as they are written."""
        arena = memoryview(self.texts[0])
        spans = self._arrays[name][rows].tolist()
        return (span_of(self._buffer, arena, span & 0xFFFFFFFF, span >> 32) for span in spans)

    def _text(self, row: int, name: str) -> str | None:
        """The text of a row, or its integer as text."""
        if name not in self._finder.texts:
            return str(self._arrays[name][self.at[row]]) if self._has(name)[row] else None
        return self._texts(np.array([row]), name)[0]

    def _texts(self, rows: NDArray[np.int64], name: str) -> list[str | None]:
        """The texts of rows."""
        (valid, escaped), plain = map(int, self._bits(name)), self._finder.scanner.plain
        present, written = self._arrays["present"][self.at[rows]].tolist(), self._written(self.at[rows], name)
        return [
            str(plain(bytes(text)) if bits & escaped else text, "utf-8") if bits & valid else None
            for bits, text in zip(present, written, strict=True)
        ]

    def _give(self, name: str, heirs: Any, rows: Any, times: Any, before: str | None) -> None:
        """Gives rows of the block the value before the block, and those of some rows, each so many times."""
        valid, escaped = self._bits(name)
        said = (before or "").encode()
        column, is_text = self._arrays[name], name in self._finder.texts
        first = text_span(self._end, len(said)) if is_text else int(before or 0)
        if is_text and said and times[0]:
            self.texts.append(said)
            self._end += len(said)
        column[heirs] = np.repeat(np.append(first, column[self.at[rows]]), times) if len(rows) else first
        here, present = np.uint64(0) if before is None else valid, self._arrays["present"]
        bits = np.append(here, present[self.at[rows]] & (valid | escaped))
        present[heirs] |= np.repeat(bits, times) if len(rows) else here

    def carry(self, name: str, begun: Mask, before: str | None) -> str | None:
        """Gives each record without a text that of the record before it, unless something begins with it. Returns the
        text of the last record."""
        rows = np.flatnonzero(self._has(name) | begun)
        self._give(name, self._mine, rows, np.diff(rows, prepend=0, append=len(self.at)), before)
        return self._text(int(rows[-1]), name) if len(rows) else before

    def gather(self, name: str, begun: Mask, counted: Mask, before: str | None) -> str | None:
        """Gives each count of tokens without a value the first one since the count or the beginning before it. Returns
        the first one since the last of these."""
        has, ends = self._has(name), np.flatnonzero(counted | begun)
        texts = np.append(np.flatnonzero(has & ~counted), len(has))
        first = texts[np.searchsorted(texts, np.append(-1, ends))]  # from the start, and from each end
        heirs = counted[ends] & ~has[ends]
        if before is not None and not len(ends):
            return before
        if before is not None and heirs[0]:
            self._give(name, self.at[ends[:1]], first[:0], [1], before)
            heirs[0] = False
        heirs &= first[:-1] < ends
        self._give(name, self.at[ends[heirs]], first[:-1][heirs], np.arange(1 + heirs.sum()) > 0, None)
        return None if first[-1] == len(has) else self._text(int(first[-1]), name)

    def continue_copies(self, begun: Mask, before: dict[str, str]) -> dict[str, str | None]:
        """Takes out of ``begun`` the sessions whose history the one before them has copied, its ``origin``: what is
        behind them is of that one, and of its project. Returns the origin of the last one."""
        if not begun.any():
            return {}
        rows, above = np.flatnonzero(begun), before.get("above")
        bits = [bit for name in ("conversation", "project") for bit in self._bits(name)]
        texts = (self._texts(rows, name) for name in ("conversation", "origin"))
        for row, said, origin in zip(rows, *texts, strict=True):
            if said is not None and said == above:
                begun[row] = False
                self._arrays["present"][self.at[row]] &= ~np.bitwise_or.reduce(bits)
            above = origin if origin != said else None
        return {"above": above}

    def subtract(
        self, names: Sequence[str], begun: Mask, counted: Mask, totals: Mask, before: dict[str, str]
    ) -> dict[str, str | None]:
        """Makes running totals what each adds to the one before it of its conversation, and ``total_tokens`` the
        ``sequence``; other counts that have one add to the totals. Smaller totals begin anew, equal ones are the same
        count. Returns the last totals of each conversation, each with what it added."""
        counts = self._arrays
        rows = np.flatnonzero(totals | (counted & self._has("sequence")))
        if not len(rows):
            return {}
        told = np.flatnonzero(self._has("conversation") | begun)
        places = np.searchsorted(told, rows, "right")  # 0: told before the block
        changes = np.diff(places, prepend=-1) > 0
        texts = [before.get("conversation")] * int(places[0] == 0)
        texts += self._texts(told[places[changes][len(texts) :] - 1], "conversation")
        numbers: dict[str | None, int] = {}
        of = np.array([numbers.setdefault(text, len(numbers)) for text in texts])[np.cumsum(changes) - 1]
        zeros = " ".join("0" * 2 * len(names))
        threads = [f"{_THREAD}{text or ''}" for text in numbers]
        base = np.array([[*map(int, before.get(thread, zeros).split())] for thread in threads])
        order: Any = np.argsort(of, kind="stable") if len(numbers) > 1 else slice(None)
        at, whole = self.at[rows[order]], totals[rows[order]]
        bare = at[whole & ~self._has("total_tokens")[rows[order]]]
        counts["total_tokens"][bare] = counts["input_tokens"][bare] + counts["output_tokens"][bare]
        total = np.where(whole, counts["total_tokens"][at], counts["sequence"][at])
        heads = np.searchsorted(of[order], np.arange(len(base)))  # what is known of a conversation stands before it
        is_head = np.insert(np.zeros(len(at), bool), heads, True)
        every = np.insert(total, heads, base[:, 2 * names.index("total_tokens")])
        grown = np.diff(every, prepend=0)
        runs = np.cumsum(is_head | (grown != 0)) - 1
        starts = np.searchsorted(runs, np.arange(runs[-1] + 1))
        anew, sums_up = (is_head | (grown < 0))[starts], np.insert(whole, heads, True)[starts]
        since = np.maximum.accumulate(np.where(anew | sums_up, np.arange(len(starts)), 0))
        firsts, places = np.flatnonzero(is_head[starts]), at[starts - np.cumsum(is_head)[starts]]
        ends = np.append(firsts[1:], len(starts)) - 1
        own = np.maximum([counts[name][places] for name in names], 0)
        own[:, firsts] = base[:, ::2].T
        sums = np.cumsum(np.where(anew | sums_up, 0, own), 1)
        sums += (own - sums)[:, since]
        sums[names.index("total_tokens")] = every[starts]
        more = np.maximum(np.diff(sums, prepend=0), 0)
        more[:, anew] = sums[:, anew]
        more = np.where(sums_up, more, own)
        more[:, firsts] = base[:, 1::2].T
        for name, added in zip(names, more, strict=True) if whole.any() else ():
            counts[name][at[whole]] = added[runs[~is_head]][whole]
        counts["sequence"][at[whole]] = total[whole]
        counts["present"][at[whole]] |= self._bits("sequence")[0] | self._bits("total_tokens")[0]
        after = np.stack([sums[:, ends], more[:, ends]], 1).reshape(2 * len(names), -1).T.tolist()
        said: dict[str, str | None] = {
            thread: " ".join(map(str, one)) for thread, one in zip(threads, after, strict=True)
        }
        kept = [*(thread for thread in before if thread.startswith(_THREAD) and thread not in said), *said]
        return said | dict.fromkeys(kept[:-_MOST_THREADS])

    def judge(self, answers: Mask, exit_code: Any) -> None:
        """Sets ``failed`` of answers to calls by the exit code in their text, where no member tells."""
        rows = self.at[answers & self._has("text") & ~self._has("failed")]
        codes = np.array([exit_code(written) for written in self._written(rows, "text")], object)
        known = codes != None  # noqa: E711 (NumPy compares each item)
        self._arrays["failed"][rows[known]] = codes[known] != 0
        self._arrays["present"][rows[known]] |= self._bits("failed")[0]
