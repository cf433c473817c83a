"""Blocks made by hand in which the chain gives a channel's number out several times."""

from __future__ import annotations

from typing import Any

from cfnode.ledger.decoding import DecodedEvent

__all__ = [
    "BLOCKS",
    "ETHER",
    "EVM",
    "EXPIRY",
    "NUMBER",
    "OTHERS",
    "OURS",
    "deposit",
    "executed",
    "failed_deposit",
    "liquidity_opening",
    "opening",
]
__all__ += ["request"]

OURS, OTHERS = (bytes([number]) * 32 for number in (1, 2))
EVM = b"\xab" * 20
ETHER, NUMBER = 10**18, 7
EXPIRY = 500
"""The block of Ethereum at which a swap channel expires."""


def opening(index: int, broker: bytes) -> DecodedEvent:
    """Return a swap channel on Ethereum."""
    fields = {
        "source_asset": "Eth", "destination_asset": "Usdc", "channel_id": NUMBER, "broker_id": broker,
        "deposit_address": ("Eth", EVM), "destination_address": ("Eth", EVM), "broker_commission_rate": 10,
        "boost_fee": 0, "channel_opening_fee": 0, "source_chain_expiry_block": EXPIRY, "affiliate_fees": [],
        "channel_metadata": None, "dca_parameters": None,
        "refund_parameters": {"refund_address": ("Eth", EVM), "min_price": 0, "retry_duration": 1,
                              "refund_ccm_metadata": None, "max_oracle_price_slippage": None},
    }  # fmt: skip
    return DecodedEvent(index, "Swapping", "SwapDepositAddressReady", fields)


def liquidity_opening(index: int, account: bytes) -> DecodedEvent:
    """Return a liquidity provider's channel with the same number."""
    fields = {"asset": "Eth", "channel_id": NUMBER, "account_id": account, "deposit_address": ("Eth", EVM),
              "boost_fee": 0, "channel_opening_fee": 0, "deposit_chain_expiry_block": 900,
              "refund_address": ("Eth", EVM)}  # fmt: skip
    return DecodedEvent(index, "LiquidityProvider", "LiquidityDepositAddressReady", fields)


def deposit(index: int, amount: int, request: int | None, action: Any = None) -> DecodedEvent:
    """Return a deposit to the number: for a swap, with an action, or of liquidity."""
    if request is not None:
        action = ("Swap", {"swap_request_id": request})
    action = action or ("LiquidityProvision", {"lp_account": OTHERS})
    fields = {"deposit_address": EVM, "asset": "Eth", "amount": amount, "block_height": 1, "ingress_fee": 5,
              "deposit_details": {"tx_hashes": [bytes([amount % 250]) * 32]}, "max_boost_fee_bps": 0,
              "action": action, "channel_id": NUMBER, "origin_type": "DepositChannel"}  # fmt: skip
    return DecodedEvent(index, "EthereumIngressEgress", "DepositFinalised", fields)


def failed_deposit(index: int) -> DecodedEvent:
    """Return a deposit on Ethereum that was too small; the event names the address only."""
    witness = {"deposit_address": EVM, "asset": "Eth", "amount": 5,
               "deposit_details": {"tx_hashes": [bytes([9]) * 32]}}  # fmt: skip
    fields = {"block_height": 1, "reason": "BelowMinimumDeposit",
              "details": ("DepositFailedDepositChannelVariant", {"deposit_witness": witness})}  # fmt: skip
    return DecodedEvent(index, "EthereumIngressEgress", "DepositFailed", fields)


def request(index: int, number: int, broker: bytes, amount: int) -> DecodedEvent:
    """Return the swap request of a deposit."""
    origin = {
        "deposit_address": ("Eth", EVM),
        "channel_id": NUMBER,
        "deposit_block_height": 1,
        "broker_id": broker,
    }
    output = ("Egress", {"ccm_deposit_metadata": None, "output_address": ("Eth", EVM)})
    fields = {"swap_request_id": number, "input_asset": "Eth", "output_asset": "Usdc", "input_amount": amount,
              "origin": ("DepositChannel", origin), "request_type": ("Regular", {"output_action": output}),
              "broker_fees": [{"account": broker, "bps": 10}], "dca_parameters": None,
              "price_limits_and_expiry": None}  # fmt: skip
    return DecodedEvent(index, "Swapping", "SwapRequested", fields)


def executed(index: int, number: int, broker: bytes) -> list[DecodedEvent]:
    """Return a chunk, with a commission of 100."""
    credit = {"account_id": broker, "asset": "Usdc", "amount_credited": 100, "new_balance": 100}
    chunk = {"swap_request_id": number, "swap_id": number, "network_fee": 1, "broker_fee": 100,
             "input_amount": 50, "input_asset": "Eth", "output_asset": "Usdc", "output_amount": 49,
             "intermediate_amount": None, "oracle_delta": None}  # fmt: skip
    return [
        DecodedEvent(index, "AssetBalances", "AccountCredited", credit),
        DecodedEvent(index + 1, "Swapping", "SwapExecuted", chunk),
    ]


BLOCKS: list[list[DecodedEvent]] = [
    [opening(0, OURS)],
    [request(0, 1, OURS, ETHER), deposit(1, ETHER, 1), *executed(2, 1, OURS)],
    [opening(0, OTHERS)],
    [request(0, 2, OTHERS, 2 * ETHER), deposit(1, 2 * ETHER, 2), *executed(2, 2, OTHERS)],
    [liquidity_opening(0, OTHERS)],
    [deposit(0, 3 * ETHER, None)],
    [opening(0, OURS)],
    [request(0, 4, OURS, 4 * ETHER), deposit(1, 4 * ETHER, 4), *executed(2, 4, OURS)],
]
"""The number is used four times, the third time for liquidity; each channel is paid in the block after."""
