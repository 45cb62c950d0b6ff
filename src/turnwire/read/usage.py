"""Adds up the tokens and cost of model responses, counting each response once even if files repeat it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import FORMATS
from turnwire.errors import Reason, expect_one_of
from turnwire.formats.prices import FAST, ModelPrice, price_of, priced
from turnwire.formats.table import COLUMNS as OF_FORMATS, KINDS, Words, sources_of
from turnwire.log.engine.all_wires import finder
from turnwire.log.engine.columns import DTYPES, chosen, text_spans
from turnwire.log.engine.where import compiled
from turnwire.log.scanning import Counts, scan
from turnwire.read.coding import core, days, hashed, mixed, named, number_of, zone_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.where import Mask
    from turnwire.log.output.batch import Batch
    from turnwire.log.scanning import Scan

BY = ("session", "project", "model", "tool", "wire", "day")
"""The values by which tokens are added up; a wire is the name of a format."""
MODES = ("auto", "calculate", "display")
"""Costs: those of the file where it has one, else by prices; all by prices; those of the file only."""
TOKENS = ("input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens", "reasoning_tokens")
_PAID = TOKENS[:4]
"""The tokens that are paid for: reasoning is a part of the output."""
_COUNTS = (*TOKENS, "cache_write_1h_tokens")
_PLACE = ("conversation", "project", "model", "wire", "day", "origin")
"""The columns that say where a response belongs."""
_SUMS = ("responses", *TOKENS, "tokens", "cost")
COLUMNS = (
    *("wire", "kind", "conversation", "project", "model", "tool", "time", "id", "request_id", "origin", "speed"),
    *("offset", "inner", "total_tokens", "sequence", "sidechain", "cost"),
    *_COUNTS,
)
"""The columns of a scan that are read."""
_NEVER = (1 << 32) - 1
_SETTLE, _MERGE, _WHOLE, _PARTS, _TIER = 1 << 14, 1 << 16, 1 << 18, 16, 200_000
MOST_COST = 1e9
"""Dollars of one response; what a file says beyond them or below nothing is no cost."""
_HALF = re.compile(
    rb"\\u[dD][89aAbB]\w\w\\u[dD][c-fC-F]\w\w|(\\u[dD][89a-fA-F]\w\w|\xed[\xa0-\xbf][\x80-\xbf])|\\.", re.DOTALL
)
"""A surrogate pair, a half of one (the group), or another escape in JSON."""
_NAMED = ("conversation", "project", "model", "tool", "origin", "speed")
_TEXTS = (*_NAMED, "id", "request_id")
_VALUES = ("wire", "kind", "time", "total_tokens", "sequence", "sidechain", "cost", *_COUNTS)
_EMPTY, _TOTAL = core.hash_of(b""), KINDS.index("total")
_SAID = [("key", "u8"), ("first", "u8"), ("place", "i4"), ("tool", "i4"), ("cost", "f8"), ("rank", "u1")]
_SAID += [("since", "u4"), *((name, "?") for name in ("fast", "fits", "tool_fits", "odd", "bare"))]
_TOOL = ("tool", "tool_fits")
_READ = {"present": "u8", "file": "i8", "since": "u8", "counted": "?", "fits": "?", "tool_fits": "?", "bare": "?"}
_NARROW, _WIDE = (np.dtype([*_SAID, *((name, kind) for name in _COUNTS)]) for kind in ("u4", "i8"))
"""A counted response, also with counts that no model has. since: the first time in its file, in seconds. rank: 1 in a
side conversation, 2 for a message of an API, which may be copies of a response of a lower rank, by ``first`` alone; 3
if it is one of ``Format.repeats``. bare: a piece with the tool of a response, whose counts others have."""


class Usage(NamedTuple):
    """The result of :func:`usage`.

    by: one of ``BY``. rows: one for each value (None for records without a value), most expensive first: ``by`` with
    its value, responses, the tokens (``TOKENS``; input excludes cached ones), all tokens, cost in US dollars, unpriced
    and how many are incomplete. total: the same for all rows. copies: how many repeated responses were not counted,
    also of those that ``where`` leaves out. unpriced: model -> its tokens, for models without a price or cost; a cost
    beside them is a lower bound, and None if it is of nothing else. incomplete: the ids of responses of which a record
    is damaged; the tokens are those of the best copy, and may be too low. lost: session -> how many damaged records are
    perhaps counts of tokens, which have no id; rows have them as incomplete. unusable: how many responses have a count
    that is negative or no integer of 64 bits, counted as 0, or a cost below 0 or above a billion dollars, counted as
    none. counts: those of the scan.
    """

    by: str
    rows: list[dict[str, Any]]
    total: dict[str, Any]
    copies: int
    unpriced: dict[str, int]
    incomplete: tuple[str, ...]
    lost: dict[str | None, int]
    unusable: int
    counts: Counts


class UsageSum:
    """Accumulates usage: call ``take`` with each batch of a scan with the columns ``columns``, then ``finish``. Uses
    about 60 bytes of memory per response. timezone, where, wire: see :func:`usage`; the scan itself has no ``where``,
    since records that it leaves out say which tool the others have, and which of them are copies."""

    def __init__(self, timezone: str = "UTC", where: Mapping[str, Any] | None = None, wire: str = FORMATS) -> None:
        self._zone, self._wire = zone_of(timezone), wire
        scanner = finder(wire).scanner
        compiled(where or {}, scanner)  # one that is no mapping is refused
        self._tests = {name: compiled({name: wanted}, scanner, False) for name, wanted in (where or {}).items()}
        looked = (column.name for test in self._tests.values() for column in test.columns)
        self._tables = {name: found.table for name, found in registry.formats().items()}
        told = [name for table in self._tables.values() for name in table.copy_of]  # by which copies are known
        texts = {column.name for column in OF_FORMATS if column.kind == "text"}
        self._texts_read = tuple(dict.fromkeys((*_TEXTS, *(name for name in told if name in texts))))
        self._values_read = tuple(dict.fromkeys((*_VALUES, *(name for name in told if name not in texts))))
        self.columns = tuple(dict.fromkeys((*COLUMNS, *told, *looked)))
        self._names: dict[str | None, int] = {None: 0}  # values of all groups -> their numbers, 0 for none
        self._texts: dict[int, int] = {0: 0}  # numbers of texts of this process -> those of names
        self._places: dict[tuple[int, ...], int] = {}  # numbers of _PLACE -> the number of them together
        self._columns, self._bits = {one.name: one for one in chosen(scanner, self.columns)}, scanner.bits
        self._scanner = scanner
        self._signs = {name: (scanner.bits[name], scanner.escaped[name]) for name in self._texts_read}
        names = self._columns["wire"].names
        self._by_code = {code: self._tables[name] for code, name in enumerate(names) if name in self._tables}
        self._codes = {table.name: code for code, table in self._by_code.items()}
        values = {name: DTYPES.get(self._columns[name].kind, "i8") for name in self._values_read}
        dtypes = _READ | values | dict.fromkeys(self._texts_read, "u8")
        self._read: dict[str, NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in dtypes.items()}
        self._kept = [np.empty(0, _NARROW)]  # when there are many, by the remainder of their keys
        self._new: list[NDArray[Any]] = []
        self._unsettled = self._waiting = self._taken = self._bare = 0
        pieces = [code for code, one in self._by_code.items() if one.pieces and "tool" not in one.gathered]
        self._pieces = np.isin(np.arange(256), pieces)
        self._totals: dict[tuple[int, int], dict[float, bool]] = {}  # wire and session -> costs of runs, which fit
        self._running: dict[tuple[int, int], float] = {}
        self._ends: dict[tuple[int, int], tuple[int, int, list[int], list[int]]] = {}
        self._unusable = 0
        self._quoted: Any = np.False_  # rows of the next batch that are not counted
        self._damaged: dict[int, str] = {}  # ``first`` of responses -> their ids, which damaged records have
        self._alone = [name for name, table in self._tables.items() if len(table.copy_of) == 1]
        tables = [table for table in self._tables.values() if table.copy_of]
        layouts = ((table.copy_of[0], layout) for table in tables for layout in table.layouts)
        paths = (one.path for name, layout in layouts for one in sources_of(layout.columns.get(name, ())))
        keys = sorted({path.rpartition("/")[2].encode() for path in paths})
        self._no_counts = {table.name: _no_counts(table) for table in tables if table.copy_of[0] not in texts}
        self._lost: Counter[tuple[tuple[str, str | None], ...]] = Counter()  # what damaged counts belong to, perhaps
        self._last: dict[str, tuple[Any, dict[str, str | None] | None]] = {}  # file and groups of the last record
        self._ids = re.compile(rb'"(?:%b)"\s*:\s*"([^"\\]+)"' % b"|".join(keys))
        self._file: str | None = None
        self._files = self._running_file = 0
        self._since = _NEVER

    def batches(self, found: Scan) -> Iterator[Batch]:
        """The batches of a scan that collects its rejects, which say of which responses a record is damaged. Of a
        record that only halves of surrogate pairs spoil the counts are whole: it comes with U+FFFD in their place, and
        is counted as a reject all the same."""
        for batch in chain(found, [None]):
            rejects = [one for one in found.rejects.since(0) if one["wire"] in self._tables]
            found.rejects.forget()
            self._quoted = np.False_
            spoilt = [one["raw"] for one in rejects if one["reason"] == Reason.LONE_SURROGATE]
            if spoilt:
                data = _HALF.sub(lambda said: rb"\ufffd" if said[1] else said[0], b"\n".join(spoilt))
                yield from scan(data, wire=self._wire, columns=self.columns, errors="skip")
            ends, ids = {}, list[tuple[str, str]]()
            for one in rejects:
                if one["reason"] != Reason.LONE_SURROGATE:
                    if one["wire"] in self._no_counts and not self._no_counts[one["wire"]].search(one["raw"]):
                        self._lose(one, batch)
                    ends[one["file"], one["offset"] + one["length"]] = one["wire"]
                    ids += [(one["wire"], text.decode("utf-8", "replace")) for text in self._ids.findall(one["raw"])]
            if rejects and batch is not None:
                mine = [one for one in rejects if one["file"] == batch.file]
                self._quoted = _quoted(batch, [one for one in mine if one["inner"] is None])
                codes, names, offsets = batch.codes("wire"), batch.column("wire").names, batch["offset"]
                known = {wire: batch[self._tables[wire].copy_of[0]] for wire in self._alone} if ends else {}
                for row in np.flatnonzero(np.isin(offsets, [end for _, end in ends])).tolist() if ends else ():
                    wire, before = names[codes[row]], ends.get((batch.file, int(offsets[row])))
                    if wire in known and before not in (wire, None):  # the message of a session's record
                        ids.append((wire, known[wire][row] or ""))
            if ids:
                self._damage(ids)
            if batch is not None:
                for wire in self._no_counts:
                    if len(rows := np.flatnonzero(batch.codes("wire") == self._codes.get(wire))):
                        self._last[wire] = batch.file, self._place(batch, rows[-1])
                yield batch
            del batch

    def _place(self, batch: Batch, row: int) -> dict[str, str | None] | None:
        """The groups of a record, None if ``where`` leaves it out."""
        if not all(test.mask(batch)[row] for test in self._tests.values()):
            return None
        texts = [("session", "conversation"), ("project", "project"), ("model", "model")]
        place = {name: (text := batch[of][row]) and named(text) for name, of in texts}
        timed = days(batch["time"][row : row + 1], batch.valid("time")[row : row + 1], self._zone)
        return place | {"day": next(iter(timed.names), None)}

    def _lose(self, reject: dict[str, Any], batch: Batch | None) -> None:
        """Notes a damaged record that is perhaps a count, with what the record before it belongs to, or the one behind
        it if there is none."""
        wire, nothing = reject["wire"], None if self._tests else dict[str, str | None]()
        file, place = self._last.get(wire, (None, nothing))
        known = wire in self._last and file == reject["file"]
        if batch is not None and batch.file == reject["file"]:
            rows = np.flatnonzero(batch.codes("wire") == self._codes[wire])
            at = int(np.searchsorted(batch["offset"][rows], reject["offset"]))
            if len(rows) and (at or not known):
                place, known = self._place(batch, rows[max(at - 1, 0)]), True
        if (place := place if known else nothing) is not None:
            self._lost[tuple((place | {"wire": wire}).items())] += 1
            for text in (*place.values(), wire):
                self._names.setdefault(text, len(self._names))

    def _damage(self, ids: list[tuple[str, str]]) -> None:
        """Notes the ids in damaged records, each with the wire of its record."""
        texts, tables = [named(text) for _, text in ids], (self._tables[wire] for wire, _ in ids)
        of = [self._names.setdefault(table.provider or table.name, len(self._names)) for table in tables]
        numbers = np.fromiter(map(number_of, texts), np.uint64, len(texts))
        self._damaged.update(zip(mixed(np.array(of, np.int64), numbers).tolist(), texts, strict=True))

    def take(self, batch: Batch) -> None:
        """Adds the responses of a batch."""
        if batch.file not in (self._file, None):
            self._file, self._files, self._since = batch.file, self._files + 1, _NEVER
        there: Any = batch.validity_of(self._columns["cost"])
        counted = there.masks & self._bits_of(*TOKENS) != 0
        values = {name: batch.values(self._columns[name]) for name in self._values_read}
        if self._since == _NEVER and len(batch):
            timed = there.masks & self._bits_of("time") != 0
            if timed[first := int(timed.argmax())]:
                self._since = min(max(int(values["time"][first]) // 1_000_000, 0), _NEVER - 1)
        for name in TOKENS:
            counted |= values[name] < 0  # -1: no such count
        bare = self._pieces[values["wire"]] & (there.masks & self._bits_of("tool") != 0) & ~counted
        counted = (counted | bare) & ~self._quoted
        wanted = counted | (there.masks & self._bits_of("cost") != 0)
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return
        every, fits = np.ones(len(batch), bool), {name: test.mask(batch) for name, test in self._tests.items()}
        told = {"present": there.masks, "counted": counted, "tool_fits": fits.pop("tool", every), "bare": bare}
        self._bare += int(np.count_nonzero(bare & counted))
        told["fits"] = np.logical_and.reduce([*fits.values()]) if fits else every
        found, names = batch._rows, self._texts_read
        spans = ((*text_spans(self._scanner, found.arrays, found.count, name), *self._signs[name]) for name in names)
        texts = found.buffer, batch._arena, there.masks, tuple(spans)
        numbers = hashed(texts, wanted, lambda place: batch[names[place]])[0]
        told |= values | dict(zip(self._texts_read, numbers, strict=True))
        at, to = self._unsettled, self._unsettled + len(rows)
        if to > len(self._read["file"]):
            self._read = {name: np.resize(array, to + _SETTLE) for name, array in self._read.items()}
        core.picked(tuple((column, self._read[name]) for name, column in told.items()), rows, at)
        self._read["file"][at:to], self._read["since"][at:to] = self._files, self._since
        some = numbers[: len(_NAMED), rows].ravel()
        for place in core.codes(some, np.empty(len(some), np.int64)):
            if (number := int(some[place])) not in self._texts:
                text = named(batch[names[place // len(rows)]][rows[place % len(rows)]])
                self._texts[number] = self._names.setdefault(text, len(self._names))
        self._unsettled = to
        if self._unsettled > _SETTLE:
            self._settle()
        if self._waiting > max(_MERGE, sum(map(len, self._kept)) // 4):
            self._merge()

    def _bits_of(self, *names: str) -> np.uint64:
        """The bits of ``present`` of columns."""
        return np.uint64(sum(1 << self._bits[name] for name in names))

    def _of_runs(self, read: dict[str, NDArray[Any]]) -> None:
        """Keeps the running costs of sessions: that of a run grows, so a smaller one begins another run."""
        found = np.zeros(len(read["wire"]), bool)
        for code, table in self._by_code.items():
            if table.totals:
                kinds = [KINDS.index(kind) for kind in table.totals]
                found |= (read["wire"] == code) & np.isin(read["kind"], kinds)
        said = ("cost", "wire", "conversation", "file", "fits", "tool_fits")
        rows = np.flatnonzero(found & (read["present"] & self._bits_of("cost") != 0))
        for cost, code, session, file, *fits in zip(*(read[name][rows].tolist() for name in said), strict=True):
            if not 0 <= cost <= MOST_COST:
                self._unusable += 1
                continue
            if file != self._running_file:
                self._running_file, self._running = file, {}
            key = self._wire_number(code), self._texts[session]
            runs, before = self._totals.setdefault(key, {}), self._running.get(key)
            if before is not None and cost >= before:
                runs.pop(before, None)
            runs[cost], self._running[key] = all(fits), cost

    def _continue_totals(self, read: dict[str, NDArray[Any]]) -> None:
        """Takes out of the first running total of a session in a file, which a scan of the file counts in full, what
        the file before ended with; smaller totals begin anew."""
        known = (read["present"] & self._bits_of("sequence") != 0) & (read["conversation"] != 0)
        for code, names in ((code, table.running) for code, table in self._by_code.items() if table.running):
            rows, none = np.flatnonzero(known & (read["wire"] == code)), [0] * len(names)
            told = "conversation", "file", "kind", "total_tokens", "sequence", *names
            said = zip(rows.tolist(), *(read[name][rows].tolist() for name in told), strict=True)
            for row, session, file, kind, total, sequence, *own in said:
                before, last, totals, base = self._ends.get((code, session), (file, sequence, own, none))
                if total != sequence:
                    own = [old + new for old, new in zip(totals, own, strict=True)] if sequence != last else totals
                elif before != file or sequence != last:
                    base = totals if before != file and last <= sequence else none
                if total == sequence and kind == _TOTAL:
                    for name, old, new in zip(names, base, own, strict=True):
                        read[name][row] = max(new - old, 0)
                self._ends[code, session] = file, sequence, own, base

    def _wire_number(self, code: int) -> int:
        return self._names.setdefault(self._by_code[code].name, len(self._names))

    def _settle(self) -> None:
        """Turns the rows that were read, texts as numbers of this process, into responses with the keys of their
        copies."""
        read = {name: array[: self._unsettled] for name, array in self._read.items()}
        self._unsettled = 0
        self._of_runs(read)
        if not read["counted"].all():
            read = {name: array[read["counted"]] for name, array in read.items()}
        self._continue_totals(read)
        if not (size := len(read["wire"])):
            return
        has = {name: read["present"] & self._bits_of(name) != 0 for name in ("time", "cost")}
        good = has["cost"] & (read["cost"] >= 0) & (read["cost"] <= MOST_COST)
        counts = {name: np.maximum(read[name], 0) for name in _COUNTS}
        number_of_wire = np.zeros(256, np.int64)
        for code in np.flatnonzero(np.bincount(read["wire"])).tolist():
            number_of_wire[code] = self._wire_number(code)
        said: dict[str, NDArray[np.int64]] = {"wire": number_of_wire[read["wire"]]}
        for name in _NAMED:
            codes = np.empty(size, np.int64)
            known = [self._texts[int(read[name][row])] for row in core.codes(read[name], codes)]
            said[name] = np.array([*known, 0])[codes]
        day = days(read["time"], has["time"], self._zone)
        said["day"] = np.array([*(self._names.setdefault(name, len(self._names)) for name in day.names), 0])[day.codes]
        keys = self._keys(read, counts)
        wide = max(int(numbers.max()) for numbers in counts.values()) >= 1 << 32
        rows = counts | keys | {name: read[name] for name in ("since", "fits", "tool_fits", "bare")}
        rows["odd"] = np.logical_or.reduce([has["cost"] & ~good, *(read[name] < 0 for name in _COUNTS)])
        rows |= {"cost": np.where(good, read["cost"], np.nan), "tool": said["tool"], "fast": said["speed"] != 0}
        kept, tools = _once(rows, np.arange(size))  # the blocks of a response mostly follow each other
        said = {name: numbers[kept] for name, numbers in said.items()}
        new = np.empty(len(kept), _WIDE if wide else _NARROW)
        for name, values in rows.items():
            new[name] = values[tools if name in _TOOL else kept]
        fast, names = said["speed"] == self._names.get("fast", -1), [*self._names]
        for model in np.unique(said["model"][fast]).tolist():
            name = f"{names[model] or ''}{FAST}"
            said["model"][fast & (said["model"] == model)] = self._names.setdefault(name, len(self._names))
        places = np.empty(len(kept), np.int64)
        first = core.codes(mixed(*(said[name] for name in _PLACE)) | np.uint64(1), places)
        several = zip(*(said[name][first].tolist() for name in _PLACE), strict=True)
        new["place"] = np.array([self._places.setdefault(one, len(self._places)) for one in several])[places]
        self._waiting += len(new)
        self._new.append(new)

    def _keys(self, read: dict[str, NDArray[Any]], counts: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The keys that copies share. Takes cached tokens out of the input in ``counts``, and reasoning into the
        output, for formats that count them otherwise."""
        size = len(read["wire"])
        keys, firsts, alone = np.empty(size, np.uint64), np.empty(size, np.uint64), np.ones(size, bool)
        aside = (read["present"] & self._bits_of("sidechain") != 0) & read["sidechain"].astype(bool)
        rank = aside.view(np.uint8)
        for code in np.flatnonzero(np.bincount(read["wire"])).tolist():
            table, rows = self._by_code[code], np.flatnonzero(read["wire"] == code)
            if (table.cached_is_input, table.reasoning_is_output) != (False, True):
                mine = {name: counts[name][rows] for name in TOKENS}
                found = paid_counts(table, mine, read["total_tokens"][rows])
                counts["input_tokens"][rows], counts["output_tokens"][rows] = found
            if table.name in self._alone:
                rank[rows] = 2
            rank[rows[np.isin(read["kind"][rows], [KINDS.index(kind) for kind in table.repeats])]] = 3
            if not table.copy_of:
                continue
            parts = [self._part(read, name) for name in table.copy_of]
            rows = rows[parts[0][1][rows]]
            of = self._names.setdefault(table.provider or table.name, len(self._names))
            firsts[rows], alone[rows] = mixed(np.full(len(rows), of), parts[0][0][rows]), False
            wire = np.full(len(rows), self._wire_number(code))
            keys[rows] = mixed(wire, *(part[rows] for part, _ in parts))
            rows = rows[rank[rows] % 3 > 0]
            keys[rows] = mixed(firsts[rows], rank[rows])
        rows = np.flatnonzero(alone)
        keys[rows] = firsts[rows] = mixed(self._taken + rows)
        self._taken += size
        return {"key": keys, "first": firsts, "rank": rank}

    def _part(self, read: dict[str, NDArray[Any]], name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """A column that tells copies as numbers, and the rows that have one; an empty id is none."""
        if name in self._texts_read:
            numbers = read[name] if name in _NAMED else np.where(read[name] == _EMPTY, np.uint64(0), read[name])
            return numbers, numbers != 0
        there = read["present"] & self._bits_of(name) != 0
        return np.where(there, read[name], -1).view(np.uint64), there

    def _merge(self) -> None:
        """Keeps one copy of each response, part by part, so that little memory is copied."""
        self._settle()
        if self._new:
            new, self._new, self._waiting = np.concatenate(self._new), [], 0
            if len(self._kept) == 1 and len(new) + len(self._kept[0]) > _WHOLE:
                new, self._kept = np.concatenate([*self._kept, new]), [np.empty(0, _NARROW)] * _PARTS
            parts = new["key"] % np.uint64(len(self._kept))
            for place, kept in enumerate(self._kept):
                rows = np.concatenate([kept, _picked(new, np.flatnonzero(parts == place))])
                first, tools = _once(rows, np.lexsort((rows["since"], rows["key"])))
                self._kept[place] = _picked(rows, first)
                for name in _TOOL:
                    self._kept[place][name] = rows[name][tools]

    def finish(self, by: str, counts: Counts, prices: Mapping[str, Any] | None = None, mode: str = "auto") -> Usage:
        """Returns the result, with the counts of the finished scan. prices, mode: see :func:`usage`."""
        known = priced(prices)
        price = cache(lambda model: price_of(model, known) if model else None)
        self._merge()
        names = list(self._names)
        places = np.array([*self._places], np.int64).reshape(-1, len(_PLACE))
        kept: list[Any] = [rows[~rows["bare"]] for rows in _without_repeats(self._told_once(), places)]
        copies, unusable = self._taken - self._bare - sum(map(len, kept)), self._unusable
        runs = _Runs({} if mode == "calculate" else self._totals, places)
        for rows in kept if runs.totals else ():
            runs.add(rows, *self._spent(rows, places, price, mode)[1:3])
        found: dict[str | None, dict[str, Any]] = {}
        damaged, incomplete = np.fromiter(self._damaged, np.uint64, len(self._damaged)), set[str]()

        def row_of(number: int) -> dict[str, Any]:
            return found.setdefault(names[number], dict.fromkeys(_SUMS, 0) | {"unpriced": {}, "incomplete": 0})

        for (wire, session), alone in runs.alone():
            row_of({"session": session, "wire": wire}.get(by, 0))["cost"] += alone
        for rows in kept:
            if self._tests:
                rows = rows[rows["fits"] & rows["tool_fits"]]
            unusable += int(np.count_nonzero(rows["odd"]))
            groups = dict(zip(_PLACE, places[rows["place"]].T, strict=True)) | {"tool": rows["tool"]}
            groups["session"] = groups["conversation"]
            tokens, paid, cost, unpriced = self._spent(rows, places, price, mode)
            cost = runs.shared(rows, paid, cost)
            hurt = np.isin(rows["first"], damaged)
            incomplete.update(self._damaged[first] for first in rows["first"][hurt].tolist())
            added = np.ones(len(rows), np.int64), *(tokens[name] for name in TOKENS), paid, cost, hurt.astype(np.int64)
            for [number], sums in _sums([groups[by]], *added):
                row = row_of(number)
                row.update((name, row[name] + more) for name, more in zip((*_SUMS, "incomplete"), sums, strict=True))
            bare = unpriced & ~runs.has(rows)
            for [number, model], [spent] in _sums([groups[by][bare], groups["model"][bare]], paid[bare]):
                of = row_of(number)["unpriced"]
                of[names[model] or ""] = of.get(names[model] or "", 0) + spent
        lost = Counter[str | None]()
        for place, many in self._lost.items():
            row_of(self._names[dict(place).get(by)])["incomplete"] += many
            lost[dict(place).get("session")] += many
        total: dict[str, Any] = {name: sum(row[name] for row in found.values()) for name in (*_SUMS, "incomplete")}
        total["unpriced"] = dict(sum((Counter(row["unpriced"]) for row in found.values()), Counter()))
        for row in (*found.values(), total):  # what nothing is known of has no cost
            row["cost"] = row["cost"] if row["cost"] or sum(row["unpriced"].values()) < max(row["tokens"], 1) else None
        made = [{by: value, **row} for value, row in found.items()]
        made.sort(key=lambda row: (-(row["cost"] or 0), -row["tokens"], row[by] or ""))
        if by == "day":
            made.sort(key=lambda row: row[by] or "")
        return Usage(by, made, total, copies, total["unpriced"], tuple(sorted(incomplete)), lost, unusable, counts)

    def _told_once(self) -> list[NDArray[Any]]:
        """The responses without copies that ``first`` alone tells. A response of a side conversation goes; a message of
        an API, which may be all that is left of a damaged record, has the best counts of both."""
        kept: list[Any] = self._kept  # arrays, whose type makes mypy try all overloads of what is called
        for rank in (1, 2):
            later = np.concatenate([rows[rows["rank"] == rank] for rows in kept])
            if not len(later):
                continue
            said = np.concatenate([np.intersect1d(later["first"], rows["first"][rows["rank"] < rank]) for rows in kept])
            if not len(said):
                continue
            kept = [rows[(rows["rank"] != rank) | ~np.isin(rows["first"], said)] for rows in kept]
            if rank == 2:
                kept = _raised(kept, later[np.isin(later["first"], said)])
        return kept

    def _spent(
        self, rows: NDArray[Any], places: NDArray[Any], price: Any, mode: str
    ) -> tuple[dict[str, Any], Any, Any, Mask]:
        """The tokens of responses, the sum of those that are paid for, their cost, and which have none."""
        exact = object if rows.dtype == _WIDE else np.int64  # sums of any counts fit
        tokens = {name: rows[name].astype(exact) for name in _COUNTS}
        paid = tokens["input_tokens"] + sum(tokens[name] for name in _PAID[1:])
        unpriced = np.isnan(rows["cost"]) if mode != "calculate" else np.ones(len(rows), bool)
        cost = np.where(unpriced, 0.0, rows["cost"])
        models, names = places[:, _PLACE.index("model")][rows["place"]], [*self._names]
        for number in np.flatnonzero(np.bincount(models[unpriced])).tolist() if mode != "display" else ():
            mine = unpriced & (models == number)
            if (rates := price(names[number])) is not None:
                cost[mine] = _cost(rates, {name: numbers[mine] for name, numbers in tokens.items()})
                unpriced[mine] = False
        return tokens, paid, cost, unpriced & (paid > 0)


def _without_repeats(kept: list[Any], places: NDArray[np.int64]) -> list[NDArray[Any]]:
    """The responses without what repeats the tokens of others in its trace, or in its session if it has none: what the
    most of these are beyond the sum of the others is added to the largest response. In a trace without responses that
    is the largest of them, since it encloses the rest; in a session they all count."""
    again = np.concatenate([rows[rows["rank"] == 3] for rows in kept])
    if not len(again):
        return kept
    wire, session, trace = (places[:, _PLACE.index(name)] for name in ("wire", "conversation", "origin"))
    groups = np.unique(mixed(wire, np.where(trace, trace, ~session)), return_inverse=True)[1]
    (best, most), beyond = np.full((2, len(groups)), -1.0), {name: np.zeros(len(groups)) for name in _COUNTS}
    np.maximum.at(most, groups[again["place"]], _score(again))
    for name, more in beyond.items():
        np.maximum.at(more, groups[again["place"]], again[name])
    for rows in kept:
        said = rows[rows["rank"] < 3]
        np.maximum.at(best, groups[said["place"]], _score(said))
        for name, more in beyond.items():
            np.subtract.at(more, groups[said["place"]], said[name].astype(float))
    found, largest = [], np.where(best < 0, most, best)
    for rows in map(np.copy, kept):
        of, responses, traced = groups[rows["place"]], rows["rank"] < 3, trace[rows["place"]] != 0
        alone = ~responses & (best[of] < 0)
        heirs = np.flatnonzero((responses | (alone & traced)) & (_score(rows) == largest[of]))
        heirs = heirs[np.unique(of[heirs], return_index=True)[1]]
        largest[of[heirs]] = np.inf
        for name, more in beyond.items():
            added = np.clip(more[of[heirs]], 0, 1 << 62).astype(rows.dtype[name])
            rows[name][heirs] = np.where(alone[heirs], 0, rows[name][heirs]) + added
        counted = responses | (alone & ~traced)
        counted[heirs] = True
        found.append(rows[counted])
    return found


def _sums(groups: Sequence[NDArray[np.int64]], *added: Any) -> Iterator[tuple[list[int], list[Any]]]:
    """Each combination of groups that rows have, and the sums of these rows."""
    order = np.lexsort(groups)
    if len(order):
        changes = np.logical_or.reduce([np.diff(values[order], prepend=-1) != 0 for values in groups])
        starts = np.flatnonzero(changes)
        keys = zip(*(values[order][starts].tolist() for values in groups), strict=True)
        sums = zip(*(np.add.reduceat(numbers[order], starts).tolist() for numbers in added), strict=True)
        yield from zip(map(list, keys), map(list, sums), strict=True)


class _Runs:
    """Spreads the cost of each run over the responses of its session: by their cost, else their tokens, or evenly."""

    def __init__(self, totals: dict[tuple[int, int], dict[float, bool]], places: NDArray[np.int64]) -> None:
        self.totals = totals
        numbers = {key: number for number, key in enumerate(totals)}
        of = (_PLACE.index("wire"), _PLACE.index("conversation"))
        keys = (tuple(place) for place in places[:, of].tolist())
        self._run = np.array([numbers.get(key, -1) for key in keys], np.int64)  # place -> its session here
        self._weights = np.zeros((3, len(totals)))

    def add(self, rows: NDArray[Any], paid: Any, cost: Any) -> None:
        """Responses over which the costs are spread."""
        runs = self._run[rows["place"]]
        for weight, measure in zip(self._weights, (cost, paid.astype(float), np.ones(len(rows))), strict=True):
            np.add.at(weight, runs[runs >= 0], measure[runs >= 0])

    def alone(self) -> Iterator[tuple[tuple[int, int], float]]:
        """The sessions without a response here, and the cost of their runs that ``where`` selects."""
        for weight, (key, runs) in zip(self._weights[2], self.totals.items(), strict=True):
            if not weight and any(runs.values()):
                yield key, sum(cost for cost, fits in runs.items() if fits)

    def has(self, rows: NDArray[Any]) -> Mask:
        """The responses that a run has the cost of."""
        found: Mask = self._run[rows["place"]] >= 0
        return found

    def shared(self, rows: NDArray[Any], paid: Any, cost: Any) -> Any:
        """The costs of responses; the cost of a run replaces those of its responses."""
        runs = self._run[rows["place"]]
        which = np.argmax(self._weights > 0, 0)
        for by, measure in enumerate((cost.copy(), paid.astype(float), np.ones(len(rows)))):
            mine = np.flatnonzero((runs >= 0) & (np.append(which, -1)[runs] == by))
            every = np.array([sum(found) for found in self.totals.values()])
            cost[mine] = measure[mine] / self._weights[by][runs[mine]] * every[runs[mine]]
        return cost


def _no_counts(table: Any) -> re.Pattern[bytes]:
    """Matches a word for another kind of records, which a damaged record has that is no count of tokens."""
    kinds = (rule.kinds for layout in table.layouts for rule in layout.kinds if isinstance(rule, Words))
    words = (re.escape(word).encode() for several in kinds for word, kind in several.items() if kind != "usage")
    return re.compile(rb'"\w+"\s*:\s*"(?:%b)"' % b"|".join(words))


def _quoted(batch: Batch, rejects: list[dict[str, Any]]) -> Any:
    """The mask of records inside strings on damaged lines, of which these rejects are: quoted text, no responses."""
    inner = batch.valid("inner")
    if not rejects or not inner.any():
        return np.False_
    data, base = batch._rows.buffer, batch._rows.base
    breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == 0x0A) + base
    ends = [one["offset"] + one["length"] - 1 for one in rejects]
    lines = np.searchsorted(breaks, [end for end in ends if end >= base])
    return inner & np.isin(np.searchsorted(breaks, batch["offset"]), lines)


def paid_counts(table: Any, tokens: Mapping[str, Any], total: Any) -> tuple[Any, Any]:
    """The input tokens without cached ones, and the output tokens with reasoning, of a format that may count them
    otherwise (``Format.cached_is_input``, ``Format.reasoning_is_output``)."""
    cached, reasoning = tokens["cache_read_tokens"] + tokens["cache_write_tokens"], tokens["reasoning_tokens"]
    given, said = tokens["input_tokens"], tokens["output_tokens"]
    beside = np.where(total > 0, total - given - said, cached)  # what input and output lack of the total
    thought = (beside == reasoning) & (beside != cached)
    inside = {True: cached, False: 0, None: np.where(thought, cached, cached - np.clip(beside, 0, cached))}
    apart = {True: 0, False: reasoning, None: np.where(thought, reasoning, np.clip(beside - cached, 0, reasoning))}
    return np.maximum(given - inside[table.cached_is_input], 0), said + apart[table.reasoning_is_output]


def _once(rows: Any, order: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of the rows with one key that follow each other in an order, the one with the most tokens, and the one with the
    first tool of them all; in the order of the rows."""
    keys, size, places = rows["key"][order], len(order), np.arange(len(order))
    starts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
    if len(starts) == size:
        return places, places
    score = _score(rows)[order]
    best = np.repeat(np.maximum.reduceat(score, starts), np.diff(starts, append=size))
    winner = order[np.minimum.reduceat(np.where(score == best, places, size), starts)]
    first = np.minimum.reduceat(np.where(rows["tool"][order] != 0, places, size), starts)
    again = np.argsort(winner)
    return winner[again], order[np.where(first < size, first, starts)][again]


def _raised(kept: list[NDArray[Any]], later: NDArray[Any]) -> list[NDArray[Any]]:
    """Responses, each with the counts of its copy among ``later`` if those are more, and its tool if it has none. Of
    several requests with the ``first`` of a copy, the copy is of the one with the most tokens."""
    later, found = later[np.argsort(later["first"])], []
    best, places = np.full(len(later), -1.0), [np.flatnonzero(np.isin(rows["first"], later["first"])) for rows in kept]
    for rows, at in zip(kept, places, strict=True):
        np.maximum.at(best, np.searchsorted(later["first"], rows["first"][at]), _score(rows[at]))
    for before, at in zip(kept, places, strict=True):
        rows = before.astype(np.promote_types(before.dtype, later.dtype))
        copies = np.searchsorted(later["first"], rows["first"][at])
        most = np.flatnonzero(_score(rows[at]) == best[copies])
        most = most[np.unique(copies[most], return_index=True)[1]]
        at, copies = at[most], copies[most]
        more = _score(later[copies]) > best[copies]
        for name in (*_COUNTS, "odd"):
            rows[name][at[more]] = later[name][copies[more]]
        for name in ("tool_fits", "tool"):
            rows[name][at] = np.where(rows["tool"][at] == 0, later[name][copies], rows[name][at])
        best[copies] = -1.0
        found.append(rows)
    return found


def _score(rows: NDArray[Any]) -> Any:
    """The score of each copy; the one with the highest counts."""
    return np.sum([rows[name].astype(float) for name in _PAID], 0) + 0.5 * rows["fast"]


def _picked(rows: NDArray[Any], places: NDArray[np.intp]) -> NDArray[Any]:
    """Some of the rows, copied whole and not field by field."""
    found: NDArray[Any] = rows.view(f"V{rows.dtype.itemsize}")[places].view(rows.dtype)
    return found


def _cost(price: ModelPrice, tokens: dict[str, Any]) -> Any:
    """US dollars for each response: of each kind of tokens, those above 200,000 may have a price of their own."""
    written = tokens["cache_write_tokens"]
    hour = np.minimum(tokens["cache_write_1h_tokens"], written)
    of = {"input": tokens["input_tokens"], "output": tokens["output_tokens"], "cache_write": written - hour}
    of |= {"cache_write_1h": hour, "cache_read": tokens["cache_read_tokens"]}
    cost: Any = 0.0
    for kind, numbers in of.items():
        above = numbers * 0 if price.above_200k is None else np.maximum(numbers - _TIER, 0)
        cost = cost + (numbers - above) * price.rate(kind) + above * (price.above_200k or price).rate(kind)
    return cost * price.fast / 1e6


def usage(
    source: Any,
    by: str = "model",
    *,
    wire: str = FORMATS,
    where: Mapping[str, Any] | None = None,
    prices: Mapping[str, Any] | None = None,
    mode: str = "auto",
    timezone: str = "UTC",
    **options: Any,
) -> Usage:
    """Adds up the tokens and cost of the responses in agents' files, each response once.

    source: any source of :func:`turnwire.scan`. by: one of ``BY``, or "conversation". wire: one format; all by default.
    where: the responses to select, as the records of a scan: by the record that is counted, with the model, session and
    project that it inherits and the first tool of its copies. prices: model -> {"input", "output", "cache_read",
    "cache_write"} in US dollars per million tokens, instead of the packaged ones (``turnwire.formats.prices``, with
    their date and further members). mode: which costs to use, one of ``MODES``. timezone: that of the days, an IANA
    name or "local". Of repeated responses (``Format.copy_of``), the copy with the most tokens is counted, of equals
    that in the file that begins first. The cost of a whole run (``Format.totals``) replaces those of its responses,
    unless ``mode`` is "calculate".
    Raises the errors of a scan, UnknownName for another ``by`` or ``mode``, and ValueError for invalid prices or an
    unknown time zone.
    """
    by = "session" if by == "conversation" else by
    expect_one_of(by, "by", BY)
    expect_one_of(mode, "mode", MODES)
    priced(prices)
    gathered = UsageSum(timezone, where, wire)
    found = scan(source, wire=wire, columns=gathered.columns, **{"errors": "collect", **options})
    for batch in gathered.batches(found):
        gathered.take(batch)
        del batch  # its memory serves the next one
    return gathered.finish(by, found.counts, prices, mode)


def known_folders() -> Iterator[str]:
    """Returns the existing folders of this machine in which the formats keep their files. If the environment variable
    ``Format.home`` of a format is set, it names their parent folders, separated by commas."""
    for found in registry.formats().values():
        table = found.table
        homes = [home.strip() for home in os.environ.get(table.home or "", "").split(",") if home.strip()]
        names = dict.fromkeys(os.path.basename(folder) for folder in table.folders)
        for folder in [os.path.join(home, name) for home in homes for name in names] or table.folders:
            if os.path.isdir(place := os.path.expanduser(folder)):
                yield place
