"""Who opens a deposit channel for a user who has no broker? On a development chain an account of the service.

The account is not the one in the node's keystore: that one belongs to the operator, and who may use it is
decided elsewhere. This one is made from a well-known seed, funded and registered when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.core.addresses import EncodedAddress, address_to_text
from cfnode.core.assets import ASSETS
from cfnode.core.jsonrpc import RpcError
from cfnode.core.keys import Keypair
from cfnode.node.broker import BrokerClient, ChannelRequest
from cfnode.node.outcome import SubmissionError
from cfnode.node.submission import SignedClient
from cfnode.rpc.backend.fields import MAX_BPS, Refusal, amount, asset_pair, invalid, member, number, text
from cfnode.rpc.backend.quotes import check_least_and_most
from cfnode.rpc.backend.statuses import DAY_MS, Expected
from cfnode.rpc.broker_params import address_on, read_ccm
from cfnode.rpc.cf.method import value

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["DefaultBroker"]

SEED: Final = "//cfnode swap service"
FUNDS: Final = 1_000 * 10**18
LOW: Final = 100 * 10**18
MAX_EXPECTED: Final = 10_000
MAX_CHUNKS: Final = 2**32 - 1


class DefaultBroker:
    """Opens channels for the users of a development chain, one at a time until it is registered."""

    def __init__(self, node: Node) -> None:
        self.expected: Expected = {}
        """The amounts that were expected, by channel id; the oldest are forgotten."""
        self._node = node
        client = SignedClient(node.chain, node.pool, Keypair.from_suri(SEED), is_syncing=lambda: False)
        self._broker = BrokerClient(node.chain, client)
        self._preparing = trio.Lock()

    async def open(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A channel as the service answers: amounts and heights as decimal strings. Raises Refusal."""
        request, asked = _request(body)
        await check_least_and_most(self._node, self._node.chain.best.hash, request.source_asset, asked)
        try:
            await self._prepare()
            channel = await self._broker.request_swap_deposit_address(request)
        except SubmissionError as error:
            raise Refusal(400, str(error)) from None
        chain = ASSETS[request.source_asset].chain
        name = f"{channel.issued_block}-{chain}-{channel.channel_id}"
        self._expect(name, asked)
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

    async def _prepare(self) -> None:
        """Fund and register the account as far as it is not."""
        node, who = self._node, self._broker.account
        assert node.dev is not None  # the routes are there only then
        async with self._preparing:
            if await value(node, node.chain.best.hash, "cf_account_flip_balance", account_id=who) < LOW:
                await node.dev.fund_account(who, FUNDS)
            if await value(node, node.chain.best.hash, "cf_account_role", account_id=who) != "Broker":
                await self._broker.register_account()

    def _expect(self, name: str, asked: int) -> None:
        self.expected[name] = asked
        while len(self.expected) > MAX_EXPECTED:
            del self.expected[next(iter(self.expected))]

    async def _opened_at(self, number_: int) -> int:
        chain = self._node.chain
        block = chain.hash_at(number_) or chain.best.hash
        metadata = (await chain.runtime_at(block)).metadata
        with chain.state(block) as state:
            return int.from_bytes(state.get(metadata.storage_key("Timestamp", "Now")) or b"", "little")


def _request(body: Mapping[str, Any]) -> tuple[ChannelRequest, int]:
    """The channel that is asked for, and the amount that is expected."""
    source, target = asset_pair(body, "src"), asset_pair(body, "dest")
    if number(body, "brokerCommissionBps", MAX_BPS, 0) or body.get("affiliateBrokers"):
        only = "supported only when initializing the SDK with a brokerUrl"
        raise Refusal(400, f"Broker commission is {only}")
    request = ChannelRequest(
        source_asset=source,
        destination_asset=target,
        destination_address=_address(ASSETS[target].chain, text(body, "destAddress")),
        broker_commission=0,
        refund_parameters=_refund(body, ASSETS[source].chain),
        channel_metadata=_ccm(member(body, "ccmParams"), "ccmParams"),
        boost_fee=number(body, "maxBoostFeeBps", 2**16 - 1, 0),
        dca_parameters=_dca(member(body, "dcaParams")),
    )
    return request, amount(body, "amount")


def _refund(body: Mapping[str, Any], chain: str) -> dict[str, Any]:
    terms = member(body, "fillOrKillParams")
    if terms is None:
        raise Refusal(400, "invalid request: fill or kill params are required")
    slippage = terms.get("maxOraclePriceSlippage")
    refund_ccm = member(terms, "refundCcmMetadata")
    return {
        "retry_duration": number(terms, "retryDurationBlocks", 2**32 - 1),
        "refund_address": _address(chain, text(terms, "refundAddress")),
        "min_price": number(terms, "minPriceX128", 2**256 - 1),
        "refund_ccm_metadata": _ccm(refund_ccm, "refundCcmMetadata"),
        "max_oracle_price_slippage": (
            None if slippage is None else number(terms, "maxOraclePriceSlippage", 2**16 - 1)
        ),
    }


def _ccm(given: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
    if given is None:
        return None
    more = given.get("ccmAdditionalData", given.get("cfParameters"))
    budget = given.get("gasBudget")
    if isinstance(budget, str) and budget.isascii() and budget.isdigit() and len(budget) <= 39:
        budget = int(budget)
    if type(budget) is int:
        budget = hex(budget)
    wire = {"message": given.get("message"), "gas_budget": budget, "ccm_additional_data": more or "0x"}
    try:
        return read_ccm(wire)
    except ValueError as error:
        raise invalid(f"{name}.{error}") from None


def _dca(given: Mapping[str, Any] | None) -> dict[str, int] | None:
    if given is None:
        return None
    return {
        "number_of_chunks": number(given, "numberOfChunks", MAX_CHUNKS),
        "chunk_interval": number(given, "chunkIntervalBlocks", MAX_CHUNKS),
    }


def _address(chain: str, written: str) -> EncodedAddress:
    try:
        return address_on(chain, written)
    except RpcError as error:
        raise Refusal(400, f"invalid request: {error}") from None
