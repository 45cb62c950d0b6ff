"""Groups of commands: the name of no command is told with the one that was probably meant."""

from __future__ import annotations

import click

from turnwire.errors import nearest


class Group(click.Group):
    """A group of commands: the program itself, or a command with commands below it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's own; the name of no command is told with the one that was probably meant."""
        name = args[0]
        if ctx.resilient_parsing:  # a shell completes what is written so far, and shows nothing else
            return super().resolve_command(ctx, args)
        if name[:1].isalnum() and name not in (there := self.list_commands(ctx)):
            guess = nearest(name, there)
            hint = f"there are {', '.join(there)}" if guess is None else f"did you mean {guess!r}?"
            ctx.fail(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)
