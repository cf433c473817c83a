"""The swap service's own broker account, which opens deposit channels for users without a broker.

It is not the account in the node's keystore, which belongs to the operator and has its own access rules. The
service's account is derived from a well-known seed, and is funded and registered when it is first needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.addresses import address_to_text
from cfnode.core.bounded import BoundedDict
from cfnode.core.keys import Keypair
from cfnode.core.runtime_api import ApiMissing, ApiRefused
from cfnode.node.signing.broker import BrokerChannelRequest, BrokerClient
from cfnode.node.signing.outcome import SubmissionError
from cfnode.node.signing.submission import SignedClient, TooManyCalls
from cfnode.rpc.cf.method import query, value
from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.errors import explain
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.requests import SwapTerms
from cfnode.swap_service.source import OpenedChannel
from cfnode.swaps.identity import ChannelId

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["DefaultBroker"]

BROKER_SEED: Final = "//cfnode swap service"
BROKER_FUNDS_ATOMS: Final = 1_000 * 10**18
LOW: Final = 100 * 10**18
MAX_EXPECTED: Final = 10_000

Fund = Callable[[bytes, int], Awaitable[object]]
"""A function that gives an account FLIP (smallest unit)."""


class DefaultBroker:
    """The broker that opens channels for the users of a development chain, and encodes their vault swaps."""

    def __init__(self, node: Node, fund_account: Fund) -> None:
        self.expected: BoundedDict[ChannelId, int] = BoundedDict(MAX_EXPECTED)
        """The expected amounts by channel; the oldest are dropped beyond MAX_EXPECTED."""
        self._node = node
        self._fund_account = fund_account
        client = SignedClient(
            node.chain, node.pool, Keypair.from_suri(BROKER_SEED).repeatable(), syncing=lambda: None
        )
        self._broker = BrokerClient(node.chain, client)
        self._preparing = trio.Lock()

    async def open(self, terms: SwapTerms, expected: int) -> OpenedChannel:
        """Open a deposit channel, and keep the expected amount. Raises Refusal."""
        with _refusing():
            await self.prepare()
            channel = await self._broker.request_swap_deposit_address(_request(terms))
        opened = OpenedChannel(
            address_to_text(channel.address),
            channel.channel_id,
            channel.issued_block,
            await self._opened_at(channel.issued_block),
            channel.source_chain_expiry_block,
            channel.channel_opening_fee,
        )
        self.expected[opened.id(terms.chain)] = expected
        return opened

    async def encode(self, terms: SwapTerms, extra: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the transaction of a vault swap as JSON. Raises Refusal."""
        parameters = {"extra_parameters": (terms.chain, dict(extra))}
        document: Mapping[str, Any] = await self._encoded(
            terms, "cf_request_swap_parameter_encoding", parameters
        )
        return document

    async def encode_terms(self, terms: SwapTerms) -> str:
        """Return only the parameters of a vault swap, as hex. Raises Refusal."""
        parameters = {"refund_parameters": terms.refund}
        return to_hex(bytes(await self._encoded(terms, "cf_encode_cf_parameters", parameters)))

    @property
    def account(self) -> bytes:
        """The account that opens channels and encodes vault swaps."""
        return self._broker.account

    async def prepare(self) -> None:
        """Fund the account if it has less than LOW, and register it as a broker if it is not one."""
        node, account = self._node, self.account
        async with self._preparing:
            if await value(node, node.chain.best.hash, "cf_account_flip_balance", account_id=account) < LOW:
                await self._fund_account(account, BROKER_FUNDS_ATOMS)
            if await value(node, node.chain.best.hash, "cf_account_role", account_id=account) != "Broker":
                await self._broker.register_account()

    async def prepare_for_bitcoin(self) -> None:
        """Make sure that the account has its private channel, which receives vault swaps of bitcoin."""
        await self.prepare()
        async with self._preparing:
            best_hash = self._node.chain.best.hash
            if await self._stored(best_hash, "Swapping", "BrokerPrivateBtcChannels", self.account) is None:
                await self._broker.open_private_btc_channel()

    async def _encoded(self, terms: SwapTerms, method: str, extra: Mapping[str, Any]) -> Any:
        """Return the result of a runtime API method for the service's account. Raises Refusal."""
        with _refusing(method):
            await (self.prepare_for_bitcoin() if terms.chain == "Bitcoin" else self.prepare())
            arguments = {**_shared(terms), **extra, "broker": self.account}
            return await query(self._node, self._node.chain.best.hash, method, **arguments)

    async def _opened_at(self, number_: int) -> int:
        block = self._node.chain.hash_at(number_) or self._node.chain.best.hash
        return int.from_bytes(await self._stored(block, "Timestamp", "Now") or b"", "little")

    async def _stored(self, block: bytes, pallet: str, item: str, *keys: Any) -> bytes | None:
        chain = self._node.chain
        metadata = (await chain.runtime_at(block)).metadata
        with chain.state(block) as state:
            return state.get(metadata.storage_key(pallet, item, *keys))


@contextmanager
def _refusing(method: str = "") -> Iterator[None]:
    """Convert failures of the account's calls to a Refusal."""
    try:
        yield
    except TooManyCalls:
        raise RequestRefusal(429, "Too many requests, please try again later") from None
    except SubmissionError as error:
        raise RequestRefusal(400, str(error)) from None
    except (ApiMissing, ApiRefused) as error:
        raise RequestRefusal(400, explain(error, method).message) from None


def _request(terms: SwapTerms) -> BrokerChannelRequest:
    return BrokerChannelRequest(
        source_asset=terms.source,
        destination_asset=terms.target,
        destination_address=terms.destination,
        broker_commission=0,
        refund_parameters=terms.refund,
        channel_metadata=terms.message,
        boost_fee=terms.boost_fee,
        dca_parameters=terms.chunks,
    )


def _shared(terms: SwapTerms) -> dict[str, Any]:
    return {
        "source_asset": terms.source,
        "destination_asset": terms.target,
        "destination_address": terms.destination,
        "broker_commission": 0,
        "channel_metadata": terms.message,
        "boost_fee": terms.boost_fee,
        "affiliate_fees": [],
        "dca_parameters": terms.chunks,
    }
