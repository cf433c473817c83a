"""Events of the chain that concern swaps: their names, and what each says.

The only place that knows these names. A reader of blocks gives pallet, name and fields as the metadata
decodes them; the functions here say which chain an event is about, by which ids it is found, which step of a
swap or a payout it states, and how a transaction is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

import base58

from cfnode.core.addresses import AddressError, BitcoinNetwork, encode_foreign_address
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.swaps.journey import JourneyStep, PayoutKind, PayoutStep

__all__ = [
    "DEPOSIT_FAILURES",
    "KEY",
    "KEY_PALLETS",
    "OPENINGS",
    "PAYLOADS",
    "PAYOUT_STEPS_OF",
    "PRIVATE_ASSET",
    "REQUESTED",
    "SCHEDULED",
    "STEPS_OF",
    "Fields",
    "Key",
    "Name",
    "chain_of",
    "deposit_step",
    "is_deposit",
    "is_key_event",
    "keys_of",
    "payout_kind",
    "transaction_text",
    "transaction_texts",
    "transactions_of",
    "variant",
]

Fields: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[Any, ...]
"""A name of a swap: ("channel", "Bitcoin", 7), ("request", 12), ("transaction", 32 bytes), …"""


class Name(StrEnum):
    """The chain's name of an event."""

    # Channels
    SWAP_CHANNEL = "SwapDepositAddressReady"
    LIQUIDITY_CHANNEL = "LiquidityDepositAddressReady"
    ACCOUNT_CHANNEL = "AccountCreationDepositAddressReady"
    PRIVATE_CHANNEL = "PrivateBrokerChannelOpened"
    # Deposits
    DEPOSIT_FINALISED = "DepositFinalised"
    DEPOSIT_BOOSTED = "DepositBoosted"
    DEPOSIT_FAILED = "DepositFailed"
    NOT_BOOSTED = "InsufficientBoostLiquidity"
    BOOST_LOST = "BoostedDepositLost"
    DEPOSIT_REJECTED = "TransactionRejectedByBroker"
    # Swaps
    REQUESTED = "SwapRequested"
    CHUNK_SCHEDULED = "SwapScheduled"
    CHUNK_RESCHEDULED = "SwapRescheduled"
    CHUNK_ABORTED = "SwapAborted"
    CHUNK_EXECUTED = "SwapExecuted"
    COMPLETED = "SwapRequestCompleted"
    CONFISCATED = "SwapAmountConfiscated"
    # Payouts
    OUTPUT_SCHEDULED = "SwapEgressScheduled"
    OUTPUT_IGNORED = "SwapEgressIgnored"
    OUTPUT_CREDITED = "CreditedOnChain"
    REFUND_SCHEDULED = "RefundEgressScheduled"
    REFUND_IGNORED = "RefundEgressIgnored"
    REFUND_CREDITED = "RefundedOnChain"
    # Transactions
    BATCH = "BatchBroadcastRequested"
    MESSAGE = "CcmBroadcastRequested"
    MESSAGE_INVALID = "CcmEgressInvalid"
    MESSAGE_FAILED = "CcmBroadcastFailed"
    SIGNED = "TransactionBroadcastRequest"
    RESIGNED = "CallResigned"
    SUCCEEDED = "BroadcastSuccess"
    ABORTED = "BroadcastAborted"
    TIMED_OUT = "BroadcastTimeout"
    # Calls that pay a failed transfer again
    TRANSFER_REJECTED = "TransferFallbackRequested"
    CALL_OUTDATED = "FailedForeignChainCallResigned"
    """The key has changed: the signatures before it are of no use, and a new one will come."""
    CALL_EXPIRED = "FailedForeignChainCallExpired"
    # Key of the EVM vaults
    ROTATION_PHASE = "RotationPhaseUpdated"
    KEY_ROTATED = "KeyRotationCompleted"


# Channels

OPENINGS: Final[Mapping[str, str]] = {
    Name.SWAP_CHANNEL: "source_asset",
    Name.LIQUIDITY_CHANNEL: "asset",
    Name.ACCOUNT_CHANNEL: "asset",
}
"""The events that open a channel on a foreign chain, and their field with the channel's asset."""
PRIVATE_ASSET: Final = "Btc"
"""The asset of a broker's private channel, which its event does not name."""

# Deposits

_DEPOSITS: Final = frozenset((Name.DEPOSIT_FINALISED, Name.DEPOSIT_BOOSTED))
_REPAID: Final = "BoostersCredited"
_SENT_BACK: Final = ("Refund", "Unrefundable", "NoAction")


DEPOSIT_FAILURES: Final = {
    "BelowMinimumDeposit": "The deposited amount was below the minimum required",
    "NotEnoughToPayFees": "The deposited amount was not enough to pay the deposit fee",
    "TransactionRejectedByBroker": "The transaction was rejected by the broker",
}
"""The reasons of DEPOSIT_FAILED, as people read them."""


def is_deposit(name: str, fields: Fields) -> bool:
    """Whether an event is a deposit that counts: one that only pays boosters back does not."""
    return name in _DEPOSITS and variant(fields["action"])[0] != _REPAID


def deposit_step(name: str, fields: Fields) -> JourneyStep:
    """Return what a deposit, counted or failed, states about its swap."""
    if name == Name.DEPOSIT_FAILED:
        return JourneyStep.REJECTED
    action = variant(fields["action"])[0]
    if action in _SENT_BACK:
        return JourneyStep.RETURNED
    if action != "Swap":
        return JourneyStep.CREDITED
    return JourneyStep.BOOSTED if name == Name.DEPOSIT_BOOSTED else JourneyStep.REQUESTED


# Swaps and payouts

STEPS_OF: Final[Mapping[str, JourneyStep]] = {
    Name.CHUNK_EXECUTED: JourneyStep.EXECUTED,
    Name.COMPLETED: JourneyStep.ENDED,
}
"""What an event of a request states about its swap."""
SCHEDULED: Final = (Name.OUTPUT_SCHEDULED, Name.REFUND_SCHEDULED)
REQUESTED: Final = (Name.BATCH, Name.MESSAGE)
"""The events that make an egress part of a transaction."""
PAYLOADS: Final = (Name.SIGNED, Name.RESIGNED)
"""The events with a signed call."""
PAYOUT_STEPS_OF: Final[Mapping[str, PayoutStep]] = {
    Name.OUTPUT_SCHEDULED: PayoutStep.SCHEDULED,
    Name.REFUND_SCHEDULED: PayoutStep.SCHEDULED,
    Name.OUTPUT_IGNORED: PayoutStep.IGNORED,
    Name.REFUND_IGNORED: PayoutStep.IGNORED,
    Name.OUTPUT_CREDITED: PayoutStep.CREDITED,
    Name.REFUND_CREDITED: PayoutStep.CREDITED,
    Name.MESSAGE_INVALID: PayoutStep.INVALID,
    Name.BATCH: PayoutStep.BATCHED,
    Name.MESSAGE: PayoutStep.BATCHED,
    Name.SIGNED: PayoutStep.SENT,
    Name.SUCCEEDED: PayoutStep.SUCCEEDED,
    Name.ABORTED: PayoutStep.ABORTED,
    Name.TRANSFER_REJECTED: PayoutStep.TRANSFER_REJECTED,
    Name.CALL_EXPIRED: PayoutStep.CALL_EXPIRED,
}
"""What an event states about a payout."""
_KINDS: Final[Mapping[str, PayoutKind]] = {
    Name.OUTPUT_SCHEDULED: PayoutKind.OUTPUT,
    Name.OUTPUT_IGNORED: PayoutKind.OUTPUT,
    Name.OUTPUT_CREDITED: PayoutKind.OUTPUT,
    Name.REFUND_SCHEDULED: PayoutKind.REFUND,
    Name.REFUND_IGNORED: PayoutKind.REFUND,
    Name.REFUND_CREDITED: PayoutKind.REFUND,
}


def payout_kind(name: str) -> PayoutKind | None:
    """Return what the payout that an event begins is to its swap; None for another event."""
    return _KINDS.get(name)


# Where an event belongs

_INGRESS, _BROADCASTER = "IngressEgress", "Broadcaster"
_SWAPPING: Final = frozenset(("Swapping", "LiquidityProvider"))
"""Pallets that open channels; the second one's take the numbers of swaps' channels."""


def chain_of(pallet: str) -> str:
    """Return the foreign chain whose pallet emitted an event; "" for other pallets."""
    for end in (_INGRESS, _BROADCASTER):
        if pallet.endswith(end):
            return pallet.removesuffix(end)
    return ""


def keys_of(pallet: str, name: str, fields: Fields, network: BitcoinNetwork) -> list[Key]:
    """Return the keys of an event in an index; none for an event that is of no swap and no rotation.

    Raises LookupError, TypeError, ValueError or AttributeError for an event of an unknown shape.
    """
    if name in KEY_PALLETS:
        return [KEY] if is_key_event(pallet, name, fields) else []
    if pallet in _SWAPPING:
        keys = _swapping_keys(name, fields)
    elif pallet.endswith(_INGRESS):
        keys = _ingress_keys(chain_of(pallet), name, fields, network)
    elif pallet.endswith(_BROADCASTER) and "broadcast_id" in fields:
        keys = iter([("broadcast", chain_of(pallet), fields["broadcast_id"])])
    else:
        return []
    return list(dict.fromkeys(keys))


def _swapping_keys(name: str, fields: Fields) -> Iterator[Key]:
    if (asset := OPENINGS.get(name)) is not None:
        yield "channel", ASSETS[fields[asset]].chain, fields["channel_id"]
        yield "address", fields["deposit_address"]
    elif name == Name.PRIVATE_CHANNEL:
        yield "channel", ASSETS[PRIVATE_ASSET].chain, fields["channel_id"]
    if "swap_request_id" in fields:
        yield "request", fields["swap_request_id"]
    if "swap_id" in fields:
        yield "swap", fields["swap_id"]
    if name in SCHEDULED:
        yield "egress", *fields["egress_id"]
    if name == Name.REQUESTED:
        kind, origin = variant(fields["origin"])
        if kind == "DepositChannel":
            yield "channel", ASSETS[fields["input_asset"]].chain, origin["channel_id"]


def _ingress_keys(chain: str, name: str, fields: Fields, network: BitcoinNetwork) -> Iterator[Key]:
    if name in _DEPOSITS:
        yield "channel", chain, fields["channel_id"]
        kind, action = variant(fields["action"])
        if kind == "Swap":
            yield "request", action["swap_request_id"]
        elif kind == _REPAID:
            yield "credited", chain, action["prewitnessed_deposit_id"]
        yield from (
            ("transaction", reference) for reference in transactions_of(chain, fields["deposit_details"])
        )
    elif name == Name.NOT_BOOSTED:
        yield "channel", chain, fields["channel_id"]
    elif name == Name.DEPOSIT_FAILED:
        witness = variant(fields["details"])[1].get("deposit_witness")
        if witness is not None:
            yield "address", _text_address(chain, witness["deposit_address"], network)
            yield from (
                ("transaction", reference) for reference in transactions_of(chain, witness["deposit_details"])
            )
    elif name == Name.TRANSFER_REJECTED:
        receiver = _text_address(chain, fields["destination_address"], network)
        yield "fallback", fields["asset"], receiver, fields["amount"]
        yield "broadcast", chain, fields["broadcast_id"]
    elif name == Name.MESSAGE_INVALID:
        yield "egress", *fields["egress_id"]
    elif "broadcast_id" in fields:
        yield "broadcast", chain, fields["broadcast_id"]
        ids = [fields["egress_id"]] if "egress_id" in fields else fields.get("egress_ids", ())
        yield from (("egress", *egress_id) for egress_id in ids)


def _text_address(chain: str, account: Any, network: BitcoinNetwork) -> Any:
    try:
        return encode_foreign_address((CHAINS[chain].address, account), network)
    except AddressError:
        return account


# Rotations of the key that signs the calls of EVM vaults

KEY_PALLETS: Final[Mapping[str, str]] = {
    Name.ROTATION_PHASE: "Validator",
    Name.KEY_ROTATED: "EvmThresholdSigner",
}
"""The pallets of the events of a rotation, by the names of these."""
KEY: Final[Key] = ("key",)
"""The key of these events in an index."""


def is_key_event(pallet: str, name: str, fields: Any) -> bool:
    """Return whether an event states that the next key signs from now on, or that a rotation has ended."""
    if KEY_PALLETS.get(name) != pallet:
        return False
    return name == Name.KEY_ROTATED or variant(fields["new_phase"])[0] == "ActivatingKeys"


# Values


def variant(value: Any) -> tuple[str, Any]:
    """Name and payload of an enum's value; {} for a missing payload."""
    return (value, {}) if isinstance(value, str) else value


def transactions_of(chain: str, details: Any) -> list[bytes]:
    """Return the transactions of a deposit's details, in the byte order of the chain itself."""
    if isinstance(details, bytes):
        return [details]
    if not isinstance(details, dict):
        return []
    if chain == "Bitcoin":
        return [details["id"]["tx_id"]]
    return list(details.get("tx_hashes") or ())


def transaction_text(chain: str, reference: Any) -> str | None:
    """Return a transaction's id as explorers of its chain print it; None for a reference of another form."""
    if isinstance(reference, dict):
        return "-".join(str(member) for member in reference.values())
    if isinstance(reference, tuple) and reference and isinstance(reference[0], bytes):
        reference = reference[0]  # Solana: an account, and a slot
    if not isinstance(reference, bytes):
        return None
    if chain == "Bitcoin":
        return str(reference[::-1].hex())
    return base58.b58encode(reference).decode() if chain == "Solana" else f"0x{reference.hex()}"


def transaction_texts(text: str) -> frozenset[str]:
    """Return the texts that `transaction_text` has for a transaction that a person wrote, of any chain.

    Hex may have any case and lack `0x`; Bitcoin's may be in the byte order of the chain.
    """
    digits = text[2:] if text[:2] in ("0x", "0X") else text
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        return frozenset((text,))
    return frozenset((text, f"0x{data.hex()}", data.hex(), data[::-1].hex()))
