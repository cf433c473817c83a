"""Opening of a deposit channel by the caller's own broker or by the network's swap service.

This is the one exchange of the SDK with an effect, and it must not be made twice: each channel costs its
broker a fee, and a user with two addresses may watch the wrong one. It is sent once; its errors state whether
the server may have received it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cfnode.core.assets import ForeignAsset
from cfnode.sdk.assets import chain_of, symbol_of, wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.terms import RefundTerms, affiliates_for_broker, dca_for_broker
from cfnode.sdk.errors import BadAnswer, SdkError, ValidationError
from cfnode.sdk.exchange import Steps, backend, origin_of, rpc
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.quote import Quote
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import read_amount, read_int
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.timing import blocks_ms, lifetime_ms

__all__ = [
    "ChannelArguments",
    "ChannelOrder",
    "EstimateExpiry",
    "NewChannel",
    "chain_time",
    "estimated_expiry",
    "open_channel",
    "read_opened",
]

METHOD = "broker_request_swap_deposit_address"
_ESTIMATE_TIMEOUT_S = 5.0
_SHORT_HEIGHTS = ("Polkadot", "Assethub")  # their block numbers are u32, all others u64


@dataclass(frozen=True)
class ChannelArguments:
    """The caller's arguments, for the echo in the answer."""

    dest_address: str
    src_address: str | None
    fill_or_kill_params: FillOrKillParams | None
    affiliate_brokers: tuple[AffiliateBroker, ...]
    ccm_params: CcmParams | None
    dca_params: DcaParams | None


@dataclass(frozen=True)
class ChannelOrder:
    """A checked request. `ccm` is in wire form; `quote` is for the swap service."""

    source: ForeignAsset
    destination: ForeignAsset
    amount: int
    asked: ChannelArguments
    commission_bps: int
    ccm: Mapping[str, Any] | None
    terms: RefundTerms
    boost_fee_bps: int | None = None
    quote: Quote | None = None

    def params(self) -> list[Any]:
        """Return the nine positional parameters of the broker method."""
        return [
            wire_asset(self.source),
            wire_asset(self.destination),
            self.asked.dest_address,
            self.commission_bps,
            self.ccm,
            self.boost_fee_bps,
            affiliates_for_broker(self.asked.affiliate_brokers),
            self.terms.wire(),
            dca_for_broker(self.asked.dca_params),
        ]

    def body(self) -> dict[str, Any]:
        """Return the request to the swap service."""
        asked = self.asked
        members = {
            "srcAsset": self.source.symbol,
            "srcChain": self.source.chain,
            "destAsset": self.destination.symbol,
            "destChain": self.destination.chain,
            "srcAddress": asked.src_address,
            "destAddress": asked.dest_address,
            "dcaParams": asked.dca_params and asked.dca_params.to_json(),
            "fillOrKillParams": self.terms.backend(),
            "maxBoostFeeBps": self.boost_fee_bps,
            "ccmParams": asked.ccm_params and asked.ccm_params.to_json(),
            "amount": str(self.amount),
            "quote": self.quote and self.quote.to_json(),
            "takeCommission": False,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True)
class EstimateExpiry(Call[int]):
    """Estimate when a chain reaches a channel's last block; return Unix milliseconds of chain time."""

    chain: str
    expiry_block: int

    def steps(self, session: ClientSession) -> Steps[int]:
        """Read the chain's height; return the estimate in Unix milliseconds."""
        return estimated_expiry(session, self.chain, self.expiry_block)


@dataclass(frozen=True, slots=True)
class NewChannel:
    """The new channel in the answer of broker or service; `expires_at` is None if the answer has no time."""

    identity: str
    address: str
    expiry_block: int
    opening_fee: int
    commission_bps: int = 0
    boost_fee_bps: int = 0
    expires_at: int | None = None


def open_channel(session: ClientSession, order: ChannelOrder) -> Steps[DepositAddress]:
    """Open the channel, once, and estimate its expiry."""
    own_broker = session.options.broker is not None
    opened = yield from (_by_broker(session, order) if own_broker else _by_backend(session, order))
    expires_at = opened.expires_at
    if expires_at is None:
        expires_at = yield from estimated_expiry(session, order.source.chain, opened.expiry_block)
    return DepositAddress(
        src_chain=chain_of(order.source),
        src_asset=symbol_of(order.source),
        dest_chain=chain_of(order.destination),
        dest_asset=symbol_of(order.destination),
        amount=order.amount,
        deposit_channel_id=opened.identity,
        deposit_address=opened.address,
        broker_commission_bps=opened.commission_bps,
        max_boost_fee_bps=opened.boost_fee_bps,
        deposit_channel_expiry_block=opened.expiry_block,
        estimated_deposit_channel_expiry_time=expires_at,
        channel_opening_fee=opened.opening_fee,
        **vars(order.asked),
    )


def _by_broker(session: ClientSession, order: ChannelOrder) -> Steps[NewChannel]:
    assert session.options.broker is not None
    url, timeout = session.options.broker.url, session.options.channel_timeout
    answer = yield from rpc(session, url, METHOD, order.params(), opens_channel=True, timeout=timeout)
    opened = read_opened(answer, order.source.chain, url)
    return replace(opened, commission_bps=order.commission_bps, boost_fee_bps=order.boost_fee_bps or 0)


def read_opened(answer: Any, chain: str, url: str) -> NewChannel:
    """Return the channel of a broker's answer, which has no commission and no boost fee. Raises BadAnswer."""
    with _ChannelAnswer(url):
        block, index = (read_int(answer[name], name) for name in ("issued_block", "channel_id"))
        return NewChannel(
            str(ChannelId(chain, index, block)),
            _address(answer["address"], chain),
            read_amount(answer["source_chain_expiry_block"], "source_chain_expiry_block"),
            read_amount(answer["channel_opening_fee"], "channel_opening_fee"),
        )


def _by_backend(session: ClientSession, order: ChannelOrder) -> Steps[NewChannel]:
    path = "/api/openSwapDepositChannel"
    answer = yield from backend(session, "POST", path, body=order.body(), expected=201, opens_channel=True)
    with _ChannelAnswer(session.backend_url):
        time = answer.get("estimatedExpiryTime")
        return NewChannel(
            str(answer["id"]),
            _address(answer["depositAddress"], order.source.chain),
            read_amount(answer["srcChainExpiryBlock"], "srcChainExpiryBlock"),
            read_amount(answer["channelOpeningFee"], "channelOpeningFee"),
            read_int(answer.get("brokerCommissionBps") or 0, "brokerCommissionBps"),
            read_int(answer.get("maxBoostFeeBps") or 0, "maxBoostFeeBps"),
            None if time is None else read_int(time, "estimatedExpiryTime"),
        )


class _ChannelAnswer:
    """A context that turns errors of reading a malformed answer into BadAnswer.

    By then a channel was probably opened.
    """

    def __init__(self, url: str) -> None:
        self.url = origin_of(url)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError | TypeError | ValueError | AttributeError | ValidationError):
            text = f"unexpected answer of {self.url}: {error!r:.200}; a deposit channel was probably opened"
            raise BadAnswer(text, url=self.url, sent=True, retryable=False) from None


def _address(address: Any, chain: str) -> str:
    """Return the deposit address.

    Polkadot and Assethub accounts come as hex; wallets take SS58 (prefix 0).
    """
    if not isinstance(address, str) or not address:
        raise TypeError("no deposit address")
    if chain in _SHORT_HEIGHTS and address.startswith("0x"):
        from cfnode.core.ss58 import encode

        return encode(bytes.fromhex(address[2:]), 0)
    return address


def estimated_expiry(session: ClientSession, chain: str, expiry_block: int) -> Steps[int]:
    """Return Unix milliseconds of chain time, by the State Chain's height of the source chain.

    The channel is already open, so no error may occur here: without a height the nominal lifetime counts from
    now.
    """
    from cfnode.core.hashing import twox_128

    key = "0x" + (twox_128(f"{chain}ChainTracking".encode()) + twox_128(b"CurrentChainState")).hex()
    timeout = min(_ESTIMATE_TIMEOUT_S, session.options.timeout)
    try:
        state = yield from rpc(session, session.rpc_url, "state_getStorage", [key], timeout=timeout)
        width = 4 if chain in _SHORT_HEIGHTS else 8
        height = int.from_bytes(bytes.fromhex(state[2:])[:width], "little")
    except (SdkError, ValueError, TypeError):
        height = 0
    now = yield from chain_time(session, timeout)
    if not 0 < height <= expiry_block:
        return now + lifetime_ms(chain)
    return now + blocks_ms(chain, expiry_block - height)


def chain_time(session: ClientSession, timeout: float, at: str | None = None) -> Steps[int]:
    """Return Unix milliseconds: a development chain's own clock, for other chains this machine's.

    `at`: the hash of the block whose time it is (default: the best one).
    """
    if not session.network.is_one_server:
        return session.now_ms()
    from cfnode.core.chain_time import NOW_KEY, stored_time

    try:
        value = yield from rpc(session, session.rpc_url, "state_getStorage", [NOW_KEY, at], timeout=timeout)
        return stored_time(value)
    except (SdkError, ValueError):
        return session.now_ms()
