"""`cfnode build-spec`: a copy of a chain specification with new authorities, whose keys are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.chain import BUILT_IN_NAMES, DEV
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.failures import explained_by_a_runtime
from cfnode.cli.official.flags import LOGGING, NODE_KEY
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_errors_option
from cfnode.cli.output import output_option, written_to

if TYPE_CHECKING:
    from cfnode.core.chainspec import ChainSpec
    from cfnode.core.chainspec.authorities import Rewritten


def _refuse_built_in(ctx: click.Context, chain: str) -> None:
    """Raise UsageError for a built-in chain, which the official command prints."""
    raise click.UsageError(
        f"build-spec gives the chain specification in a file new authorities; "
        f"`cfnode export-chain-spec --chain {chain}` prints a built-in one",
        ctx,
    )


def _refuse_dev(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        _refuse_built_in(ctx, DEV)


@click.command("build-spec", cls=ClapCommand)
@click.option(
    "--chain", envvar="CFNODE_CHAIN", metavar="FILE", required=True, help="A raw chain specification."
)
@click.option(
    "--dev-authorities",
    metavar="SURI,SURI…",
    help="Secret URIs of the new authorities, of which the first is the governance member too. "
    "[default: //Alice,//Bob; with --engine //Engine]",
)
@click.option(
    "--engine",
    is_flag=True,
    help="Also write aggregate keys that `run --dev` knows, so that it signs, witnesses and sends there.",
)
@click.option(
    "--forget-time",
    is_flag=True,
    help="Also remove the time of the state's last block, so that the chain may start before it.",
)
@click.option("--raw", is_flag=True, hidden=True, expose_value=False, help="The state is always raw.")
@click.option(
    "--disable-default-bootnode", is_flag=True, hidden=True, expose_value=False, help="None is added."
)
@click.option("--dev", is_flag=True, hidden=True, expose_value=False, callback=_refuse_dev)
@json_errors_option
@also_accepted("--base-path", *NODE_KEY, *LOGGING)
@output_option
@click.pass_context
@verbatim_examples
def build_spec(
    ctx: click.Context,
    chain: str,
    dev_authorities: str | None,
    engine: bool,
    forget_time: bool,
    output: Path | None,
) -> None:
    r"""Copy a chain specification with new authorities, for a chain of your own in the same runtime.

    Each replaced or removed storage item is listed on standard error. `run --dev` starts the chain right
    after the time of the state's last block.

    \b
      cfnode build-spec --chain berghain.chainspec.raw.json --dev-authorities //Alice,//Bob -o mine.json
      cfnode run --chain mine.json --dev --dev-authorities //Alice,//Bob
      cfnode build-spec --chain berghain.chainspec.raw.json --engine -o mine.json
      cfnode run --chain mine.json --dev
    """
    from cfnode.core.chainspec import genesis_hash, to_json
    from cfnode.devchain.authorities import ENGINE_SURI

    if chain in BUILT_IN_NAMES and not Path(chain).exists():
        _refuse_built_in(ctx, chain)
    suris = dev_authorities or (ENGINE_SURI if engine else "//Alice,//Bob")
    with explained_by_a_runtime():
        spec, changes, notes = _rewritten(chain, suris, forget_time, engine)
        text = to_json(spec)
    for item in changes:
        if item.removed or item.written:
            click.echo(f"{item.item}: {item.removed} removed, {item.written} written", err=True)
    for note in notes:
        click.echo(f"engine: {note}", err=True)
    click.echo(f"genesis 0x{genesis_hash(spec).hex()}", err=True)
    with written_to(output) as file:
        file.write(text)


def _rewritten(
    chain: str, suris: str, forget_time: bool, engine: bool
) -> tuple[ChainSpec, list[Rewritten], list[str]]:
    """Return the new chain, its rewritten items, and what the engine cannot do on it."""
    from cfnode.core.chainspec import ChainSpecError, RawGenesis
    from cfnode.core.chainspec.authorities import SpecAuthority, with_authorities
    from cfnode.core.scale import ByteCursor
    from cfnode.core.scale.metadata import decode_metadata
    from cfnode.devchain.authorities import named_authorities
    from cfnode.devchain.engine.genesis import limits, with_engine
    from cfnode.devchain.runtime_choice import runtime_for
    from cfnode.runtime.genesis_state import GenesisRuntime
    from cfnode.store.spec_file import read_spec

    authorities = [SpecAuthority(keys.aura.public, keys.grandpa.public) for keys in named_authorities(suris)]
    spec = read_spec(Path(chain))
    if not isinstance(spec.genesis, RawGenesis):
        raise ChainSpecError(chain, "genesis", "holds no state: a raw chain specification is needed")
    encoded = GenesisRuntime(spec.genesis, runtime_for).call("Metadata_metadata")
    metadata = decode_metadata(ByteCursor(encoded).bytes())
    rewritten, items = with_authorities(spec, metadata, authorities, forget_time=forget_time)
    if not engine:
        return rewritten, items, []
    notes = list(limits(spec.genesis, metadata))
    rewritten, more_items = with_engine(rewritten, metadata, [authority.aura for authority in authorities])
    return rewritten, [*items, *more_items], notes
