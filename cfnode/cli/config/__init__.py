"""`cfnode config`: commands that print the values in force, check a configuration file, and write one."""

from __future__ import annotations

import click

from cfnode.cli.config.check import check
from cfnode.cli.config.example import example
from cfnode.cli.config.show import show
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.groups import CommandGroup

__all__ = ["config"]


@click.group(
    cls=CommandGroup,
    epilog="The command line precedes a variable, a variable precedes the file. The file is that of "
    "--config, of CFNODE_CONFIG, or ~/.config/cfnode/config.toml ($XDG_CONFIG_HOME/cfnode/config.toml) if it "
    "exists; --config /dev/null reads none.",
)
@verbatim_examples
def config() -> None:
    r"""Print, check or begin a configuration file, which may set each flag of each command.

    \b
      cfnode config example run > node.toml      a file with all flags of `run`
      cfnode config check node.toml              names and types in it
      cfnode config show run --config node.toml  values in force, and where they come from
      cfnode run --config node.toml

    A section has the name of a command, a key that of a flag. Repeated flags are lists, switches are true or
    false. A key in [swap] is for all commands of the group. Above all sections base-path, chain, eth-rpc,
    lp-account, network and node are for all commands.

    \b
      node = "http://127.0.0.1:9944"
      [run]
      rpc-port = 9944
      log = ["info", "grandpa=error"]
      [swap.quote]
      commission = 10

    The variable of a flag is named after its command: CFNODE_SWAP_QUOTE_COMMISSION, CFNODE_RUN_RPC_PORT or
    CFNODE_RPC_PORT. A repeated flag takes values separated by spaces; a switch takes true or false.
    """


for command in (show, check, example):
    config.add_command(command)
