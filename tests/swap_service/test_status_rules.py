"""The status of a swap, from its first event to its last, by the rules alone: no node, no books."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.sdk import SwapStatus
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.statuses import status
from cfnode.swaps.checksums import checksum_address
from cfnode.swaps.events import KEY
from cfnode.swaps.fate import Fate
from cfnode.swaps.timing import lifetime_ms
from tests.support.swap_service.records import (
    AFFILIATE,
    BROKER,
    CHANNEL,
    DEPOSIT_ADDRESS,
    DESTINATION,
    EXPIRY,
    REFUND_ADDRESS,
    SENT,
    TRANSACTION,
    Announced,
    Record,
)

PAYLOAD = {"chain_id": 421_614, "contract": b"\xcc" * 20, "value": 0, "data": b"\x01\x02"}


def hex_of(data: bytes) -> str:
    """Return bytes as hexadecimal with 0x."""
    return f"0x{data.hex()}"


@pytest.fixture
def record() -> Record:
    """Return a channel that is open."""
    new_record = Record()
    new_record.opened()
    return new_record


def swapping(record: Record, **request: Any) -> None:
    """Let a deposit begin the swap."""
    record.requested(**request)
    record.deposited()


def sending(record: Record) -> None:
    """Let all be swapped, and the output be about to be sent."""
    swapping(record)
    record.scheduled(20, 997)
    record.executed(20, 997, 906)
    record.paid()
    record.completed()


def state(record: Record) -> str:
    """Return the state of the channel's swap."""
    return str(status(record, CHANNEL)["state"])


def test_the_states_from_the_channel_to_the_witnessed_transaction(record: Record) -> None:
    """Move from WAITING to COMPLETED by the events alone; SENT needs the signed transaction."""
    assert state(record) == "WAITING"
    record.announcements[DEPOSIT_ADDRESS] = Announced(1_000)
    assert state(record) == "RECEIVING"
    swapping(record)
    assert state(record) == "SWAPPING"
    record.scheduled(20, 997)
    record.executed(20, 997, 906)
    assert state(record) == "SWAPPING"
    record.paid()
    assert state(record) == "SENDING"
    record.completed()
    record.broadcast()
    assert state(record) == "SENDING"
    record.about_broadcast("TransactionBroadcastRequest", transaction_payload=PAYLOAD)
    assert state(record) == "SENT"
    record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    assert state(record) == "COMPLETED"


def test_a_swap_that_ends_without_an_egress_is_completed(record: Record) -> None:
    """Report a finished request that scheduled no payout as COMPLETED rather than as swapping for ever."""
    swapping(record)
    record.completed()
    assert state(record) == "COMPLETED"


def test_an_open_channel_names_its_terms(record: Record) -> None:
    """Name broker, affiliates, addresses, minimum price and expected amount before any deposit."""
    record.expectations[CHANNEL] = 1_000
    document = status(record, CHANNEL)
    channel = document["depositChannel"]
    assert (channel["id"], channel["depositAddress"]) == (CHANNEL, hex_of(DEPOSIT_ADDRESS[1]))
    assert (channel["createdAt"], channel["estimatedExpiryTime"]) == (
        60_000,
        60_000 + lifetime_ms("Ethereum"),
    )
    assert (channel["openedThroughBackend"], channel["expectedDepositAmount"]) == (True, "1000")
    assert channel["affiliateBrokers"] == [{"account": ss58.encode(AFFILIATE), "commissionBps": 5}]
    assert document["brokers"][0] == {"account": ss58.encode(BROKER), "commissionBps": 15}
    assert (document["srcAsset"], document["destAsset"], document["destChain"]) == ("ETH", "USDC", "Arbitrum")
    assert document["destAddress"] == checksum_address(DESTINATION[1])
    assert document["fillOrKillParams"]["refundAddress"] == checksum_address(REFUND_ADDRESS[1])
    assert document["fillOrKillParams"]["minPrice"] == "1000000000000", (
        "USDC has 12 decimals fewer than ether"
    )
    assert "deposit" not in document
    assert "boost" not in document
    assert document["lastStatechainUpdateAt"] == record.now


def test_a_channel_of_a_broker_has_no_expected_amount(record: Record) -> None:
    """Leave out the expected amount of a channel that a broker opened elsewhere: no one stated it here."""
    channel = status(record, CHANNEL)["depositChannel"]
    assert channel["openedThroughBackend"] is False
    assert "expectedDepositAmount" not in channel


@pytest.mark.parametrize(("height", "is_expired"), [(0, False), (EXPIRY, False), (EXPIRY + 1, True)])
def test_a_channel_expires_behind_its_last_block(record: Record, height: int, is_expired: bool) -> None:
    """Take deposits in the expiry block itself, and call the channel expired one block later."""
    record.heights["Ethereum"] = height
    assert status(record, CHANNEL)["depositChannel"]["isExpired"] is is_expired


def test_an_announced_deposit_has_no_confirmation(record: Record) -> None:
    """Give an announced deposit 0 confirmations, its amount and its transaction."""
    record.announcements[DEPOSIT_ADDRESS] = Announced(70, TRANSACTION)
    assert status(record, CHANNEL)["deposit"] == {
        "amount": "70", "txConfirmations": 0, "txRef": hex_of(TRANSACTION),
    }  # fmt: skip


def test_an_announced_deposit_is_to_the_newest_channel_with_its_address(record: Record) -> None:
    """Count an announced deposit for the newest channel with the address, not for the one before."""
    record.opened()
    record.announcements[DEPOSIT_ADDRESS] = Announced(70)
    older, newer = status(record, CHANNEL), status(record, "11-Ethereum-7")
    assert (older["state"], "deposit" in older) == ("WAITING", False)
    assert (newer["state"], newer["deposit"]["amount"]) == ("RECEIVING", "70")


def test_a_confirmed_deposit_takes_the_place_of_the_announced_one(record: Record) -> None:
    """Replace the announced amount by the witnessed one, with the block in place of confirmations."""
    record.announcements[DEPOSIT_ADDRESS] = Announced(70, TRANSACTION)
    swapping(record)
    deposit = status(record, CHANNEL)["deposit"]
    assert (deposit["amount"], deposit["txRef"]) == ("1000", hex_of(TRANSACTION))
    assert deposit["witnessedBlockIndex"] == "12-2"
    assert "txConfirmations" not in deposit


@pytest.mark.parametrize(
    ("reason", "name", "words"),
    [
        ("BelowMinimumDeposit", "BelowMinimumDeposit", "below the minimum"),
        (("NotEnoughToPayFees", {}), "NotEnoughToPayFees", "not enough to pay"),
        ("TransactionRejectedByBroker", "TransactionRejectedByBroker", "rejected by the broker"),
        ("SomethingNew", "SomethingNew", "The deposit was rejected"),
    ],
)
def test_a_rejected_deposit_is_a_failure_with_its_reason(
    record: Record, reason: Any, name: str, words: str
) -> None:
    """Report a rejected deposit as FAILED, in words for each known reason and for a new one."""
    record.rejected(reason)
    document = status(record, CHANNEL)
    assert document["state"] == "FAILED"
    assert document["deposit"]["failure"]["mode"] == "DEPOSIT_IGNORED"
    assert document["deposit"]["failure"]["reason"]["name"] == name
    assert words in document["deposit"]["failure"]["reason"]["message"]
    assert document["fees"] == []


def test_fees_are_summed_by_kind_and_asset_and_nothing_is_left_out(record: Record) -> None:
    """Add up fees of one kind, asset and chain over two chunks and over both payouts."""
    swapping(record, chunks=2)
    for swap in (20, 21):
        record.scheduled(swap, 498)
        record.executed(swap, 498, 450)
    record.paid()
    record.paid("Refund", 40, "Eth", 2)
    fees = {
        (fee["type"], fee["asset"], fee["chain"]): fee["amount"] for fee in status(record, CHANNEL)["fees"]
    }
    assert fees == {
        ("INGRESS", "ETH", "Ethereum"): "3",
        ("NETWORK", "USDC", "Ethereum"): "4",
        ("BROKER", "USDC", "Ethereum"): "2",
        ("EGRESS", "USDC", "Arbitrum"): "6",
        ("EGRESS", "ETH", "Ethereum"): "6",
        ("REFUND", "ETH", "Ethereum"): "4",
    }  # fmt: skip


# Chunks


def test_a_swap_without_chunks_has_its_one_swap(record: Record) -> None:
    """Give input, output and remainder of the only swap, and no member about chunks."""
    sending(record)
    swap = status(record, CHANNEL)["swap"]
    assert "dca" not in swap
    assert (swap["originalInputAmount"], swap["remainingInputAmount"]) == ("1000", "3")
    assert (swap["swappedInputAmount"], swap["swappedOutputAmount"]) == ("997", "906")
    assert (swap["regular"]["outputAmount"], swap["regular"]["retryCount"]) == ("906", 0)


def test_chunks_are_counted_and_the_next_one_is_named(record: Record) -> None:
    """Count one of three chunks as executed, and name the next with its retry and the retry's reason."""
    swapping(record, chunks=3)
    for swap in (20, 21):
        record.scheduled(swap, 333)
    record.executed(20, 333, 300)
    record.ended("SwapRescheduled", 21, "PriceImpactLimit")
    dca = status(record, CHANNEL)["swap"]["dca"]
    assert (dca["executedChunks"], dca["remainingChunks"]) == (1, 2)
    assert dca["lastExecutedChunk"]["outputAmount"] == "300"
    assert (dca["currentChunk"]["retryCount"], dca["currentChunk"]["inputAmount"]) == (1, "333")
    assert dca["currentChunk"]["latestSwapRescheduledReason"] == "PriceImpactLimit"


def test_an_aborted_chunk_is_not_waited_for(record: Record) -> None:
    """Name no current chunk once it was aborted: none is going to be executed."""
    swapping(record, chunks=2)
    record.scheduled(20, 500)
    record.ended("SwapAborted", 20, "MinPriceViolation")
    dca = status(record, CHANNEL)["swap"]["dca"]
    assert (dca["currentChunk"], dca["lastExecutedChunk"], dca["remainingChunks"]) == (None, None, 2)


# Egresses


def test_an_aborted_broadcast_is_a_failure_with_the_call_that_may_be_submitted(record: Record) -> None:
    """Hand out the aborted transaction's call, which anyone may submit to the vault."""
    sending(record)
    record.broadcast()
    record.about_broadcast("TransactionBroadcastRequest", transaction_payload=PAYLOAD)
    record.about_broadcast("BroadcastAborted")
    document = status(record, CHANNEL)
    assert document["state"] == "FAILED"
    assert document["swapEgress"]["failure"]["mode"] == "SENDING_FAILED"
    assert document["swapEgress"]["transactionPayload"] == {
        "contract": hex_of(b"\xcc" * 20), "value": "0", "chainId": "421614", "data": "0x0102",
    }  # fmt: skip


def test_an_aborted_batch_is_not_handed_out_after_a_rotation_of_the_key(record: Record) -> None:
    """The vault gives up the key that signed it; once it is signed again, it is handed out again."""
    sending(record)
    record.broadcast()
    record.about_broadcast("TransactionBroadcastRequest", transaction_payload=PAYLOAD)
    record.about_broadcast("BroadcastAborted")
    record.add("Validator", "RotationPhaseUpdated", KEY, new_phase=("ActivatingKeys", {}))
    assert "transactionPayload" in status(record, CHANNEL)["swapEgress"]  # the rotation may fail
    record.add("EvmThresholdSigner", "KeyRotationCompleted", KEY)
    egress = status(record, CHANNEL)["swapEgress"]
    assert "transactionPayload" not in egress
    assert egress["failure"]["reason"]["name"] == "FailedForeignChainCallExpired"
    failed = SwapStatus.from_json(status(record, CHANNEL)).failed_payout
    assert failed is not None
    assert (failed.fate, failed.command()) == (Fate.EXPIRED, None)
    again = PAYLOAD | {"data": b"\x03"}
    record.about_broadcast("CallResigned", transaction_payload=again)
    egress = status(record, CHANNEL)["swapEgress"]
    assert (egress["transactionPayload"]["data"], egress["failure"]["reason"]["name"]) == (
        "0x03",
        "BroadcastAborted",
    )


def test_a_failed_transfers_call_is_not_handed_out_with_an_earlier_keys_signature(record: Record) -> None:
    """It is signed again some blocks after the rotation."""
    sending(record)
    record.broadcast()
    success = record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    fallback(record, success.block.number)
    record.about_broadcast("CallResigned", number=31, transaction_payload=PAYLOAD)
    record.rotated()
    egress = status(record, CHANNEL)["swapEgress"]
    assert "transactionPayload" not in egress
    assert egress["failure"]["reason"]["name"] == "TransferFallbackRequested"
    record.about_broadcast("CallResigned", number=31, transaction_payload=PAYLOAD)
    assert "transactionPayload" in status(record, CHANNEL)["swapEgress"]


def test_an_aborted_batch_that_is_sent_again_is_on_its_way(record: Record) -> None:
    """Report a batch that is sent again as SENT without a failure, until it is aborted again."""
    sending(record)
    record.broadcast()
    record.about_broadcast("TransactionBroadcastRequest", transaction_payload=PAYLOAD)
    record.about_broadcast("BroadcastAborted")
    record.about_broadcast("TransactionBroadcastRequest", transaction_payload=PAYLOAD)
    document = status(record, CHANNEL)
    assert (document["state"], "failure" in document["swapEgress"]) == ("SENT", False)
    record.about_broadcast("BroadcastAborted")
    assert status(record, CHANNEL)["state"] == "FAILED"


def test_an_aborted_broadcast_that_succeeds_after_all_is_completed(record: Record) -> None:
    """Report an aborted broadcast that the chain witnessed after all as COMPLETED, with its transaction."""
    sending(record)
    record.broadcast()
    record.about_broadcast("BroadcastAborted")
    record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    document = status(record, CHANNEL)
    assert (document["state"], document["swapEgress"]["txRef"]) == ("COMPLETED", hex_of(SENT))
    assert "failure" not in document["swapEgress"]


def fallback(record: Record, block: int, asset: str = "ArbUsdc", amount: int = 900) -> None:
    """Add the request of a fallback call for a transfer that failed inside its batch."""
    record.add(
        "ArbitrumIngressEgress",
        "TransferFallbackRequested",
        ("fallback", asset, DESTINATION, amount),
        block=block,
        broadcast_id=31,
    )


def test_a_transfer_that_its_receiver_does_not_take_is_a_failure(record: Record) -> None:
    """Report a transfer that its receiver rejected as FAILED, with the fallback call to submit."""
    sending(record)
    record.broadcast()
    success = record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    fallback(record, success.block.number)
    record.about_broadcast("TransactionBroadcastRequest", number=31, transaction_payload=PAYLOAD)
    document = status(record, CHANNEL)
    assert document["state"] == "FAILED"
    assert document["swapEgress"]["failure"]["reason"]["name"] == "TransferFallbackRequested"
    assert document["swapEgress"]["transactionPayload"]["data"] == "0x0102"


def test_a_fallback_of_another_block_is_of_another_transfer(record: Record) -> None:
    """Ignore a fallback for an equal transfer in another block than the batch's success."""
    sending(record)
    record.broadcast()
    success = record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    fallback(record, success.block.number + 1)
    assert state(record) == "COMPLETED"


def test_an_output_below_the_egress_fee_is_a_failure(record: Record) -> None:
    """Report an output that the egress fee eats up as FAILED, with its own mode and reason."""
    swapping(record)
    record.add("Swapping", "SwapEgressIgnored", ("request", 12), amount=1, asset="ArbUsdc", reason=None)
    document = status(record, CHANNEL)
    assert document["state"] == "FAILED"
    assert document["swapEgress"]["failure"]["mode"] == "SWAP_OUTPUT_TOO_SMALL"
    assert document["swapEgress"]["failure"]["reason"]["name"] == "BelowEgressDustLimit"


def test_a_swap_with_a_refund_is_completed_when_both_are_witnessed(record: Record) -> None:
    """Complete a swap with output and refund only when both transactions are witnessed."""
    sending(record)
    record.paid("Refund", 40, "Eth", 2)
    record.broadcast()
    record.about_broadcast("BroadcastSuccess", transaction_ref=SENT)
    assert state(record) == "SENDING"
    record.broadcast("Ethereum", 2, 40)
    record.about_broadcast("TransactionBroadcastRequest", "Ethereum", 40, transaction_payload=None)
    assert state(record) == "SENT"
    record.about_broadcast("BroadcastSuccess", "Ethereum", 40, transaction_ref=TRANSACTION)
    document = status(record, CHANNEL)
    assert document["state"] == "COMPLETED"
    assert (document["swapEgress"]["txRef"], document["refundEgress"]["txRef"]) == (
        hex_of(SENT),
        hex_of(TRANSACTION),
    )


# Boosting


def boosted(record: Record) -> None:
    """Boost the deposit of 1,000 from two pools with a fee of 2."""
    record.opened(boost_fee=30)
    record.requested()
    record.add(
        "EthereumIngressEgress",
        "DepositBoosted",
        ("channel", "Ethereum", 7),
        ("request", 12),
        asset="Eth",
        amounts=[(5, 600), (10, 400)],
        boost_fee=[(5, 1), (10, 1)],
        ingress_fee=3,
        prewitnessed_deposit_id=9,
        deposit_details={"tx_hashes": [TRANSACTION]},
        channel_id=7,
        action=("Swap", {"swap_request_id": 12}),
    )


def test_a_boosted_deposit_names_its_fee_and_is_witnessed_later() -> None:
    """Name the boost's fee of 20 basis points at once, and the witnessed block once there is one."""
    record = Record()
    boosted(record)
    document = status(record, CHANNEL)
    assert document["boost"]["maxBoostFeeBps"] == 30
    assert (document["boost"]["effectiveBoostFeeBps"], document["boost"]["boostedBlockIndex"]) == (20, "12-2")
    assert document["deposit"] == {"amount": "1000", "txRef": hex_of(TRANSACTION)}
    assert {fee["type"]: fee["amount"] for fee in document["fees"]} == {"BOOST": "2", "INGRESS": "3"}
    record.add("EthereumIngressEgress", "DepositFinalised", ("credited", "Ethereum", 9))
    assert status(record, CHANNEL)["deposit"]["witnessedBlockIndex"] == "13-2"


def test_a_boost_without_liquidity_is_named_as_skipped() -> None:
    """Name the block in which boosting was skipped for lack of liquidity, and no fee."""
    record = Record()
    record.opened(boost_fee=30)
    record.add("EthereumIngressEgress", "InsufficientBoostLiquidity", ("channel", "Ethereum", 7))
    boost = status(record, CHANNEL)["boost"]
    assert boost == {"maxBoostFeeBps": 30, "skippedAt": 66_000, "skippedBlockIndex": "11-2"}


# References


def test_a_swap_is_found_by_channel_request_and_transaction(record: Record) -> None:
    """Find one swap by channel, request, and its transaction in either byte order and either case."""
    sending(record)
    by_channel = status(record, CHANNEL)
    backwards = TRANSACTION[::-1].hex()
    upper = f"0X{TRANSACTION.hex().upper()}"
    for reference in ("10-ethereum-7", "12", hex_of(TRANSACTION), TRANSACTION.hex(), backwards, upper):
        assert status(record, reference) == by_channel


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("10-Ethereum-8", 404),
        ("11-Ethereum-7", 404),
        ("10-Moon-7", 400),
        ("13", 404),
        ("9" * 21, 404),
        ("0x" + "ab" * 32, 404),
        ("no hex", 404),
        ("1" * 201, 404),
        ("", 404),
    ],
)
def test_a_reference_to_nothing_is_refused(record: Record, reference: str, code: int) -> None:
    """Refuse an unknown chain with 400, and an unknown, malformed or overlong reference with 404."""
    swapping(record)
    with pytest.raises(RequestRefusal) as caught:
        status(record, reference)
    assert caught.value.status == code


def test_the_latest_deposit_of_a_channel_counts(record: Record) -> None:
    """Report the channel's newest deposit, here a rejected one, while the first one's swap goes on."""
    sending(record)
    record.rejected("BelowMinimumDeposit")
    assert state(record) == "FAILED"
    assert status(record, "12")["state"] == "SENDING", "the swap of the first one goes on"


def test_a_deposit_that_only_pays_boosters_back_is_none(record: Record) -> None:
    """Leave the channel waiting when a deposit only repays those who boosted an earlier one."""
    record.deposited(action=("BoostersCredited", {"prewitnessed_deposit_id": 9}))
    assert state(record) == "WAITING"


@pytest.mark.parametrize("kind", ["NetworkFee", ("Regular", {"output_action": ("CreditOnChain", {})})])
def test_a_swap_that_pays_no_address_has_no_status(record: Record, kind: Any) -> None:
    """Refuse a status for the network's own swaps and for those that end as credit on chain."""
    request = record.requested()
    request.fields["request_type"] = kind
    with pytest.raises(RequestRefusal, match="not found"):
        status(record, "12")


def test_a_vault_swap_has_no_channel() -> None:
    """Give a vault swap's status by its request alone: no channel was ever opened."""
    record = Record()
    record.requested(origin=("Vault", {"tx_id": ("Evm", TRANSACTION)}))
    record.deposited()
    document = status(record, "12")
    assert "depositChannel" not in document
    assert (document["state"], document["swapId"]) == ("SWAPPING", "12")
