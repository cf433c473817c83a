"""Which chain does `--chain` mean? And `cfnode purge-chain`, which deletes its database."""

from __future__ import annotations

from pathlib import Path

import click

from cfnode.cli.failures import told

__all__ = ["BUILT_IN_NAMES", "DEFAULT_CHAIN", "DEV", "chosen_chain", "purge_chain", "resolve_chain_id"]

DEV = "dev"
DEFAULT_CHAIN = "berghain"
BUILT_IN_NAMES = (DEV, DEFAULT_CHAIN)


def chosen_chain(chain: str | None, dev: bool) -> str:
    """The chain of the flags --chain and --dev, which do not go together unless they mean the same."""
    if dev and chain not in (None, DEV):
        raise click.UsageError("--dev means --chain dev; leave one of them out")
    return DEV if dev else chain or DEFAULT_CHAIN


def resolve_chain_id(chain: str) -> str:
    """The id, which names the chain's directory, of a built-in chain or of a chain specification file.

    Raises ChainSpecError.
    """
    from cfnode.core.chainspec import BUILT_IN, ChainSpecError
    from cfnode.store.spec_file import read_spec

    if chain == DEV:
        return DEV
    if chain in BUILT_IN:
        return BUILT_IN[chain].id
    if not Path(chain).exists():
        names = " and ".join(BUILT_IN_NAMES)
        raise ChainSpecError(
            f"--chain {chain}", "", f"{names} are built in, and there is no file of that name"
        )
    return read_spec(Path(chain)).id


@click.command("purge-chain")
@click.option(
    "--chain",
    envvar="CFNODE_CHAIN",
    metavar="NAME|FILE",
    default=None,
    help="`dev`, `berghain`, or a chain specification file.  [default: berghain; dev with --dev]",
)
@click.option("--dev", is_flag=True, help="The chain of `cfnode run --dev`.")
@click.option(
    "--base-path",
    "-d",
    envvar="CFNODE_BASE_PATH",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The one that `run` uses.  [default: ~/.local/share/cfnode]",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")  # fmt: skip
def purge_chain(chain: str | None, dev: bool, base_path: Path | None, yes: bool) -> None:
    """Delete the database of a chain. Keys and the node key stay.

    \b
      cfnode purge-chain --dev -y
    """
    from cfnode.store.base_path import ChainPaths, default_base_path, delete_database, locked

    with told():
        base = base_path or default_base_path()
        paths = ChainPaths(base, resolve_chain_id(chosen_chain(chain, dev)))
        if not paths.database.exists():
            click.echo(f"{paths.database} is not there", err=True)
            return
        if not yes:
            click.confirm(f"Delete {paths.database}?", abort=True, err=True)
        with locked(base):
            delete_database(paths)
        click.echo(f"{paths.database} is deleted", err=True)
