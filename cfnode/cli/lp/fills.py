"""`cfnode lp fills`: what swaps have taken from a provider's orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cfnode.cli.lp.documents import block_document
from cfnode.cli.lp.options import client_of, shared
from cfnode.cli.lp.tables import amounts_text
from cfnode.cli.options import every_option, json_lines_option
from cfnode.cli.output import print_json, print_list
from cfnode.cli.sdk_errors import reported
from cfnode.cli.values import WholeNumber
from cfnode.core.assets import text_of

if TYPE_CHECKING:
    from cfnode.sdk.lp import BlockFills

__all__ = ["fills"]

DEFAULT_FILLS_BLOCKS = 50
"""Blocks of which `fills` prints the fills by default."""


@click.command()
@click.option(
    "--since", type=WholeNumber(min=1), help=f"First block.  [default: the last {DEFAULT_FILLS_BLOCKS}]"
)
@click.option(
    "--follow", is_flag=True, help="Go on with each finalized block; --json prints one block per line."
)
@every_option()
@json_lines_option
@shared
def fills(
    since: int | None, follow: bool, every: float, url: str, account: str, as_json: bool, as_lines: bool
) -> None:
    """Print what swaps took from the account's orders, by finalized block; a node keeps some 256 blocks."""
    stopped_text = "stopped following; the orders stay open"
    with reported(stopped_text), client_of(url, account) as client:
        last = client.get_finalized_block()
        first = max(1, last + 1 - DEFAULT_FILLS_BLOCKS) if since is None else since
        if follow:
            for block in client.fills(first, seconds=every):
                _print_block(block, as_json or as_lines)
            return
        blocks: list[BlockFills] = []
        while first <= last and (part := client.get_fills_since(first)):
            blocks += (block for block in part if block.fills)
            first = part[-1].block_number + 1
    if as_json or as_lines:
        print_list(map(block_document, blocks), as_lines=as_lines)
        return
    for block in blocks:
        _print_block(block, as_json=False)
    if not blocks:
        click.echo("no fills", err=True)


def _print_block(block: BlockFills, as_json: bool) -> None:
    if as_json:
        print_json(block_document(block), is_line=True)
        return
    for fill in block.fills:
        order = f"{fill.side or 'range'} order {fill.id} of {text_of(fill.asset)}"
        sold = f"gave {amounts_text(fill.sold)}, " if fill.sold else ""
        fees = f", fees {amounts_text(fill.fees)}" if any(fill.fees.values()) else ""
        click.echo(f"block {block.block_number}: {order} {sold}got {amounts_text(fill.bought)}{fees}")
