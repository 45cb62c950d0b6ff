"""The ConstitutionalLearningLoop (section 7): signals in, knowledge artifacts out, both append-only.

What is derived depends on the recorded signals alone. It never touches a cache row: an artifact works on later cache
writes and alignments, through :func:`thresholds_of` and :func:`essence_of`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from turnwire.errors import expect
from turnwire.json.canonical import canonical
from turnwire.json.text import write
from turnwire.ledger import Entry, Ledger
from turnwire.sap import derivation
from turnwire.sap.cache_keys import WHOLE_PAYLOAD, Essence, without
from turnwire.sap.messages import Result, Task
from turnwire.sap.signals import Signal, from_operator, from_result, signal_key

if TYPE_CHECKING:
    from typing import Self

SIGNAL_KIND = "sap.signal"
ARTIFACT_KIND = "sap.artifact"


class Artifact(NamedTuple):
    """Knowledge derived from signals.

    kind: "thresholds", "checks", "essence" or "playbook". version: 1, 2, 3 ... of this kind for this capability and
    territory; a new one only when the content changes. content: JSON, for a playbook Markdown. evidence: the ledger
    numbers of the signals it was derived from. digest: of the content.
    """

    kind: str
    capability: str
    territory: str | None
    version: int
    content: Any
    evidence: tuple[int, ...]
    digest: str

    @property
    def text(self) -> str:
        """The content as text: Markdown, or JSON."""
        return self.content if isinstance(self.content, str) else write(self.content)


class Sink(Protocol):
    """Where artifacts go: the "Master Librarian" of section 7."""

    def emit(self, artifact: Artifact, /) -> None:
        """Takes a new artifact."""


class Folder:
    """The default sink: one file for each version of each artifact. Files are never overwritten."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def emit(self, artifact: Artifact, /) -> None:
        """Writes the artifact to a file of its own."""
        self.path.mkdir(parents=True, exist_ok=True)
        place = self.path / self.name_of(artifact)
        if not place.exists():
            fresh = place.with_name(place.name + ".new")
            fresh.write_text(artifact.text, "utf-8")
            fresh.rename(place)

    @staticmethod
    def name_of(artifact: Artifact) -> str:
        """The file name: readable, and unique by a digest, since capabilities are text from outside."""
        scope = f"{artifact.capability}@{artifact.territory or ''}"
        readable = re.sub(r"[^A-Za-z0-9.-]+", "_", scope).strip("._")[:60]
        unique = sha256(canonical([artifact.capability, artifact.territory])).hexdigest()[:10]
        suffix = "md" if isinstance(artifact.content, str) else "json"
        return f"{artifact.kind}-{readable}-{unique}-v{artifact.version}.{suffix}"


class Nowhere:
    """The sink of a loop in memory: artifacts are in its ledger, and nowhere else."""

    def emit(self, artifact: Artifact, /) -> None:
        """Takes the artifact, which the ledger has."""


class LearningLoop:
    """Records signals and derives artifacts from them.

    Args:
        path: the ledger file (or a Ledger, to share one with cache and transcript).
        sink: where new artifacts go (default: the folder ``<path>.library``; of a ledger in memory, nowhere else).
        essence: as in the cache, for the fingerprints.
    """

    def __init__(
        self, path: str | os.PathLike[str] | Ledger, *, sink: Sink | None = None, essence: Essence = WHOLE_PAYLOAD
    ) -> None:
        self.ledger = path if isinstance(path, Ledger) else Ledger(path)
        home = Nowhere() if self.ledger.in_memory else Folder(f"{os.fspath(self.ledger.path)}.library")
        self.sink: Sink = home if sink is None else sink
        self.essence = essence

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the ledger."""
        self.ledger.close()

    def record(self, signal: Signal) -> int:
        """Appends a signal and answers its number."""
        kind, body, key = self.row(signal)
        return self.ledger.append(kind, body, key=key)

    def row(self, signal: Signal) -> tuple[str, str, str]:
        """(kind, body, key) of what :meth:`record` appends."""
        expect(signal, Signal, "a Signal is recorded")
        return SIGNAL_KIND, write(signal.to_dict()), signal.key

    def observe(self, task: Task, result: Result) -> int:
        """Records the signal in a Result."""
        return self.record(from_result(task, result, essence=self.essence))

    def judge(
        self, task: Task, *, rating: int | None = None, note: str | None = None, approval: bool | None = None
    ) -> int:
        """Records an operator's opinion: rating 1 to 5, corrective note, approval."""
        return self.record(from_operator(task, rating=rating, note=note, approval=approval, essence=self.essence))

    def signals(self) -> Iterator[tuple[int, Signal]]:
        """All signals with their numbers, oldest first."""
        for entry in self.ledger.entries(kind=SIGNAL_KIND):
            yield entry.seq, Signal.from_dict(entry.json())

    def about(self, capability: str, territory: str | None, fingerprint: str) -> list[Signal]:
        """The signals of one key, newest first."""
        found = self.ledger.find(SIGNAL_KIND, signal_key(capability, territory, fingerprint))
        return [Signal.from_dict(entry.json()) for entry in found]

    def derive(self) -> list[Artifact]:
        """The artifacts of all signals so far, sorted; new versions are recorded and given to the sink.

        Deterministic: the same signals give the same artifacts, and deriving twice changes nothing.
        """
        scopes: dict[tuple[str, str | None], list[tuple[int, Signal]]] = {}
        for seq, signal in self.signals():
            scopes.setdefault((signal.capability, signal.territory), []).append((seq, signal))
        artifacts = []
        for (capability, territory), found in sorted(scopes.items(), key=lambda item: (item[0][0], item[0][1] or "")):
            for kind, content, evidence in derivation.contents(capability, territory, found):
                artifacts.append(self._settle(kind, capability, territory, content, evidence))
        return artifacts

    def _settle(
        self, kind: str, capability: str, territory: str | None, content: Any, evidence: Iterable[int]
    ) -> Artifact:
        digest = "sha256:" + sha256(canonical(content)).hexdigest()
        newest = self.latest(kind, capability, territory)
        if newest is not None and newest.digest == digest:
            return newest
        version = 1 if newest is None else newest.version + 1
        artifact = Artifact(kind, capability, territory, version, content, tuple(evidence), digest)
        self.ledger.append(ARTIFACT_KIND, write(artifact._asdict()), key=_artifact_key(kind, capability, territory))
        self.sink.emit(artifact)
        return artifact

    def latest(self, kind: str, capability: str, territory: str | None) -> Artifact | None:
        """The newest version of an artifact, or None."""
        return next(self.versions(kind, capability, territory), None)

    def versions(self, kind: str, capability: str, territory: str | None) -> Iterator[Artifact]:
        """All versions of an artifact, newest first."""
        yield from map(_artifact, self.ledger.find(ARTIFACT_KIND, _artifact_key(kind, capability, territory)))


def _artifact_key(kind: str, capability: str, territory: str | None) -> str:
    return canonical([kind, capability, territory]).decode()


def _artifact(entry: Entry) -> Artifact:
    fields = entry.json()
    return Artifact(**{**fields, "evidence": tuple(fields["evidence"])})


def thresholds_of(artifact: Artifact) -> Mapping[str, float]:
    """Principle to the pressure up to which outcomes were good; for :func:`turnwire.sap.alignment.within`."""
    return {principle: found["threshold"] for principle, found in artifact.content["principles"].items()}


def essence_of(artifact: Artifact) -> Essence:
    """The extractor that an essence artifact suggests, named with its version so that old rows are never met."""
    names = artifact.content["leave_out"]
    return without(names, artifact.version) if names else WHOLE_PAYLOAD
