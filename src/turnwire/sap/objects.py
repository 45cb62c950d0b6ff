"""Outputs by reference: what is too large for a Result goes into an object store (sections 4.1 and 4.2, artifacts)."""

from __future__ import annotations

import asyncio
import hmac
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from turnwire.atomic import AtomicFile
from turnwire.errors import BadAnswer, DecodeError
from turnwire.json import text as json_text
from turnwire.sap.builders import OURS
from turnwire.sap.messages import Result
from turnwire.sap.spec import WIRE

OUTPUT_KIND = "urn:ubos:sap/output"
"""``kind`` of the artifact that stands for the output of a Result; its digest is ``sha256:`` and 64 hexadecimal digits.
The object is JSON text, ``{"output": ...}``."""


class Objects(Protocol):
    """An object store: :class:`Folder`, or your own class with these methods."""

    async def put(self, name: str, data: bytes, /) -> str:
        """Keeps bytes under a name that belongs to them (their digest), and answers with a URI for them."""

    async def get(self, uri: str, /) -> bytes:
        """The bytes of a URI. Raises OSError, or ValueError for a URI of somewhere else."""


class Folder:
    """Stores objects as files in a directory that agent and client share, with ``file:`` URIs.

    Args:
        path: the directory, which is created if necessary.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self.path.mkdir(parents=True, exist_ok=True)

    async def put(self, name: str, data: bytes, /) -> str:
        """Writes the file, completely or not at all; an existing file of that name has the same bytes."""
        place = self._place(name)
        if not place.exists():
            await asyncio.to_thread(_write, place, data)
        return place.as_uri()

    async def get(self, uri: str, /) -> bytes:
        """Reads a file of the directory. Raises ValueError for a file elsewhere, OSError."""
        parts = urlsplit(uri)
        place = self._place(Path(unquote(parts.path)).name)
        if place.as_uri() != uri:
            raise ValueError(f"{uri} is not in {self.path}")
        return await asyncio.to_thread(place.read_bytes)

    def _place(self, name: str) -> Path:
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise ValueError(f"{name!r} is not a name of an object")
        return self.path / name


def _write(place: Path, data: bytes) -> None:
    with AtomicFile(place) as file:
        file.write(data)


async def by_reference(result: Result, objects: Objects) -> Result:
    """The Result with an artifact instead of its output; itself, if it has none."""
    if "output" not in result:
        return result
    data = json_text.write({"output": result.fields["output"]}, WIRE).encode()
    digest = sha256(data).hexdigest()
    uri = await objects.put(f"{digest}.json", data)
    artifact = {"uri": uri, "kind": OUTPUT_KIND, "digest": f"sha256:{digest}", "bytes": len(data)}
    made = result.replace()
    del made.output
    made.fields["artifacts"] = [*made.fields.get("artifacts", ()), artifact]
    return made


def reference_of(result: Result) -> dict[str, Any] | None:
    """The artifact that stands for the output of a Result; None if it has none."""
    for artifact in result.fields.get("artifacts", ()):
        if isinstance(artifact, dict) and artifact.get("kind") == OUTPUT_KIND:
            return artifact
    return None


async def output_of(result: Result, objects: Objects | None) -> Any:
    """Returns the output of a Result, from the store if it was sent by reference, or None.

    Raises BadAnswer if no store was given, or the stored output is not that of the Result.
    """
    reference = None if "output" in result else reference_of(result)
    if reference is None:
        return result.output
    uri = str(reference.get("uri"))
    if objects is None:
        raise BadAnswer(f"the output is at {uri}, and the client has no objects= to fetch it from")
    try:
        data = await objects.get(uri)
    except (OSError, ValueError) as error:
        raise BadAnswer(f"the output at {uri} cannot be fetched: {error}") from error
    if not hmac.compare_digest(f"sha256:{sha256(data).hexdigest()}", str(reference.get("digest"))):
        raise BadAnswer(f"the content at {uri} does not have the digest in the Result")
    try:
        return json_text.read_object(data, WIRE, limits=OURS)["output"]
    except (DecodeError, KeyError) as error:
        raise BadAnswer(f"the output at {uri} cannot be read: {error}") from error
