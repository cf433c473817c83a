"""Which calls does a test make on a development chain, and what do the answers mean? No input or output here.

Each function gives a call that a blocking or an async client of the SDK carries out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from cfnode.core.assets import ASSETS
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.options import Session

__all__ = ["BROKER_URI", "FUNDS", "MAX_BLOCKS", "Asset", "Event", "NotReached"]

T = TypeVar("T")
Asset = str | dict[str, str]
"""An asset's name (`"Btc"`, `"ArbUsdc"`), or `{"chain": …, "asset": …}`."""
Event = dict[str, Any]
"""`pallet`, `name` and `fields` of an event; `block` (hash) where several blocks were searched."""

BROKER_URI = "//Broker"
"""The secret of the broker whose key the node has: known to everybody, for development chains only."""
FUNDS = 1_000 * 10**18
"""Atoms: 1,000 FLIP."""
MAX_BLOCKS = 100
"""Blocks that `advance_to` adds: a swap takes some ten."""
MAX_LOOKS = 20_000
"""Questions for the first block, each of a millisecond or more."""
RPC_S = 120.0
"""Seconds that one call may take: a rotation of keys, on a machine that is busy."""


_MORE = ("channel_metadata", "boost_fee", "affiliate_fees", "refund_parameters", "dca_parameters")
"""Further parameters of a channel, in the order of the method."""


class NotReached(AssertionError):
    """The event did not come in so many blocks."""


@dataclass(frozen=True, slots=True)
class _Play(Generic[T]):
    """A call in the form that the SDK's clients carry out."""

    steps: Callable[[Session], Steps[T]]


def _play(steps: Callable[[Session], Steps[T]]) -> Call[T]:
    return cast("Call[T]", _Play(steps))


def _ask(session: Session, method: str, *params: Any) -> Steps[Any]:
    url = session.options.rpc_url
    assert url is not None
    return rpc(session, url, method, params, timeout=RPC_S)


def call(method: str, *params: Any) -> Call[Any]:
    """One JSON-RPC call."""
    return _play(lambda session: _ask(session, method, *params))


def asset_json(asset: Asset) -> dict[str, str]:
    """An asset as JSON-RPC has it. Raises ValueError."""
    if isinstance(asset, dict):
        return asset
    if asset not in ASSETS:
        raise ValueError(f"unknown asset {asset!r}; choose from {', '.join(ASSETS)}")
    return {"chain": ASSETS[asset].chain, "asset": ASSETS[asset].symbol}


def new_blocks(count: int) -> Call[str]:
    """So many blocks; the hash of the last one."""
    if count < 1:
        raise ValueError("a positive number of blocks is added")

    def steps(session: Session) -> Steps[str]:
        block = ""
        for _ in range(count):
            block = yield from _ask(session, "dev_newBlock")
        return block

    return _play(steps)


def first_block() -> Call[None]:
    """Wait until the chain has its first block, which a chain that seals at once adds by itself."""

    def steps(session: Session) -> Steps[None]:
        for _ in range(MAX_LOOKS):
            if (yield from _ask(session, "chain_getBlockHash", 1)) is not None:
                return
        raise NotReached("the chain has no first block: cfnode_dev needs --dev-seal instant")

    return _play(steps)


def advance_to(pallet: str, name: str, max_blocks: int) -> Call[Event]:
    """The first such event of the best block or of those that are added to it, at most so many."""

    def steps(session: Session) -> Steps[Event]:
        block = yield from _ask(session, "chain_getBlockHash")
        for _ in range(max_blocks + 1):
            for event in (yield from _ask(session, "dev_events", block)):
                if (event["pallet"], event["name"]) == (pallet, name):
                    return {**event, "block": block}
            block = yield from _ask(session, "dev_newBlock")
        raise NotReached(f"no event {pallet}.{name} in {max_blocks} blocks")

    return _play(steps)


def open_channel(
    source: Asset, destination: Asset, address: str, refund_address: str, commission_bps: int,
    more: dict[str, Any],
) -> Call[dict[str, Any]]:  # fmt: skip
    """A deposit channel of the node's broker; `more` as `broker_request_swap_deposit_address` takes it."""
    refund = {"retry_duration": 0, "min_price": "0x0", "refund_address": refund_address}
    if unknown := sorted(set(more) - set(_MORE)):
        raise TypeError(f"unknown argument {unknown[0]}; choose from {', '.join(_MORE)}")
    wanted = (asset_json(source), asset_json(destination), address, commission_bps)
    fields = {"refund_parameters": refund, **more}
    return call("broker_request_swap_deposit_address", *wanted, *map(fields.get, _MORE))


def deposit(method: str, address: str, asset: Asset, amount: int, transaction: str | None) -> Call[str]:
    """A deposit, announced or final, of an amount in the smallest unit; its block's hash."""
    return call(method, address, asset_json(asset), hex(amount), transaction)


def fund(account: str, amount: int) -> Call[str]:
    """FLIP for an account, in atoms; the block's hash."""
    return call("dev_fundAccount", account, hex(amount))


def fail_receiver(address: str, asset: Asset, fails: bool) -> Call[str]:
    """Whether transfers of an asset to an address fail from now on; the block's hash."""
    return call("dev_failReceiver", address, asset_json(asset), fails)


def set_price(asset: Asset, microdollars: int) -> Call[str]:
    """What a whole unit costs in its pool; the block's hash."""
    return call("dev_setPool", asset_json(asset), hex(microdollars))


def now() -> Call[int]:
    """The time of the best block, Unix milliseconds; 0 for the genesis block."""

    def steps(session: Session) -> Steps[int]:
        stored = yield from _ask(session, "state_getStorage", "0x" + TIMESTAMP_NOW.hex())
        return int.from_bytes(bytes.fromhex((stored or "0x")[2:]), "little")

    return _play(steps)


def jump(seconds: float) -> Call[int]:
    """A block at least so much later than the last one; its time, Unix milliseconds."""

    def steps(session: Session) -> Steps[int]:
        yield from _ask(session, "dev_timeTravel", round(seconds * 1000))
        yield from _ask(session, "dev_newBlock")
        time: int = yield from now().steps(session)
        return time

    return _play(steps)
