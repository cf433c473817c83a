"""Events of the genesis release (spec 100), in the form that today's releases have.

That release has no swap requests, fees of deposits and payouts, or refunds, and names other fields. The rules
of swaps, the books and the statuses know one form, today's; here a block of the genesis release becomes such
a block. What that release lacks is empty or zero.

1. A swap is a request of one chunk with the swap's number.
2. A deposit comes after its channel's number (`DepositFetchesScheduled`) and what it was used for.
3. Swaps of a block pay the network's fee together; each gets its share by the amount that paid it.
4. The account of a call is the one that pays the transaction's fee, which is stated at the call's end.

An event that does not fit, such as one of a message's swaps, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from cfnode.core.scale import NotInMetadataError
from cfnode.core.scale.metadata import Metadata
from cfnode.swaps.events import Fields, Name, chain_of, variant

__all__ = ["NO_CALL", "NamedEvent", "is_genesis_release", "todays_events"]

NamedEvent: TypeAlias = tuple[str, str, Any]
"""Pallet, name and fields of an event."""
_STABLE: Final = "Usdc"
_ENDS_OF_CALLS: Final = frozenset((("System", "ExtrinsicSuccess"), ("System", "ExtrinsicFailed")))
_NO_FEES: Final = {"ingress_fee": 0, "max_boost_fee_bps": 0, "block_height": None}
_NO_TERMS: Final = {
    "boost_fee": 0, "channel_opening_fee": 0, "affiliate_fees": [], "refund_parameters": None,
    "dca_parameters": None,
}  # fmt: skip
NO_CALL: Final = -1
"""The broadcast of a call that was never made."""


def is_genesis_release(metadata: Metadata) -> bool:
    """Return whether the events of a runtime are those of the time before swap requests."""
    try:
        return Name.REQUESTED not in metadata.event_names("Swapping")
    except NotInMetadataError:
        return False  # another chain's


def todays_events(events: Sequence[NamedEvent], number: int) -> list[NamedEvent]:
    """Return the events of block `number` of the genesis release in today's form, in their order."""
    block = _Block(events, number)
    return [event for index in range(len(events)) for event in block.todays(index)]


class _Block:
    """A block whose events are being read; `deposit` is what is known of the next deposit."""

    def __init__(self, events: Sequence[NamedEvent], number: int) -> None:
        self.events, self.number = events, number
        self.fees = _network_fees(events)
        self.egress_assets = {
            tuple(fields["id"]): fields["asset"] for _, name, fields in events if name == "EgressScheduled"
        }
        self.channel: int | None = None
        self.action: Any = None

    def todays(self, index: int) -> list[NamedEvent]:
        """Return the events of today for one of the block's; the event itself if it has no other form."""
        event = pallet, name, fields = self.events[index]
        reader = _READERS.get((_kind(pallet), name))
        if reader is None:
            return [event]
        try:
            return list(reader(self, index, pallet, fields))
        except (LookupError, TypeError, ValueError, AttributeError):
            return [event]

    def account(self, index: int) -> bytes:
        """Return the account whose call deposited an event. Raises LookupError."""
        for pallet, name, fields in self.events[index:]:
            if (pallet, name) == ("TransactionPayment", "TransactionFeePaid"):
                account: bytes = fields["who"]
                return account
            if (pallet, name) in _ENDS_OF_CALLS:
                break
        raise LookupError("the call has no account that pays for it")


def _kind(pallet: str) -> str:
    chain = chain_of(pallet)
    if chain:
        return pallet.removeprefix(chain)
    return "Vault" if pallet.endswith("Vault") else pallet


def _network_fees(events: Sequence[NamedEvent]) -> Mapping[int, int]:
    """Return the network's fee of each executed swap: its share of all fees of the block."""
    total = sum(fields["fee_amount"] for _, name, fields in events if name == "NetworkFeeTaken")
    paying = {
        fields["swap_id"]: _in_dollars(fields) for _, name, fields in events if name == Name.CHUNK_EXECUTED
    }
    shares, left, weight_left = dict[int, int](), total, sum(paying.values())
    for swap, weight in paying.items():
        shares[swap] = left * weight // weight_left if weight_left else 0
        left, weight_left = left - shares[swap], weight_left - weight
    return shares


def _in_dollars(fields: Fields) -> int:
    """Return the amount of a swap in the asset of the fee."""
    if fields["intermediate_amount"] is not None:
        return int(fields["intermediate_amount"])
    return int(fields["egress_amount" if fields["destination_asset"] == _STABLE else "deposit_amount"])


# Channels and accounts


def _swap_channel(block: _Block, index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield pallet, Name.SWAP_CHANNEL, {**_NO_TERMS, **fields, "broker_id": block.account(index)}


def _liquidity_channel(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield pallet, Name.LIQUIDITY_CHANNEL, {"boost_fee": 0, "channel_opening_fee": 0, **fields}


def _credited(block: _Block, _index: int, _pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    block.action = "LiquidityProvision", {"lp_account": fields["account_id"]}
    yield "AssetBalances", "AccountCredited", fields


def _debited(_block: _Block, _index: int, _pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield "AssetBalances", "AccountDebited", fields


def _withdrawal(block: _Block, index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    """Yield the debit of a broker, of which the release has no event, and the payout of what it earned."""
    account, asset = block.account(index), block.egress_assets[tuple(fields["egress_id"])]
    debit = {"account_id": account, "asset": asset, "amount_debited": fields["egress_amount"]}
    yield "AssetBalances", "AccountDebited", debit
    named = {"account_id": account, "egress_asset": asset, "egress_fee": 0}
    yield pallet, "WithdrawalRequested", {**fields, **named}


def _liquidity_withdrawal(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield pallet, "WithdrawalEgressScheduled", {"fee": 0, **fields}


# Deposits


def _fetch(block: _Block, _index: int, _pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    block.channel, block.action = fields["channel_id"], None
    yield from ()


def _deposit(block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    if block.action == "TooLow":
        yield from _ignored(block, _index, pallet, fields)
        return
    stated = {
        **fields,
        "channel_id": block.channel,
        "action": block.action or "NoAction",
        "deposit_details": _details(chain_of(pallet), fields["deposit_details"]),
        "origin_type": "DepositChannel",
    }
    yield pallet, Name.DEPOSIT_FINALISED, {**_NO_FEES, **stated}


def _ignored(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield pallet, Name.DEPOSIT_FAILED, _failed(pallet, "BelowMinimumDeposit", fields)


def _rejected(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    reason = "DepositWitnessRejected", fields["reason"]
    yield pallet, Name.DEPOSIT_FAILED, _failed(pallet, reason, fields["deposit_witness"])


def _failed(pallet: str, reason: Any, witness: Fields) -> dict[str, Any]:
    details = {"deposit_details": _details(chain_of(pallet), witness["deposit_details"])}
    kind = "DepositFailedDepositChannelVariant"
    named = kind, {"deposit_witness": {**witness, **details}}
    return {"block_height": None, "reason": reason, "details": named}


def _details(chain: str, details: Any) -> Any:
    return {"id": details} if chain == "Bitcoin" else details


# Swaps


def _scheduled(block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    """Yield the request of a swap, and its only chunk, for which the broker's commission is gone."""
    if variant(fields["swap_type"])[0] != "Swap":
        raise ValueError("a message's swap")
    number, commission = fields["swap_id"], fields["broker_commission"] or 0
    origin, details = fields["origin"]
    block.action = "Swap", {"swap_request_id": number}
    output = {"ccm_deposit_metadata": None, "output_address": fields["destination_address"]}
    request = {
        "swap_request_id": number,
        "input_asset": fields["source_asset"],
        "input_amount": fields["deposit_amount"],
        "output_asset": fields["destination_asset"],
        "broker_fees": [],
        "broker_commission": commission,
        "origin": (origin, {**details, "broker_id": None}),
        "request_type": ("Regular", {"output_action": ("Egress", output)}),
        "price_limits_and_expiry": None,
        "dca_parameters": None,
    }
    yield pallet, Name.REQUESTED, request
    chunk = {"swap_request_id": number, "swap_id": number, "swap_type": "Swap", "execute_at": block.number}
    yield pallet, Name.CHUNK_SCHEDULED, {**chunk, "input_amount": fields["deposit_amount"] - commission}


def _too_low(block: _Block, _index: int, _pallet: str, _fields: Fields) -> Iterator[NamedEvent]:
    block.action = "TooLow"
    yield from ()


def _executed(block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    number = fields["swap_id"]
    executed = {
        "swap_request_id": number,
        "swap_id": number,
        "input_asset": fields["source_asset"],
        "input_amount": fields["deposit_amount"],
        "intermediate_amount": fields["intermediate_amount"],
        "output_asset": fields["destination_asset"],
        "output_amount": fields["egress_amount"],
        "network_fee": block.fees[number],
        "broker_fee": 0,
    }
    yield pallet, Name.CHUNK_EXECUTED, executed


def _payout(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    """Yield a swap's payout, which ends it."""
    number = fields["swap_id"]
    yield (
        pallet,
        Name.OUTPUT_SCHEDULED,
        {**fields, "swap_request_id": number, "egress_fee": (0, fields["asset"])},
    )
    yield pallet, Name.COMPLETED, {"swap_request_id": number, "reason": "Executed"}


# Transactions


def _signed(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield pallet, Name.SIGNED, {**fields, **fields["broadcast_attempt_id"]}


def _timed_out(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    yield pallet, Name.TIMED_OUT, {**fields["broadcast_attempt_id"]}


def _succeeded(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    """Yield a success; only Bitcoin's transactions are named by their hashes in that release."""
    reference = fields["transaction_out_id"] if chain_of(pallet) == "Bitcoin" else None
    yield pallet, Name.SUCCEEDED, {**fields, "transaction_ref": reference}


def _not_taken(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    """Yield a transfer that its receiver rejected; this release makes no call that pays it again."""
    yield pallet, Name.TRANSFER_REJECTED, {**fields, "broadcast_id": NO_CALL, "egress_details": None}
    yield pallet, Name.CALL_EXPIRED, {"broadcast_id": NO_CALL}


def _key_rotated(_block: _Block, _index: int, pallet: str, fields: Fields) -> Iterator[NamedEvent]:
    if pallet == "EthereumVault":
        yield "EvmThresholdSigner", Name.KEY_ROTATED, {}
    else:
        yield pallet, "VaultRotationCompleted", fields


_Reader = Callable[[_Block, int, str, Fields], Iterator[NamedEvent]]
_READERS: Final[Mapping[tuple[str, str], _Reader]] = {
    ("Swapping", Name.SWAP_CHANNEL): _swap_channel,
    ("Swapping", Name.CHUNK_SCHEDULED): _scheduled,
    ("Swapping", "SwapAmountTooLow"): _too_low,
    ("Swapping", Name.CHUNK_EXECUTED): _executed,
    ("Swapping", Name.OUTPUT_SCHEDULED): _payout,
    ("Swapping", "WithdrawalRequested"): _withdrawal,
    ("LiquidityProvider", Name.LIQUIDITY_CHANNEL): _liquidity_channel,
    ("LiquidityProvider", "AccountCredited"): _credited,
    ("LiquidityProvider", "AccountDebited"): _debited,
    ("LiquidityProvider", "WithdrawalEgressScheduled"): _liquidity_withdrawal,
    ("IngressEgress", "DepositFetchesScheduled"): _fetch,
    ("IngressEgress", "DepositReceived"): _deposit,
    ("IngressEgress", "DepositIgnored"): _ignored,
    ("IngressEgress", "DepositWitnessRejected"): _rejected,
    ("IngressEgress", "VaultTransferFailed"): _not_taken,
    ("Broadcaster", Name.SIGNED): _signed,
    ("Broadcaster", Name.SUCCEEDED): _succeeded,
    ("Broadcaster", "BroadcastAttemptTimeout"): _timed_out,
    ("Vault", "VaultRotationCompleted"): _key_rotated,
}
"""Readers by pallet and name; a pallet of a foreign chain is named without the chain."""
