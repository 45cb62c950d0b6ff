"""Options that take one of a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from turnwire.errors import nearest

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice


class Choice(_Choice):
    """As click's own; a word that is none of them is told with the one that was probably meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word. Fails in words that list all of them."""
        if value not in self.choices and (guess := nearest(value, self.choices)) is not None:
            words = ", ".join(map(repr, self.choices))
            self.fail(f"{value!r} is not one of {words}; did you mean {guess!r}?", param, ctx)
        return super().convert(value, param, ctx)
