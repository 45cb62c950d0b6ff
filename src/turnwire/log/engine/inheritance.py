"""Fills in what records of formats inherit from earlier records of their input, block by block, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.log.engine.all_wires import of_formats
from turnwire.log.output.texts import span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from turnwire.log.engine.all_wires import BlockResult, Finder

    Mask = NDArray[np.bool_]


def handed_on(inherited: dict[str, dict[str, str]], before: str | None, now: str | None) -> dict[str, dict[str, str]]:
    """The part of ``inherited`` that passes to the next input, named ``now``: both are in one ``Format.archive``."""
    found = {}
    for wire, texts in inherited.items():
        table: Any = registry.wire(wire)
        end = f"{table.table.archive}/"
        if before and now and len(end) > 1 and end in now and before.partition(end)[0] == now.partition(end)[0]:
            found[wire] = dict(texts)
    return found


class Inheritance:
    """The rules of the formats in a scan, by their tables: ``Format.carried``, ``gathered`` and ``exit_code``.

    asked: the columns that the scan looks at; every: what else is inherited is read, too, so that a later scan may
    continue with other columns. columns: those that the rules need, () if records inherit nothing.
    """

    def __init__(self, finder: Finder, asked: set[str], every: bool) -> None:
        self._finder = finder
        self._rules: list[tuple[int, Any, list[str], list[str], bool]] = []
        names: set[str] = set()
        for wire in finder.wires if of_formats(finder.wire) else ():
            found: Any = registry.wire(wire)
            table = found.table
            carried, gathered = ([one for one in of if every or one in asked] for of in (table.carried, table.gathered))
            judged = table.exit_code is not None and "failed" in asked
            if carried or gathered or judged:
                self._rules.append((registry.codes().index(wire), table, carried, gathered, judged))
                names |= {"kind", *carried, *gathered, *(("text", "failed") if judged else ())}
        self.columns = tuple(column for column in finder.columns if column.name in names)

    def fill(self, found: BlockResult) -> None:
        """Adds to the records of a block what they inherit, and moves ``found.state.inherited`` to the end of it."""
        kinds = next(column.names for column in self.columns if column.name == "kind")
        rows = _Rows(found, self._finder)
        for code, table, carried, gathered, judged in self._rules:
            if table.name not in found.wires:
                continue
            rows.of_wire(code)
            begun, counted = (np.isin(rows.kinds, [*map(kinds.index, of)]) for of in (table.begins, ("usage",)))
            before = found.state.inherited.get(table.name, {})
            after = {name: rows.carry(name, begun, before.get(name)) for name in carried}
            after |= {name: rows.gather(name, begun, counted, before.get(name)) for name in gathered}
            if judged:
                rows.judge(np.isin(rows.kinds, [kinds.index(kind) for kind in table.answers]), table.exit_code)
            found.state.inherited[table.name] = {name: text for name, text in after.items() if text is not None}
        if len(rows.texts) > 1:
            found.arrays["arena"] = b"".join(rows.texts)  # type: ignore[assignment] # the arena is no column


class _Rows:
    """The rows of one wire in a block, by numbers of their own. texts: the arena, and what is added to it."""

    def __init__(self, found: BlockResult, finder: Finder) -> None:
        self._arrays: dict[str, Any] = found.arrays
        self._count, self._buffer, self._finder = found.rows, found.buffer, finder
        self.texts: list[bytes] = [found.arrays.get("arena", b"")]  # type: ignore[list-item] # the arena is no column
        self._end = len(self._buffer) + len(self.texts[0])

    def of_wire(self, code: int) -> None:
        """Goes on with the rows of a wire."""
        self._at = np.flatnonzero(self._arrays["wire"][: self._count] == code)
        self._mine: Any = slice(self._count) if len(self._at) == self._count else self._at
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
        places = zip(*(self._arrays[f"{name}.{part}"][rows].tolist() for part in ("offset", "length")), strict=True)
        return (span_of(self._buffer, arena, place, size) for place, size in places)

    def _text(self, row: int, name: str) -> str | None:
        """The text of a row, or its integer as text."""
        (valid, escaped), present = self._bits(name), self._arrays["present"][self._at[row]]
        if not present & valid:
            return None
        if name in self._arrays:
            return str(self._arrays[name][self._at[row]])
        [written] = map(bytes, self._written(self._at[row : row + 1], name))
        return str(self._finder.scanner.plain(written) if present & escaped else written, "utf-8")

    def _give(self, name: str, heirs: Any, rows: Any, times: Any, before: str | None) -> None:
        """Gives rows of the block the value before the block, and those of some rows, each so many times."""
        valid, escaped = self._bits(name)
        said = (before or "").encode()
        if name in self._arrays:
            parts = {name: int(before or 0)}
        else:
            parts = {f"{name}.offset": self._end, f"{name}.length": len(said)}
            if said and times[0]:
                self.texts.append(said)
                self._end += len(said)
        for part, first in parts.items():
            column = self._arrays[part]
            column[heirs] = np.repeat(np.append(first, column[self._at[rows]]), times)
        bits = np.append(
            np.uint64(0) if before is None else valid, self._arrays["present"][self._at[rows]] & (valid | escaped)
        )
        self._arrays["present"][heirs] |= np.repeat(bits, times)

    def carry(self, name: str, begun: Mask, before: str | None) -> str | None:
        """Gives each record without a text that of the record before it, unless something begins with it. Returns the
        text of the last record."""
        rows = np.flatnonzero(self._has(name) | begun)
        self._give(name, self._mine, rows, np.diff(rows, prepend=0, append=len(self._at)), before)
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
            self._give(name, self._at[ends[:1]], first[:0], [1], before)
            heirs[0] = False
        heirs &= first[:-1] < ends
        self._give(name, self._at[ends[heirs]], first[:-1][heirs], np.arange(1 + heirs.sum()) > 0, None)
        return None if first[-1] == len(has) else self._text(int(first[-1]), name)

    def judge(self, answers: Mask, exit_code: Any) -> None:
        """Sets ``failed`` of answers to calls by the exit code in their text, where no member tells."""
        rows = self._at[answers & self._has("text") & ~self._has("failed")]
        codes = np.array([exit_code(written) for written in self._written(rows, "text")], object)
        known = codes != None  # noqa: E711 (NumPy compares each item)
        self._arrays["failed"][rows[known]] = codes[known] != 0
        self._arrays["present"][rows[known]] |= self._bits("failed")[0]
