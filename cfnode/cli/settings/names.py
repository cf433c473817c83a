"""Names of flags in the environment and in the configuration file, both derived from the flag.

    cfnode swap quote --backend URL     CFNODE_SWAP_QUOTE_BACKEND     [swap.quote]  backend = "URL"
    cfnode run --rpc-port 9944          CFNODE_RUN_RPC_PORT           [run]         rpc-port = 9944

As on the command line, `run` may be left out of a variable: CFNODE_RPC_PORT. A few flags mean the same in
each command that has them; these have a variable, and a key above all sections, that every command reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

__all__ = [
    "CONFIG_VARIABLE",
    "SHARED",
    "VARIABLE_PREFIX",
    "Path",
    "commands_below",
    "flag_of",
    "key_of",
    "options_of",
    "other_spellings",
    "shared_key",
    "variables_of",
]

Path = tuple[str, ...]
"""Words of a command: ("swap", "quote")."""

VARIABLE_PREFIX: Final = "CFNODE"
CONFIG_VARIABLE: Final = "CFNODE_CONFIG"
SHARED: Final = {
    "CFNODE_BASE_PATH": "base-path",
    "CFNODE_CHAIN": "chain",
    "CFNODE_ETH_RPC": "eth-rpc",
    "CFNODE_LP_ACCOUNT": "lp-account",
    "CFNODE_NETWORK": "network",
    "CFNODE_TOKEN_FILE": "token-file",
    "CFNODE_URL": "node",
}
"""Variables that every command with the flag reads, and their keys."""
OMITTED: Final = ("run",)
"""The command whose name may be left out."""
NOT_CONFIGURED: Final = ("config", "completion")
"""Commands that read no configuration file: they print or check one, or set up a shell."""


def flag_of(option: click.Option) -> str:
    """Return the first long spelling: `--node` of `--node, --url`."""
    return next((spelling for spelling in option.opts if spelling.startswith("--")), option.opts[0])


def key_of(option: click.Option) -> str:
    """Return the option's key in a configuration file: `rpc-port`."""
    return flag_of(option).lstrip("-")


def other_spellings(option: click.Option) -> dict[str, str]:
    """Return what else a person may write as key, and the line to write instead."""
    key = key_of(option)
    aliases = getattr(option, "aliases", {})
    spellings = {
        spelling.lstrip("-"): key for spelling in (*option.opts, *aliases) if spelling.lstrip("-") != key
    }
    negations = {alias for alias, name in aliases.items() if name in option.secondary_opts}
    return spellings | {
        spelling.lstrip("-"): f"{key} = false" for spelling in (*option.secondary_opts, *negations)
    }


def variables_of(path: Path, option: click.Option) -> list[str]:
    """Return the option's variables; the first one that is set counts."""
    flag = key_of(option)
    names = [_variable(*path, flag)]
    if path == OMITTED:
        names += [_variable(flag), _variable(option.name or flag)]
    variables = option.envvar or ()
    names += [variables] if isinstance(variables, str) else [str(variable) for variable in variables]
    return list(dict.fromkeys(names))


def _variable(*words: str) -> str:
    return "_".join((VARIABLE_PREFIX, *words)).replace("-", "_").upper()


def shared_key(path: Path, option: click.Option) -> str | None:
    """Return the option's key above all sections, None for most options."""
    return next((SHARED[name] for name in variables_of(path, option) if name in SHARED), None)


def options_of(command: click.Command) -> Iterator[click.Option]:
    """Yield the options that a variable or a file may set."""
    for param in command.params:
        if isinstance(param, click.Option) and param.envvar != CONFIG_VARIABLE:
            yield param


def commands_below(
    command: click.Command, ctx: click.Context, path: Path = ()
) -> Iterator[tuple[Path, click.Command]]:
    """Yield the commands that read the configuration file, with their paths: a group's, or the one."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        if below is not None and (*path, name)[0] not in NOT_CONFIGURED:
            yield from commands_below(below, ctx, (*path, name))
