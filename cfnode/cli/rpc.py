"""`cfnode rpc`: one call to a running node, its result as JSON on standard output."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from cfnode.cli import client
from cfnode.cli.exits import ExitCode, Failure


def parse_parameter(text: str) -> Any:
    """JSON where it is JSON, else the text itself: `Ethereum` needs no quotes, `1` is a number."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def parse_named(text: str) -> dict[str, Any]:
    """The object of `--named`; raises Failure (usage)."""
    try:
        named = msgspec.json.decode(sys.stdin.buffer.read() if text == "-" else text)
    except msgspec.DecodeError as error:
        raise Failure(f"--named is not JSON: {error}", ExitCode.USAGE) from None
    if not isinstance(named, dict):
        raise Failure("--named takes a JSON object: parameter names and their values", ExitCode.USAGE)
    return named


@click.command(
    epilog="Examples:  cfnode rpc system_health   |   cfnode rpc chain_getBlockHash 0   |   "
    'cfnode rpc cf_account_info --named \'{"account_id": "cF…"}\''
)
@click.argument("method")
@click.argument("parameters", nargs=-1)
@click.option(
    "--named", metavar="JSON", help="Parameters by name, as a JSON object; `-` reads standard input."
)
@click.option("--url", default=client.DEFAULT_URL, show_default=True, help="The node's HTTP address.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds to wait."
)
def rpc(method: str, parameters: tuple[str, ...], named: str | None, url: str, timeout: float) -> None:
    """Call METHOD with PARAMETERS (JSON, or bare text) and print the result."""
    if named is not None and parameters:
        raise Failure("give parameters by position or by --named, not both", ExitCode.USAGE)
    params = parse_named(named) if named is not None else [parse_parameter(text) for text in parameters]
    result = client.call(url, method, params, timeout=timeout)
    click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2))
