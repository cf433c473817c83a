"""The `--chain` option, and the commands `export-chain-spec` and `purge-chain`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.contracts import contract_flags, contracts
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.exits import CommandFailure
from cfnode.cli.failures import explained
from cfnode.cli.official.flags import DATABASE, LOGGING
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_errors_option, json_option
from cfnode.cli.output import output_option, print_json, written_to
from cfnode.cli.values import WholeNumber
from cfnode.devchain.runtime.release_names import DEFAULT_RELEASE, RELEASE_NAMES

if TYPE_CHECKING:
    from cfnode.core.chainspec import ChainSpec
    from cfnode.devchain.config import DevConfig

__all__ = [
    "BUILT_IN_NAMES",
    "DEFAULT_CHAIN",
    "DEV",
    "base_path_option",
    "chain_options",
    "chosen_chain",
    "export_chain_spec",
    "load_chain",
    "purge_chain",
    "resolve_chain_id",
]

DEV = "dev"
DEFAULT_CHAIN = "berghain"
BUILT_IN_NAMES = (DEV, DEFAULT_CHAIN)


def chain_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --chain and --dev, which `chosen_chain` reads, to a command."""
    for option in (
        click.option("--dev", is_flag=True, help="Use the chain of `cfnode run --dev`."),
        click.option(
            "--chain",
            envvar="CFNODE_CHAIN",
            metavar="NAME|FILE",
            help="`dev`, `berghain`, or a chain specification file.  [default: berghain; dev with --dev]",
        ),
    ):
        command = option(command)
    return command


base_path_option = click.option(
    "--base-path",
    "-d",
    envvar="CFNODE_BASE_PATH",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Base path of `run`.  [default: ~/.local/share/cfnode]",
)


def chosen_chain(chain: str | None, dev: bool) -> str:
    """Return the chain of --chain and --dev. Raise UsageError if they mean different chains."""
    if dev and chain not in (None, DEV):
        raise click.UsageError("--dev means --chain dev; leave one of them out")
    return DEV if dev else chain or DEFAULT_CHAIN


def resolve_chain_id(chain: str) -> str:
    """Return the id, which names its directory, of a built-in chain or of a chain specification file.

    Raises ChainSpecError.
    """
    return DEV if chain == DEV else _read(chain).id


def _read(chain: str) -> ChainSpec:
    from cfnode.core.chainspec import BUILT_IN, unknown_chain
    from cfnode.store.spec_file import read_spec

    if chain in BUILT_IN:
        return BUILT_IN[chain]
    if not Path(chain).exists():
        raise unknown_chain(chain, f"--chain {chain}")
    return read_spec(Path(chain))


def load_chain(chain: str, development: DevConfig | None = None) -> ChainSpec:
    """Return the specification of a built-in, development or file's chain. Raise ChainSpecError."""
    if chain != DEV:
        return _read(chain)
    from cfnode.devchain.authorities import read_authorities
    from cfnode.devchain.config import DevConfig
    from cfnode.devchain.genesis import dev_genesis
    from cfnode.devchain.runtime.genesis import dev_chain_spec

    flags = development or DevConfig()
    return dev_chain_spec(dev_genesis(flags, read_authorities(flags.authorities)))


def contract_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of `run` for the contracts of the EVM chains to a command."""
    for option in reversed(contract_flags(click.option)):
        command = option(command)
    return command


@click.command("export-chain-spec", cls=ClapCommand)
@chain_options
@click.option("--dev-authorities", metavar="N|SURIS|FILE", help="With --dev, as for `run`.")
@click.option("--dev-epoch-blocks", type=WholeNumber(min=1), default=43_200, help="With --dev, as for `run`.")
@click.option("--dev-rotate-keys", is_flag=True, help="With --dev, as for `run`.")
@click.option(
    "--dev-runtime",
    type=click.Choice(RELEASE_NAMES),
    default=DEFAULT_RELEASE,
    help="With --dev, as for `run`.",
)
@click.option("--dev-state-entries", type=WholeNumber(min=0), default=0, help="With --dev, as for `run`.")
@contract_options
@click.option("--light", is_flag=True, help="Print state root and first authorities, not the whole state.")
@click.option("--raw", is_flag=True, help="Accepted without effect: the state is always raw.")
@json_errors_option
@output_option
@verbatim_examples
def export_chain_spec(
    chain: str | None, dev: bool, light: bool, raw: bool, output: Path | None,
    dev_authorities: str | None, dev_epoch_blocks: int, dev_rotate_keys: bool, dev_runtime: str,
    dev_state_entries: int,
    **addresses: Any,
) -> None:  # fmt: skip
    r"""Print a chain specification as JSON, in the format of other nodes.

    `berghain` is built in without its state and is always printed in the light format.

    \b
      cfnode export-chain-spec --dev > dev.json
      cfnode export-chain-spec --chain berghain.chainspec.json --light
    """
    from cfnode.core.chainspec import to_json, to_light
    from cfnode.devchain.config import DevConfig

    development = DevConfig(
        authorities=dev_authorities,
        epoch_blocks=dev_epoch_blocks,
        rotate_keys=dev_rotate_keys,
        runtime=dev_runtime,
        state_entries=dev_state_entries,
        contracts=contracts(addresses),
    )
    with explained():
        spec = load_chain(chosen_chain(chain, dev), development)
        text = to_json(to_light(spec) if light else spec)
    with written_to(output) as file:
        file.write(text)


@click.command("purge-chain", cls=ClapCommand)
@chain_options
@base_path_option
@also_accepted(*LOGGING, *DATABASE)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@json_option
@verbatim_examples
def purge_chain(chain: str | None, dev: bool, base_path: Path | None, yes: bool, as_json: bool) -> None:
    r"""Delete the database of a chain, but not its keys and its node key.

    \b
      cfnode purge-chain --dev -y
    """
    from cfnode.store.base_path import ChainPaths, default_base_path, delete_database, locked

    with explained():
        base = base_path or default_base_path()
        paths = ChainPaths(base, resolve_chain_id(chosen_chain(chain, dev)))
        if not paths.database.exists():
            _print_purged(paths.database, "does not exist", as_json, deleted=False)
            return
        if not yes and not click.confirm(f"Delete {paths.database}?", err=True):
            raise CommandFailure("nothing was deleted")
        with locked(base):
            delete_database(paths)
        _print_purged(paths.database, "deleted", as_json, deleted=True)


def _print_purged(database: Path, outcome: str, as_json: bool, *, deleted: bool) -> None:
    if as_json:
        print_json({"database": str(database), "deleted": deleted})
    else:
        click.echo(f"{database} {outcome}", err=True)
