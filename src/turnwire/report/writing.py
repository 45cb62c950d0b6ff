"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress


def write(path: str, data: bytes) -> None:
    """Writes a file beside its final place and moves it there; what was there before stays until then.

    What is no regular file (a device, a pipe) is written as it is. Raises OSError with the name of the file.
    """
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):
        with open(target, "wb") as stream:
            stream.write(data)
        return
    part = f"{target}.{os.getpid()}.part"
    try:
        with open(part, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):
            os.chmod(part, os.stat(target).st_mode & 0o7777)
        os.replace(part, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(part)
        if isinstance(error, OSError):
            error.filename, error.filename2 = path, None
        raise
