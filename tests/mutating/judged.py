"""Changes that no test found and that change nothing that can be seen: the line before, the line after, and why.

Only who has read the code around a change adds it; where a test could tell, the test is what is missing.
"""

from __future__ import annotations

SAME: dict[tuple[str, str], str] = {
    (
        "if not self._contributes(begins):",
        "if not self._contributes(None):",
    ): "the whole text is looked at where its first word would have done; what is found is the same",
}
