"""`cfnode key`: commands that generate, inspect, insert and list keys."""

from __future__ import annotations

import click

from cfnode.cli.examples import verbatim_examples
from cfnode.cli.groups import CommandGroup
from cfnode.cli.key.generate import generate
from cfnode.cli.key.insert import insert
from cfnode.cli.key.inspect import inspect
from cfnode.cli.key.listing import list_
from cfnode.cli.key.node import generate_node_key, inspect_node_key

__all__ = ["key"]


@click.group(cls=CommandGroup)
@verbatim_examples
def key() -> None:
    r"""Generate, inspect, insert and list keys.

    \b
    Generate a broker's key and run a node that signs with it:
      cfnode key generate --path keys
      cfnode key insert --chain berghain --suri keys/signing_key_file
      cfnode run --chain berghain --sync=light-rpc
    """


for command in (generate, insert, list_, inspect, generate_node_key, inspect_node_key):
    key.add_command(command)
