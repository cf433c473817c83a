"""`cfnode dev`: commands that control a running development chain.

Each command makes one or two `dev_*` calls. Amounts are in whole units (`0.5` is half a bitcoin), prices in
dollars; the node itself uses smallest units.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import click

from cfnode.cli.dev_channels import deposit_address
from cfnode.cli.dev_client import DevClient
from cfnode.cli.dev_events import events_of
from cfnode.cli.dev_evm import evm
from cfnode.cli.dev_transactions import made_up, reference
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.groups import CommandGroup
from cfnode.cli.options import (
    json_lines_option,
    json_option,
    node_option,
    timeout_option,
    typed_node_flag,
)
from cfnode.cli.output import print_list, print_text
from cfnode.cli.tables import print_command
from cfnode.cli.values import (
    AccountId,
    AssetName,
    ChainName,
    Duration,
    OneOf,
    Units,
    WholeNumber,
    atoms,
    checked_address,
)
from cfnode.core.assets import asset_text
from cfnode.core.foreign import ANSWER, ForeignError, read_bounded, read_json
from cfnode.devchain.runtime.release_names import RELEASE_NAMES

__all__ = ["dev"]

DOLLAR_DECIMALS = 6
FLIP_DECIMALS = 18
BITCOIN_DECIMALS = 8
MAX_REQUESTED_BLOCKS = 10_000
FEEDS = ("Btc", "Eth", "Sol", "Usdc", "Usdt")
"""Assets whose price the oracle reports."""


def command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator for a command of the group.

    The command's `node` is built from --node, --timeout and --json.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        def invoke(url: str, timeout: float, as_json: bool, **parameters: Any) -> None:
            function(DevClient(url, timeout, as_json), **parameters)

        invoke.__doc__ = function.__doc__
        invoke.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        for option in (json_option, timeout_option(), node_option()):
            invoke = option(invoke)
        return dev.command(name)(invoke)

    return decorate


@click.group(
    cls=CommandGroup,
    epilog="Amounts are in whole units, prices in dollars. ASSET is CHAIN/SYMBOL (Arbitrum/USDC) or a name "
    "(BTC, ArbUsdc), in any case.",
)
def dev() -> None:
    """Control a running development chain: deposits, prices, failures, time."""


@command("fund")
@click.argument("account", type=AccountId())
@click.argument("amount", type=Units(), default="1000")
def fund(node: DevClient, account: str, amount: Decimal) -> None:
    """Fund ACCOUNT (cF…) with AMOUNT of FLIP, 1000 by default."""
    block = node.call("dev_fundAccount", account, hex_atoms(amount, FLIP_DECIMALS))
    node.block(f"funded {account} with {amount} FLIP", block)


@command("deposit")
@click.argument("address", metavar="ADDRESS|CHANNEL")
@click.argument("asset", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--transaction", metavar="HASH", help="0x and 64 digits.  [default: a generated one]")
def deposit(node: DevClient, address: str, asset: Any, amount: Decimal, transaction: str | None) -> None:
    """Deposit AMOUNT of ASSET at a deposit address, or into the CHANNEL with this id.

    The command fails with the chain's reason if the chain rejects the deposit.
    """
    arguments = (_pair(asset), hex_atoms(amount, asset.decimals), transaction)
    address = checked_address(asset.chain, deposit_address(node.url, address, node.timeout))
    block = node.call("dev_deposit", address, *arguments)
    node.block(f"deposited {amount} {asset_text(asset)} at {address}", block)


@command("announce")
@click.argument("address", metavar="ADDRESS|CHANNEL")
@click.argument("asset", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--transaction", metavar="HASH", help="0x and 64 digits.  [default: a generated one]")
def announce(node: DevClient, address: str, asset: Any, amount: Decimal, transaction: str | None) -> None:
    """Announce an unconfirmed deposit of AMOUNT of ASSET at an address, or into the CHANNEL with this id.

    The deposit may be boosted.
    """
    arguments = (_pair(asset), hex_atoms(amount, asset.decimals), transaction)
    address = checked_address(asset.chain, deposit_address(node.url, address, node.timeout))
    block = node.call("dev_announceDeposit", address, *arguments)
    node.block(f"announced {amount} {asset_text(asset)} at {address}", block)


@command("send-to-vault")
@click.argument("vault_swap", metavar="JSON")
@click.option(
    "--amount", type=Units(), help="Paid amount, for Bitcoin; other chains' transactions contain it."
)
@click.option("--sender", metavar="ADDRESS", help="Sender of the transaction; on Bitcoin the refund address.")
@click.option("--transaction", metavar="HASH", help="0x and 64 digits.  [default: a generated one]")
@click.option("--unconfirmed", is_flag=True, help="Announce it unconfirmed: it may be boosted.")
def send_to_vault(
    node: DevClient,
    vault_swap: str,
    amount: Decimal | None,
    sender: str | None,
    transaction: str | None,
    unconfirmed: bool,
) -> None:
    """Send the vault swap that broker_request_swap_parameter_encoding returned (- reads stdin)."""
    text = vault_swap
    try:
        if vault_swap == "-":
            text = read_bounded(sys.stdin.buffer, ANSWER.size).decode(errors="surrogateescape")
        details = read_json(text)
    except ForeignError as error:
        raise CommandFailure(
            f"JSON: {text[:40]!r} {error}; give the answer of broker_request_swap_parameter_encoding, whole",
            ExitCode.USAGE,
        ) from None
    paid = None if amount is None else hex_atoms(amount, BITCOIN_DECIMALS, "--amount")
    transaction_id = transaction or made_up(node, text)
    block = node.call("dev_sendToVault", details, paid, sender, transaction_id, not unconfirmed)
    swap_reference = reference(details, transaction_id)
    node.block(
        "announced the vault swap" if unconfirmed else "sent the vault swap",
        block,
        transaction=swap_reference,
    )
    if not node.as_json and details.get("chain") != "Solana":  # whose vault swaps no transaction names
        command = f"cfnode swap watch --network=dev{typed_node_flag(node.url)} {swap_reference}"
        print_command("Follow it", command)


@command("boost")
@click.argument("asset", type=AssetName())
@click.argument("amount", type=Units())
@click.option("--lending", is_flag=True, help="Use the lending pool, not the boost pool.")
def boost(node: DevClient, asset: Any, amount: Decimal, lending: bool) -> None:
    """Set the amount of ASSET in the pool that boosts deposits to AMOUNT."""
    options = [True] if lending else []
    block = node.call("dev_setBoost", _pair(asset), hex_atoms(amount, asset.decimals), *options)
    node.block(f"the {'lending' if lending else 'boost'} pool of {asset_text(asset)} holds {amount}", block)


@command("price")
@click.argument("asset", type=AssetName())
@click.argument("dollars", type=Units("a price in dollars", above_zero=True))
def price(node: DevClient, asset: Any, dollars: Decimal) -> None:
    """Set the pool price of one whole ASSET in DOLLARS; keep the depth."""
    block = node.call("dev_setPool", _pair(asset), hex_atoms(dollars, DOLLAR_DECIMALS, "DOLLARS"), None)
    node.block(f"the pool price of {asset_text(asset)} is {dollars} USDC", block)


@command("depth")
@click.argument("asset", type=AssetName())
@click.argument("dollars", type=Units())
def depth(node: DevClient, asset: Any, dollars: Decimal) -> None:
    """Set the USDC in the pool of ASSET to DOLLARS; keep the price."""
    block = node.call("dev_setPool", _pair(asset), None, hex_atoms(dollars, DOLLAR_DECIMALS, "DOLLARS"))
    node.block(f"the pool of {asset_text(asset)} holds {dollars} USDC", block)


@command("oracle")
@click.argument("feed", type=AssetName())
@click.argument("dollars", type=Units(), required=False)
@click.option("--stale", is_flag=True, help="Mark the price as stale.")
def oracle(node: DevClient, feed: Any, dollars: Decimal | None, stale: bool) -> None:
    """Set the oracle price of one whole FEED to DOLLARS; without DOLLARS, remove the price.

    FEED is one of BTC, ETH, SOL, USDC and USDT.
    """
    if feed.name not in FEEDS:
        known = ", ".join(map(str.upper, FEEDS))
        text = f"FEED: the oracle has no price of {asset_text(feed)}; choose from {known}"
        raise CommandFailure(text, ExitCode.USAGE)
    price = None if dollars is None else hex_atoms(dollars, DOLLAR_DECIMALS, "DOLLARS")
    block = node.call("dev_setOracle", feed.name, price, stale)
    outcome = "removed" if dollars is None else f"{dollars} dollars"
    node.block(f"oracle price of {asset_text(feed)}: {outcome}", block)


@command("fail-receiver")
@click.argument("address")
@click.argument("asset", type=AssetName())
@click.option("--off", is_flag=True, help="Let transfers succeed again.")
def fail_receiver(node: DevClient, address: str, asset: Any, off: bool) -> None:
    """Fail transfers of ASSET to ADDRESS on their chain (EVM chains) from now on."""
    address = checked_address(asset.chain, address)
    block = node.call("dev_failReceiver", address, _pair(asset), not off)
    outcome = "succeed" if off else "fail"
    node.block(f"transfers of {asset_text(asset)} to {address} {outcome} from now on", block)


@command("abort")
@click.argument("chain", type=ChainName())
def abort(node: DevClient, chain: str) -> None:
    """Abort the next broadcast to CHAIN (Ethereum, Bitcoin, …)."""
    block = node.call("dev_abortBroadcast", chain)
    node.block(f"the next broadcast to {chain} will be aborted", block)


@command("hold")
@click.argument("chain", type=ChainName())
@click.option("--off", is_flag=True, help="Release all transactions, held ones too.")
def hold(node: DevClient, chain: str, off: bool) -> None:
    """Hold all transactions to CHAIN from now on, so that they time out."""
    block = node.call("dev_holdBroadcasts", chain, not off)
    outcome = "released" if off else "held from now on"
    node.block(f"transactions to {chain} are {outcome}", block)


@command("fail-broadcast")
@click.argument("chain", type=ChainName())
@click.argument("broadcast", metavar="ID", type=WholeNumber(0), required=False)
def fail_broadcast(node: DevClient, chain: str, broadcast: int | None) -> None:
    """Make the nominated authority report a failure of broadcast ID to CHAIN; the newest by default."""
    block = node.call("dev_failBroadcast", chain, broadcast)
    node.block(f"an authority reported a failed broadcast to {chain}", block)


@command("hold-signatures")
@click.option("--off", is_flag=True, help="Sign transactions again.")
def hold_signatures(node: DevClient, off: bool) -> None:
    """Hold the signatures of all transactions to other chains from now on."""
    node.call("dev_holdSignatures", not off)
    outcome = "signed again" if off else "not signed from now on"
    node.print(f"transactions are {outcome}", {"signed": off})


@command("jump")
@click.argument("duration", type=Duration())
def jump(node: DevClient, duration: int) -> None:
    """Advance the time of all chains by DURATION (90s, 10m, 24h, 2d), and add a block; 0s does nothing."""
    outcome = f"jumped by {duration // 1000} seconds"
    if not duration:
        node.print(
            f"{outcome}: no block was added", {"blockHash": None, "blockNumber": None, "chainTime": None}
        )
        return
    node.call("dev_timeTravel", duration)
    block = node.call("dev_newBlock")
    time = node.chain_time(block)
    node.block(outcome, block, f", chain time {time}", chainTime=time)


@command("epoch")
def epoch(node: DevClient) -> None:
    """Start the next epoch with the same keys."""
    block = node.call("dev_nextEpoch")
    number = node.call("cf_current_epoch", block)
    node.block(f"epoch {number} started", block, epoch=number)


@command("upgrade")
@click.argument("release", type=OneOf(RELEASE_NAMES))
def upgrade(node: DevClient, release: str) -> None:
    """Upgrade the runtime to RELEASE from the next block on, as governance does on the main net."""
    node.block(f"runtime {release} runs from the next block on", node.call("dev_upgrade", release))


@command("rotate")
def rotate(node: DevClient) -> None:
    """Rotate the keys of all vaults and start the next epoch; --json prints the key managers' calls."""
    rotation = node.call("dev_rotate")
    epoch, transactions = rotation["epoch"], rotation["transactions"]
    chains = ", ".join(transaction["chain"] for transaction in transactions)
    outcome = f"epoch {epoch} started with new keys, sent to {chains or 'no EVM chain yet'}"
    node.block(outcome, rotation["block"], epoch=epoch, transactions=[*map(_transaction, transactions)])


def _transaction(transaction: dict[str, Any]) -> dict[str, Any]:
    """Return a key manager's call with the names of `--json`."""
    return {"broadcastId" if name == "broadcast_id" else name: value for name, value in transaction.items()}


@command("seal")
@click.argument("count", type=WholeNumber(1, MAX_REQUESTED_BLOCKS), default=1)
def seal(node: DevClient, count: int) -> None:
    """Add COUNT blocks, one by default."""
    block = ""
    for _ in range(count):
        block = node.call("dev_newBlock")
    node.block(f"added {count} block{'s' if count > 1 else ''}", block)


@command("events")
@click.argument("count", type=WholeNumber(1, MAX_REQUESTED_BLOCKS), default=1)
@click.option("--all", "everything", is_flag=True, help="Print the housekeeping events of each block, too.")
@json_lines_option
def events(node: DevClient, count: int, everything: bool, as_lines: bool) -> None:
    """Print the events of the last COUNT blocks, one by default; --json prints their fields."""
    if node.as_json or as_lines:
        print_list(events_of(node, count, everything), as_lines=as_lines)
        return
    for event in events_of(node, count, everything):
        print_text(f"{event['blockNumber']} {event['pallet']}.{event['name']}")


dev.add_command(evm)


@command("finalize")
@click.argument("block", metavar="[HASH]", required=False)
def finalize(node: DevClient, block: str | None) -> None:
    """Finalize a block and all before it; the best block by default."""
    node.block("finalized", node.call("dev_finalize", block))


def hex_atoms(number: Decimal, decimals: int, name: str = "AMOUNT") -> str:
    """Convert whole units to smallest units, as hex. Raise Failure (usage), which names the parameter."""
    return hex(atoms(number, decimals, name))


def _pair(asset: Any) -> dict[str, str]:
    return {"chain": asset.chain, "asset": asset.symbol}
