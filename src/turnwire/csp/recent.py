"""A store that gives up its past, for judges that only ask whether the next message may be taken."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from turnwire.csp.checkpoints import Checkpoint, Step
from turnwire.csp.digests import refusal
from turnwire.csp.given_ids import GivenIds
from turnwire.csp.messages import CspMessage, Patch
from turnwire.csp.store import Store
from turnwire.errors import Reason


class RecentStore(Store):
    """A store of which checkpoints can be forgotten. It judges as one that knows all of them would, but for what names
    one that was forgotten: that is refused. It proves, dumps and explains nothing after that."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._gone: tuple[GivenIds, GivenIds] | None = None  # patches and checkpoints

    def forget(self, kept: Collection[str], room: int) -> None:
        """Forgets all checkpoints but ``kept``, C0 and the head, and the patches that led there. Of the ids it
        remembers as :class:`GivenIds` does, with ``room``."""
        self._settle()
        if self._gone is None:
            self._gone = GivenIds("P", room), GivenIds("C", room)
        patches, checkpoints = self._gone
        for name in [one for one in self._checkpoints if one not in kept and one not in ("C0", self._head)]:
            gone = self._checkpoints.pop(name)
            checkpoints.add(name)
            patches.add(gone.patch or "")
            self._patches.pop(gone.patch or "", None)
        self._order = list(self._checkpoints)
        self._changes.clear()
        del self._log[:-1]

    def _judged(self, message: CspMessage, text: str) -> Step | None:
        patch = message.block
        if self._gone is not None and isinstance(patch, Patch) and patch.id in self._gone[0]:
            raise refusal(Reason.PATCH_ID_REUSED, "an id names one patch only", patch.id, rule="patch id")
        return super()._judged(message, text)

    def _judge(self, patch: Patch) -> tuple[Checkpoint, str, list[str | None]]:
        if self._gone is not None and patch.apply in self._gone[1]:
            raise refusal(Reason.CHECKPOINT_EXISTS, f"{patch.apply} is frozen", patch.id, rule="apply")
        return super()._judge(patch)
