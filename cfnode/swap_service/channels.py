"""Which account opens deposit channels for users without a broker? On a development chain, the service's own.

It is not the account in the node's keystore, which belongs to the operator and has its own access rules. The
service's account is derived from a well-known seed, and is funded and registered when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.core.bounded import BoundedDict
from cfnode.core.keys import Keypair
from cfnode.node.broker import BrokerClient
from cfnode.node.outcome import SubmissionError
from cfnode.node.submission import SignedClient
from cfnode.rpc.cf.method import value
from cfnode.swap_service.fields import Refusal
from cfnode.swap_service.quotes import check_limits
from cfnode.swap_service.requests import read_request
from cfnode.swap_service.source import SwapSource
from cfnode.swap_service.statuses import DAY_MS, Expected

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["DefaultBroker"]

SEED: Final = "//cfnode swap service"
FUNDS: Final = 1_000 * 10**18
LOW: Final = 100 * 10**18
MAX_EXPECTED: Final = 10_000


class DefaultBroker:
    """Opens channels for the users of a development chain, one at a time until it is registered."""

    def __init__(self, node: Node, source: SwapSource) -> None:
        self.expected: Expected = BoundedDict(MAX_EXPECTED)
        """The expected amounts by channel id; the oldest are dropped beyond MAX_EXPECTED."""
        self._node = node
        self._source = source
        client = SignedClient(
            node.chain, node.pool, Keypair.from_suri(SEED).repeatable(), syncing=lambda: None
        )
        self._broker = BrokerClient(node.chain, client)
        self._preparing = trio.Lock()

    async def open(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Open a channel; amounts and heights in the answer are decimal strings. Raises Refusal."""
        request, expected = read_request(body)
        await check_limits(self._node, self._node.chain.best.hash, request.source_asset, expected)
        try:
            await self.prepare()
            channel = await self._broker.request_swap_deposit_address(request)
        except SubmissionError as error:
            raise Refusal(400, str(error)) from None
        chain = ASSETS[request.source_asset].chain
        name = f"{channel.issued_block}-{chain}-{channel.channel_id}"
        self.expected[name] = expected
        return {
            "id": name,
            "depositAddress": address_to_text(channel.address),
            "brokerCommissionBps": 0,
            "maxBoostFeeBps": request.boost_fee,
            "issuedBlock": channel.issued_block,
            "srcChainExpiryBlock": str(channel.source_chain_expiry_block),
            "estimatedExpiryTime": await self._opened_at(channel.issued_block) + DAY_MS,
            "channelOpeningFee": str(channel.channel_opening_fee),
        }

    @property
    def account(self) -> bytes:
        """The account that opens channels and encodes vault swaps."""
        return self._broker.account

    async def prepare(self) -> None:
        """Fund and register the account where that is missing."""
        node, account = self._node, self.account
        async with self._preparing:
            if await value(node, node.chain.best.hash, "cf_account_flip_balance", account_id=account) < LOW:
                await self._source.fund_account(account, FUNDS)
            if await value(node, node.chain.best.hash, "cf_account_role", account_id=account) != "Broker":
                await self._broker.register_account()

    async def prepare_for_bitcoin(self) -> None:
        """Make sure that the account has its private channel, which receives vault swaps of bitcoin."""
        await self.prepare()
        async with self._preparing:
            best = self._node.chain.best.hash
            if await self._stored(best, "Swapping", "BrokerPrivateBtcChannels", self.account) is None:
                await self._broker.open_private_btc_channel()

    async def _opened_at(self, number_: int) -> int:
        block = self._node.chain.hash_at(number_) or self._node.chain.best.hash
        return int.from_bytes(await self._stored(block, "Timestamp", "Now") or b"", "little")

    async def _stored(self, block: bytes, pallet: str, item: str, *keys: Any) -> bytes | None:
        chain = self._node.chain
        metadata = (await chain.runtime_at(block)).metadata
        with chain.state(block) as state:
            return state.get(metadata.storage_key(pallet, item, *keys))
