"""`cfnode service run`: the swap service of a live network, until a signal."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli import logs
from cfnode.cli.credentials import node_token, token_in
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.ledger.options import database_option, opened
from cfnode.cli.options import json_errors_option, node_option
from cfnode.cli.service.web import check_web, web_options, web_page
from cfnode.cli.stopping import stop_on_signal
from cfnode.cli.values import NodeUrl

if TYPE_CHECKING:
    from cfnode.dashboard import Dashboard
    from cfnode.swap_service.live_network.server import ListenAddress
    from cfnode.swap_service.live_network.source import LiveSource

__all__ = ["run"]

MAX_PORT = 65_535


class HostAndPort(click.ParamType[tuple[str, int]]):
    """`HOST:PORT`; an IPv6 address in brackets; port 0: any free one."""

    name = "host:port"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return host and port."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
            self.fail(f"{str(value)[:80]!r} is not HOST:PORT: write it as in 127.0.0.1:8080", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


@click.command()
@node_option()
@database_option
@click.option(
    "--broker",
    type=NodeUrl(),
    metavar="URL",
    help="HTTP address of the node whose broker opens channels and encodes vault swaps. Default: no broker.",
)
@click.option(
    "--broker-token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the bearer token for the broker's node. Default: none, or that of --node for its URL.",
)
@click.option(
    "--listen",
    type=HostAndPort(),
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve.",
)
@click.option(
    "--auth-token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the tokens of clients, as a node's --rpc-auth-token-file. Default: no token is needed.",
)
@click.option(
    "--cors",
    metavar="ORIGINS",
    help="Origins of web pages that may read answers, separated by commas, or `all`. Default: local ones.",
)
@click.option(
    "--allowed-hosts",
    metavar="HOSTS",
    help="Host names that the service answers to besides localhost, separated by commas, or `all`.",
)
@web_options
@click.option("--check", is_flag=True, help="Only try node, broker and books; exit code 0 if all answer.")
@click.option("--log", metavar="FILTER", multiple=True, help="Log filter, such as `warn` or `service=debug`.")
@json_errors_option
@click.pass_context
def run(
    ctx: click.Context,
    url: str,
    database: str | None,
    broker: str | None,
    broker_token_file: Path | None,
    listen: tuple[str, int],
    auth_token_file: Path | None,
    cors: str | None,
    allowed_hosts: str | None,
    web: bool,
    web_token_file: Path | None,
    check: bool,
    log: tuple[str, ...],
) -> None:
    """Serve the requests of swap SDKs until Ctrl-C or SIGTERM.

    Quotes, limits and networkInfo come from the node; statuses from the books that `cfnode ledger run` keeps,
    also of swaps that the node has forgotten. Without a node, statuses are served from the books alone.
    """
    check_web(ctx, is_served=web)
    try:
        logs.set_up(log)
    except logs.LogFilterError as error:
        raise click.UsageError(str(error), ctx) from None
    with opened(database) as books:
        import trio

        from cfnode.store.errors import StoreError
        from cfnode.swap_service.live_network.server import ListenAddress, ListenError
        from cfnode.swap_service.live_network.source import LiveSource
        from cfnode.web.networks import BadFlagError
        from cfnode.web.tokens import Tokens

        books.require()
        broker_access = broker and (broker, _broker_token(url, broker, broker_token_file))
        try:
            tokens = None if auth_token_file is None else Tokens(auth_token_file)
            hosts = _listed(allowed_hosts or "")
            address = ListenAddress(*listen, None if cors is None else _listed(cors), hosts, tokens)
            source = LiveSource(books, (url, node_token(url)), broker_access or None)
            page = web_page(books, source.link, tokens, web_token_file) if web else None
            trio.run(source.check) if check else trio.run(_until_stopped, source, address, page)
        except ListenError as error:
            raise CommandFailure(str(error), ExitCode.NETWORK) from None
        except BadFlagError as error:
            raise CommandFailure(str(error).replace("--rpc-", "--"), ExitCode.USAGE) from None
        except StoreError as error:
            raise CommandFailure(str(error), ExitCode.CONFIGURATION) from None


def _listed(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _broker_token(node: str, broker: str, path: Path | None) -> str | None:
    """Return the token for the broker's node, or None.

    The token of --node goes to no other node.
    """
    if path is not None:
        return token_in(path, "--broker-token-file")
    return node_token(node) if broker == node else None


async def _until_stopped(source: LiveSource, address: ListenAddress, page: Dashboard | None) -> None:
    """Serve until a signal.

    Raises LedgerError where trying again cannot help: another chain, no access, no books.
    """
    import trio

    from cfnode.swap_service.live_network.server import serve
    from cfnode.web.hangup import nothing_to_reload, on_hangups

    await source.check(patiently=True)
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop_on_signal, nursery.cancel_scope)
        no_file = partial(nothing_to_reload, "--auth-token-file")
        await nursery.start(on_hangups, no_file if address.tokens is None else address.tokens.reload)
        if page is not None:
            nursery.start_soon(page.run)
        try:
            await serve(source, address, page)
        except Exception as error:  # raised outside of the nursery, which would make a group of it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
