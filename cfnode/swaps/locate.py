"""Search for a swap by a reference: a deposit channel's id, a swap's id, or a transaction's hash.

A channel's number alone does not identify it: each fact belongs to the newest opening before it
(`cfnode.swaps.identity`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cfnode.core.addresses import encode_foreign_address
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.swaps.events import Name, is_deposit, variant
from cfnode.swaps.identity import ChannelId, Place, UnknownChain, belongs, newest_opening, opened_channel
from cfnode.swaps.record import Entry, SwapRecord

__all__ = ["Located", "UnknownSwap", "locate"]

MAX_REFERENCE: Final = 200
"""Most characters of a reference."""


class UnknownSwap(Exception):
    """A reference that no swap or channel of the record has."""


@dataclass(frozen=True, slots=True)
class Located:
    """Events from which a swap's status begins.

    `channel` is SwapDepositAddressReady, `request` SwapRequested, `deposit` DepositFinalised, -Boosted or
    -Failed. A deposit that only pays boosters back does not count. `openings` are those of the channel's
    number.
    """

    channel: Entry | None = None
    deposit: Entry | None = None
    request: Entry | None = None
    openings: tuple[Place, ...] = ()

    def owns(self, entry: Entry) -> bool:
        """Return whether an event with the channel's number is the channel's."""
        return self.channel is not None and belongs(entry.place, self.channel.place, self.openings)

    @property
    def is_newest(self) -> bool:
        """Whether the channel's number has not been given out again."""
        return self.channel is not None and self.channel.place == max(self.openings)


def locate(record: SwapRecord, reference: str) -> Located:
    """Return the swap of a reference; for a channel, that of its latest deposit.

    Raises UnknownSwap, and UnknownChain if the record lacks the chain of a channel.
    """
    if len(reference) > MAX_REFERENCE:
        raise UnknownSwap(reference)
    channel = ChannelId.parse(reference)
    if channel is not None:
        return _by_channel(record, channel, named=reference.split("-")[1])
    if reference.isascii() and reference.isdigit() and len(reference) <= 20:
        return _by_request(record, int(reference))
    return _by_transaction(record, reference)


def _by_channel(record: SwapRecord, channel: ChannelId, named: str) -> Located:
    if channel.chain not in record.chains:
        raise UnknownChain("chain", named, record.chains)
    entries = record.find("channel", channel.chain, channel.number)
    opening = next((entry for entry in entries if _is_opening_of(entry, channel)), None)
    if opening is None:
        raise UnknownSwap(str(channel))
    located = Located(opening, openings=_openings(entries))
    at_address = record.find("address", opening.fields["deposit_address"])
    deposits = [entry for entry in entries if _is_deposit(entry)]
    deposits += [entry for entry in at_address if entry.name == Name.DEPOSIT_FAILED]
    last = max(
        (entry for entry in deposits if located.owns(entry)), key=lambda deposit: deposit.place, default=None
    )
    request = None if last is None else _request_of(record, last)
    return Located(opening, last, request, located.openings)


def _is_opening_of(entry: Entry, channel: ChannelId) -> bool:
    return entry.name == Name.SWAP_CHANNEL and entry.block.number == channel.block


def _openings(entries: list[Entry]) -> tuple[Place, ...]:
    return tuple(entry.place for entry in entries if opened_channel(entry.name, entry.fields) is not None)


def _by_request(record: SwapRecord, request_id: int) -> Located:
    entries = record.find("request", request_id)
    request = next((entry for entry in entries if entry.name == Name.REQUESTED), None)
    if request is None or not _is_for_an_address(request):
        raise UnknownSwap(str(request_id))  # swaps of the chain itself, and those of liquidity providers
    deposit = next((entry for entry in entries if _is_deposit(entry)), None)
    return _of_request(record, deposit, request)


def _is_for_an_address(request: Entry) -> bool:
    kind = request.fields["request_type"]
    return isinstance(kind, tuple) and kind[1]["output_action"][0] == "Egress"


def _by_transaction(record: SwapRecord, reference: str) -> Located:
    try:
        data = bytes.fromhex(reference[2:] if reference[:2] in ("0x", "0X") else reference)
    except ValueError:
        raise UnknownSwap(reference) from None
    transaction_entries = record.find("transaction", data) or record.find("transaction", data[::-1])
    deposits = [
        entry for entry in transaction_entries if _is_deposit(entry) or entry.name == Name.DEPOSIT_FAILED
    ]
    if not deposits:
        raise UnknownSwap(reference)
    deposit = deposits[-1]
    request = _request_of(record, deposit)
    if request is not None:
        return _of_request(record, deposit, request)
    return _at_channel(_beside(record, deposit), deposit, None)


def _beside(record: SwapRecord, deposit: Entry) -> list[Entry]:
    """Return the events of the channels that a deposit may belong to; a failed one names only its address."""
    if deposit.name != Name.DEPOSIT_FAILED:
        return record.find("channel", deposit.chain, deposit.fields["channel_id"])
    witness = deposit.fields["details"][1].get("deposit_witness")
    if witness is None:
        return []
    address = (CHAINS[deposit.chain].address, witness["deposit_address"])
    return record.find("address", encode_foreign_address(address, record.network))


def _is_deposit(entry: Entry) -> bool:
    return is_deposit(entry.name, entry.fields)


def _request_of(record: SwapRecord, deposit: Entry) -> Entry | None:
    kind, action = variant(deposit.fields.get("action", "None"))
    if kind != "Swap":
        return None
    entries = record.find("request", action["swap_request_id"])
    return next((entry for entry in entries if entry.name == Name.REQUESTED), None)


def _of_request(record: SwapRecord, deposit: Entry | None, request: Entry) -> Located:
    kind, origin = request.fields["origin"]
    if kind != "DepositChannel":
        return Located(None, deposit, request)
    chain = ASSETS[request.fields["input_asset"]].chain
    return _at_channel(record.find("channel", chain, origin["channel_id"]), deposit, request)


def _at_channel(entries: list[Entry], deposit: Entry | None, request: Entry | None) -> Located:
    """Return the swap with its channel, the newest opening among `entries` at or before its first event.

    A channel that is not for swaps is left out.
    """
    first_entry = request or deposit
    assert first_entry is not None
    openings = _openings(entries)
    place = newest_opening(openings, first_entry.place)
    channel = next(
        (entry for entry in entries if entry.place == place and entry.name == Name.SWAP_CHANNEL), None
    )
    return Located(channel, deposit, request, openings if channel is not None else ())
