"""`cfnode chain-info`: the blocks that the database of a chain holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.chain import base_path_option, chain_options, chosen_chain, resolve_chain_id
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.exits import CommandFailure
from cfnode.cli.failures import explained
from cfnode.cli.official.flags import DATABASE, LOGGING, PRUNING
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_errors_option

if TYPE_CHECKING:
    from cfnode.store.reader import ChainEnds

__all__ = ["chain_info"]


@click.command("chain-info", cls=ClapCommand)
@chain_options
@base_path_option
@also_accepted(*LOGGING, *DATABASE, *PRUNING)
@json_errors_option
@verbatim_examples
def chain_info(chain: str | None, dev: bool, base_path: Path | None) -> None:
    r"""Print the first, the best and the last final block of a chain's database, as JSON.

    The node may be running. Its best block is then the best one that the database holds.

    \b
      cfnode chain-info --dev
    """
    from cfnode.store import StoreReader
    from cfnode.store.base_path import ChainPaths, default_base_path

    with explained():
        paths = ChainPaths(base_path or default_base_path(), resolve_chain_id(chosen_chain(chain, dev)))
        if not paths.database.exists():
            raise CommandFailure(f"{paths.database} does not exist: run a node of this chain first")
        reader = StoreReader.open(paths.database)
        try:
            ends = reader.ends
        finally:
            reader.close()
    click.echo(json.dumps(_info(ends), indent=2))


def _info(ends: ChainEnds) -> dict[str, Any]:
    """Return the members of the official node's answer, in their order."""
    return {
        "best_hash": f"0x{ends.best.hash.hex()}",
        "best_number": ends.best.number,
        "genesis_hash": f"0x{ends.genesis_hash.hex()}",
        "finalized_hash": f"0x{ends.finalized.hash.hex()}",
        "finalized_number": ends.finalized.number,
    }
