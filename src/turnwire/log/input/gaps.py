"""What of a log cannot be had: it is told, as damage is, and what can be had goes on."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.errors import Reason


class Gap(NamedTuple):
    """Bytes of a log that cannot be had, or cannot be shown not to be missing.

    file: the name of the log; start: the byte (as decompressed) from which on; stop: the byte in front of which that
    ends, None where unknown; why:  ``file_shrunk`` (it was cut: what was written after the copy, or after the last
    look where there is no copy, is gone), ``file_replaced`` (it was cut and has grown again, or was written anew) or
    ``file_gone`` (the file that had the name is not there any more, and what came between may be gone with it).
    """

    file: str
    start: int
    stop: int | None
    why: Reason

    def to_dict(self) -> dict[str, Any]:
        """The gap as a line of JSON has it: from, and to, which is null where unknown."""
        return {"gap": True, "file": self.file, "from": self.start, "to": self.stop, "why": str(self.why)}

    @property
    def text(self) -> str:
        """What it says to people, without the name of the file."""
        end = "an unknown end" if self.stop is None else f"byte {self.stop}"
        return f"gap from byte {self.start} to {end}: {_WORDS[self.why]}"


_WORDS = {
    Reason.FILE_SHRUNK: "the file was cut, and what was written just before that may be gone",
    Reason.FILE_REPLACED: "the file was rewritten, and what was written just before that may be gone",
    Reason.FILE_GONE: "the file that had this name is gone, and what was written to it or after it may be gone, too",
}
