"""Three wires that exist only here, one of each style, each a folder that says all of itself in ``wire.py``."""

from typing import Any

from turnwire.checklists import RecordChecklist

NAMES = ("note", "beep", "memo")


class ReadChecklist(RecordChecklist):
    """Asks nothing but that everything can be read."""

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        self.applied.add("reads")

    def refused(self, error: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        self.fault("reads", line, error.text, offset)
