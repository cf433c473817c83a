"""Rows of swap requests, their chunks, their fees, and the commissions of brokers and affiliates."""

from __future__ import annotations

import logging
from typing import Any

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handlers, account_text
from cfnode.ledger.rows.known import KnownRequest
from cfnode.swaps.events import Name, variant

__all__ = ["STABLE", "SWAPPING"]

log = logging.getLogger("cfnode.ledger")
STABLE = "Usdc"
"""The asset in which fees are taken, in the middle of a swap."""


def _requested(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    origin, details = variant(fields["origin"])
    source = fields["input_asset"]
    chain, channel_id = ASSETS[source].chain, details.get("channel_id") if isinstance(details, dict) else None
    height = details.get("deposit_block_height") if isinstance(details, dict) else None
    channel = context.known.channel(chain, channel_id, height)
    if not context.mentions(event) and channel is None:
        return False
    shares = [(account_text(fee["account"]), fee["bps"]) for fee in fields["broker_fees"]]
    kind, request_type = variant(fields["request_type"])
    action, output = variant(request_type.get("output_action", "None"))
    swap_request = KnownRequest(
        account=_owner(origin, details, shares) or (None if channel is None else channel.account),
        source=source,
        target=fields["output_asset"],
        destination=_destination(action, output),
        refund_address=_refund_address(context, fields["price_limits_and_expiry"]),
        shares=tuple(account for account, _ in shares),
    )
    number, chunks = fields["swap_request_id"], fields["dca_parameters"] or {}
    context.known.requests.put_last(number, swap_request)
    context.add(
        event,
        "requests",
        request=number,
        kind=kind,
        account=swap_request.account,
        origin=origin,
        chain=chain,
        channel=channel_id,
        opened=context.opened(chain, channel_id, height),
        source=source,
        target=swap_request.target,
        amount=fields["input_amount"],
        destination=swap_request.destination,
        refund_address=swap_request.refund_address,
        chunks=chunks.get("number_of_chunks"),
        chunk_interval=chunks.get("chunk_interval"),
    )
    for account, bps in shares:
        context.add_part(event, "shares", request=number, account=account, bps=bps)
    if commission := fields.get("broker_commission"):
        _take_commission(context, event, swap_request, commission)
    return True


def _take_commission(context: Context, event: DecodedEvent, request: KnownRequest, amount: int) -> None:
    """Add what the genesis release gives the channel's broker of a deposit: no other event states it.

    It is no broker fee of the books, which is an amount of USDC.
    """
    broker, number, asset = request.account, event.fields["swap_request_id"], request.source
    if broker is not None:
        context.move(event, broker, asset, amount, credit=True, balance=None)
        context.add_part(event, "commissions", account=broker, broker=broker, request=number, swap=number,
                         asset=asset, amount=amount)  # fmt: skip


def _owner(origin: str, details: Any, shares: list[tuple[str, int]]) -> str | None:
    if origin == "OnChainAccount":
        return account_text(details)
    broker = details.get("broker_id") if isinstance(details, dict) else None
    if broker is not None:
        return account_text(broker)
    return shares[0][0] if shares else None


def _destination(action: str, output: Any) -> str | None:
    if action == "Egress":
        return address_to_text(output["output_address"])
    account = output.get("account_id") if isinstance(output, dict) else None
    return None if account is None else account_text(account)


def _refund_address(context: Context, limits: Any) -> str | None:
    if limits is None:
        return None
    _, details = variant(limits["expiry_behaviour"])
    if "refund_address" not in details:
        return None
    kind, address = variant(details["refund_address"])
    return account_text(address) if kind == "InternalAccount" else context.foreign(address)


def _is_known(context: Context, number: int | None) -> bool:
    known = context.known
    return known.keeps_all or (number is not None and known.request(number) is not None)


def _scheduled(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    number = fields["swap_request_id"]
    if not _is_known(context, number):
        return False
    context.known.swaps.put_last(fields["swap_id"], number)
    _chunk(context, event, "scheduled", number, input=fields["input_amount"], execute_at=fields["execute_at"])
    return True


def _rescheduled(context: Context, event: DecodedEvent) -> bool:
    number = context.known.request_of(event.fields["swap_id"])
    if not _is_known(context, number):
        return False
    _chunk(
        context, event, "rescheduled", number, execute_at=event.fields["execute_at"], reason=_reason(event)
    )
    return True


def _aborted(context: Context, event: DecodedEvent) -> bool:
    number = context.known.request_of(event.fields["swap_id"])
    if not _is_known(context, number):
        return False
    _chunk(context, event, "aborted", number, reason=_reason(event))
    return True


def _executed(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    number = fields["swap_request_id"]
    if not _is_known(context, number):
        return False
    request = context.known.request(number)
    _chunk(context, event, "executed", number, source=fields["input_asset"], target=fields["output_asset"],
           input=fields["input_amount"], intermediate=fields["intermediate_amount"],
           output=fields["output_amount"])  # fmt: skip
    account = None if request is None else request.account
    context.charge(event, "network", STABLE, fields["network_fee"], account=account, request=number)
    context.charge(event, "broker", STABLE, fields["broker_fee"], account=account, request=number)
    if fields["broker_fee"] and request is not None and context.known.has_all_credits:
        _share_out(context, event, request)
    return True


def _share_out(context: Context, event: DecodedEvent, request: KnownRequest) -> None:
    """Add the commissions of a chunk: those credits of the block that sum up to its broker fee."""
    fields = event.fields
    parts = _claimed(context.credits, request.shares, fields["broker_fee"])
    if not parts:
        log.error("block %d: no credits add up to the broker fee %d of swap %d; the commissions lack it",
                  context.block.number, fields["broker_fee"], fields["swap_id"])  # fmt: skip
    for account, amount in parts:
        context.add_part(
            event,
            "commissions",
            account=account,
            broker=request.shares[0],
            request=fields["swap_request_id"],
            swap=fields["swap_id"],
            asset=STABLE,
            amount=amount,
        )


def _claimed(credited: list[tuple[str, int]], shares: tuple[str, ...], fee: int) -> list[tuple[str, int]]:
    """Remove and return the first run of `credited` to the shares' accounts whose sum is the fee.

    A share that comes to nothing has no credit. Returns an empty list if there is no such run.
    """
    for start in range(len(credited)):
        end, fee_left = start, fee
        for account in shares:
            if end < len(credited) and credited[end][0] == account and credited[end][1] <= fee_left:
                fee_left -= credited[end][1]
                end += 1
        if not fee_left:
            parts = credited[start:end]
            del credited[start:end]
            return parts
    return []


def _completed(context: Context, event: DecodedEvent) -> bool:
    number = event.fields["swap_request_id"]
    if not _is_known(context, number):
        return False
    context.add(event, "completions", request=number, reason=_reason(event))
    return True


def _confiscated(context: Context, event: DecodedEvent) -> bool:
    return _is_known(context, event.fields["swap_request_id"])


def _chunk(context: Context, event: DecodedEvent, state: str, request: int | None, **columns: Any) -> None:
    defaults = dict.fromkeys(("execute_at", "source", "target", "input", "intermediate", "output", "reason"))
    swap = event.fields["swap_id"]
    context.add(event, "swaps", state=state, request=request, swap=swap, **{**defaults, **columns})


def _reason(event: DecodedEvent) -> str:
    return variant(event.fields["reason"])[0]


SWAPPING: Handlers = {
    Name.REQUESTED: _requested,
    Name.CHUNK_SCHEDULED: _scheduled,
    Name.CHUNK_RESCHEDULED: _rescheduled,
    Name.CHUNK_ABORTED: _aborted,
    Name.CHUNK_EXECUTED: _executed,
    Name.COMPLETED: _completed,
    Name.CONFISCATED: _confiscated,
}
