"""`cfnode key generate-node-key` and `inspect-node-key`: a node's identity on the network."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path

import click

from cfnode.cli.chain import DEFAULT_CHAIN, resolve_chain_id
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.failures import explained
from cfnode.cli.key.secret_output import print_secret
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json

__all__ = ["generate_node_key", "inspect_node_key"]

MAX_NODE_KEY_BYTES = 4096


@click.command(
    "generate-node-key",
    cls=ClapCommand,
    short_help="Generate the secret key of a node's identity.",
    excluding=(("--file", "--base-path", "--default-base-path"), ("--file", "--chain")),
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the key to FILE, which must not exist, instead of standard output.",
)
@click.option("--bin", "binary", is_flag=True,
              help="Write 32 raw bytes instead of 64 hex digits.")  # fmt: skip
@click.option(
    "--chain",
    metavar="NAME|FILE",
    default=DEFAULT_CHAIN,
    show_default=True,
    help="Chain of the key: with --base-path or --default-base-path.",
)
@click.option(
    "--base-path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the key where a node with this base path looks for it: chains/ID/network/secret_ed25519.",
)
@click.option(
    "--default-base-path",
    is_flag=True,
    help="Write the key where a node without --base-path looks for it.",
)
@json_option
@verbatim_examples
def generate_node_key(
    file: Path | None,
    binary: bool,
    chain: str,
    base_path: Path | None,
    default_base_path: bool,
    as_json: bool,
) -> None:
    r"""Generate the secret key of a node's identity; print its peer id on standard error.

    An existing file is never overwritten.

    \b
      cfnode key generate-node-key --file node_key_file
      cfnode run --node-key-file node_key_file
      cfnode key generate-node-key --chain berghain --base-path /var/lib/cfnode
    """
    from cfnode.core.keys import SEED_LENGTH, Keypair
    from cfnode.core.peer_id import peer_id
    from cfnode.store import secret_file

    secret = secrets.token_bytes(SEED_LENGTH)
    content = secret if binary else secret.hex().encode()
    with explained():
        if base_path is not None or default_base_path:
            file = _file_of_chain(chain, base_path)
            secret_file.create_directory(file.parent)
            if not as_json:
                click.echo(f'Generating key in "{file}"', err=True)
        if file is not None:
            secret_file.create_all({file: content})
    identity = peer_id(Keypair.from_seed(secret, "ed25519").public)
    if as_json:
        key_member = {"secretKey": secret.hex()} if file is None else {"file": str(file)}
        print_secret(json.dumps({"peerId": identity} | key_member, indent=2))
        return
    if file is None:
        print_secret(content, newline=not binary and sys.stdout is not None and sys.stdout.isatty())
    click.echo(identity, err=True)


def _file_of_chain(chain: str, base_path: Path | None) -> Path:
    """Return the key file of a chain's node under a base path, or under the default one."""
    from cfnode.store.base_path import ChainPaths, default_base_path
    from cfnode.store.node_key import NODE_KEY_FILE

    return ChainPaths(base_path or default_base_path(), resolve_chain_id(chain)).network / NODE_KEY_FILE


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
@json_option
@verbatim_examples
def inspect_node_key(file: Path | None, binary: bool, as_json: bool) -> None:
    r"""Print the peer id of a node key.

    \b
      cfnode key inspect-node-key --file node_key_file
    """
    from cfnode.core.peer_id import peer_id
    from cfnode.store import node_key

    with explained():
        if file is not None:
            pair = node_key.load(file)
        else:
            pair = node_key.decode(sys.stdin.buffer.read(MAX_NODE_KEY_BYTES), "standard input")
    if as_json:
        print_json({"peerId": peer_id(pair.public)})
    else:
        click.echo(peer_id(pair.public))
