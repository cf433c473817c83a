"""Registration, refund addresses, deposits and withdrawals of a liquidity provider."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import click

from cfnode.cli import client
from cfnode.cli.credentials import node_token
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import json_option, node_option, timeout_option, typed_node_flag
from cfnode.cli.output import print_json, print_text
from cfnode.cli.tables import print_command, print_record
from cfnode.cli.values import AssetName, ChainName, UnitsOrAll, atoms, checked_address
from cfnode.core.assets import ForeignAsset, asset_text, whole_text
from cfnode.core.foreign import whole_number

__all__ = ["deposit", "refund_address", "register", "withdraw"]


def _calls_node(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add node, time limit and --json to a command; the node's own key is the provider's."""
    return node_option()(timeout_option()(json_option(command)))


@click.command()
@_calls_node
def register(url: str, timeout: float, as_json: bool) -> None:
    """Register the node's account as a liquidity provider; it needs FLIP for the fee."""
    transaction = client.call(url, "lp_register_account", [], timeout=timeout)
    _report("registered as a liquidity provider", transaction, as_json)


@click.command("refund-address")
@click.argument("chain", type=ChainName())
@click.argument("address")
@_calls_node
def refund_address(chain: str, address: str, url: str, timeout: float, as_json: bool) -> None:
    """Set the ADDRESS to which CHAIN's assets go back; without one no deposit channel can be opened."""
    address = checked_address(chain, address)
    method = "lp_register_liquidity_refund_address"
    transaction = client.call(url, method, [chain, address], timeout=timeout)
    _report(f"{chain} refunds go to {address}", transaction, as_json)


@click.command()
@click.argument("asset", type=AssetName())
@_calls_node
def deposit(asset: ForeignAsset, url: str, timeout: float, as_json: bool) -> None:
    """Open a deposit channel of the account for ASSET; what arrives there is its free balance."""
    params = [{"chain": asset.chain, "asset": asset.symbol}]
    answer = client.call(url, "lp_request_liquidity_deposit_address_v2", params, timeout=timeout)
    with client.reading(url):
        channel = answer["response"]
        address, expiry = str(channel["deposit_address"]), int(channel["deposit_chain_expiry_block"])
        is_development = client.call(url, "system_chainType", [], timeout=timeout) == "Development"
    expires = _expiry_time(url, asset.chain, expiry, timeout, is_development=is_development)
    if as_json:
        document = {"chain": asset.chain, "asset": asset.symbol, "depositAddress": address}
        times = {"expiryBlock": expiry, "estimatedExpiryTime": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        print_json(document | times | {"blockHash": answer["block_hash"]})
        return
    before = f"{expires:%Y-%m-%d %H:%M} UTC, chain time (block {expiry} of {asset.chain})"
    fields = [("send", asset.symbol), ("to", address), ("on", asset.chain), ("before", before)]
    print_record(fields, "Deposit channel")
    if is_development:
        print_text("")
        command = f"cfnode dev deposit {address} {asset_text(asset)} AMOUNT{typed_node_flag(url)}"
        print_command("Pay into it", command)


@click.command()
@click.argument("asset", type=AssetName())
@click.argument("amount", type=UnitsOrAll())
@click.argument("address")
@_calls_node
def withdraw(
    asset: ForeignAsset, amount: Decimal | None, address: str, url: str, timeout: float, as_json: bool
) -> None:
    """Send AMOUNT (whole units, or `all`) of the free balance of ASSET to ADDRESS on its chain."""
    address = checked_address(asset.chain, address)
    asset_members = {"chain": asset.chain, "asset": asset.symbol}
    smallest_units = _free(url, asset, timeout) if amount is None else atoms(amount, asset.decimals)
    if not smallest_units:
        text = f"the account has no free {asset_text(asset)} to withdraw"
        raise CommandFailure(f"{text}; `cfnode lp balances` prints what is free", ExitCode.USAGE)
    answer = client.call(
        url, "lp_withdraw_asset", [hex(smallest_units), asset_members, address, "InBlock"], timeout=timeout
    )
    with client.reading(url):
        details = answer["tx_details"]
        chain, number = details["response"]
        outcome = f"{whole_text(smallest_units, asset)} to {address}, payout {chain}-{number}"
    _report(
        outcome,
        details["tx_hash"],
        as_json,
        amount=str(smallest_units),
        **asset_members,
        egress=f"{chain}-{number}",
    )


def _expiry_time(url: str, chain: str, block: int, timeout: float, *, is_development: bool) -> datetime:
    """Return when the channel expires, in chain time: it is open, so no error may hide its address."""
    from cfnode.sdk import Networks, SwapSDK
    from cfnode.sdk.calls.channels import EstimateExpiry

    network = Networks.dev if is_development else Networks.mainnet  # a development chain has its own clock
    with SwapSDK(network=network, rpc_url=url, rpc_token=node_token(url), timeout=timeout) as sdk:
        return datetime.fromtimestamp(sdk.call(EstimateExpiry(chain, block)) / 1000, UTC)


def _free(url: str, asset: ForeignAsset, timeout: float) -> int:
    """Return the free balance of the node's account, in base units."""
    answer = client.call(url, "lp_free_balances", [], timeout=timeout)
    with client.reading(url):
        for chain, balances in answer.items():
            if chain == asset.chain and asset.symbol in balances:
                return whole_number(balances[asset.symbol])
    return 0


def _report(outcome: str, transaction: object, as_json: bool, **members: object) -> None:
    if as_json:
        print_json({"transaction": transaction, **members})
    else:
        print_text(f"{outcome}: transaction {transaction}")
