"""Outputs that grow: a folder of parts, each whole and with the position of the scan behind it.

``part-00001.ndjson`` is there when it is whole; ``part-00001.position`` says how far the scan had got then. A scan that
goes on begins at the position of the last part, so that every record is in one part and in one only, whatever was
killed.

The rename of a part is what counts. Its position is written before that under the name ``part-00001.pending``: one
whose part is there is taken, one whose part is not there belongs to a part that never was.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from turnwire.atomic import PREFIX, AtomicFile, locked, sweep, sync_directory
from turnwire.log.output.outputs import FileOutput
from turnwire.log.output.writers import FORMATS, format_of
from turnwire.places import explained

if TYPE_CHECKING:
    from turnwire.contract import Column
    from turnwire.log.output.batch import Batch

PART_BYTES = 64 << 20
"""Bytes behind which a part of a scan that follows ends."""
PART_SECONDS = 60.0
"""Seconds after which it ends, also where nothing more comes."""
_POSITION = re.compile(r"part-(\d{5,})\.(position|pending)")
_OURS = re.compile(rf"part-\d{{5,}}\.\w+|{re.escape(PREFIX)}.*")


class Parts:
    """A folder of parts, for a ``with`` block: nobody else writes there meanwhile.

    Attributes:
        position: of the last part, None where there is none.
        paths: of the parts that were written in this block.

    Raises OSError: NotADirectoryError where something else has the name, BlockingIOError where another process writes.
    """

    def __init__(self, path: str | os.PathLike[str], format: str | None = None, formulas: str = "guard") -> None:
        self.name = os.fspath(path)
        self.format = format_of(self.name, format)
        self.position: dict[str, Any] | None = None
        self.paths: list[str] = []
        self._place = Path(self.name)
        self._formulas = formulas
        self._number = 0
        self._lock = ExitStack()
        self._columns: Sequence[Column] = ()
        self._output: FileOutput | None = None
        self._stack = ExitStack()
        self._began = 0.0

    def __enter__(self) -> Self:
        try:
            self._place.mkdir()
            sync_directory(self._place.absolute().parent)
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise explained(error, self.name) from None
        except FileExistsError:
            if not self._place.is_dir():
                text = "is a file; with --follow or --resume the output is a folder of parts"
                raise NotADirectoryError(20, text, self.name) from None
        with self._lock:
            self._lock.enter_context(locked(self.name, "another process writes parts there"))
            self._recover()
            sweep(self._place)
            self._lock = self._lock.pop_all()
        return self

    def _recover(self) -> None:
        last: Path | None = None
        names = sorted(self._place.iterdir())
        if not all(_OURS.fullmatch(path.name) for path in names):
            raise FileExistsError(17, "exists already and is not a folder of parts", self.name)
        parts = {path.stem for path in names if path.suffix in FORMATS.values()}
        for found in names:
            match = _POSITION.fullmatch(found.name)
            if match is None:
                continue
            if match[2] == "pending":
                if found.stem not in parts:
                    found.unlink()
                    continue
                found = found.replace(found.with_suffix(".position"))
            if int(match[1]) > self._number:
                self._number, last = int(match[1]), found
        if last is not None:
            self.position = json.loads(last.read_bytes())

    def _part(self, number: int) -> Path:
        return self._place / f"part-{number:05}{FORMATS[self.format]}"

    def begin(self, columns: Sequence[Column]) -> None:
        """Set the columns of the parts."""
        self._columns = columns

    def take(self, batch: Batch) -> None:
        """Writes the records of a batch to the part that is open."""
        if self._output is None:
            path = self._part(self._number + 1)
            self._output = FileOutput(path, self._columns, self.format, self._formulas)
            self._stack.enter_context(self._output)
            self._began = time.monotonic()
        self._output.take(batch)

    @property
    def due(self) -> bool:
        """True if the part that is open is long enough, or old enough, to be ended."""
        if self._output is None:
            return False
        return self._output.size >= PART_BYTES or time.monotonic() - self._began >= PART_SECONDS

    def commit(self, position: dict[str, Any]) -> None:
        """Ends the part that is open, if one is; ``position`` says how far the scan has got with it."""
        if self._output is None:
            return
        number = self._number + 1
        pending = self._place / f"part-{number:05}.pending"
        with AtomicFile(pending) as file:
            file.write(json.dumps(position).encode() + b"\n")
        output, self._output = self._output, None
        with self._stack:  # from here on the part is there, or it never was
            pass
        pending.replace(pending.with_suffix(".position"))
        self._number, self.position = number, position
        self.paths.extend(output.paths)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._output is not None:  # it was not committed: its records are read again
                self._stack.__exit__(kind or KeyboardInterrupt, error or KeyboardInterrupt(), trace)
        finally:
            self._lock.close()


def later(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """The position behind more records: a kill can come between a part and the file that keeps the position."""
    if not one or not other:
        return one or other
    return one if one.get("record", 0) > other.get("record", 0) else other
