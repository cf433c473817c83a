"""What does a person type to see how a node is doing, once or again and again?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from cfnode.cli.options import every_option, json_option, node_option, timeout_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from cfnode.cli.status.parts import Report

__all__ = ["status"]

DEFAULT_SECONDS = 10.0
"""For all questions of one screen: some fifteen, which a distant node answers in three seconds."""


class _Account(click.ParamType[str]):
    """A State Chain account, `cF…`."""

    name = "account"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As the node takes it."""
        from cfnode.core import ss58

        try:
            return ss58.encode(ss58.decode(value)[1])
        except ss58.Ss58Error as error:
            return self.fail(f"{value!r:.90} is not an account (cF…): {error}", param, ctx)


@click.command()
@click.option("--account", type=_Account(), help="Report on this account.  [default: the node's broker]")
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C; with --json, one object a line.")
@every_option()
@node_option()
@timeout_option(DEFAULT_SECONDS, text="Seconds for all questions of one screen.")
@json_option
def status(account: str | None, watch: bool, every: float, url: str, timeout: float, as_json: bool) -> None:
    """Print how a node and its broker are doing: sync, peers, finality, FLIP, channels, fees, versions.

    The node may be cfnode or the official one; what it does not serve is named as unavailable. Exit code 0:
    the node answered, be it with warnings (`warnings` in the JSON). 5: it did not, which ends --watch only
    before the first answer.

    \b
      cfnode status
      cfnode status --node https://rpc.mainnet.chainflip.io --account cF… --json
    """
    from cfnode.cli.sdk_errors import reported
    from cfnode.cli.status.asking import Asking
    from cfnode.cli.status.report import reported_status
    from cfnode.sdk.exchange import origin_of
    from cfnode.sdk.transport import Transport

    transport = Transport()

    def ask() -> Report:
        return reported_status(Asking(transport, url, timeout), origin_of(url), account, time.time())

    if watch:
        with reported("stopped watching"):
            _watch(ask, every, as_json)
    else:
        _print(ask(), as_json)


def _pause(seconds: float) -> None:
    time.sleep(seconds)


def _print(report: Report, as_json: bool, *, is_line: bool = False) -> None:
    from cfnode.cli.output import console, print_json
    from cfnode.cli.status.screen import screen

    if as_json:
        print_json(report, is_line=is_line)
    else:
        console().print(screen(report))


def _watch(ask: Callable[[], Report], every: float, as_json: bool) -> None:
    """Print each status; on a terminal in place of the one before."""
    from cfnode.cli.client import NodeUnreachable
    from cfnode.cli.output import console, print_json

    report = ask()
    while True:
        if not as_json and console().is_terminal:
            click.clear()
        _print(report, as_json, is_line=True)
        while True:
            _pause(every)
            try:
                report = ask()
                break
            except NodeUnreachable as error:
                if as_json:
                    print_json(error.to_json(), is_line=True)
                else:
                    click.echo(f"Error: {error.message}", err=True)
