"""`cfnode key insert`: a secret, written as a key file into the keystore of a chain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.chain import base_path_option, chain_options, chosen_chain, resolve_chain_id
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.failures import explained
from cfnode.cli.key.secret_input import SCHEMES, choose_password, password_options, read_secret
from cfnode.cli.official.flags import LOGGING
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json
from cfnode.cli.values import OneOf

if TYPE_CHECKING:
    from cfnode.core.keys import Scheme
    from cfnode.store.keystore import Keystore

__all__ = ["insert", "key_record", "keystore_folder", "keystore_path_option"]

keystore_path_option = click.option(
    "--keystore-path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory of the key files.  [default: chains/ID/keystore under the base path]",
)


@click.command(cls=ClapCommand, short_help="Insert a key into a node's keystore, by default a broker's.")
@chain_options
@base_path_option
@keystore_path_option
@click.option(
    "--suri",
    metavar="SECRET|FILE|-",
    help="Seed phrase or 0x seed with any //path, a file with it, or `-` for standard input. "
    "A secret on the command line is visible in the process list.",
)
@click.option(
    "--suri-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the secret, such as signing_key_file of `key generate`.",
)
@click.option(
    "--key-type",
    metavar="TYPE",
    default="brok",
    show_default=True,
    help="Key type of four characters: brok for brokers, lqpr for liquidity providers, aura, gran …",
)
@click.option(
    "--scheme",
    type=OneOf(SCHEMES),
    default=None,
    help="Signature scheme.  [default: sr25519; ed25519 for gran]",
)
@password_options  # fmt: skip
@also_accepted(*LOGGING)
@json_option
@verbatim_examples
def insert(
    chain: str | None,
    dev: bool,
    base_path: Path | None,
    keystore_path: Path | None,
    suri: str | None,
    suri_file: Path | None,
    key_type: str,
    scheme: Scheme | None,
    password: str | None,
    password_interactive: bool,
    password_filename: Path | None,
    as_json: bool,
) -> None:
    r"""Insert a key into the keystore of a chain's node, by default a broker's.

    Without --suri and --suri-file the command prompts for the secret without echo. Inserting an existing key
    succeeds. A running node reads its broker's or liquidity provider's key at its next start.

    \b
      cfnode key insert --chain berghain --suri-file keys/signing_key_file
      cfnode key insert --dev --suri //Alice
      pass show broker | cfnode key insert --chain berghain --suri -
    """
    from cfnode.store.keystore import Keystore

    with explained():
        path = keystore_path or keystore_folder(chosen_chain(chain, dev), base_path)
        secret = read_secret(suri, suri_file, prompt="Secret phrase or URI")
        keystore = Keystore(path, choose_password(password, password_interactive, password_filename))
        before = keystore.keys(key_type)
        public = keystore.insert(key_type, secret, scheme)
        is_new = public not in before
        if as_json:
            head = {"keystore": str(keystore.path), "inserted": is_new}
            print_json(head | key_record(key_type, public) | {"warnings": [*_warnings(keystore, key_type)]})
        else:
            _print_outcome(keystore, key_type, public, is_new=is_new)


def keystore_folder(chain: str, base_path: Path | None) -> Path:
    """Return the directory of a chain's key files under the base path, by default the usual one."""
    from cfnode.store.base_path import ChainPaths, default_base_path

    return ChainPaths(base_path or default_base_path(), resolve_chain_id(chain)).keystore


def _print_outcome(keystore: Keystore, key_type: str, public: bytes, *, is_new: bool) -> None:
    outcome = "inserted into" if is_new else "is already in"
    account = key_record(key_type, public)["account"]
    click.echo(f"{key_type} key of {account} {outcome} {keystore.path}", err=True)
    for warning in _warnings(keystore, key_type):
        click.echo(f"Warning: {warning}", err=True)


def _warnings(keystore: Keystore, key_type: str) -> Iterator[str]:
    """Yield what is wrong with the keystore after the insertion."""
    from cfnode.store.keystore import SIGNERS

    yield from map(str, keystore.warnings())
    name, count = SIGNERS.get(key_type), len(keystore.keys(key_type))
    if name is not None and count > 1:
        yield (
            f"{keystore.path} now holds {count} {name} keys. The node turns its {name} methods off unless "
            "there is exactly one: remove the files of the others."
        )


def key_record(key_type: str, public: bytes) -> dict[str, str]:
    """Return a key of a keystore as JSON: its type, its account and its public key."""
    from cfnode.core import ss58
    from cfnode.core.keys import account_id

    return {
        "type": key_type,
        "account": ss58.encode(account_id(public)),
        "publicKey": f"0x{public.hex()}",
    }
