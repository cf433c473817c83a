"""`cfnode key list`: types, accounts and public keys in the keystore of a chain, without secrets."""

from __future__ import annotations

from pathlib import Path

import click

from cfnode.cli.chain import base_path_option, chain_options, chosen_chain
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.failures import explained
from cfnode.cli.key.insert import key_record, keystore_folder, keystore_path_option
from cfnode.cli.options import json_option
from cfnode.cli.output import print_json
from cfnode.cli.tables import print_table

__all__ = ["list_"]


@click.command("list", short_help="List the keys in a node's keystore, without their secrets.")
@chain_options
@base_path_option
@keystore_path_option
@json_option
@verbatim_examples
def list_(
    chain: str | None, dev: bool, base_path: Path | None, keystore_path: Path | None, as_json: bool
) -> None:
    r"""List the keys in the keystore of a chain's node: type, account and public key. No secret is read.

    \b
      cfnode key list --chain berghain
      cfnode key list --dev --json
    """
    from cfnode.store.keystore import Keystore

    with explained():
        path = keystore_path or keystore_folder(chosen_chain(chain, dev), base_path)
        keys = [key_record(key_type, public) for key_type, public in Keystore(path).entries()]
    if as_json:
        print_json({"keystore": str(path), "keys": keys})
        return
    print_table(("type", "account", "public key"), map(_row, keys), f"no keys in {path}")


def _row(record: dict[str, str]) -> tuple[str, ...]:
    return tuple(record.values())
