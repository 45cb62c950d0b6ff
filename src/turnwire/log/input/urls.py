"""Files at URLs, in any storage that fsspec knows; every error of a storage names the URL."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from glob import has_magic
from typing import Any, NamedTuple

from turnwire.errors import MissingDependency, UnknownName, needs

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z]+::")
"""The beginning of the name of a file in a storage, not on this machine."""


class Stored(NamedTuple):
    """A file at a URL. size: its bytes as stored, where the storage knows; open: a context with the open file."""

    url: str
    size: int | None
    open: Callable[[], Any]


def stored(url: str) -> list[Stored]:
    """The files that a URL names: one, those of a glob, or those below a folder.

    Raises MissingDependency without fsspec or what it needs for this storage, UnknownName for a storage that it does
    not know, OSError (with the URL as its ``filename``) for what cannot be listed.
    """
    return _files(*_storage(url), url)


def stored_in(storage: Any, path: str) -> list[Stored]:
    """The same of a path in a storage of fsspec. Raises OSError."""
    return _files(storage, path, storage.unstrip_protocol(path))


def place_in_storage(source: Any) -> tuple[Any, str] | None:
    """The storage of fsspec and the path there that a UPath or an OpenFile names; None for anything else, an open file
    too. What is on this machine is a path alone: its storage is None."""
    storage: Any = getattr(source, "fs", None)
    path = getattr(source, "path", None)
    if not isinstance(path, str) or not hasattr(storage, "unstrip_protocol") or hasattr(source, "read"):
        return None
    protocol = storage.protocol
    return None if "file" in protocol else storage, path


def _files(storage: Any, path: str, url: str) -> list[Stored]:
    """The files that a path in a storage names."""
    with _named(url):
        if has_magic(path) and not storage.exists(path):
            names = sorted(name for name in storage.glob(path) if storage.isfile(name))
            if not names:
                raise FileNotFoundError(errno.ENOENT, "no file matches", url)
        elif not _is_page(path) and storage.isdir(path):
            names = sorted(storage.find(path))
        else:
            names = [path]
        urls = {name: storage.unstrip_protocol(name) for name in names}
        sizes = [storage.size(name) if len(names) > 1 or storage.exists(name) else None for name in names]
        every = zip(urls.items(), sizes, strict=True)
        return [Stored(full, size, partial(_File, storage, name, full)) for (name, full), size in every]


def _is_page(path: str) -> bool:
    # To see whether it is a folder, fsspec would download all of it, and take a log with links in it for one.
    return path.startswith(("http://", "https://")) and not path.endswith("/")


class _File(io.RawIOBase):
    """An open file of a storage, whose errors name it."""

    def __init__(self, storage: Any, name: str, url: str) -> None:
        self._url = url
        with _named(url):
            self._file = storage.open(name, "rb")
        self._into = getattr(self._file, "readinto", None)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, view: Any, /) -> Any:
        """The number of bytes read into ``view``; 0 at the end."""
        with _named(self._url):
            if self._into is not None:
                return self._into(view)
            part = self._file.read(len(view))
            view[: len(part)] = part
            return len(part)

    def close(self) -> None:
        """Closes it."""
        if not self.closed:
            super().close()
            with _named(self._url):
                self._file.close()


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Raises what a storage raises as an OSError that names the URL: storages have errors of many kinds."""
    try:
        yield
    except (FileNotFoundError, PermissionError) as error:
        number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else errno.EACCES)
        raise type(error)(number, error.strerror or os.strerror(number), url) from None
    except (MissingDependency, MemoryError):
        raise
    except Exception as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        code = error.errno if isinstance(error, OSError) else None
        raise OSError(code or errno.EIO, text or type(error).__name__, url) from error


def _storage(url: str) -> tuple[Any, str]:
    with needs("fsspec", "URLs need the package fsspec"):
        import fsspec
    try:
        storage, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingDependency(f"{url} needs another package besides fsspec: {error}") from None
    except ValueError as error:
        known = fsspec.available_protocols()
        if (protocol := re.split("://|::", url)[0]) in known:
            raise OSError(errno.EINVAL, str(error), url) from None
        raise UnknownName("storage", protocol, known, f"fsspec does not support the storage {protocol!r}") from None
    except Exception as error:
        raise OSError(errno.EIO, str(error) or type(error).__name__, url) from error
    return storage, path
