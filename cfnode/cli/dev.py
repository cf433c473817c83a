"""`cfnode dev`: what a person does to a running development chain by hand.

Each command is one `dev_*` call or two. Amounts are in whole units (`0.5` is half a bitcoin), prices in
dollars; the node itself counts in smallest units.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import click
import msgspec

from cfnode.cli import client
from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.groups import Group
from cfnode.cli.options import json_option, node_option, timeout_option
from cfnode.cli.output import print_json
from cfnode.cli.values import AssetName, ChainName, Duration, OneOf, Units, atoms
from cfnode.devchain.runtime.release_names import RELEASE_NAMES

__all__ = ["dev"]

DOLLAR_DECIMALS = 6
FLIP_DECIMALS = 18
BITCOIN_DECIMALS = 8
MAX_BLOCKS = 10_000
FEEDS = ("Btc", "Eth", "Sol", "Usdc", "Usdt")
"""Assets whose price the oracle reports."""


class DevClient:
    """Calls a development node, and prints what came of it: a line for people, or JSON."""

    def __init__(self, url: str, timeout: float, as_json: bool) -> None:
        self.url, self.timeout, self.as_json = url, timeout, as_json

    def call(self, method: str, *params: Any) -> Any:
        """A result; on a chain that this node does not author the failure says so."""
        try:
            return client.call(self.url, method, list(params), timeout=self.timeout)
        except client.CallRefused as error:
            if error.error.get("code") == client.METHOD_NOT_FOUND:
                raise Failure(
                    f"{self.url} has no {method}: only a node started with `cfnode run --dev` does "
                    "(and --rpc-methods=unsafe if its port is open to others)"
                ) from None
            raise

    def block(self, words: str, block: str, **more: Any) -> None:
        """Print what was done and the block that has it; `more` is printed as JSON only."""
        number = int(self.call("chain_getHeader", block)["number"], 16)
        self.print(f"{words}: block {number} {block}", {"block": block, "number": number, **more})

    def print(self, line: str, record: dict[str, Any]) -> None:
        """One line, or one JSON object."""
        if self.as_json:
            print_json(record, is_line=True)
        else:
            click.echo(line)


def command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Decorator: a command of the group, with --node, --timeout and --json as its `node`."""

    def made(function: Callable[..., None]) -> click.Command:
        def invoke(url: str, timeout: float, as_json: bool, **given: Any) -> None:
            function(DevClient(url, timeout, as_json), **given)

        invoke.__doc__ = function.__doc__
        invoke.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        for option in (json_option, timeout_option(), node_option()):
            invoke = option(invoke)
        return dev.command(name)(invoke)

    return made


@click.group(
    cls=Group,
    epilog="Amounts are in whole units, prices in dollars. ASSET is CHAIN/SYMBOL (Arbitrum/USDC) or a name "
    "(Btc, ArbUsdc), in any case.",
)
def dev() -> None:
    """Play on a running development chain: deposits, prices, failures, time."""


@command("fund")
@click.argument("account")
@click.argument("amount", type=Units(), default="1000")
def fund(node: DevClient, account: str, amount: Decimal) -> None:
    """Give ACCOUNT (cF…) FLIP; 1000 unless AMOUNT says otherwise."""
    block = node.call("dev_fundAccount", account, hex_atoms(amount, FLIP_DECIMALS))
    node.block(f"{account} has {amount} FLIP more", block)


@command("deposit")
@click.argument("address")
@click.argument("asset", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--transaction", metavar="HASH", help="0x and 64 digits.  [default: made up]")
def deposit(node: DevClient, address: str, asset: Any, amount: Decimal, transaction: str | None) -> None:
    """Let AMOUNT of ASSET arrive at a deposit ADDRESS; fails with the chain's reason if it refuses them."""
    arguments = (_pair(asset), hex_atoms(amount, asset.decimals), transaction)
    block = node.call("dev_deposit", address, *arguments)
    node.block(f"{amount} {asset.name} have arrived at {address}", block)


@command("announce")
@click.argument("address")
@click.argument("asset", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--transaction", metavar="HASH", help="0x and 64 digits.  [default: made up]")
def announce(node: DevClient, address: str, asset: Any, amount: Decimal, transaction: str | None) -> None:
    """Let AMOUNT of ASSET be seen at a deposit ADDRESS, unconfirmed: it may be boosted."""
    arguments = (_pair(asset), hex_atoms(amount, asset.decimals), transaction)
    block = node.call("dev_announceDeposit", address, *arguments)
    node.block(f"{amount} {asset.name} are on their way to {address}", block)


@command("send-to-vault")
@click.argument("vault_swap", metavar="JSON")
@click.option("--amount", type=Units(), help="Bitcoin that are paid; other chains' transactions say it.")
@click.option("--sender", metavar="ADDRESS", help="Who sends it; on Bitcoin where a refund goes.")
@click.option("--transaction", metavar="HASH", help="0x and 64 digits.  [default: made up]")
@click.option("--unconfirmed", is_flag=True, help="Seen, but not final: it may be boosted.")
def send_to_vault(
    node: DevClient,
    vault_swap: str,
    amount: Decimal | None,
    sender: str | None,
    transaction: str | None,
    unconfirmed: bool,
) -> None:
    """Send what broker_request_swap_parameter_encoding gave, as a user would (- reads stdin)."""
    text = sys.stdin.read() if vault_swap == "-" else vault_swap
    try:
        details = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise Failure(f"the vault swap is not JSON: {error}", ExitCode.USAGE) from None
    paid = None if amount is None else hex_atoms(amount, BITCOIN_DECIMALS)
    block = node.call("dev_sendToVault", details, paid, sender, transaction, not unconfirmed)
    node.block("the vault swap is on its way" if unconfirmed else "the vault swap has arrived", block)


@command("boost")
@click.argument("asset", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--lending", is_flag=True, help="In the lending pool, not in the boost pool.")
def boost(node: DevClient, asset: Any, amount: Decimal, lending: bool) -> None:
    """Put AMOUNT of ASSET up for boosting deposits."""
    options = [True] if lending else []
    block = node.call("dev_setBoost", _pair(asset), hex_atoms(amount, asset.decimals), *options)
    node.block(f"{amount} {asset.name} are there to boost deposits", block)


@command("price")
@click.argument("asset", type=AssetName())
@click.argument("dollars", type=Units())
def price(node: DevClient, asset: Any, dollars: Decimal) -> None:
    """Set the price of one whole ASSET in its pool; the depth stays."""
    block = node.call("dev_setPool", _pair(asset), hex_atoms(dollars, DOLLAR_DECIMALS), None)
    node.block(f"one {asset.name} costs {dollars} USDC", block)


@command("depth")
@click.argument("asset", type=AssetName())
@click.argument("dollars", type=Units())
def depth(node: DevClient, asset: Any, dollars: Decimal) -> None:
    """Set how much USDC lies in the pool of ASSET; the price stays."""
    block = node.call("dev_setPool", _pair(asset), None, hex_atoms(dollars, DOLLAR_DECIMALS))
    node.block(f"{dollars} USDC lie in the pool of {asset.name}", block)


@command("oracle")
@click.argument("feed", type=AssetName())
@click.argument("dollars", type=Units(), required=False)
@click.option("--stale", is_flag=True, help="Let the price be an old one.")
def oracle(node: DevClient, feed: Any, dollars: Decimal | None, stale: bool) -> None:
    """Let the oracle report that one whole FEED costs DOLLARS; without them it reports nothing any more.

    FEED is one of Btc, Eth, Sol, Usdc and Usdt.
    """
    if feed.name not in FEEDS:
        words = f"the oracle has no price of {feed.name}; choose from {', '.join(FEEDS)}"
        raise Failure(words, ExitCode.USAGE)
    price = None if dollars is None else hex_atoms(dollars, DOLLAR_DECIMALS)
    block = node.call("dev_setOracle", feed.name, price, stale)
    words = "has no price" if dollars is None else f"costs {dollars} dollars"
    node.block(f"one {feed.name} {words} by the oracle", block)


@command("fail-receiver")
@click.argument("address")
@click.argument("asset", type=AssetName())
@click.option("--off", is_flag=True, help="Let transfers go through again.")
def fail_receiver(node: DevClient, address: str, asset: Any, off: bool) -> None:
    """Let transfers of ASSET to ADDRESS fail on their chain (EVM chains)."""
    block = node.call("dev_failReceiver", address, _pair(asset), not off)
    outcome = "go through" if off else "fail"
    node.block(f"transfers of {asset.name} to {address} {outcome} from now on", block)


@command("abort")
@click.argument("chain", type=ChainName())
def abort(node: DevClient, chain: str) -> None:
    """Let nobody be able to send the next transaction to CHAIN (Ethereum, Bitcoin, …)."""
    block = node.call("dev_abortBroadcast", chain)
    node.block(f"the next transaction to {chain} will be aborted", block)


@command("hold")
@click.argument("chain", type=ChainName())
@click.option("--off", is_flag=True, help="Let them reach it again, also those that were held back.")
def hold(node: DevClient, chain: str, off: bool) -> None:
    """Let no transaction reach CHAIN from now on, so that its time runs out."""
    block = node.call("dev_holdBroadcasts", chain, not off)
    outcome = "reach it again" if off else "are held back from now on"
    node.block(f"transactions to {chain} {outcome}", block)


@command("fail-broadcast")
@click.argument("chain", type=ChainName())
@click.argument("broadcast", metavar="ID", type=click.IntRange(0), required=False)
def fail_broadcast(node: DevClient, chain: str, broadcast: int | None) -> None:
    """Let the authority fail that was asked to send broadcast ID to CHAIN, or the newest."""
    block = node.call("dev_failBroadcast", chain, broadcast)
    node.block(f"an authority could not send its transaction to {chain}", block)


@command("hold-signatures")
@click.option("--off", is_flag=True, help="Let them be signed again.")
def hold_signatures(node: DevClient, off: bool) -> None:
    """Let no transaction to another chain be signed from now on."""
    node.call("dev_holdSignatures", not off)
    outcome = "signed again" if off else "not signed from now on"
    node.print(f"transactions are {outcome}", {"signed": off})


@command("jump")
@click.argument("duration", type=Duration())
def jump(node: DevClient, duration: int) -> None:
    """Let DURATION (90s, 10m, 24h, 2d) go by on all chains at once, and make a block; 0s does nothing."""
    words = f"{duration // 1000} seconds have gone by"
    if not duration:
        node.print(f"{words}: no block was added", {"block": None, "number": None})
        return
    node.call("dev_timeTravel", duration)
    node.block(words, node.call("dev_newBlock"))


@command("epoch")
def epoch(node: DevClient) -> None:
    """Begin the next epoch, with the keys of this one."""
    block = node.call("dev_nextEpoch")
    node.block(f"epoch {node.call('cf_current_epoch', block)} has begun", block)


@command("upgrade")
@click.argument("release", type=OneOf(RELEASE_NAMES))
def upgrade(node: DevClient, release: str) -> None:
    """Replace the runtime by RELEASE, as governance on the main net does, from the next block on."""
    node.block(f"runtime {release} runs from the next block on", node.call("dev_upgrade", release))


@command("rotate")
def rotate(node: DevClient) -> None:
    """Rotate the keys of all vaults, into the next epoch; --json has the calls of the key managers."""
    rotation = node.call("dev_rotate")
    epoch, transactions = rotation["epoch"], rotation["transactions"]
    chains = ", ".join(each["chain"] for each in transactions)
    words = f"epoch {epoch} has begun with new keys, sent to {chains or 'no EVM chain yet'}"
    node.block(words, rotation["block"], epoch=epoch, transactions=transactions)


@command("seal")
@click.argument("count", type=click.IntRange(1, MAX_BLOCKS), default=1)
def seal(node: DevClient, count: int) -> None:
    """Add COUNT blocks now; one by default."""
    block = ""
    for _ in range(count):
        block = node.call("dev_newBlock")
    node.block(f"{count} block{'s' if count > 1 else ''} made", block)


@command("events")
@click.argument("count", type=click.IntRange(1, MAX_BLOCKS), default=1)
@click.option("--all", "everything", is_flag=True, help="Also the housekeeping of each block.")
def events(node: DevClient, count: int, everything: bool) -> None:
    """Print the events of the last COUNT blocks; one by default. --json prints them in full."""
    best = int(node.call("chain_getHeader")["number"], 16)
    for number in range(max(best - count, 0) + 1, best + 1):
        for event in node.call("dev_events", node.call("chain_getBlockHash", number)):
            if everything or _matters(event["pallet"], event["name"]):
                node.print(f"{number} {event['pallet']}.{event['name']}", {"number": number, **event})


HOUSEKEEPING = {
    ("TransactionPayment", "TransactionFeePaid"),
    ("Swapping", "BatchSwapExecuted"),
    ("AssetBalances", "AccountCredited"),
}
"""Events, besides those of whole pallets, that most blocks have."""


def _matters(pallet: str, name: str) -> bool:
    if pallet in ("System", "Timestamp", "Flip", "LiquidityPools") or pallet.endswith("ThresholdSigner"):
        return False
    return not pallet.endswith("ChainTracking") and (pallet, name) not in HOUSEKEEPING


@command("finalize")
@click.argument("block", metavar="[HASH]", required=False)
def finalize(node: DevClient, block: str | None) -> None:
    """Make a block, or the best one, final, and all before it."""
    node.block("final", node.call("dev_finalize", block))


def hex_atoms(number: Decimal, decimals: int) -> str:
    """Whole units as the smallest ones, in hex. Raises Failure (usage)."""
    return hex(atoms(number, decimals))


def _pair(asset: Any) -> dict[str, str]:
    return {"chain": asset.chain, "asset": asset.symbol}
