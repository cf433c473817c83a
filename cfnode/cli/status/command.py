"""`cfnode status`: a node's status, printed once, or with --watch repeatedly."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

import click

from cfnode.cli.examples import verbatim_examples
from cfnode.cli.options import every_option, json_option, node_option, timeout_option
from cfnode.cli.values import AccountId

if TYPE_CHECKING:
    from collections.abc import Callable

    from cfnode.cli.status.parts import Report

__all__ = ["status"]

STATUS_TIMEOUT_S = 10.0
"""Time limit for all calls of one status: about fifteen, which a distant node answers in three seconds."""


@click.command()
@click.option("--account", type=AccountId(), help="Account to report on.  [default: the node's broker]")
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C; with --json, one object per line.")
@every_option()
@node_option()
@timeout_option(STATUS_TIMEOUT_S, text="Maximum seconds for all calls of one status.")
@json_option
@verbatim_examples
def status(account: str | None, watch: bool, every: float, url: str, timeout: float, as_json: bool) -> None:
    r"""Print the status of a node and its broker: sync, peers, finality, FLIP, channels, fees, versions.

    The node may be cfnode or the official one; missing parts are listed as unavailable. Exit code 0: the node
    answered, possibly with warnings (`warnings` in the JSON). 5: it did not answer, which ends --watch only
    before the first answer.

    \b
      cfnode status
      cfnode status --node https://rpc.mainnet.chainflip.io --account cF… --json
    """
    from cfnode.cli.client import AGENT
    from cfnode.cli.sdk_errors import reported
    from cfnode.cli.status.asking import Asking
    from cfnode.cli.status.report import reported_status
    from cfnode.clients.http import HttpClient
    from cfnode.core.safe_text import origin_of

    client = HttpClient(AGENT)

    def ask() -> Report:
        return reported_status(Asking(client, url, timeout), origin_of(url), account, time.time())

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
        console().print(screen(report), soft_wrap=True)


def _add_time_left(report: Report, first: Report, seconds: float) -> None:
    """Add the seconds that are left of a sync at the pace since the first report."""
    best, first_best = (reading.get("best", {}).get("number", 0) for reading in (report, first))
    target = report.get("target")
    if report.get("syncing") and target and best > first_best:
        report["secondsLeft"] = round(max(target - best, 0) * seconds / (best - first_best), 1)


def _watch(ask: Callable[[], Report], every: float, as_json: bool) -> None:
    """Print each status; on a terminal it replaces the previous one."""
    from cfnode.cli.client import NodeUnreachable
    from cfnode.cli.output import console, print_json, print_text

    report, is_screen = ask(), not as_json and console().is_terminal
    first, began = report, time.monotonic()
    while True:
        if is_screen:
            click.clear()
        _print(report, as_json, is_line=True)
        if is_screen:
            print_text(f"{datetime.now():%H:%M:%S}, again every {every:g} s until Ctrl-C")
        while True:
            _pause(every)
            try:
                report = ask()
                _add_time_left(report, first, time.monotonic() - began)
                break
            except NodeUnreachable as error:
                if as_json:
                    print_json(error.to_json(), is_line=True)
                else:
                    print_text(f"Error: {error.message}", err=True)
