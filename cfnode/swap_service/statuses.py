"""Status of a swap in version 2, assembled from the swap's events.

The state is that of `cfnode.swaps.journey`, which says what stands for it here: WAITING, RECEIVING, SWAPPING,
SENDING, SENT, COMPLETED or FAILED.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from cfnode.core import ss58
from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.swap_service.chunks import swap_progress
from cfnode.swap_service.durations import confirmations, durations
from cfnode.swap_service.egresses import egress, failure, ignored, output_of, receiver_of
from cfnode.swap_service.events import Entry
from cfnode.swap_service.locate import NOT_FOUND, Located, locate
from cfnode.swap_service.parameters import fee
from cfnode.swap_service.quotes import price_of
from cfnode.swap_service.source import SwapRecord
from cfnode.swaps.addresses import address_text
from cfnode.swaps.events import (
    DEPOSIT_FAILURES,
    PAYOUT_STEPS_OF,
    SCHEDULED,
    STEPS_OF,
    Name,
    deposit_step,
    payout_kind,
    transaction_text,
    transactions_of,
    variant,
)
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.journey import V2_STATES, Journey, JourneyState, JourneyStep, PayoutKind, PayoutStep
from cfnode.swaps.limits import boost_fee_bps
from cfnode.swaps.timing import lifetime_ms

__all__ = ["status"]

_MEMBERS: Final = {PayoutKind.OUTPUT: "swapEgress", PayoutKind.REFUND: "refundEgress"}
"""The member of a status with a payout."""


def status(record: SwapRecord, reference: str) -> dict[str, Any]:
    """Return the status of the swap that `reference` names. Raises Refusal."""
    located = locate(record, reference)
    terms = _terms(located)
    status: dict[str, Any] = {"state": "", **terms, "fees": _fees(record, located)}
    journey = _journey(record, located)
    if located.channel is not None:
        status["depositChannel"] = _channel(record, located.channel)
    if located.deposit is not None:
        status["deposit"] = _deposit(record, located.deposit)
    elif announcement := _announced(record, located):
        status["deposit"] = announcement
        journey.receive(JourneyStep.ANNOUNCED)
    if located.channel is not None and located.channel.fields["boost_fee"]:
        status["boost"] = _boost(record, located)
    if located.request is not None:
        status["swapId"] = str(located.request.fields["swap_request_id"])
        status["swap"] = swap_progress(record, located.request)
    for name, kind, document, state in _payouts(record, located):
        status[name] = document
        journey.receive_payout(kind, state)
    status["state"] = V2_STATES[journey.state]
    status["lastStatechainUpdateAt"] = record.now
    return status


# Terms


def _terms(located: Located) -> dict[str, Any]:
    source, target, address = _route(located)
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
        "brokers": _brokers(located),
    }
    if located.channel is not None:
        status |= _channel_terms(located.channel.fields, source, target)
    return {name: value for name, value in status.items() if value is not None}


def _route(located: Located) -> tuple[str, str, str]:
    """Source asset, target asset, and destination address."""
    if located.request is not None:
        fields = located.request.fields
        address = address_text(output_of(fields)["output_address"])
        return fields["input_asset"], fields["output_asset"], address
    if located.channel is None:
        raise NOT_FOUND
    fields = located.channel.fields
    address = address_text(fields["destination_address"])
    return fields["source_asset"], fields["destination_asset"], address


def _brokers(located: Located) -> list[dict[str, Any]]:
    if located.request is not None:
        fees = located.request.fields["broker_fees"]
    else:
        assert located.channel is not None
        fields = located.channel.fields
        broker = {"account": fields["broker_id"], "bps": fields["broker_commission_rate"]}
        fees = [*([broker] if fields["broker_id"] is not None else []), *fields["affiliate_fees"]]
    return [
        {"account": ss58.encode(affiliate["account"]), "commissionBps": affiliate["bps"]}
        for affiliate in fees
    ]


def _channel_terms(fields: dict[str, Any], source: str, target: str) -> dict[str, Any]:
    refund, ccm, dca = (
        fields[f"{name}"] for name in ("refund_parameters", "channel_metadata", "dca_parameters")
    )
    min_price = price_of(refund["min_price"], source, target)
    status: dict[str, Any] = {
        "fillOrKillParams": {
            "refundAddress": address_text(refund["refund_address"]),
            "minPrice": min_price,
            "retryDurationBlocks": refund["retry_duration"],
        },
        "ccmParams": ccm and {"gasBudget": str(ccm["gas_budget"]), "message": f"0x{ccm['message'].hex()}"},
    }
    if dca is not None and dca["number_of_chunks"] > 1:
        status["dcaParams"] = _dca(dca)
    return status


def _dca(dca: dict[str, int]) -> dict[str, int]:
    return {"numberOfChunks": dca["number_of_chunks"], "chunkIntervalBlocks": dca["chunk_interval"]}


def _channel(record: SwapRecord, opened: Entry) -> dict[str, Any]:
    fields = opened.fields
    chain = ASSETS[fields["source_asset"]].chain
    channel = ChannelId(chain, fields["channel_id"], opened.block.number)
    expected = record.expected(channel)
    status: dict[str, Any] = {
        "id": str(channel),
        "createdAt": opened.time,
        "depositAddress": address_to_text(fields["deposit_address"]),
        "srcChainExpiryBlock": str(fields["source_chain_expiry_block"]),
        "estimatedExpiryTime": opened.time + lifetime_ms(chain),
        "isExpired": _is_expired(record, opened),
        "openedThroughBackend": expected is not None,
        "brokerCommissionBps": fields["broker_commission_rate"],
        "affiliateBrokers": [
            {"account": ss58.encode(affiliate["account"]), "commissionBps": affiliate["bps"]}
            for affiliate in fields["affiliate_fees"]
        ],
    }
    if expected is not None:
        status["expectedDepositAmount"] = str(expected)
    if fields["dca_parameters"] is not None:
        status["dcaParams"] = _dca(fields["dca_parameters"])
    return status


def _is_expired(record: SwapRecord, opened: Entry) -> bool:
    chain = ASSETS[opened.fields["source_asset"]].chain
    return bool(record.height(chain) > opened.fields["source_chain_expiry_block"])


# Progress


def _deposit(record: SwapRecord, entry: Entry) -> dict[str, Any]:
    if entry.name == Name.DEPOSIT_FAILED:
        witness = entry.fields["details"][1]["deposit_witness"]
        name, _ = variant(entry.fields["reason"])
        text = DEPOSIT_FAILURES.get(name, "The deposit was rejected")
        return _witnessed(entry, witness, entry) | failure(entry, "DEPOSIT_IGNORED", name, text)
    if entry.name == Name.DEPOSIT_BOOSTED:
        lent_amount = sum(amount for _, amount in entry.fields["amounts"])
        credited = record.find("credited", entry.chain, entry.fields["prewitnessed_deposit_id"])
        return _witnessed(entry, entry.fields | {"amount": lent_amount}, credited[0] if credited else None)
    return _witnessed(entry, entry.fields, entry)


def _announced(record: SwapRecord, located: Located) -> dict[str, Any] | None:
    """Return the announced, unconfirmed deposit to the channel; it is to the newest one with its address."""
    if located.channel is None or not located.is_newest:
        return None
    deposit = record.announced(located.channel.fields["deposit_address"])
    if deposit is None:
        return None
    status: dict[str, Any] = {"amount": str(deposit.amount), "txConfirmations": 0}
    if deposit.transaction is not None:
        chain = ASSETS[located.channel.fields["source_asset"]].chain
        status["txRef"] = transaction_text(chain, deposit.transaction)
    return status


def _witnessed(entry: Entry, witness: dict[str, Any], confirmed: Entry | None) -> dict[str, Any]:
    """Amount and transaction of a deposit, and the time of its confirmation."""
    status: dict[str, Any] = {"amount": str(witness["amount"])}
    if transactions := transactions_of(entry.chain, witness["deposit_details"]):
        status["txRef"] = transaction_text(entry.chain, transactions[0])
    if confirmed is not None:
        status |= {"witnessedAt": confirmed.time, "witnessedBlockIndex": confirmed.block_index}
    return status


def _boost(record: SwapRecord, located: Located) -> dict[str, Any]:
    """Whether the deposit was boosted, for which fee, or when boosting was skipped."""
    assert located.channel is not None
    fields = located.channel.fields
    status: dict[str, Any] = {"maxBoostFeeBps": fields["boost_fee"]}
    if located.deposit is not None and located.deposit.name == Name.DEPOSIT_BOOSTED:
        boosted = located.deposit.fields
        lent_amount, fee_amount = (
            sum(amount for _, amount in boosted[name]) for name in ("amounts", "boost_fee")
        )
        status["effectiveBoostFeeBps"] = boost_fee_bps(lent_amount, fee_amount)
        return status | {"boostedAt": located.deposit.time, "boostedBlockIndex": located.deposit.block_index}
    entries = record.find("channel", ASSETS[fields["source_asset"]].chain, fields["channel_id"])
    skipped = [entry for entry in entries if entry.name == Name.NOT_BOOSTED and located.owns(entry)]
    if skipped:
        return status | {"skippedAt": skipped[-1].time, "skippedBlockIndex": skipped[-1].block_index}
    return status


def _payouts(
    record: SwapRecord, located: Located
) -> Iterator[tuple[str, PayoutKind, dict[str, Any], JourneyState]]:
    """Yield the member of the status, kind, document and state of each payout of the swap."""
    if located.request is None:
        yield from _returned(record, located)
        return
    request = located.request.fields
    for entry in record.find("request", request["swap_request_id"]):
        kind, step = payout_kind(entry.name), PAYOUT_STEPS_OF.get(entry.name)
        if kind is not None and step is PayoutStep.SCHEDULED:
            yield _MEMBERS[kind], kind, *egress(record, entry, receiver_of(record, request, kind))
        elif kind is not None and step is PayoutStep.IGNORED:
            yield _MEMBERS[kind], kind, ignored(record, entry), JourneyState.IGNORED


def _returned(
    record: SwapRecord, located: Located
) -> Iterator[tuple[str, PayoutKind, dict[str, Any], JourneyState]]:
    """Yield the refund of a deposit that was sent back at once."""
    if located.channel is None or located.deposit is None:
        return
    kind, action = variant(located.deposit.fields.get("action", "None"))
    if kind != "Refund":
        return
    if action["egress_id"] is not None:
        shared = {"asset": located.deposit.fields["asset"], "amount": action["amount"]}
        scheduled = replace(located.deposit, fields={**shared, "egress_id": action["egress_id"]})
        receiver = located.channel.fields["refund_parameters"]["refund_address"]
        yield _MEMBERS[PayoutKind.REFUND], PayoutKind.REFUND, *egress(record, scheduled, receiver)


def _fees(record: SwapRecord, located: Located) -> list[dict[str, str]]:
    """Return the fees charged so far."""
    totals: dict[tuple[str, str], int] = {}

    def charge(kind: str, asset: str, value: int) -> None:
        totals[kind, asset] = totals.get((kind, asset), 0) + value

    if located.deposit is not None and located.deposit.name == Name.DEPOSIT_BOOSTED:
        charge(
            "BOOST",
            located.deposit.fields["asset"],
            sum(amount for _, amount in located.deposit.fields["boost_fee"]),
        )
    if located.deposit is not None and located.deposit.name != Name.DEPOSIT_FAILED:
        charge("INGRESS", located.deposit.fields["asset"], located.deposit.fields["ingress_fee"])
    number = located.request.fields["swap_request_id"] if located.request is not None else None
    for entry in record.find("request", number):
        fields = entry.fields
        if entry.name == Name.CHUNK_EXECUTED:
            charge("NETWORK", "Usdc", fields["network_fee"])
            charge("BROKER", "Usdc", fields["broker_fee"])
        elif entry.name in SCHEDULED:
            charge("EGRESS", fields["egress_fee"][1], fields["egress_fee"][0])
            charge("REFUND", fields["asset"], fields.get("refund_fee", 0))
    return [fee(kind, asset, value) for (kind, asset), value in totals.items() if value]


def _journey(record: SwapRecord, located: Located) -> Journey:
    """Return the journey of the swap up to its payouts."""
    journey = Journey()
    if located.channel is not None and _is_expired(record, located.channel):
        journey.receive(JourneyStep.CLOSED)
    if located.request is not None:
        journey.receive(JourneyStep.REQUESTED)
    if located.deposit is not None:
        journey.receive(deposit_step(located.deposit.name, located.deposit.fields))
    if located.request is not None:
        for entry in record.find("request", located.request.fields["swap_request_id"]):
            if (step := STEPS_OF.get(entry.name)) is not None:
                journey.receive(step)
    return journey
