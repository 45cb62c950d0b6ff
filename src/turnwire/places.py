"""Explains why nothing can be written under a name: "No such file or directory" does not say which is missing."""

from __future__ import annotations

import errno
import os

_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_OF_FOLDERS = "is a name of a folder, not of a file"


def explained(error: OSError, name: str) -> OSError:
    """The error of making or opening a file to write, saying which folder is missing or what else is wrong.

    The class and the number stay. What has no better words keeps those of the system; ``name`` is what was asked for.
    """
    text = _why(error.errno, name)
    return OSError(error.errno, error.strerror if text is None else text, name)


def _why(number: int | None, name: str) -> str | None:
    place = os.path.realpath(name)
    folder, file = os.path.dirname(place), os.path.basename(place)
    if number == errno.EISDIR:
        return "is a folder, not a file" if os.path.isdir(place) else _OF_FOLDERS
    if os.path.isdir(place):
        return None
    if number == errno.ENOENT:
        missing = not os.path.isdir(folder)
        return f"the folder {folder} does not exist" if missing else f"no file can be made in the folder {folder}"
    if number == errno.ENOTDIR:
        return _OF_FOLDERS if os.path.lexists(place) else f"{_file_above(folder)} is a file, not a folder"
    if number in _REFUSED and file and not os.path.lexists(place):
        return f"the folder {folder} takes no new file: {os.strerror(number or 0)}"
    return None


def _file_above(folder: str) -> str:
    """The nearest that is there of a folder and those above it."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder
