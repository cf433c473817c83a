"""`cfnode export-state`: a node's last final state as the raw genesis of a chain specification."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.chain import base_path_option, chain_options, chosen_chain, load_chain
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.failures import explained
from cfnode.cli.official.flags import DATABASE, LOGGING, PRUNING
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_errors_option, node_option, only_one
from cfnode.cli.output import output_option, written_to

if TYPE_CHECKING:
    from cfnode.cli.state_source import StatePairs
    from cfnode.core.chainspec import ChainSpec, Pairs
    from cfnode.core.header import Header

PROGRESS_INTERVAL_S = 2.0
"""Seconds between two lines of progress."""


@click.command("export-state", cls=ClapCommand)
@chain_options
@base_path_option
@also_accepted(*LOGGING, *DATABASE, *PRUNING)
@node_option(
    default=None,
    text="Read from a running node over JSON-RPC; it is trusted only about which block is final.",
)
@json_errors_option
@output_option
@verbatim_examples
def export_state(
    chain: str | None, dev: bool, base_path: Path | None, url: str | None, output: Path | None
) -> None:
    r"""Write the state of a node's last final block as a raw chain specification.

    The node may be running. The command verifies the state root of that block. The block and the progress are
    written to standard error.

    \b
      cfnode export-state --chain berghain -o live.json
      cfnode build-spec --chain live.json --dev-authorities //Alice,//Bob -o mine.json
      cfnode run --chain mine.json --dev --dev-authorities //Alice,//Bob
    """
    from cfnode.cli.state_source import served, stored
    from cfnode.core.chainspec import genesis_hash
    from cfnode.core.safe_text import origin_of

    base_path, url = only_one("base_path", base_path, "url", url)
    with explained():
        spec = load_chain(chosen_chain(chain, dev))
        source = stored(base_path, spec.id) if url is None else served(url, genesis_hash(spec))
        with source as (header, state), written_to(output) as file:
            _write(spec, header, state, file)
        if url is not None:
            click.echo(
                f"Only {origin_of(url)} claims that this block is final: compare its hash elsewhere.",
                err=True,
            )


def _write(spec: ChainSpec, header: Header, state: StatePairs, file: TextIO) -> None:
    from cfnode.cli.state_source import VerifiedPairs
    from cfnode.core.chainspec import raw_json

    progress, checked = ExportProgress(), VerifiedPairs(state, header)
    children = ((name, progress.counted(pairs)) for name, pairs in checked.children())
    for piece in raw_json(spec, progress.counted(checked.top()), children):
        file.write(piece)
    click.echo(f"block #{header.number} (0x{header.hash.hex()}): {progress.line()}", err=True)
    click.echo(f"Verified the block's state root, 0x{header.state_root.hex()}", err=True)


class ExportProgress:
    """Counter of keys and bytes that prints the progress."""

    def __init__(self) -> None:
        self._keys = self._size = 0
        self._began = self._printed = time.monotonic()

    def counted(self, pairs: Pairs) -> Iterator[tuple[bytes, bytes]]:
        """Count the pairs, and yield them unchanged."""
        for key, value in pairs:
            self._keys += 1
            self._size += len(key) + len(value)
            if time.monotonic() - self._printed > PROGRESS_INTERVAL_S:
                self._printed = time.monotonic()
                click.echo(self.line(), err=True)
            yield key, value

    def line(self) -> str:
        """Return the counts as text, such as `1200 keys, 3.4 MiB, 2 s`."""
        return f"{self._keys} keys, {self._size / (1 << 20):.1f} MiB, {time.monotonic() - self._began:.0f} s"
