"""Events of the genesis release become those of today: channels, deposits, swaps, payouts, withdrawals."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.addresses import NETWORKS
from cfnode.core.scale.metadata import decode_metadata
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent
from cfnode.ledger.rows import Known, rows_of
from cfnode.swaps.genesis_events import NO_CALL, NamedEvent, is_genesis_release, todays_events
from tests.conftest import shared

ALICE, BOB = b"\xa1" * 32, b"\xb0" * 32
ETH, BTC = ("Eth", b"\x11" * 20), ("Btc", b"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq")


def paid(account: bytes) -> list[NamedEvent]:
    """Return the end of an account's call."""
    fee = {"who": account, "actual_fee": 5, "tip": 0}
    return [("TransactionPayment", "TransactionFeePaid", fee), ("System", "ExtrinsicSuccess", {})]


CHANNEL = "Swapping", "SwapDepositAddressReady", {
    "deposit_address": ETH, "destination_address": BTC, "source_asset": "Eth", "destination_asset": "Btc",
    "channel_id": 3, "broker_commission_rate": 25, "channel_metadata": None, "source_chain_expiry_block": 99,
}  # fmt: skip


def swap_of(number: int, channel: int, amount: int, commission: int) -> list[NamedEvent]:
    """Return a deposit of ether and the swap that it begins."""
    origin = "DepositChannel", {"deposit_address": ETH, "channel_id": channel, "deposit_block_height": 7}
    scheduled = {
        "swap_id": number, "source_asset": "Eth", "deposit_amount": amount, "destination_asset": "Btc",
        "destination_address": BTC, "origin": origin, "swap_type": ("Swap", BTC),
        "broker_commission": commission,
    }  # fmt: skip
    received = {"deposit_address": ETH[1], "asset": "Eth", "amount": amount, "deposit_details": ()}
    return [
        ("EthereumIngressEgress", "DepositFetchesScheduled", {"channel_id": channel, "asset": "Eth"}),
        ("Swapping", "SwapScheduled", scheduled),
        ("EthereumIngressEgress", "DepositReceived", received),
    ]


def end_of(number: int, amount: int, dollars: int, output: int) -> list[NamedEvent]:
    """Return a swap's execution and payout."""
    executed = {
        "swap_id": number, "source_asset": "Eth", "deposit_amount": amount, "destination_asset": "Btc",
        "egress_amount": output, "intermediate_amount": dollars,
    }  # fmt: skip
    payout = {"swap_id": number, "egress_id": ("Bitcoin", number), "asset": "Btc", "amount": output}
    return [("Swapping", "SwapExecuted", executed), ("Swapping", "SwapEgressScheduled", payout)]


def rows(*blocks: list[NamedEvent]) -> list[dict[str, list[dict[str, Any]]]]:
    """Return the rows of blocks, whose events are brought to today's form."""
    known, made = Known(NETWORKS["Mainnet"], None), []
    for number, events in enumerate(blocks, 1):
        decoded = [DecodedEvent(index, *event) for index, event in enumerate(todays_events(events, number))]
        made.append(rows_of(DecodedBlock(number, "", "", 0, 100, tuple(decoded)), known))
    return made


@pytest.mark.parametrize("release", ["20203", "20209", "20300"])
def test_todays_releases_are_read_as_they_are(release: str) -> None:
    """Find the requests of swaps in the metadata of each release that the project has."""
    path = shared("vectors", "chainflip", f"metadata-v15-{release}.scale")
    assert not is_genesis_release(decode_metadata(path.read_bytes()))


def test_a_channel_is_of_the_account_that_pays_for_its_call() -> None:
    """Take the broker of each channel from the fee at the end of its call, not from the call before."""
    names = [(name, fields.get("broker_id")) for _, name, fields in todays_events(
        [*paid(BOB), CHANNEL, *paid(ALICE), *paid(BOB)], 1) if "broker" in str(fields)]  # fmt: skip
    assert names == [("SwapDepositAddressReady", ALICE)]
    assert todays_events([CHANNEL, ("System", "ExtrinsicSuccess", {}), *paid(BOB)], 1)[0] == CHANNEL


def test_a_swap_is_a_request_of_one_chunk() -> None:
    """Follow a swap from its channel to its payout, with the commission as the broker's credit."""
    fee = [("LiquidityPools", "NetworkFeeTaken", {"fee_amount": 3})]
    _, made = rows([CHANNEL, *paid(ALICE)], [*swap_of(8, 3, 1000, 20), *fee, *end_of(8, 980, 2997, 40)])
    (request,), (deposit,), (payout,) = made["requests"], made["deposits"], made["payouts"]
    assert (request["request"], request["channel"], request["opened"], request["amount"]) == (8, 3, 1, 1000)
    assert (deposit["request"], deposit["amount"], deposit["account"]) == (8, 1000, request["account"])
    assert [(row["state"], row["input"], row["output"]) for row in made["swaps"]] == [
        ("scheduled", 980, None),
        ("executed", 980, 40),
    ]
    assert (payout["request"], payout["amount"], payout["destination"]) == (8, 40, BTC[1].decode())
    (commission,), (movement,) = made["commissions"], made["movements"]
    assert (commission["asset"], commission["amount"], commission["account"]) == (
        "Eth",
        20,
        request["account"],
    )
    assert (movement["credit"], movement["amount"], movement["balance"]) == (True, 20, 20)
    assert [(row["kind"], row["amount"]) for row in made["fees"]] == [("network", 3)]
    assert "unread" not in made


def test_swaps_of_a_block_share_the_networks_fee_to_the_unit() -> None:
    """Divide a block's fee by the amounts that paid it; nothing is lost by rounding."""
    events = [
        *swap_of(1, 3, 10, 0), *swap_of(2, 3, 20, 0), *swap_of(3, 3, 30, 0),
        ("LiquidityPools", "NetworkFeeTaken", {"fee_amount": 6}),
        ("LiquidityPools", "NetworkFeeTaken", {"fee_amount": 4}),
        *end_of(1, 10, 100, 1), *end_of(2, 20, 200, 1), *end_of(3, 30, 400, 1),
    ]  # fmt: skip
    fees = [fields["network_fee"] for _, name, fields in todays_events(events, 1) if name == "SwapExecuted"]
    assert (fees, sum(fees)) == ([1, 3, 6], 10)


def test_a_withdrawal_is_a_debit_of_its_account() -> None:
    """Name account and asset of what a broker takes out, which the event does not name."""
    egress = {"id": ("Ethereum", 4), "asset": "Eth", "amount": 20, "destination_address": ETH[1]}
    stated = {"egress_id": ("Ethereum", 4), "egress_amount": 20, "destination_address": ETH}
    events = [
        ("EthereumIngressEgress", "EgressScheduled", egress),
        ("Swapping", "WithdrawalRequested", stated),
    ]
    first, second = rows([CHANNEL, *paid(ALICE), *swap_of(8, 3, 1000, 20)], [*events, *paid(ALICE)])
    (credit,), (debit,), (payout,) = first["movements"], second["movements"], second["payouts"]
    assert (debit["account"], debit["credit"], debit["balance"]) == (credit["account"], False, 0)
    assert (payout["kind"], payout["asset"], payout["amount"]) == ("withdrawal", "Eth", 20)


def test_too_small_and_rejected_deposits_have_failed() -> None:
    """Tell of deposits that begin nothing, with their reasons."""
    received = {"deposit_address": ETH[1], "asset": "Eth", "amount": 2, "deposit_details": ()}
    events = [
        ("EthereumIngressEgress", "DepositFetchesScheduled", {"channel_id": 3, "asset": "Eth"}),
        ("Swapping", "SwapAmountTooLow", {"asset": "Eth", "amount": 2}),
        ("EthereumIngressEgress", "DepositReceived", received),
        ("EthereumIngressEgress", "DepositIgnored", received),
        ("EthereumIngressEgress", "DepositWitnessRejected", {"reason": "Other", "deposit_witness": received}),
    ]
    (made,) = rows(events)
    reasons = [(row["state"], row["amount"], row["reason"]) for row in made["deposits"]]
    assert reasons == [
        ("failed", 2, "BelowMinimumDeposit"),
        ("failed", 2, "BelowMinimumDeposit"),
        ("failed", 2, "Other"),
    ]


def test_a_success_names_bitcoins_transaction() -> None:
    """Name a transaction by its hash where the release has it."""
    success = {"broadcast_id": 4, "transaction_out_id": b"\x05" * 32}
    events = [(f"{chain}Broadcaster", "BroadcastSuccess", success) for chain in ("Bitcoin", "Polkadot")]
    references = [fields["transaction_ref"] for _, _, fields in todays_events(events, 1)]
    assert references == [b"\x05" * 32, None]


def test_a_rejected_transfer_has_no_call() -> None:
    """End a payout that its receiver rejected: nothing pays it again."""
    failed = {"asset": "Eth", "amount": 20, "destination_address": ETH[1]}
    events = todays_events([("EthereumIngressEgress", "VaultTransferFailed", failed)], 1)
    assert [(name, fields["broadcast_id"]) for _, name, fields in events] == [
        ("TransferFallbackRequested", NO_CALL),
        ("FailedForeignChainCallExpired", NO_CALL),
    ]


def test_what_does_not_fit_stays_as_it_is() -> None:
    """Leave swaps of messages, and events of other shapes, for the table of unread events."""
    (_, (pallet, name, fields), _) = swap_of(1, 3, 10, 0)
    message = pallet, name, {**fields, "swap_type": ("CcmGas", 1)}
    assert todays_events([message, (pallet, name, {})], 1) == [message, (pallet, name, {})]
    (made,) = rows([message])
    assert [row["name"] for row in made["unread"]] == ["SwapScheduled"]
