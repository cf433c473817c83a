"""Flags of `cfnode run`, grouped for `--help`.

They are those of the official node that matter here, and cfnode's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from cfnode.cli.contracts import contract_flags
from cfnode.cli.official.flags import BY_NAME
from cfnode.cli.official.grammar import ClapCommand, ClapOption
from cfnode.cli.official.options import as_in
from cfnode.cli.values import OneOf, WholeNumber
from cfnode.devchain.runtime.release_names import DEFAULT_RELEASE, RELEASE_NAMES
from cfnode.node.config import Checkpoint

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
COUNT = WholeNumber(min=0)
POSITIVE = WholeNumber(min=1)
PORT = WholeNumber(0, 65535)
PEER_PORT = 30333
CHECKPOINT = re.compile(r"(?:0x)?([0-9a-fA-F]{64}):([0-9]{1,20})")


def pruning(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """Read `archive`, `archive-canonical` (both: None), or how many finalized blocks to keep."""
    if value in ("archive", "archive-canonical"):
        return None
    if not value.isdigit() or not 1 <= int(value[:11]) <= 2**31:
        raise click.BadParameter(
            f"{value!r} is neither a number of blocks (1 or more) nor `archive`: give one of them.",
            ctx,
            param,
        )
    return int(value)


def checkpoint(ctx: click.Context, param: click.Parameter, value: str | None) -> Checkpoint | None:
    """Read `<block hash>:<set id>`."""
    if value is None:
        return None
    match = CHECKPOINT.fullmatch(value)
    if match is None:
        raise click.BadParameter(
            f"{value!r} is not BLOCK_HASH:SET_ID: write it as in 0x5e1f…9a:1234.", ctx, param
        )
    if not 0 < int(match[2]) < 1 << 64:
        raise click.BadParameter(
            f"no block starts authority set {match[2]}: give a SET_ID from 1 to 2^64 - 1.", ctx, param
        )
    return Checkpoint(bytes.fromhex(match[1]), int(match[2]))


def start_time(ctx: click.Context, param: click.Parameter, value: str | None) -> int | Literal["now"] | None:
    """Read a time as Unix milliseconds, or `now`."""
    if value is None or value == "now":
        return value  # type: ignore[return-value]  # the text is "now"
    from cfnode.sdk.times import read_time  # needed by few command lines

    try:
        return read_time(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}, or `now`.", ctx, param) from None


def addresses(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...], *, of_nodes: bool = False
) -> tuple[str, ...]:
    """Check multiaddresses; `of_nodes` requires the peer id at the end."""
    from cfnode.core.p2p.multiaddr import Multiaddr, MultiaddrError  # needed by few command lines

    for value in values:
        try:
            peer = Multiaddr.parse(value).peer
        except MultiaddrError as error:
            raise click.BadParameter(str(error), ctx, param) from None
        if of_nodes and peer is None:
            raise click.BadParameter(
                f"{value!r} lacks the node's peer id: write it as in {value}/p2p/12D3KooW….",
                ctx,
                param,
            )
    return values


nodes = partial(addresses, of_nodes=True)


class GroupedOption(ClapOption):
    """An option with its heading in `--help`."""

    def __init__(self, *args: Any, group: str = "Other", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(ClapCommand):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the help text in sections, one for each group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", "Other"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(group: str, *names: str, **attributes: Any) -> Decorator:
    """Build a `click.option` under a heading, with what the official node has for a flag of that name."""
    if official := BY_NAME.get(names[0].partition("/")[0]):
        names, attributes = as_in(official, names, attributes)
    return click.option(*names, cls=GroupedOption, group=group, **attributes)


chain = partial(option, "Chain")
dev = partial(option, "Development chain")
rpc = partial(option, "JSON-RPC")
metrics = partial(option, "Metrics and log")
network = partial(option, "Network")

CHAIN_FLAGS = [
    chain("--chain", default=None, metavar="NAME|FILE",
           help="`dev`, `berghain`, or a chain specification file.  [default: berghain; dev with --dev]"),
    chain("--base-path", type=click.Path(path_type=Path), metavar="DIR",
           help="Directory of chains, keys and the node key.  [default: ~/.local/share/cfnode]"),
    chain("--tmp", help="Use a fresh base path and remove it at the end."),
    chain("--sync", default=None,
           help="Sync mode; light-rpc starts with an empty database each time.  [default: light-rpc]"),
    chain("--checkpoint", default=None, metavar="HASH:SET_ID", callback=checkpoint,
           help="Start proofs at this block, which changes the authorities, and the set that it starts.  "
           "[default: genesis]"),
    chain("--blocks-pruning", metavar="N|archive", callback=pruning, default="128", show_default=True,
           help="Finalized blocks that keep their bodies."),
    chain("--state-pruning", metavar="N|archive", callback=pruning, default="128", show_default=True,
           help="Finalized blocks that keep their states."),
    chain("--keystore-path", type=click.Path(path_type=Path), metavar="DIR",
           help="Directory of key files.  [default: chains/ID/keystore under the base path]"),
    chain("--name", default=None, help="Name of the node, for its log and its peers."),
    chain("--pool-limit", type=POSITIVE, default=8192, show_default=True,
           help="Maximum ready transactions in the pool."),
    chain("--pool-kbytes", type=POSITIVE, default=20480, show_default=True,
           help="Maximum size of the pool in KiB."),
    chain("--max-runtime-instances", type=POSITIVE, default=8, show_default=True, metavar="N",
           help="Maximum processes for runtime calls besides the one for blocks; never more than cores. "
           "They are started when calls wait."),
]  # fmt: skip

RPC_FLAGS = [
    rpc("--rpc-port", type=PORT, default=9944, show_default=True, help="JSON-RPC port; 0 for any free one."),
    rpc("--rpc-external", help="Listen on all interfaces, not only on this machine."),
    rpc("--unsafe-rpc-external", help="Same as --rpc-external."),
    rpc("--rpc-methods", default="auto", show_default=True,
           help="Allowed methods; auto: unsafe ones only on this machine."),
    rpc("--rpc-cors", default=None, metavar="ORIGINS",
           help="Origins allowed for browsers, or `all`.  [default: local ones]"),
    rpc("--rpc-max-request-size", type=POSITIVE, default=15, show_default=True,
           help="Maximum size of a request in MiB."),
    rpc("--rpc-max-response-size", type=POSITIVE, default=15, show_default=True,
           help="Maximum size of a response in MiB."),
    rpc("--rpc-max-connections", type=POSITIVE, default=100, show_default=True,
           help="Maximum open connections."),
    rpc("--rpc-max-subscriptions-per-connection", type=COUNT, default=1024, show_default=True,
           help="Maximum open subscriptions of a connection."),
    rpc("--rpc-message-buffer-capacity-per-connection", type=POSITIVE, default=64,
           show_default=True, help="Maximum unread messages; a client with more is disconnected."),
    rpc("--rpc-max-batch-request-len", type=POSITIVE, default=100, show_default=True,
           help="Maximum requests in a batch."),
    rpc("--rpc-disable-batch-requests", help="Refuse batches."),
    rpc("--rpc-rate-limit", type=POSITIVE,
           help="Maximum calls per minute and connection; behind a trusted proxy, per client.  "
           "[default: no limit]"),
    rpc("--rpc-rate-limit-whitelisted-ips", metavar="IP|NET[,…]",
           help="Clients exempt from the rate limit; they may hold any number of connections."),
    rpc("--rpc-rate-limit-trust-proxy-headers",
           help="Read the client's address from Forwarded, X-Forwarded-For or X-Real-IP if a proxy on this "
           "machine or in a private network sends it."),
    rpc("--rpc-trusted-proxies", multiple=True, metavar="IP|NET[,…]",
           help="Proxies that name their clients in these headers, instead of any private address."),
    rpc("--rpc-allowed-hosts", multiple=True, metavar="NAME[:PORT][,…]",
           help="Names under which clients reach this node (the Host header), or `all`.  "
           "[default: localhost, 127.0.0.1, [::1]]"),
    rpc("--rpc-broker-clients", multiple=True, metavar="IP|NET[,…]",
           help="Clients that may call broker and LP methods.  [default: any that reach the port]"),
    rpc("--rpc-auth-token-file", type=click.Path(path_type=Path), metavar="FILE",
           help="Bearer tokens, one a line: NAME GROUP[,GROUP] TOKEN, with the groups read, broker, lp, "
           "admin. "
           "A group that a line names needs a token; if a line names read, all groups do. SIGHUP reads the "
           "file again."),
]  # fmt: skip

METRICS_FLAGS = [
    metrics("--prometheus-port", type=PORT, default=9615, show_default=True, help="Port of the metrics."),
    metrics("--prometheus-external", help="Serve metrics on all interfaces."),
    metrics("--no-prometheus", help="Serve no metrics."),
    metrics("--log", metavar="FILTER",
           help="Log filter, such as `info,grandpa=error,txpool=debug`; levels off, error, warn, info, "
           "debug, trace, or 0 to 5. RUST_LOG is read first."),
    metrics("--log-format", type=OneOf(["text", "json"]), default="text",
           show_default=True, help="Format of log lines; json: one object per line."),
    metrics("--disable-log-color", help="Disable colours on a terminal."),
]  # fmt: skip

NETWORK_FLAGS = [
    network("--port", type=PORT, default=None,
           help=f"Port for peers, on all interfaces.  [default: {PEER_PORT}, with --dev on this machine "
           "only]"),
    network("--listen-addr", callback=addresses, metavar="MULTIADDR",
           help="Address to listen on, instead of --port; /ws for WebSocket."),
    network("--public-addr", callback=addresses, metavar="MULTIADDR",
           help="Address to announce to peers."),
    network("--bootnodes", callback=nodes, metavar="MULTIADDR",
           help="Boot node, in addition to those of the chain."),
    network("--reserved-nodes", callback=nodes, metavar="MULTIADDR",
           help="Peer to stay connected with."),
    network("--reserved-only", help="Connect to reserved peers only."),
    network("--in-peers", type=COUNT, default=32, show_default=True,
           help="Maximum inbound full-node peers."),
    network("--in-peers-light", type=COUNT, default=100, show_default=True,
           help="Maximum inbound light-node peers."),
    network("--out-peers", type=COUNT, default=8, show_default=True, help="Maximum outbound peers."),
    network("--allow-private-ip/--no-private-ip", "private_ip", default=None,
           aliases=dict.fromkeys(BY_NAME["--no-private-ip"].aliases, "--no-private-ip"),
           help="Dial private addresses that peers announce.  [default: not on live chains]"),
    network("--node-key", metavar="HEX",
           help="Secret key of the node's identity (visible in the process list)."),
    network("--node-key-file", type=click.Path(path_type=Path), metavar="FILE",
           help="File with that secret.  [default: chains/ID/network/secret_ed25519 under the base path]"),
]  # fmt: skip

DEV_FLAGS = [
    dev("--dev",
           help="Author the chain on this machine: blocks, finality, funded accounts, dev_* methods."),
    dev("--dev-seal", type=OneOf(["slots", "instant", "manual"]), default="slots",
           show_default=True, help="When to author: each block time, for a transaction, or by dev_newBlock."),
    dev("--dev-block-time", type=WholeNumber(10, 6000), default=6000,
           show_default=True, metavar="MS", help="Real time between blocks; slots keep 6,000 ms."),
    dev("--dev-start-time", metavar="TIME|now", callback=start_time,
           help="Time of the chain's own clock at its first block (2026-01-01T00:00:00Z, or Unix seconds or "
           "milliseconds), or the real time. Each block is 6 s later than the last.  [default: after "
           "the last block of the state in the chain specification; without such a block, one year ago if "
           "blocks may be faster than slots, else the real time]"),
    dev("--dev-finality-lag", type=COUNT, default=2, show_default=True,
           help="Blocks by which finality lags."),
    dev("--dev-authorities", metavar="N|SURIS|FILE",
           help="Number of authorities, their secret URIs (//Alice,//Bob), or a JSON file.  [default: 1]"),
    dev("--dev-broker", metavar="SURI|FILE",
           help="Insert a broker's key and register its account: //Alice, or a file, since arguments are "
           "visible in the process list."),
    dev("--dev-lp", metavar="SURI|FILE",
           help="Insert a liquidity provider's key and register its account: //Bob, or a file."),
    dev("--dev-silent", multiple=True, type=COUNT, metavar="INDEX",
           help="Index of an authority that casts no finality votes."),
    dev("--dev-epoch-blocks", type=POSITIVE, default=43_200, show_default=True,
           help="Blocks of an epoch, after which the authority set changes."),
    dev("--dev-rotate-keys", is_flag=True,
           help="Rotate the keys at the end of each epoch; takes eight blocks or more."),
    dev("--dev-runtime", type=click.Choice(RELEASE_NAMES), default=DEFAULT_RELEASE, show_default=True,
           help="Release of the runtime at genesis."),
    dev("--dev-state-entries", type=COUNT, default=0, show_default=True,
           help="Extra storage entries at genesis, to test syncing."),
    *contract_flags(dev),
]  # fmt: skip


def run_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all groups of flags to a command, in the order of the help."""
    for flag in reversed([*CHAIN_FLAGS, *DEV_FLAGS, *RPC_FLAGS, *METRICS_FLAGS, *NETWORK_FLAGS]):
        command = flag(command)
    return command
