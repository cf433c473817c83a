"""What is sent: batches, signatures, broadcasts and their ends; transfers that fail and their fallbacks."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core import schnorr
from cfnode.core.extrinsic import bare_extrinsic
from cfnode.core.hashing import keccak_256
from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import NATIVE_TOKEN, ReplayProtection, TransferParams, transfer_fallback
from cfnode.devchain.runtime.chains import ASSET_TERMS
from cfnode.devchain.runtime.config import CONTRACTS, DevGenesis, EvmAddresses
from cfnode.devchain.runtime.pallets.witnesses import Witnesses
from tests.devchain.runtime.broker import address_on, ccm, request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC, Swapper
from tests.support.devchain.egress import API, failed_transfer, fails, signed_transfer

ARBITRUM = CONTRACTS["Arbitrum"]
ETHEREUM = CONTRACTS["Ethereum"]
TRON = CONTRACTS["Tron"]
WALLET = address_on("Ethereum")[1]
CHAIN_ASSET = {"Ethereum": ("Eth", ETHEREUM), "Arbitrum": ("ArbEth", ARBITRUM)}


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def extrinsic_events(broker: Swapper) -> list[str]:
    """Return the events of the block's extrinsics, without those of the timestamp."""
    return [
        f"{pallet}.{name}"
        for phase, pallet, name, _ in broker.world.events()
        if phase[0] == "ApplyExtrinsic" and phase[1] > 0
    ]


def next_epoch(broker: Swapper) -> None:
    """End the epoch."""
    assert broker.dev("end_epoch") == "Ok"
    broker.blocks(1)


# A batch from end to end


def test_a_deposit_is_fetched_by_a_batch_of_its_block(broker: Swapper) -> None:
    """Fetch a deposit by a batch of the block that witnesses it."""
    assert broker.deposit("Eth", "Btc", ETHER)[-2:] == [
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.BatchBroadcastRequested",
    ]
    assert broker.event("BatchBroadcastRequested") == {"broadcast_id": 1, "egress_ids": []}


def test_a_signature_comes_in_the_next_block_and_the_broadcast_begins(broker: Swapper) -> None:
    """Sign in the next block by the chain's key, and request the broadcast with the fetch as its data."""
    broker.deposit("Eth", "Btc", ETHER)
    asked = broker.event("ThresholdSignatureRequest")
    broker.blocks(1)
    assert extrinsic_events(broker) == [
        "EvmThresholdSigner.ThresholdSignatureSuccess",
        "EthereumBroadcaster.TransactionBroadcastRequest",
        "EvmThresholdSigner.ThresholdDispatchComplete",
        "System.ExtrinsicSuccess",
    ]
    sent = broker.event("TransactionBroadcastRequest")
    public, _ = broker.world.api(API + "eth_vault")
    assert schnorr.verify(public, asked["payload"], Signature(**sent["transaction_out_id"]))
    transaction = sent["transaction_payload"]
    assert (transaction["contract"], transaction["chain_id"]) == (ETHEREUM.vault, ETHEREUM.chain_id)
    assert (transaction["max_fee_per_gas"], transaction["gas_limit"]) == (4_100_000_000, None)
    assert transaction["data"][:4].hex() == "5f8c0f9a"
    # the fetch deploys the contract of channel 1 for the chain's own coin
    assert transaction["data"][-32 * 4 : -32].endswith(
        (1).to_bytes(32, "big") + NATIVE_TOKEN.rjust(32, b"\0") + bytes(32)
    )


def test_the_transaction_is_on_its_chain_a_block_later_and_all_is_forgotten(broker: Swapper) -> None:
    """Succeed a block after the signature, deploy the channel's contract and remove all that was pending."""
    opened = broker.opened(**request("Eth", "Btc"))
    broker.pay(opened["deposit_address"], "Eth", ETHER)
    broker.blocks(2)
    assert broker.happened()[:2] == [
        "EthereumBroadcaster.TransactionFeeDeficitRecorded",
        "EthereumBroadcaster.BroadcastSuccess",
    ]
    for item in ("PendingBroadcasts", "Timeouts"):
        assert broker.world.stored("EthereumBroadcaster", item) == []
    for item in ("AwaitingBroadcast", "PendingApiCalls", "TransactionMetadata"):
        assert broker.world.stored("EthereumBroadcaster", item, 1) is None
    channel = broker.world.stored(
        "EthereumIngressEgress", "DepositChannelLookup", opened["deposit_address"][1]
    )
    assert channel["deposit_channel"]["state"][0] == "Deployed"


def test_a_second_deposit_waits_until_the_contract_is_there(broker: Swapper) -> None:
    """Delay a second fetch until the contract is deployed: a second deployment would revert."""
    opened = broker.opened(**request("Usdc", "Btc"))
    broker.pay(opened["deposit_address"], "Usdc", 100 * USDC)
    assert "EthereumIngressEgress.BatchBroadcastRequested" not in broker.pay(
        opened["deposit_address"], "Usdc", 100 * USDC
    )
    queued = broker.world.stored("EthereumIngressEgress", "ScheduledEgressFetchOrTransfer")
    assert [kind for kind, _ in queued] == ["Fetch"]
    assert "EthereumIngressEgress.BatchBroadcastRequested" in broker.blocks(1)[0]
    assert broker.world.stored("EthereumIngressEgress", "ScheduledEgressFetchOrTransfer") == []


def test_a_swaps_output_goes_out_in_the_block_of_the_swap(broker: Swapper) -> None:
    """Send a swap's output in the block of the swap, to the address of the request."""
    broker.deposit("Btc", "Eth", BITCOIN)
    names = broker.blocks(2)[-1]
    assert names[-4:] == [
        "Swapping.SwapEgressScheduled",
        "Swapping.SwapRequestCompleted",
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.BatchBroadcastRequested",
    ]
    assert broker.event("BatchBroadcastRequested")["egress_ids"] == [("Ethereum", 1)]
    amount = broker.event("SwapEgressScheduled")["amount"]
    broker.blocks(1)
    data = broker.event("TransactionBroadcastRequest")["transaction_payload"]["data"]
    assert data.endswith(NATIVE_TOKEN.rjust(32, b"\0") + WALLET.rjust(32, b"\0") + amount.to_bytes(32, "big"))


@pytest.mark.parametrize(("asset", "chain"), [("Btc", "Bitcoin"), ("Sol", "Solana"), ("HubDot", "Assethub")])
def test_other_chains_have_broadcasts_too(broker: Swapper, asset: str, chain: str) -> None:
    """Broadcast and succeed on chains other than Ethereum, too."""
    broker.deposit("Eth", asset, ETHER)
    broker.blocks(2)
    (batch,) = broker.all_of("BatchBroadcastRequested")
    assert batch["egress_ids"] == [(chain, 1)]
    assert f"{chain}Broadcaster.BroadcastSuccess" in broker.blocks(2)[-1]
    assert broker.world.stored(f"{chain}Broadcaster", "PendingBroadcasts") == []


def test_a_message_is_sent_on_its_own_with_its_gas(broker: Swapper) -> None:
    """Send a message in a transaction of its own with the gas that it asks for."""
    broker.deposit("Btc", "Eth", BITCOIN, channel_metadata=ccm(b"hello"))
    assert broker.blocks(2)[-1][-2:] == [
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.CcmBroadcastRequested",
    ]
    assert broker.event("CcmBroadcastRequested") == {"broadcast_id": 1, "egress_id": ("Ethereum", 1)}
    broker.blocks(1)
    transaction = broker.event("TransactionBroadcastRequest")["transaction_payload"]
    assert transaction["gas_limit"] == 100_000 + 90_000 + 5
    assert transaction["data"][:4].hex() == "5293178e"
    assert "EthereumBroadcaster.BroadcastSuccess" in broker.blocks(1)[0]


def test_a_forged_signature_is_refused(broker: Swapper) -> None:
    """Refuse a forged signature as a bad proof, and one for an unknown ceremony as stale."""
    broker.deposit("Eth", "Btc", ETHER)
    forged = {"s": keccak_256(b"s"), "k_times_g_address": b"\x01" * 20}

    def verdict(ceremony_id: int) -> Any:
        call = broker.world.call(
            "EvmThresholdSigner", "signature_success", ceremony_id=ceremony_id, signature=forged
        )
        return broker.world.validate(bare_extrinsic(call))

    assert verdict(1) == ("Err", ("Invalid", "BadProof"))
    assert verdict(99) == ("Err", ("Invalid", "Stale"))


# Transfers that fail


def test_a_failed_transfer_leaves_a_fallback_and_the_others_go_through(broker: Swapper) -> None:
    """Request a fallback for a failed transfer alone, sign it, and do not broadcast it."""
    fails(broker, "Eth")
    other = ("Eth", b"\x22" * 20)
    channels = [
        broker.opened(**request("Btc", "Eth", **changes))["deposit_address"]
        for changes in ({}, {"destination_address": other})
    ]
    with broker.arranging() as runtime:
        runtime.pallet(Witnesses).see_deposit(channels[0], "Btc", BITCOIN, None)
    broker.pay(channels[1], "Btc", BITCOIN)
    broker.blocks(2)
    sent = broker.all_of("SwapEgressScheduled")
    assert len(sent) == 2
    names = broker.blocks(2)[-1]
    assert names == [
        "EthereumBroadcaster.TransactionFeeDeficitRecorded",
        "EthereumBroadcaster.BroadcastSuccess",
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.TransferFallbackRequested",
    ]
    requested = broker.event("TransferFallbackRequested")
    assert requested == {
        "asset": "Eth",
        "amount": sent[0]["amount"],
        "destination_address": WALLET,
        "broadcast_id": 2,
        "egress_details": None,
    }
    assert broker.world.api(API + "failed_call_ethereum", 2) is None  # not signed yet
    broker.blocks(1)
    assert extrinsic_events(broker)[:3] == [
        "EvmThresholdSigner.ThresholdSignatureSuccess",
        "EthereumBroadcaster.CallResigned",
        "EvmThresholdSigner.ThresholdDispatchComplete",
    ]
    assert broker.event("CallResigned")["transaction_payload"] == broker.world.api(
        API + "failed_call_ethereum", 2
    )
    assert broker.world.stored("EthereumBroadcaster", "PendingBroadcasts") == []


@pytest.mark.parametrize("chain", ["Ethereum", "Arbitrum"])
@pytest.mark.parametrize("token", [False, True])
def test_a_fallback_pays_the_failed_transfer_and_is_signed_for_this_vault(
    broker: Swapper, chain: str, token: bool
) -> None:
    """Sign a fallback that pays the failed transfer, for this vault and chain and no other."""
    asset, contracts = CHAIN_ASSET[chain]
    if token:
        asset = {"Ethereum": "Usdc", "Arbitrum": "ArbUsdc"}[chain]
    requested = failed_transfer(broker, asset, chain)
    broker.blocks(1)
    offered = broker.world.api(f"{API}failed_call_{chain.lower()}", requested["broadcast_id"])
    assert {name: value for name, value in offered.items() if name != "data"} == {
        "chain_id": contracts.chain_id,
        "max_priority_fee_per_gas": None,
        "max_fee_per_gas": None,
        "gas_limit": None,
        "contract": contracts.vault,
        "value": 0,
    }
    assert len(offered["data"]) == 196
    nonce, signature, transfer = signed_transfer(offered["data"])
    assert transfer == TransferParams(ASSET_TERMS[asset].token, WALLET, requested["amount"])
    assert nonce == broker.world.stored("Environment", f"{chain}SignatureNonce")
    protection = ReplayProtection(nonce, contracts.chain_id, contracts.key_manager, contracts.vault)
    message = transfer_fallback(transfer).message_hash(protection)
    public, _ = broker.world.api(API + "eth_vault")
    assert schnorr.verify(public, message, signature)


def test_a_fallback_is_signed_anew_in_the_next_epoch_and_gone_in_the_one_after(broker: Swapper) -> None:
    """Sign a fallback again with the next epoch's key, under its nonce, and remove it an epoch later."""
    broadcast_id = failed_transfer(broker, "Eth")["broadcast_id"]
    broker.blocks(1)
    first = broker.world.api(API + "failed_call_ethereum", broadcast_id)
    next_epoch(broker)
    assert "EthereumIngressEgress.FailedForeignChainCallResigned" in broker.happened()
    assert broker.world.api(API + "failed_call_ethereum", broadcast_id) == first  # the old one until then
    broker.blocks(1)
    assert broker.event("CallResigned")["broadcast_id"] == broadcast_id
    second = broker.world.api(API + "failed_call_ethereum", broadcast_id)
    (nonce, signature, transfer), (nonce2, signature2, transfer2) = (
        signed_transfer(transaction["data"]) for transaction in (first, second)
    )
    assert (nonce, transfer) == (nonce2, transfer2)
    assert signature != signature2
    protection = ReplayProtection(nonce, ETHEREUM.chain_id, ETHEREUM.key_manager, ETHEREUM.vault)
    message = transfer_fallback(transfer).message_hash(protection)
    public, _ = broker.world.api(API + "eth_vault")
    assert schnorr.verify(public, message, signature2)
    next_epoch(broker)
    assert broker.event("FailedForeignChainCallExpired") == {"broadcast_id": broadcast_id}
    assert broker.world.api(API + "failed_call_ethereum", broadcast_id) is None
    assert broker.world.stored("EthereumBroadcaster", "PendingApiCalls", broadcast_id) is None


def test_one_failed_call_is_reviewed_in_a_block_the_last_first(broker: Swapper) -> None:
    """Review one failed call a block after the end of an epoch, the last one first."""
    ids = [failed_transfer(broker, "Eth")["broadcast_id"] for _ in range(2)]
    broker.blocks(1)
    next_epoch(broker)
    assert broker.event("FailedForeignChainCallResigned")["broadcast_id"] == ids[1]
    assert broker.world.api(API + "failed_call_ethereum", ids[0]) is None  # its turn is yet to come
    broker.blocks(1)
    assert broker.event("FailedForeignChainCallResigned")["broadcast_id"] == ids[0]
    assert broker.world.api(API + "failed_call_ethereum", ids[0]) is not None


def test_a_receiver_that_has_been_repaired_is_paid_again(broker: Swapper) -> None:
    """Pay a receiver again that no longer refuses, without a fallback."""
    failed_transfer(broker, "Eth")
    fails(broker, "Eth", fails=False)
    broker.deposit("Btc", "Eth", BITCOIN)
    broker.blocks(4)
    assert broker.all_of("TransferFallbackRequested") == []


def test_a_failed_transfer_on_tron_has_a_fallback_only_for_a_token(broker: Swapper) -> None:
    """Offer a fallback on Tron for a token only: a transfer of its own coin that fails has none."""
    failed_transfer_to_tron = failed_transfer(broker, "TrxUsdt", "Tron")
    broker.blocks(1)
    offered = broker.world.api(API + "failed_call_tron", failed_transfer_to_tron["broadcast_id"])
    assert (
        offered["function_selector"]
        == b"transferFallback((uint256,uint256,address),(address,address,uint256))"
    )
    assert (offered["contract"], offered["value"], offered["fee_limit"]) == (TRON.vault, 0, None)
    fails(broker, "Trx", "Tron")
    broker.deposit("Btc", "Trx", BITCOIN)
    broker.blocks(4)
    assert "TronBroadcaster.BroadcastSuccess" in broker.happened()
    assert broker.all_of("TransferFallbackRequested") == []


def test_a_message_that_its_receiver_refuses_is_offered_to_everybody(broker: Swapper) -> None:
    """Abort a message that its receiver refuses, and offer its call with its gas for anyone to send."""
    fails(broker, "Eth")
    broker.deposit("Btc", "Eth", BITCOIN, channel_metadata=ccm(b"hello"))
    assert broker.blocks(4)[-1] == [
        "EthereumIngressEgress.CcmBroadcastFailed",
        "EthereumBroadcaster.BroadcastAborted",
    ]
    offered = broker.world.api(API + "failed_call_ethereum", 1)
    assert (offered["data"][:4].hex(), offered["gas_limit"]) == ("5293178e", 190_005)
    assert broker.world.stored("EthereumBroadcaster", "AbortedBroadcasts") == [1]


def test_a_batch_that_no_authority_could_send_is_kept(broker: Swapper) -> None:
    """Keep an aborted batch without offering it as a failed call."""
    broker.deposit("Btc", "Eth", BITCOIN)
    broker.dev("abort_next_broadcast", chain="Ethereum")
    assert broker.blocks(3)[-1] == ["EthereumBroadcaster.BroadcastAborted"]
    assert broker.world.stored("EthereumBroadcaster", "AwaitingBroadcast", 1) is not None
    assert broker.world.api(API + "failed_call_ethereum", 1) is None
    assert broker.blocks(3) == [[], [], []]


def test_other_contracts_sign_for_other_vaults() -> None:
    """Sign for the vault and the chain id of the genesis configuration."""
    contracts = EvmAddresses(31_337, b"\x0a" * 20, b"\x0b" * 20, ETHEREUM.tokens)
    broker = Swapper(config=DevGenesis(contracts=(("Ethereum", contracts),)))
    broker.deposit("Btc", "Eth", BITCOIN)
    broker.blocks(3)
    transaction = broker.event("TransactionBroadcastRequest")["transaction_payload"]
    assert (transaction["contract"], transaction["chain_id"]) == (b"\x0b" * 20, 31_337)


def test_signatures_follow_the_inherents_of_their_block(broker: Swapper) -> None:
    """Apply signatures after the inherents of their block."""
    broker.deposit("Eth", "Btc", ETHER)
    accounts = broker.world.runtime.composition.codec_of("Vec<(AccountId32, u128)>")
    listed = accounts.encode([(b"\x55" * 32, 10**21)])
    broker.world.block(extra=[(b"devfund0", listed)])
    names = [(phase[1], name) for phase, _, name, _ in broker.world.events() if phase != "Finalization"]
    funded = next(index for index, name in names if name == "Funded")
    signed = next(index for index, name in names if name == "ThresholdSignatureSuccess")
    assert funded < signed
