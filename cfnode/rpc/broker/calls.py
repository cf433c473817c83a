"""The `broker_*` methods for the broker's account, deposit channels, fees and private Bitcoin channels.

They submit extrinsics that the node signs with its broker key (Chainflip's broker RPC), and are in the table
only if the keystore holds exactly one broker key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.node.signing.broker import BrokerChannel, BrokerChannelRequest, BrokerClient, Withdrawal
from cfnode.rpc.table.broker_params import (
    AFFILIATES,
    ASSET,
    CCM,
    DCA,
    REFUND,
    RefundParameters,
    address_on,
    write_refund,
)
from cfnode.rpc.table.convert import TEXT, U16, to_hex, write_number_or_hex
from cfnode.rpc.table.rows import Access, Method, Param

if TYPE_CHECKING:
    from cfnode.node.node import Node


def broker_of(node: Node) -> BrokerClient:
    """Return the node's broker."""
    assert node.broker is not None  # the rows are in the table only then
    return node.broker


async def register_account(node: Node) -> str:
    """Register the node's account as a broker; return the transaction's hash."""
    return to_hex(await broker_of(node).register_account())


async def request_swap_deposit_address(
    node: Node,
    source: str,
    destination: str,
    destination_address: str,
    commission: int,
    ccm: dict[str, Any] | None,
    boost_fee: int | None,
    affiliates: tuple[dict[str, Any], ...] | None,
    refund: RefundParameters,
    dca: dict[str, Any] | None,
) -> dict[str, Any]:
    """Open a deposit channel; return the address to which a user sends `source_asset`."""
    request = BrokerChannelRequest(
        source_asset=source,
        destination_asset=destination,
        destination_address=address_on(ASSETS[destination].chain, destination_address, "destination_address"),
        broker_commission=commission,
        refund_parameters=refund.on(ASSETS[source].chain),
        channel_metadata=ccm,
        boost_fee=boost_fee or 0,
        affiliate_fees=affiliates or (),
        dca_parameters=dca,
    )
    return channel_json(await broker_of(node).request_swap_deposit_address(request))


def channel_json(channel: BrokerChannel) -> dict[str, Any]:
    """Return an open channel as clients read it."""
    return {
        "address": address_to_text(channel.address),
        "issued_block": channel.issued_block,
        "channel_id": channel.channel_id,
        "source_chain_expiry_block": write_number_or_hex(channel.source_chain_expiry_block),
        "channel_opening_fee": hex(channel.channel_opening_fee),
        "refund_parameters": write_refund(channel.refund_parameters),
    }


async def withdraw_fees(node: Node, asset: str, destination_address: str) -> dict[str, Any]:
    """Send the fees earned in an asset to an address on its chain."""
    address = address_on(ASSETS[asset].chain, destination_address, "destination_address")
    return withdrawal_json(await broker_of(node).withdraw_fees(asset, address))


def withdrawal_json(withdrawal: Withdrawal) -> dict[str, Any]:
    """Return a withdrawal as clients read it."""
    return {
        "tx_hash": to_hex(withdrawal.tx_hash),
        "egress_id": list(withdrawal.egress_id),
        "egress_amount": hex(withdrawal.egress_amount),
        "egress_fee": hex(withdrawal.egress_fee),
        "destination_address": address_to_text(withdrawal.destination_address),
    }


async def open_private_btc_channel(node: Node) -> int:
    """Open the broker's own Bitcoin channel for vault swaps; return its id."""
    return await broker_of(node).open_private_btc_channel()


async def close_private_btc_channel(node: Node) -> int:
    """Close the broker's own Bitcoin channel; return its id."""
    return await broker_of(node).close_private_btc_channel()


METHODS: Final = (
    Method(
        "broker_register_account",
        register_account,
        aliases=("broker_registerAccount",),
        access=Access.BROKER,
        submits=True,
    ),
    Method(
        "broker_request_swap_deposit_address",
        request_swap_deposit_address,
        aliases=("broker_requestSwapDepositAddress",),
        params=(
            Param("source_asset", ASSET),
            Param("destination_asset", ASSET),
            Param("destination_address", TEXT),
            Param("broker_commission", U16),
            Param("channel_metadata", CCM, optional=True),
            Param("boost_fee", U16, optional=True),
            Param("affiliate_fees", AFFILIATES, optional=True),
            Param("refund_parameters", REFUND),
            Param("dca_parameters", DCA, optional=True),
        ),
        access=Access.BROKER,
        submits=True,
    ),
    Method(
        "broker_withdraw_fees",
        withdraw_fees,
        aliases=("broker_withdrawFees",),
        params=(Param("asset", ASSET), Param("destination_address", TEXT)),
        access=Access.BROKER,
        submits=True,
    ),
    Method(
        "broker_open_private_btc_channel",
        open_private_btc_channel,
        aliases=("broker_openPrivateBtcChannel",),
        access=Access.BROKER,
        submits=True,
    ),
    Method(
        "broker_close_private_btc_channel",
        close_private_btc_channel,
        aliases=("broker_closePrivateBtcChannel",),
        access=Access.BROKER,
        submits=True,
    ),
)
