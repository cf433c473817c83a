"""Status of a swap in version 2.

The state is that of `cfnode.swaps.journey`, which says what stands for it here: WAITING, RECEIVING, SWAPPING,
SENDING, SENT, COMPLETED or FAILED.
"""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58
from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.swaps.addresses import address_text
from cfnode.swaps.documents.chunks import swap_progress
from cfnode.swaps.documents.members import failure, fee
from cfnode.swaps.documents.payouts import MEMBERS, payout_json
from cfnode.swaps.durations import confirmations, durations
from cfnode.swaps.events import (
    DEPOSIT_FAILURES,
    SCHEDULED,
    Name,
    transaction_text,
    transactions_of,
    variant,
)
from cfnode.swaps.history import SwapHistory
from cfnode.swaps.journey import V2_STATES
from cfnode.swaps.limits import boost_fee_bps
from cfnode.swaps.payouts import output_of
from cfnode.swaps.prices import price_of
from cfnode.swaps.record import Entry
from cfnode.swaps.timing import lifetime_ms

__all__ = ["status_v2"]


def status_v2(swap: SwapHistory) -> dict[str, Any]:
    """Return the status of a swap in version 2."""
    status: dict[str, Any] = {"state": V2_STATES[swap.state], **_terms(swap), "fees": _fees(swap)}
    if swap.channel is not None:
        status["depositChannel"] = _channel(swap, swap.channel)
    if swap.deposit is not None:
        status["deposit"] = _deposit(swap, swap.deposit)
    elif swap.announced is not None:
        status["deposit"] = _announced(swap)
    if swap.channel is not None and swap.channel.fields["boost_fee"]:
        status["boost"] = _boost(swap, swap.channel)
    if swap.request is not None:
        status["swapId"] = str(swap.request.fields["swap_request_id"])
        status["swap"] = swap_progress(swap, swap.request)
    for payout in swap.payouts:
        status[MEMBERS[payout.kind]] = payout_json(payout)
    status["lastStatechainUpdateAt"] = swap.now
    return status


# Terms


def _terms(swap: SwapHistory) -> dict[str, Any]:
    source, target, address = _route(swap)
    times = durations(source, target)
    status: dict[str, Any] = {
        "srcAsset": ASSETS[source].symbol,
        "srcChain": ASSETS[source].chain,
        "destAsset": ASSETS[target].symbol,
        "destChain": ASSETS[target].chain,
        "destAddress": address,
        "srcChainRequiredBlockConfirmations": confirmations(ASSETS[source].chain),
        "estimatedDurationsSeconds": times,
        "estimatedDurationSeconds": sum(times.values()),
        "brokers": _brokers(swap),
    }
    if swap.channel is not None:
        status |= _channel_terms(swap.channel.fields, source, target)
    return {name: value for name, value in status.items() if value is not None}


def _route(swap: SwapHistory) -> tuple[str, str, str]:
    """Source asset, target asset, and destination address."""
    if swap.request is not None:
        fields = swap.request.fields
        address = address_text(output_of(fields)["output_address"])
        return fields["input_asset"], fields["output_asset"], address
    assert swap.channel is not None
    fields = swap.channel.fields
    address = address_text(fields["destination_address"])
    return fields["source_asset"], fields["destination_asset"], address


def _brokers(swap: SwapHistory) -> list[dict[str, Any]]:
    if swap.request is not None:
        return _accounts(swap.request.fields["broker_fees"])
    assert swap.channel is not None
    fields = swap.channel.fields
    broker = {"account": fields["broker_id"], "bps": fields["broker_commission_rate"]}
    return _accounts([*([broker] if fields["broker_id"] is not None else []), *fields["affiliate_fees"]])


def _accounts(fees: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"account": ss58.encode(affiliate["account"]), "commissionBps": affiliate["bps"]}
        for affiliate in fees
    ]


def _channel_terms(fields: dict[str, Any], source: str, target: str) -> dict[str, Any]:
    refund, ccm, dca = (
        fields[f"{name}"] for name in ("refund_parameters", "channel_metadata", "dca_parameters")
    )
    status: dict[str, Any] = {
        "fillOrKillParams": refund
        and {
            "refundAddress": address_text(refund["refund_address"]),
            "minPrice": price_of(refund["min_price"], source, target),
            "retryDurationBlocks": refund["retry_duration"],
        },
        "ccmParams": ccm and {"gasBudget": str(ccm["gas_budget"]), "message": f"0x{ccm['message'].hex()}"},
    }
    if dca is not None and dca["number_of_chunks"] > 1:
        status["dcaParams"] = _dca(dca)
    return status


def _dca(dca: dict[str, int]) -> dict[str, int]:
    return {"numberOfChunks": dca["number_of_chunks"], "chunkIntervalBlocks": dca["chunk_interval"]}


def _channel(swap: SwapHistory, opened: Entry) -> dict[str, Any]:
    fields = opened.fields
    status: dict[str, Any] = {
        "id": str(swap.channel_id),
        "createdAt": opened.time,
        "depositAddress": address_to_text(fields["deposit_address"]),
        "srcChainExpiryBlock": str(fields["source_chain_expiry_block"]),
        "estimatedExpiryTime": opened.time + lifetime_ms(ASSETS[fields["source_asset"]].chain),
        "isExpired": swap.is_expired,
        "openedThroughBackend": swap.expected is not None,
        "brokerCommissionBps": fields["broker_commission_rate"],
        "affiliateBrokers": _accounts(fields["affiliate_fees"]),
    }
    if swap.expected is not None:
        status["expectedDepositAmount"] = str(swap.expected)
    if fields["dca_parameters"] is not None:
        status["dcaParams"] = _dca(fields["dca_parameters"])
    return status


# Progress


def _deposit(swap: SwapHistory, entry: Entry) -> dict[str, Any]:
    if entry.name == Name.DEPOSIT_FAILED:
        witness = entry.fields["details"][1]["deposit_witness"]
        name, _ = variant(entry.fields["reason"])
        text = DEPOSIT_FAILURES.get(name, "The deposit was rejected")
        return _witnessed(entry, witness, swap.confirmed) | failure(entry, "DEPOSIT_IGNORED", name, text)
    if entry.name == Name.DEPOSIT_BOOSTED:
        lent_amount = sum(amount for _, amount in entry.fields["amounts"])
        return _witnessed(entry, entry.fields | {"amount": lent_amount}, swap.confirmed)
    return _witnessed(entry, entry.fields, swap.confirmed)


def _witnessed(entry: Entry, witness: dict[str, Any], confirmed: Entry | None) -> dict[str, Any]:
    """Amount and transaction of a deposit, and the time of its confirmation."""
    status: dict[str, Any] = {"amount": str(witness["amount"])}
    if transactions := transactions_of(entry.chain, witness["deposit_details"]):
        status["txRef"] = transaction_text(entry.chain, transactions[0])
    if confirmed is not None:
        status |= {"witnessedAt": confirmed.time, "witnessedBlockIndex": confirmed.block_index}
    return status


def _announced(swap: SwapHistory) -> dict[str, Any]:
    """Return the announced, unconfirmed deposit to the channel."""
    assert swap.announced is not None
    assert swap.channel is not None
    status: dict[str, Any] = {"amount": str(swap.announced.amount), "txConfirmations": 0}
    if swap.announced.transaction is not None:
        chain = ASSETS[swap.channel.fields["source_asset"]].chain
        status["txRef"] = transaction_text(chain, swap.announced.transaction)
    return status


def _boost(swap: SwapHistory, channel: Entry) -> dict[str, Any]:
    """Whether the deposit was boosted, for which fee, or when boosting was skipped."""
    status: dict[str, Any] = {"maxBoostFeeBps": channel.fields["boost_fee"]}
    deposit, skipped = swap.deposit, swap.not_boosted
    if deposit is not None and deposit.name == Name.DEPOSIT_BOOSTED:
        lent_amount, fee_amount = (_sum(deposit.fields[name]) for name in ("amounts", "boost_fee"))
        status["effectiveBoostFeeBps"] = boost_fee_bps(lent_amount, fee_amount)
        return status | {"boostedAt": deposit.time, "boostedBlockIndex": deposit.block_index}
    if skipped is not None:
        return status | {"skippedAt": skipped.time, "skippedBlockIndex": skipped.block_index}
    return status


def _sum(by_source: list[tuple[Any, int]]) -> int:
    return sum(amount for _, amount in by_source)


def _fees(swap: SwapHistory) -> list[dict[str, str]]:
    """Return the fees charged so far."""
    totals: dict[tuple[str, str], int] = {}

    def charge(kind: str, asset: str, value: int) -> None:
        totals[kind, asset] = totals.get((kind, asset), 0) + value

    deposit = swap.deposit
    if deposit is not None and deposit.name == Name.DEPOSIT_BOOSTED:
        charge("BOOST", deposit.fields["asset"], _sum(deposit.fields["boost_fee"]))
    if deposit is not None and deposit.name != Name.DEPOSIT_FAILED:
        charge("INGRESS", deposit.fields["asset"], deposit.fields["ingress_fee"])
    for entry in swap.events:
        fields = entry.fields
        if entry.name == Name.CHUNK_EXECUTED:
            charge("NETWORK", "Usdc", fields["network_fee"])
            charge("BROKER", "Usdc", fields["broker_fee"])
        elif entry.name in SCHEDULED:
            charge("EGRESS", fields["egress_fee"][1], fields["egress_fee"][0])
            charge("REFUND", fields["asset"], fields.get("refund_fee", 0))
    return [fee(kind, asset, value) for (kind, asset), value in totals.items() if value]
