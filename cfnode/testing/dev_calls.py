"""Calls that a test makes on a development chain, and their answers, without I/O.

Each function returns a call that a blocking or an async client of the SDK runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar, cast

from cfnode.core.assets import AnyAsset, asset_of
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.sdk.amounts import Quantity, base_units, base_units_or_none
from cfnode.sdk.assets import wire_asset
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.options import ClientSession
from cfnode.testing.errors import NotReached
from cfnode.testing.frames import expected

__all__ = [
    "BROKER_URI",
    "DEFAULT_FUNDS_ATOMS",
    "MAX_ADVANCED_BLOCKS",
    "Asset",
    "Event",
    "NotReached",
    "asset_json",
]

__tracebackhide__ = expected

T = TypeVar("T")
Asset = AnyAsset
"""An asset: `"BTC"`, `"ArbUsdc"`, `"Arbitrum/USDC"`, in any case; or `{"chain": …, "asset": …}`."""
Event = dict[str, Any]
"""`pallet`, `name` and `fields` of an event; `block` (hash) if several blocks were searched."""

BROKER_URI = "//Broker"
"""The secret of the node's broker key: public, for development chains only."""
DEFAULT_FUNDS_ATOMS = 1_000 * 10**18
"""Default funds in atoms: 1,000 FLIP."""
MAX_ADVANCED_BLOCKS = 100
"""Maximum blocks that `advance_to` adds: a swap takes about ten."""
MAX_BLOCK_POLLS = 20_000
"""Maximum polls for the first block, each of a millisecond or more."""
RPC_TIMEOUT_S = 120.0
"""Maximum seconds of one call: a rotation of keys on a busy machine."""


@dataclass(frozen=True, slots=True)
class _DevCall(Generic[T]):
    """A call in the format of the SDK's clients."""

    steps: Callable[[ClientSession], Steps[T]]


def dev_call(steps: Callable[[ClientSession], Steps[T]]) -> Call[T]:
    """Return a call of these steps, for the SDK's clients."""
    return cast("Call[T]", _DevCall(steps))


def ask(session: ClientSession, method: str, *params: Any) -> Steps[Any]:
    """Make one JSON-RPC call in the steps of another; return its result."""
    return rpc(session, session.rpc_url, method, params, timeout=RPC_TIMEOUT_S)


def call(method: str, *params: Any) -> Call[Any]:
    """Make one JSON-RPC call; return its result."""
    return dev_call(lambda session: ask(session, method, *params))


def asset_json(asset: Asset) -> dict[str, str]:
    """Return an asset in JSON-RPC's format.

    Raises UnknownAsset or UnknownChain, a ValueError, which suggests similar names.
    """
    return wire_asset(asset_of(asset))


def new_blocks(count: int) -> Call[str]:
    """Add `count` blocks; return the hash of the last one."""
    if count < 1:
        raise ValueError("the number of blocks must be positive")

    def steps(session: ClientSession) -> Steps[str]:
        block = ""
        for _ in range(count):
            block = yield from ask(session, "dev_newBlock")
        return block

    return dev_call(steps)


def first_block() -> Call[None]:
    """Wait for the first block, which a chain with instant seal adds by itself."""

    def steps(session: ClientSession) -> Steps[None]:
        for _ in range(MAX_BLOCK_POLLS):
            if (yield from ask(session, "chain_getBlockHash", 1)) is not None:
                return
        raise NotReached("the chain has no first block: cfnode_dev needs --dev-seal instant")

    return dev_call(steps)


def fund(account: str, amount: Quantity) -> Call[str]:
    """Fund an account with FLIP; return the block's hash."""
    return call("dev_fundAccount", account, hex(base_units_or_none(amount, "FLIP", "amount")))


def fail_receiver(address: str, asset: Asset, fails: bool) -> Call[str]:
    """Set whether transfers of an asset to an address fail; return the block's hash."""
    return call("dev_failReceiver", address, asset_json(asset), fails)


def set_price(asset: Asset, price: str | Decimal) -> Call[str]:
    """Set the pool price of a whole unit, in dollars; return the block's hash."""
    if isinstance(price, int):
        text = f'expected dollars as text or a Decimal, such as "2800", not {price!r:.60}'
        raise ValidationError.at("price", text)
    return call("dev_setPool", asset_json(asset), hex(base_units(price, "USDC", "price")))


def set_boost(asset: Asset, amount: Quantity, lending: bool) -> Call[str]:
    """Set the amount in the pool that boosts deposits of an asset; return the block's hash."""
    pool_asset = asset_of(asset)
    units = base_units_or_none(amount, pool_asset, "amount")
    return call("dev_setBoost", wire_asset(pool_asset), hex(units), lending)


def now() -> Call[int]:
    """Return the time of the best block, Unix milliseconds; 0 for the genesis block."""

    def steps(session: ClientSession) -> Steps[int]:
        stored = yield from ask(session, "state_getStorage", "0x" + TIMESTAMP_NOW.hex())
        return int.from_bytes(bytes.fromhex((stored or "0x")[2:]), "little")

    return dev_call(steps)


def jump(seconds: float) -> Call[int]:
    """Add a block at least `seconds` later than the last one; return its time, Unix milliseconds."""

    def steps(session: ClientSession) -> Steps[int]:
        yield from ask(session, "dev_timeTravel", round(seconds * 1000))
        yield from ask(session, "dev_newBlock")
        time: int = yield from now().steps(session)
        return time

    return dev_call(steps)
