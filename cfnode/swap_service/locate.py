"""Which swap does a reference mean? It is a deposit channel's id, a swap's id, or a transaction's hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cfnode.core.assets import ASSETS
from cfnode.swap_service.entries import Entry
from cfnode.swap_service.fields import Refusal
from cfnode.swap_service.source import SwapRecord

__all__ = ["NOT_FOUND", "Located", "locate"]

NOT_FOUND: Final = Refusal(404, "resource not found")
MAX_REFERENCE: Final = 200
_CHANNEL: Final = re.compile(r"(\d{1,10})-([A-Za-z]+)-(\d{1,20})\Z")


@dataclass(frozen=True, slots=True)
class Located:
    """The first events of a swap.

    `channel` is SwapDepositAddressReady, `request` SwapRequested, `deposit` DepositFinalised, -Boosted or
    -Failed. A deposit that only pays boosters back does not count.
    """

    channel: Entry | None = None
    deposit: Entry | None = None
    request: Entry | None = None


def locate(record: SwapRecord, reference: str) -> Located:
    """The swap of a reference; for a channel, that of its latest deposit. Raises Refusal."""
    if len(reference) > MAX_REFERENCE:
        raise NOT_FOUND
    if found := _CHANNEL.match(reference):
        return _by_channel(record, int(found[1]), found[2], int(found[3]))
    if reference.isascii() and reference.isdigit() and len(reference) <= 20:
        return _by_request(record, int(reference))
    return _by_transaction(record, reference)


def _by_channel(record: SwapRecord, block: int, chain_name: str, channel_id: int) -> Located:
    chain = next((name for name in record.chains if name.lower() == chain_name.lower()), None)
    if chain is None:
        raise Refusal(400, f"Invalid chain: {chain_name}")
    entries = record.find("channel", chain, channel_id)
    opened = [
        each for each in entries if each.name == "SwapDepositAddressReady" and each.block.number == block
    ]
    if not opened:
        raise NOT_FOUND
    at_address = record.find("address", opened[-1].fields["deposit_address"])
    deposits = [each for each in entries if _is_deposit(each)]
    deposits += [each for each in at_address if each.name == "DepositFailed"]
    if not deposits:
        return Located(opened[-1])
    last = max(deposits, key=lambda each: (each.block.number, each.index))
    return Located(opened[-1], last, _request_of(record, last))


def _by_request(record: SwapRecord, request_id: int) -> Located:
    entries = record.find("request", request_id)
    request = next((each for each in entries if each.name == "SwapRequested"), None)
    if request is None or not _is_for_an_address(request):
        raise NOT_FOUND  # swaps of the chain itself, and those of liquidity providers
    deposit = next((each for each in entries if _is_deposit(each)), None)
    return Located(_channel_of(record, request), deposit, request)


def _is_for_an_address(request: Entry) -> bool:
    kind = request.fields["request_type"]
    return isinstance(kind, tuple) and kind[1]["output_action"][0] == "Egress"


def _by_transaction(record: SwapRecord, reference: str) -> Located:
    try:
        data = bytes.fromhex(reference.removeprefix("0x"))
    except ValueError:
        raise NOT_FOUND from None
    seen = record.find("transaction", data) or record.find("transaction", data[::-1])
    deposits = [each for each in seen if _is_deposit(each) or each.name == "DepositFailed"]
    if not deposits:
        raise NOT_FOUND
    deposit = deposits[-1]
    request = _request_of(record, deposit)
    if request is not None:
        return Located(_channel_of(record, request), deposit, request)
    channel_id = deposit.fields.get("channel_id")
    return Located(_opened(record, deposit.chain, channel_id), deposit)


def _is_deposit(entry: Entry) -> bool:
    action = entry.fields.get("action")
    is_credit = isinstance(action, tuple) and action[0] == "BoostersCredited"
    return entry.name in ("DepositFinalised", "DepositBoosted") and not is_credit


def _request_of(record: SwapRecord, deposit: Entry) -> Entry | None:
    action = deposit.fields.get("action")
    if not isinstance(action, tuple) or action[0] != "Swap":
        return None
    entries = record.find("request", action[1]["swap_request_id"])
    return next((each for each in entries if each.name == "SwapRequested"), None)


def _channel_of(record: SwapRecord, request: Entry) -> Entry | None:
    kind, origin = request.fields["origin"]
    chain = ASSETS[request.fields["input_asset"]].chain
    return _opened(record, chain, origin["channel_id"]) if kind == "DepositChannel" else None


def _opened(record: SwapRecord, chain: str, channel_id: int | None) -> Entry | None:
    entries = record.find("channel", chain, channel_id)
    return next((each for each in entries if each.name == "SwapDepositAddressReady"), None)
