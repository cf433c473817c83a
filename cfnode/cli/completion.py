"""`cfnode completion`: scripts by which a shell asks cfnode to complete commands, flags and values."""

from __future__ import annotations

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from cfnode.cli.examples import verbatim_examples
from cfnode.cli.options import json_errors_option
from cfnode.cli.values import OneOf

__all__ = ["completion"]

PROGRAM = "cfnode"


@add_completion_class
class SeparatedWords(BashComplete):
    """Completion of bash, to which the `=` of `--sync=warp` is a word of its own."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the incomplete one, without the `=` of a flag, and the incomplete one."""
        words, incomplete = super().get_completion_args()
        arguments = [
            word
            for previous, word in zip(["", *words], words, strict=False)
            if word != "=" or not previous.startswith("--")
        ]
        return arguments, incomplete


SHELLS: dict[str, type[ShellComplete]] = {"bash": SeparatedWords, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion")
@click.argument("shell", type=OneOf(SHELLS))
@json_errors_option
@click.pass_context
@verbatim_examples
def completion(ctx: click.Context, shell: str) -> None:
    r"""Print the script that completes commands, flags and values in a shell (bash from 4.4).

    \b
      bash  cfnode completion bash > ~/.local/share/bash-completion/completions/cfnode
      zsh   cfnode completion zsh > "${fpath[1]}/_cfnode"
      fish  cfnode completion fish > ~/.config/fish/completions/cfnode.fish
    """
    source = SHELLS[shell](ctx.find_root().command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE")
    click.echo(ShellComplete.source(source))
