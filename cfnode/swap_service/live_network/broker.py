"""The broker of a live network: a node that the operator names opens channels, by its `broker_*` RPC.

The broker's account pays the fee of each channel.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import trio

from cfnode.core import ss58
from cfnode.core.addresses import address_to_text, parse_address
from cfnode.core.foreign import ForeignError, block_number, whole_number
from cfnode.ledger.database import Database
from cfnode.ledger.errors import CallError, LedgerError, NodeError
from cfnode.ledger.swap_events import ServiceChannel, expect
from cfnode.swap_service.live_network.best_block import NodeReader
from cfnode.swap_service.live_network.link import BrokerNotConnected, NodeLink
from cfnode.swap_service.live_network.outcomes import UnknownOutcome, opened_nothing
from cfnode.swap_service.live_network.turns import ProcessTurns
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.requests import SwapTerms
from cfnode.swap_service.source import OpenedChannel
from cfnode.swaps.documents.members import asset_json

__all__ = ["NO_BROKER", "NO_SHARES", "CommissionShares", "RemoteBroker", "service_channel"]

log = logging.getLogger("cfnode.service")
CHANNEL_OPENING_TIMEOUT_S: Final = 55.0
"""Seconds for the answer to a request for a channel: a node may answer only at finality."""
RECORD_CHANNEL_TIMEOUT_S: Final = 20.0
RECORD_CHANNEL_RETRY_S: Final = 0.5
_OPEN: Final = "broker_request_swap_deposit_address"
NO_BROKER = "this service opens no channels and encodes no vault swaps: it runs without --broker"


Step = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class CommissionShares:
    """Commissions of a swap in basis points: the broker's, and those of affiliates (SS58)."""

    commission_bps: int = 0
    affiliates: tuple[tuple[str, int], ...] = ()


NO_SHARES: Final = CommissionShares()


def service_channel(
    terms: SwapTerms, shares: CommissionShares, channel: OpenedChannel, expected: int
) -> ServiceChannel:
    """Return what is known of a channel before its block is in the books: all but the broker's account."""
    fields = {
        "deposit_address": parse_address(terms.chain, channel.address),
        "destination_address": terms.destination,
        "source_asset": terms.source,
        "destination_asset": terms.target,
        "channel_id": channel.channel_id,
        "broker_id": None,
        "broker_commission_rate": shares.commission_bps,
        "channel_metadata": terms.message,
        "source_chain_expiry_block": channel.source_chain_expiry_block,
        "boost_fee": terms.boost_fee,
        "channel_opening_fee": channel.opening_fee,
        "affiliate_fees": [
            {"account": ss58.decode(account)[1], "bps": bps} for account, bps in shares.affiliates
        ],
        "refund_parameters": terms.refund,
        "dca_parameters": terms.chunks,
    }
    return ServiceChannel(channel.id(terms.chain), expected, channel.opened_at, fields)


async def _stored(keep: Callable[[], None], channel: str) -> None:
    """Store what was announced for a channel; retry faults of the database for `RECORD_CHANNEL_TIMEOUT_S`.

    The channel is open in any case, so its user gets the answer.
    """
    with trio.CancelScope(shield=True, deadline=trio.current_time() + RECORD_CHANNEL_TIMEOUT_S):
        while True:
            try:
                await trio.to_thread.run_sync(keep)
                return
            except LedgerError as error:
                log.warning("the channel %s is open; storing its amount again: %s", channel, error)
            await trio.sleep(RECORD_CHANNEL_RETRY_S)
    log.error("the channel %s is open, and the expected amount could not be stored", channel)


async def _nothing() -> None:
    await trio.lowlevel.checkpoint()


class RemoteBroker:
    """Broker's account on another node; implements `cfnode.swap_service.source.ChannelBroker`.

    Without a `link` every request is refused.
    """

    def __init__(self, link: NodeLink | None, reader: NodeReader, database: Database) -> None:
        self._link, self._reader, self._database = link, reader, database
        self._turns = ProcessTurns(database)

    async def run(self) -> None:
        """Take turns with other processes until cancelled."""
        if self._link is not None:
            await self._turns.run()

    async def idle(self) -> None:
        """Wait until no channel is being opened."""
        await self._turns.idle()

    async def open(self, terms: SwapTerms, expected: int) -> OpenedChannel:
        """Open a deposit channel, and store the expected amount.

        Raises Refusal or LedgerError if nothing was opened, UnknownOutcome if that is not known.
        """
        channel = await self.open_for(terms, NO_SHARES, _nothing)
        opened_channel = service_channel(terms, NO_SHARES, channel, expected)
        await _stored(partial(expect, self._database, opened_channel), str(opened_channel.channel))
        return channel

    async def open_for(self, terms: SwapTerms, shares: CommissionShares, before: Step) -> OpenedChannel:
        """Open a deposit channel; `before` is called in the turn, before the request is sent.

        Raises Refusal or LedgerError if nothing was opened, UnknownOutcome if that is not known.
        """
        self._require()
        async with self._turns.joined():
            await before()
            answer = await self._opening(
                asset_json(terms.source),
                asset_json(terms.target),
                address_to_text(terms.destination),
                shares.commission_bps,
                _message(terms.message),
                terms.boost_fee,
                [{"account": account, "bps": bps} for account, bps in shares.affiliates],
                _refund(terms.refund),
                terms.chunks,
            )
        return await self._read(answer, terms.chain)

    async def head(self) -> int:
        """Return the number of the best block of the broker's node. Raises Refusal, LedgerError."""
        link = self._require()
        header = await link.call("chain_getHeader")
        try:
            return block_number(header)
        except ForeignError:
            raise NodeError(f"{link.origin} sent a malformed header; check that it is a node") from None

    async def _opening(self, *params: Any) -> Any:
        """Send a request for a channel, and return the answer.

        Raises NotConnected, or Refusal if nothing was opened, and UnknownOutcome if that is not known.
        """
        link = self._require()
        try:
            return await link.call(_OPEN, *params, within_s=CHANNEL_OPENING_TIMEOUT_S)
        except BrokerNotConnected:
            raise
        except CallError as error:
            if opened_nothing(error):
                raise RequestRefusal(400, str(error).removeprefix(f"{_OPEN}: ")) from None
            raise UnknownOutcome(str(error)) from None
        except LedgerError as error:
            raise UnknownOutcome(str(error)) from None

    async def encode(self, terms: SwapTerms, extra: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the transaction of a vault swap as JSON. Raises Refusal, NodeError."""
        answer = await self._call(
            "broker_request_swap_parameter_encoding",
            asset_json(terms.source),
            asset_json(terms.target),
            address_to_text(terms.destination),
            0,
            {"chain": terms.chain, **_extra(extra)},
            _message(terms.message),
            terms.boost_fee,
            [],
            terms.chunks,
        )
        if not isinstance(answer, dict):
            raise self._malformed()
        return answer

    async def encode_terms(self, terms: SwapTerms) -> str:
        """Return only the parameters of a vault swap, in hex. Raises Refusal, NodeError."""
        answer = await self._call(
            "broker_encode_cf_parameters",
            asset_json(terms.source),
            asset_json(terms.target),
            address_to_text(terms.destination),
            0,
            _refund(terms.refund),
            _message(terms.message),
            terms.boost_fee,
            [],
            terms.chunks,
        )
        if not isinstance(answer, str):
            raise self._malformed()
        return answer

    def _require(self) -> NodeLink:
        if self._link is None:
            raise RequestRefusal(503, NO_BROKER)
        return self._link

    async def _call(self, method: str, *params: Any) -> Any:
        try:
            return await self._require().call(method, *params)
        except CallError as error:
            raise RequestRefusal(400, str(error).removeprefix(f"{method}: ")) from None

    async def _read(self, answer: Any, chain: str) -> OpenedChannel:
        try:
            number = whole_number(answer["issued_block"], 32)
            return OpenedChannel(
                address=address_to_text(parse_address(chain, str(answer["address"]))),
                channel_id=whole_number(answer["channel_id"], 64),
                issued_block=number,
                opened_at=await self._time(number),
                source_chain_expiry_block=whole_number(answer["source_chain_expiry_block"], 64),
                opening_fee=whole_number(answer["channel_opening_fee"], 128),
            )
        except (KeyError, TypeError, ValueError):
            raise UnknownOutcome(str(self._malformed())) from None

    async def _time(self, number: int) -> int:
        """Return the time of a block, or of the clock if the node does not answer (Unix ms).

        The channel is open in either case.
        """
        try:
            return await self._reader.time(number)
        except LedgerError:
            return time.time_ns() // 1_000_000

    def _malformed(self) -> NodeError:
        assert self._link is not None
        return NodeError(f"{self._link.origin} sent a malformed answer: is it a broker's node?")


def _message(message: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if message is None:
        return None
    return {
        "message": f"0x{message['message'].hex()}",
        "gas_budget": hex(message["gas_budget"]),
        "ccm_additional_data": f"0x{message['ccm_additional_data'].hex()}",
    }


def _refund(refund: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "retry_duration": refund["retry_duration"],
        "refund_address": address_to_text(refund["refund_address"]),
        "min_price": hex(refund["min_price"]),
        "refund_ccm_metadata": _message(refund["refund_ccm_metadata"]),
        "max_oracle_price_slippage": refund["max_oracle_price_slippage"],
    }


def _extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the source chain in the JSON that clients send."""
    written = dict(extra)
    for name in ("input_amount", "min_output_amount"):
        if name in written:
            written[name] = hex(written[name])
    if "refund_parameters" in written:
        written["refund_parameters"] = _refund(written["refund_parameters"])
    if "from" in written:
        written["from"] = address_to_text(written["from"])
    if "seed" in written:
        written["seed"] = f"0x{written['seed'].hex()}"
    return written
