"""Log lines of a development chain for each step of a swap.

The steps: a channel is opened, a deposit arrives or is refused, a swap is executed, a payout arrives or
fails. The lines are made from the events of each block of the best chain. Payouts are matched in memory with
the transactions that include them; payouts from before the start of the node have no line.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from cfnode.core import ss58
from cfnode.core.addresses import (
    NETWORKS,
    AddressError,
    BitcoinNetwork,
    address_to_text,
    encode_foreign_address,
)
from cfnode.core.assets import ASSETS, CHAINS, ForeignAsset, asset_text, whole_text
from cfnode.core.block import BlockRef
from cfnode.core.bounded import BoundedDict
from cfnode.core.scale import ScaleError
from cfnode.devchain.swaps.events import events_of, network_in
from cfnode.node.chain.block_events import BlockEvent
from cfnode.node.chain.events import BestChanged
from cfnode.node.chain.view import ChainView
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, StoreError, UnknownBlock
from cfnode.swaps.addresses import address_text
from cfnode.swaps.checksums import checksum_text
from cfnode.swaps.events import Name
from cfnode.swaps.genesis_events import NO_CALL
from cfnode.swaps.identity import ChannelId

__all__ = ["SwapLines", "SwapLog"]

log = logging.getLogger("cfnode.dev")

MAX_FOLLOWED_SWAPS = 10_000
"""Maximum swap requests, payouts and transactions in memory, each: more than are in progress at a time."""
USERS: Final = ("Regular", "RegularNoNetworkFee")
"""Kinds of swap requests that users make; the chain itself swaps fees."""
_INGRESS, _BROADCASTER = "IngressEgress", "Broadcaster"
_PAYOUTS: Final[Mapping[str, str]] = {Name.OUTPUT_SCHEDULED: "Payout", Name.REFUND_SCHEDULED: "Refund"}
_ENDS: Final[Mapping[str, str]] = {
    Name.SUCCEEDED: "📤 {0} has arrived on {1}",
    Name.ABORTED: "❌ {0} could not be sent: {1}'s broadcast {2} is aborted",
}


class SwapLog:
    """The task that logs the steps of swaps on the best chain, at level info."""

    def __init__(self, chain: ChainView) -> None:
        self._chain = chain
        self._lines = SwapLines()

    async def run(self) -> None:
        """Log until cancelled."""
        while True:
            with self._chain.subscribe(only=BestChanged) as events:
                async for event in events:
                    for block in event.enacted if isinstance(event, BestChanged) else ():
                        await self._log(self._chain.block_ref(block))

    async def _log(self, block: BlockRef | None) -> None:
        if block is None:
            return
        try:
            events = await events_of(self._chain, block)
            metadata = (await self._chain.runtime_at(block.hash)).metadata
            with self._chain.state(block.hash) as state:
                self._lines.network = network_in(metadata, state)
        except (RuntimeCallError, ScaleError, StateDiscarded, StoreError, UnknownBlock) as error:
            log.debug("the events of block %d are not logged: %s", block.number, error)
            return
        for line in self._lines.of(block.number, events):
            log.info("%s", line)


class SwapLines:
    """The lines for the events of one block after the other."""

    def __init__(self) -> None:
        self.network = NETWORKS["Development"]
        self._requests = BoundedDict[int, None](MAX_FOLLOWED_SWAPS)
        self._payouts = BoundedDict[Any, str](MAX_FOLLOWED_SWAPS)
        self._transactions = BoundedDict[tuple[str, int], list[str]](MAX_FOLLOWED_SWAPS)

    def of(self, number: int, events: Sequence[BlockEvent]) -> Iterator[str]:
        """Yield the lines of block `number`; an event of an unknown form has none."""
        failed_texts = [
            f" of {_amount(event.fields)}" for event in events if event.name == Name.TRANSFER_REJECTED
        ]
        for event in events:
            try:
                yield from self._of(number, event, failed_texts)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                log.debug("the event %s.%s is not logged: %r", event.pallet, event.name, error)

    def _of(self, number: int, event: BlockEvent, failed: list[str]) -> Iterator[str]:
        if event.pallet in ("Swapping", "LiquidityProvider"):
            yield from self._of_swapping(number, event)
        elif event.pallet.endswith(_INGRESS):
            yield from self._of_ingress(event.pallet.removesuffix(_INGRESS), event)
        elif event.pallet.endswith(_BROADCASTER) and event.name in _ENDS:
            yield from self._ended(event.pallet.removesuffix(_BROADCASTER), event, failed)

    def _of_swapping(self, number: int, event: BlockEvent) -> Iterator[str]:
        fields = event.fields
        if (writer := _WRITTEN.get(event.name)) is not None:
            yield writer(number, fields)
        elif event.name == Name.REQUESTED and _variant(fields["request_type"]) in USERS:
            self._requests[fields["swap_request_id"]] = None
        elif event.name == Name.CHUNK_EXECUTED and fields["swap_request_id"] in self._requests:
            input_text = _amount(fields, "input_asset", "input_amount")
            output_text = _amount(fields, "output_asset", "output_amount")
            yield f"🔁 Swapped {input_text} for {output_text} (swap request {fields['swap_request_id']})"
        elif event.name in _PAYOUTS:
            self._payouts[fields["egress_id"]] = f"{_PAYOUTS[event.name]} of {_amount(fields)}"

    def _of_ingress(self, chain: str, event: BlockEvent) -> Iterator[str]:
        fields = event.fields
        if event.name == Name.DEPOSIT_FAILED:
            yield _refused(fields)
        elif event.name in (Name.DEPOSIT_FINALISED, Name.DEPOSIT_BOOSTED):
            yield self._deposit(chain, fields, boosted=event.name == Name.DEPOSIT_BOOSTED)
        elif event.name == Name.TRANSFER_REJECTED:
            receiver = checksum_text(_account(chain, fields["destination_address"], self.network))
            number = fields["broadcast_id"]
            command = "no call pays it" if number == NO_CALL else f"cfnode recover {chain} {number}"
            yield f"❌ {_amount(fields)} could not be paid to {receiver}: {command}"
        elif event.name in (Name.BATCH, Name.MESSAGE):
            ids = [fields["egress_id"]] if "egress_id" in fields else fields["egress_ids"]
            texts = [text for egress_id in ids if (text := self._payouts.pop(egress_id, None)) is not None]
            self._transactions[chain, fields["broadcast_id"]] = texts

    def _deposit(self, chain: str, fields: dict[str, Any], *, boosted: bool) -> str:
        total = {"amount": sum(part_amount for _, part_amount in fields["amounts"])} if boosted else {}
        address = fields["deposit_address"]
        location = "into the vault" if address is None else f"at {_account(chain, address, self.network)}"
        return f"💰 Deposit of {_amount(fields | total)} {location}{', boosted' if boosted else ''}"

    def _ended(self, chain: str, event: BlockEvent, failed: list[str]) -> Iterator[str]:
        """Yield the lines of a transaction that was confirmed or aborted.

        `failed`: texts of transfers in it that their receiver refused, which have a line of their own.
        """
        number = event.fields["broadcast_id"]
        for text in self._transactions.pop((chain, number), ()):
            if (unpaid := next(filter(text.endswith, failed), None)) is not None:
                failed.remove(unpaid)
            else:
                yield _ENDS[event.name].format(text, chain, number)


def _opened(number: int, fields: dict[str, Any]) -> str:
    source, target = ASSETS[fields["source_asset"]], ASSETS[fields["destination_asset"]]
    receiver = address_text(fields["destination_address"])
    return f"{_channel(number, source, fields)} becomes {asset_text(target)} for {receiver}"


def _opened_for_liquidity(number: int, fields: dict[str, Any]) -> str:
    channel = _channel(number, ASSETS[fields["asset"]], fields)
    return f"{channel} is credited to {ss58.encode(fields['account_id'])}"


def _channel(number: int, asset: ForeignAsset, fields: dict[str, Any]) -> str:
    channel = ChannelId(asset.chain, fields["channel_id"], number)
    address = address_to_text(fields["deposit_address"])
    return f"📬 Channel {channel} opened: {asset_text(asset)} sent to {address}"


def _unpaid(number: int, fields: dict[str, Any]) -> str:
    request = fields["swap_request_id"]
    return f"❌ {_amount(fields)} of swap request {request} are not paid out: too little for the transfer"


_WRITTEN: Final[dict[str, Callable[[int, dict[str, Any]], str]]] = {
    Name.SWAP_CHANNEL: _opened,
    Name.LIQUIDITY_CHANNEL: _opened_for_liquidity,
    Name.OUTPUT_IGNORED: _unpaid,
    Name.REFUND_IGNORED: _unpaid,
}


def _refused(fields: dict[str, Any]) -> str:
    """Return the line of a refused deposit, into a channel or into the vault."""
    (witness,) = fields["details"][1].values()
    names = ("asset", "amount") if "asset" in witness else ("input_asset", "deposit_amount")
    return f"❌ Deposit of {_amount(witness, *names)} refused: {_variant(fields['reason'])}"


def _amount(fields: dict[str, Any], asset: str = "asset", amount: str = "amount") -> str:
    """Return an amount in whole units, without trailing zeros: `0.1 BTC`."""
    return whole_text(fields[amount], ASSETS[fields[asset]])


def _account(chain: str, account: Any, network: BitcoinNetwork) -> str:
    """Return the text of an address in the form of a chain's own pallet."""
    try:
        encoded = encode_foreign_address((CHAINS[chain].address, account), network)
    except AddressError:
        return "an address of an unknown form"
    return address_to_text(encoded)


def _variant(value: Any) -> str:
    """Return the name of an enum's value."""
    return str(value if isinstance(value, str) else value[0])
