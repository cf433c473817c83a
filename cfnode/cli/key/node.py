"""`cfnode key generate-node-key` and `inspect-node-key`: a node's identity on the network."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import click

from cfnode.cli.failures import explained
from cfnode.cli.key.secret_output import print_secret
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_errors_option

__all__ = ["generate_node_key", "inspect_node_key"]

MAX_INPUT = 4096


@click.command(
    "generate-node-key", cls=ClapCommand, short_help="Generate the secret key of a node's identity."
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the key to FILE, which must not exist, instead of standard output.",
)
@click.option("--bin", "binary", is_flag=True,
              help="Write 32 raw bytes instead of 64 hex digits.")  # fmt: skip
@json_errors_option
def generate_node_key(file: Path | None, binary: bool) -> None:
    """Generate the secret key of a node's identity; print its peer id on standard error.

    \b
      cfnode key generate-node-key --file node_key_file
      cfnode run --node-key-file node_key_file
    """
    from cfnode.core.keys import SEED_LENGTH, Keypair
    from cfnode.core.peer_id import peer_id
    from cfnode.store import secret_file

    secret = secrets.token_bytes(SEED_LENGTH)
    content = secret if binary else secret.hex().encode()
    if file is None:
        print_secret(content, newline=not binary and sys.stdout is not None and sys.stdout.isatty())
    else:
        with explained():
            secret_file.create_all({file: content})
    click.echo(peer_id(Keypair.from_seed(secret, "ed25519").public), err=True)


@click.command("inspect-node-key", cls=ClapCommand, short_help="Print the peer id of a node key.")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Key file.  [default: standard input]",
)
@click.option("--bin", "binary", is_flag=True,
              help="Accepted without effect: both formats are recognised.")  # fmt: skip
@click.option("--network", "-n", hidden=True, expose_value=False, help="Accepted without effect.")
@json_errors_option
def inspect_node_key(file: Path | None, binary: bool) -> None:
    """Print the peer id of a node key.

    \b
      cfnode key inspect-node-key --file node_key_file
    """
    from cfnode.core.peer_id import peer_id
    from cfnode.store import node_key

    with explained():
        if file is not None:
            pair = node_key.load(file)
        else:
            pair = node_key.decode(sys.stdin.buffer.read(MAX_INPUT), "standard input")
    click.echo(peer_id(pair.public))
