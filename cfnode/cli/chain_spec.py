"""`cfnode export-chain-spec`: what another node needs to follow the same chain."""

from __future__ import annotations

from pathlib import Path

import click

from cfnode.cli.failures import told


@click.command()
@click.option(
    "--chain", envvar="CFNODE_CHAIN", metavar="NAME|FILE", help="As for `run`.  [default: berghain]"
)
@click.option("--dev", is_flag=True, help="The chain of `cfnode run --dev`.")
@click.option("--dev-authorities", metavar="N|FILE", help="As for `run --dev`.")
@click.option("--dev-epoch-blocks", type=click.IntRange(min=1), default=43_200, help="As for `run --dev`.")
@click.option("--dev-state-entries", type=click.IntRange(min=0), default=0, help="As for `run --dev`.")
def export_chain_spec(
    chain: str | None, dev: bool, dev_authorities: str | None, dev_epoch_blocks: int, dev_state_entries: int
) -> None:
    """Print the chain specification as raw JSON, or in the light form where only that is known."""
    from cfnode.cli.lifetime import start_told
    from cfnode.core.chainspec import to_json
    from cfnode.node.authorities import read_authorities
    from cfnode.node.config import Config, DevConfig
    from cfnode.node.genesis import load_spec

    name = chain or ("dev" if dev else "berghain")
    development = DevConfig(
        authorities=dev_authorities, epoch_blocks=dev_epoch_blocks, state_entries=dev_state_entries
    )
    with told(), start_told():
        spec = load_spec(Config(Path(), name, dev=development), read_authorities(dev_authorities))
    click.echo(to_json(spec))
