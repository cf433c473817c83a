"""Messages to contracts, and transfers that fail: what goes out, what stays, who may send it after all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rpc.scenarios.books import GAS, NETWORK, POOLS, STUCK, USER
from tests.rpc.scenarios.happenings import (
    DEFICIT,
    DONE,
    EPOCH,
    QUIET,
    REQUESTED,
    SENT,
    SIGNING,
    batched,
    deposited,
    landed,
    signed,
    swapped,
    together,
)
from tests.rpc.scenarios.rules import (
    ARB_EGRESS,
    ARB_TOKEN_EGRESS,
    BTC_INGRESS,
    CCM_GAS,
    ETH_EGRESS,
    ETH_GAS,
    TRX_EGRESS,
    TRX_TOKEN_EGRESS,
    USDC_EGRESS,
    NetworkFee,
    Swapped,
)
from tests.rpc.scenarios.story import BITCOIN, EmittedEvents, Story
from tests.support.rpc.assets import BTC, ETH, EVM_ADDRESS

SWAPPING = BITCOIN - BTC_INGRESS
MESSAGE = {"message": "0x68656c6c6f", "gas_budget": "0x186a0", "ccm_additional_data": "0x"}
GAS_LIMIT = 100_000 + CCM_GAS + len(b"hello")
TRON_ADDRESS = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
NONCE, TRANSFER = slice(-320, -256), slice(-192, None)
"""Where they stand in the digits of a fallback's call."""
COINS = {"Ethereum": ("Eth", "Usdc"), "Arbitrum": ("ArbEth", "ArbUsdc"), "Tron": ("Trx", "TrxUsdt")}
COIN_EGRESS = {"Ethereum": ETH_EGRESS, "Arbitrum": ARB_EGRESS}
TOKEN_EGRESS = {"Ethereum": USDC_EGRESS, "Arbitrum": ARB_TOKEN_EGRESS, "Tron": TRX_TOKEN_EGRESS}


def divided(story: Story, swap: Swapped, gas: dict[str, int]) -> dict[str, Any]:
    """Return the parts of a bitcoin after a swap by owner, without its output."""
    return {
        USER: {"Btc": -BITCOIN},
        "broker": {"Usdc": swap.shares[0]},
        NETWORK: {"Usdc": swap.network},
        GAS: {"Btc": BTC_INGRESS} | gas,
        POOLS: story.rules.moved,
    }


# Messages


@pytest.mark.world
async def test_a_message_to_a_contract_ccm(story: Story) -> None:
    """Send a message with its gas to the receiver's contract, and charge the gas."""
    address = await story.open(BTC, ETH, channel_metadata=MESSAGE)
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(4)
    emitted = await story.new_events()
    emitted.check(
        deposited("Bitcoin"),
        QUIET,
        together(swapped(), SENT, batched("Ethereum", "CcmBroadcastRequested")),
        signed("Ethereum"),
        landed("Ethereum"),
    )
    assert (
        emitted.one("CcmBroadcastRequested")["egress_id"] == emitted.one("SwapEgressScheduled")["egress_id"]
    )
    sent = emitted.one("TransactionBroadcastRequest")["transaction_payload"]
    assert b"hello" in sent["data"]
    assert sent["gas_limit"] == GAS_LIMIT
    swap, fee = story.rules.swap("Btc", "Eth", SWAPPING, 10), GAS_LIMIT * ETH_GAS
    await story.closes(divided(story, swap, {"Eth": fee}) | {EVM_ADDRESS: {"Eth": swap.output - fee}})


@pytest.mark.world
async def test_a_message_that_no_authority_can_send(story: Story) -> None:
    """Offer a message that no authority can send as a call that anyone may make."""
    address = await story.open(BTC, ETH, channel_metadata=MESSAGE)
    await story.call("dev_abortBroadcast", "Ethereum")
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(4)
    emitted = await story.new_events()
    emitted.check(
        QUIET,
        deposited("Bitcoin"),
        QUIET,
        together(swapped(), SENT, batched("Ethereum", "CcmBroadcastRequested")),
        signed("Ethereum"),
        ["EthereumIngressEgress.CcmBroadcastFailed", "EthereumBroadcaster.BroadcastAborted"],
    )
    broadcast = emitted.one("CcmBroadcastFailed")["broadcast_id"]
    call = await story.call("cf_failed_call_ethereum", broadcast)
    swap, fee = story.rules.swap("Btc", "Eth", SWAPPING, 10), GAS_LIMIT * ETH_GAS
    assert paid_by(story, "Ethereum", call) == (EVM_ADDRESS, "Eth", swap.output - fee)
    assert "68656c6c6f" in call["data"]
    assert int(call["gas_limit"], 16) == GAS_LIMIT
    await story.closes(divided(story, swap, {"Eth": fee}) | {STUCK: {"Eth": swap.output - fee}})


def paid_by(story: Story, chain: str, call: Any) -> tuple[str, str, int]:
    """Return receiver, asset and amount of a call on offer."""
    (transfer,) = story.outside.transfers(chain, bytes.fromhex(call["data"].removeprefix("0x")))
    return transfer


# Transfers


@pytest.mark.world
async def test_a_transaction_that_is_late(story: Story) -> None:
    """Report a late transaction as failed, and complete the swap when it arrives after all."""
    await story.call("dev_holdBroadcasts", "Ethereum")
    address = await story.open(BTC, ETH)
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(4)
    (await story.new_events()).check(
        deposited("Bitcoin"),
        QUIET,
        together(swapped(), SENT, batched("Ethereum")),
        signed("Ethereum"),
        QUIET,
    )
    swap = story.rules.swap("Btc", "Eth", SWAPPING, 10)
    sent, shares = swap.output - ETH_EGRESS, divided(story, swap, {"Eth": ETH_EGRESS})
    await story.closes(shares | {STUCK: {"Eth": sent}})
    await story.call("dev_timeTravel", 20 * 14_000)  # twenty blocks of Ethereum
    await story.seal(2)
    assert (await story.get(f"/v2/swaps/{story.channels[0]}"))["state"] == "FAILED"
    await story.call("dev_holdBroadcasts", "Ethereum", False)
    await story.seal(1)
    broadcaster = "EthereumBroadcaster"
    (await story.new_events()).check(
        QUIET,
        [f"{broadcaster}.BroadcastTimeout", f"{broadcaster}.BroadcastAborted"],
        landed("Ethereum"),
        QUIET,
    )
    assert (await story.get(f"/v2/swaps/{story.channels[0]}"))["state"] == "COMPLETED"
    await story.closes(shares | {EVM_ADDRESS: {"Eth": sent}})


async def failed_transfer(
    story: Story, chain: str, symbol: str, receiver: str = EVM_ADDRESS
) -> EmittedEvents:
    """Make a swap whose receiver fails; return the events up to the fallback."""
    asset = {"chain": chain, "asset": symbol}
    await story.fail(receiver, asset)
    address = await story.open(BTC, asset, destination_address=receiver)
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(5)
    return await story.new_events()


def fallback(chain: str) -> list[str]:
    """Return the events after a receiver did not take its transfer: a call that pays it is to be signed."""
    return together(landed(chain), batched(chain, "TransferFallbackRequested"))


@pytest.mark.parametrize("chain", ["Ethereum", "Arbitrum"])
async def test_a_transfer_of_ether_that_fails(story: Story, chain: str) -> None:
    """Offer a failed transfer of ether for two epochs, signed anew in the second."""
    emitted, asset, fee = await failed_transfer(story, chain, "ETH"), COINS[chain][0], COIN_EGRESS[chain]
    emitted.check(
        deposited("Bitcoin"),
        QUIET,
        together(swapped(), SENT, batched(chain)),
        signed(chain),
        fallback(chain),
        signed(chain, "CallResigned"),
    )
    swap = story.rules.swap("Btc", asset, SWAPPING, 10)
    owed = (EVM_ADDRESS, asset, swap.output - fee)
    await offered_for_two_epochs(story, chain, emitted, owed)
    await story.closes(divided(story, swap, {asset: fee}) | {STUCK: {asset: swap.output - fee}})


async def offered_for_two_epochs(
    story: Story, chain: str, emitted: EmittedEvents, owed: tuple[str, str, int]
) -> None:
    """Check the offer: in its own epoch, in the next with another signature, and then no more."""
    offer, requested = f"cf_failed_call_{chain.lower()}", emitted.one("TransferFallbackRequested")
    assert (requested["asset"], requested["amount"]) == owed[1:]
    first = await story.call(offer, requested["broadcast_id"])
    assert paid_by(story, chain, first) == owed
    await story.call("dev_nextEpoch")
    await story.seal(2)
    pallet = f"{chain}IngressEgress.FailedForeignChainCall"
    (await story.new_events()).check(
        QUIET,
        [EPOCH[0], DEFICIT, *EPOCH[1:], SIGNING, f"{pallet}Resigned"],
        signed(chain, "CallResigned"),
        QUIET,
    )
    second = await story.call(offer, requested["broadcast_id"])
    assert {name for name in first if first[name] != second[name]} == {"data"}
    # The nonce and the transfer stay; only the signature is another.
    for place in (NONCE, TRANSFER):
        assert first["data"][place] == second["data"][place]
    await story.call("dev_nextEpoch")
    assert await story.call(offer, requested["broadcast_id"]) is None
    (await story.new_events()).check(QUIET, [EPOCH[0], DEFICIT, *EPOCH[1:], f"{pallet}Expired"])


@pytest.mark.world
@pytest.mark.parametrize("chain", ["Ethereum", "Arbitrum"])
async def test_a_token_that_its_contract_refuses_the_receiver(story: Story, chain: str) -> None:
    """Offer a token that its contract refuses the receiver, whose fee was swapped into the chain's coin."""
    emitted = await failed_transfer(story, chain, "USDC")
    await refused_token(story, chain, emitted, EVM_ADDRESS)


async def refused_token(story: Story, chain: str, emitted: EmittedEvents, receiver: str) -> None:
    """Check that a token stays in the vault and is offered; its fee was swapped into the chain's coin."""
    coin, token = COINS[chain]
    legs = 1 if token == "Usdc" else 2
    emitted.check(
        deposited("Bitcoin"),
        QUIET,
        together(swapped(legs=legs), REQUESTED, SENT, batched(chain)),
        signed(chain),
        together(fallback(chain), swapped(legs=legs, shares=0), DONE),
        signed(chain, "CallResigned"),
    )
    swap = story.rules.swap("Btc", token, SWAPPING, 10)
    fee = story.rules.convert(token, coin, TOKEN_EGRESS[chain])
    gas = story.rules.swap(token, coin, fee, fee=NetworkFee(minimum=0))
    requested = emitted.one("TransferFallbackRequested")
    call = await story.call(f"cf_failed_call_{chain.lower()}", requested["broadcast_id"])
    assert paid_by(story, chain, call) == (receiver, token, swap.output - fee)
    network = {"Usdc": swap.network + gas.network}
    shares = divided(story, swap, {coin: gas.output}) | {NETWORK: network}
    await story.closes(shares | {STUCK: {token: swap.output - fee}})


@pytest.mark.world
@pytest.mark.parametrize("symbol", ["TRX", "USDT"])
async def test_a_transfer_that_fails_on_tron(story: Story, symbol: str) -> None:
    """Offer a failed token on Tron, but nothing for failed TRX."""
    emitted = await failed_transfer(story, "Tron", symbol, TRON_ADDRESS)
    if symbol == "USDT":
        await refused_token(story, "Tron", emitted, TRON_ADDRESS)
        return
    emitted.check(
        deposited("Bitcoin"),
        QUIET,
        together(swapped(), SENT, batched("Tron")),
        signed("Tron"),
        landed("Tron"),  # and nothing of what its receiver did not take
        QUIET,
    )
    swap = story.rules.swap("Btc", "Trx", SWAPPING, 10)
    sent = emitted.one("TransactionBroadcastRequest")["broadcast_id"]
    assert await story.call("cf_failed_call_tron", sent) is None
    left = swap.output - TRX_EGRESS
    await story.closes(divided(story, swap, {"Trx": TRX_EGRESS}) | {STUCK: {"Trx": left}})
