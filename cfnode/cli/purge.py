"""`cfnode purge-chain`: delete a chain's database, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from cfnode.cli.chain import resolve_chain_id
from cfnode.cli.exits import Failure
from cfnode.cli.failures import told


@click.command()
@click.option(
    "--chain", envvar="CFNODE_CHAIN", metavar="NAME|FILE", help="As for `run`.  [default: berghain]"
)
@click.option("--dev", is_flag=True, help="The chain of `cfnode run --dev`.")
@click.option(
    "--base-path",
    "-d",
    envvar="CFNODE_BASE_PATH",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="As for `run`.  [default: ~/.local/share/cfnode]",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def purge_chain(chain: str | None, dev: bool, base_path: Path | None, yes: bool) -> None:
    """Delete the chain's database; its keys, the node's identity and other chains are left alone."""
    from cfnode.store.base_path import ChainPaths, default_base_path, delete_database, locked

    with told():
        base = base_path or default_base_path()
        paths = ChainPaths(base, resolve_chain_id(chain or ("dev" if dev else "berghain")))
        if not paths.database.exists():
            click.echo(f"There is no database at {paths.database}.", err=True)
            return
        if not yes and not click.confirm(f"Delete the database at {paths.database}?", err=True):
            raise Failure("nothing was deleted")
        with locked(base):
            delete_database(paths)
    click.echo(f"Deleted {paths.database}.", err=True)
