"""Calls of a market maker's client, which read or change pools and orders, without I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import text_of
from cfnode.core.foreign import block_number
from cfnode.sdk.assets import asset_given, name_of
from cfnode.sdk.calls import Call, T_co
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch
from cfnode.sdk.lp.answers import (
    Balances,
    BlockFills,
    OrderBook,
    block_fills,
    order_book,
    read_balances,
    read_closed,
    read_pools,
    reading,
)
from cfnode.sdk.lp.executing import executed
from cfnode.sdk.lp.orders import (
    OpenOrder,
    Order,
    Pool,
    RangeOrderByAmounts,
    StandingOrder,
    check_orders,
    pool_json,
)
from cfnode.sdk.lp.planning import Plan, plan_of
from cfnode.sdk.lp.session import ProviderSession, account_of
from cfnode.sdk.lp.standing import open_orders, square_roots
from cfnode.sdk.names import AssetName
from cfnode.sdk.options import ClientSession

__all__ = [
    "Cancel",
    "CancelAll",
    "GetBalances",
    "GetBook",
    "GetFillsSince",
    "GetFinalizedBlock",
    "GetOrders",
    "GetPlan",
    "GetPools",
    "SetOrders",
]

MAX_LEVELS = 1000
MAX_FILL_BLOCKS = 50
"""Blocks that one call of `GetFillsSince` reads."""


class ProviderCall(Call[T_co]):
    """A call of a market maker's client; its arguments are records that check themselves."""

    def __post_init__(self) -> None:
        pass


@dataclass(frozen=True)
class GetBalances(ProviderCall[Balances]):
    """Return the account's free balance of each asset in base units, by asset name, at the best block."""

    def steps(self, session: ClientSession) -> Steps[Balances]:
        """Read the account's free balances."""
        answer = yield from rpc(session, session.rpc_url, "cf_free_balances", [account_of(session)])
        return reading(session, read_balances, answer)


@dataclass(frozen=True)
class GetPools(ProviderCall[tuple[Pool, ...]]):
    """Return the pools of the chain: names of the base and the quote asset of each."""

    def steps(self, session: ClientSession) -> Steps[tuple[Pool, ...]]:
        """Read the pools of the chain."""
        answer = yield from rpc(session, session.rpc_url, "cf_available_pools", [])
        return reading(session, read_pools, answer)


@dataclass(frozen=True)
class GetOrders(ProviderCall[tuple[OpenOrder, ...]]):
    """Return the account's open orders at the best block, in one pool or in all.

    Amounts are what is left of the orders. Raises ValidationError for an asset without a pool.
    """

    asset: AssetName | None = None

    def steps(self, session: ClientSession) -> Steps[tuple[OpenOrder, ...]]:
        """Read the account's open orders, of one asset or of all."""
        standing = yield from open_orders(session, self.asset)
        return standing.orders


@dataclass(frozen=True)
class GetBook(ProviderCall[OrderBook]):
    """Return the limit orders of all providers in a pool by tick, best first, and the pool's prices.

    `levels` is the maximum on each side (up to 1,000). Raises ValidationError for an unknown asset or pool.
    """

    asset: AssetName
    levels: int = 20
    quote: AssetName = "USDC"

    def steps(self, session: ClientSession) -> Steps[OrderBook]:
        """Check the pool, and read its order book at one block."""
        pool = name_of(asset_given(self.asset, "asset")), name_of(asset_given(self.quote, "quote"))
        if (
            isinstance(self.levels, bool)
            or not isinstance(self.levels, int)
            or not 0 < self.levels <= MAX_LEVELS
        ):
            raise ValidationError.at("levels", f"expected 1 to {MAX_LEVELS}, not {self.levels!r:.40}")
        calls: list[tuple[str, list[Any]]] = [("cf_available_pools", []), ("chain_getBlockHash", [])]
        pool_list, block = yield from rpc_batch(session, session.rpc_url, calls)
        if pool not in reading(session, read_pools, pool_list):
            assets = " and ".join(map(text_of, pool))
            raise ValidationError.at("asset", f"there is no pool of {assets}")
        params = [*pool_json(pool).values(), block]
        questions = [("cf_pool_liquidity", params), ("cf_pool_price_v2", params)]
        liquidity, prices = yield from rpc_batch(session, session.rpc_url, questions)
        return reading(session, order_book, pool, self.levels, block, liquidity, prices)


@dataclass(frozen=True)
class GetPlan(ProviderCall[Plan]):
    """Return the plan by which `set_orders` would make the same orders stand, without executing it."""

    desired: Sequence[Order]
    keep_others: bool = False

    def steps(self, session: ClientSession) -> Steps[Plan]:
        """Read the open orders, and plan the fewest calls to the desired ones."""
        standing = yield from open_orders(session, None)
        check_orders(self.desired, standing.pools)
        by_amounts = {order.pool for order in self.desired if isinstance(order, RangeOrderByAmounts)}
        roots = yield from square_roots(session, by_amounts, standing.block)
        keys = {order.key for order in self.desired}
        present = [open_order.order for open_order in standing.orders]
        if self.keep_others:
            present = [order for order in present if order.key in keys]
        return plan_of(self.desired, present, roots)


@dataclass(frozen=True)
class SetOrders(ProviderCall[Plan]):
    """Make the desired orders stand, and (unless `keep_others`) no other; return the plan of the calls made.

    Reads the open orders, and sends the fewest calls: one for each order that differs, and one for up to 100
    cancellations. An order that stands as desired is not touched; one that was filled in part is set to the
    desired amount again, and a range order by amounts is set again when the pool's price has moved. Each
    order keeps the id that you chose, and is set to an exact amount, so that repeating the call places
    nothing twice. Raises ValidationError, before anything is sent, for an id given twice or an unknown pool;
    OrdersIncomplete, with the orders that stand, if some changes were refused or unanswered.
    """

    desired: Sequence[Order]
    keep_others: bool = False

    def steps(self, session: ClientSession) -> Steps[Plan]:
        """Plan, and execute the plan; return it."""
        plan = yield from GetPlan(self.desired, self.keep_others).steps(session)
        yield from executed(_provider(session), plan)
        return plan


@dataclass(frozen=True)
class Cancel(ProviderCall[tuple[StandingOrder, ...]]):
    """Cancel orders, up to 100 with one call; return those that stood, as they stood.

    Orders that do not stand are left out. With NoWait nothing is returned. Raises OrdersIncomplete.
    """

    orders: Sequence[Order]

    def steps(self, session: ClientSession) -> Steps[tuple[StandingOrder, ...]]:
        """Cancel orders; return those that were open."""
        plan = Plan(tuple(self.orders), (), (), ())
        answers = yield from executed(_provider(session), plan)
        return tuple(order for answer in answers for order in reading(session, read_closed, answer))


@dataclass(frozen=True)
class CancelAll(ProviderCall[tuple[StandingOrder, ...]]):
    """Cancel all orders of the node's account; return those that stood. Repeating it is harmless."""

    def steps(self, session: ClientSession) -> Steps[tuple[StandingOrder, ...]]:
        """Cancel all orders of the account; return those that were open."""
        wait = _provider(session).wait_for
        answers = yield from rpc(session, session.rpc_url, "lp_cancel_all_orders", [wait])
        return tuple(order for answer in answers for order in reading(session, read_closed, answer))


@dataclass(frozen=True)
class GetFinalizedBlock(ProviderCall[int]):
    """Return the number of the last finalized block."""

    def steps(self, session: ClientSession) -> Steps[int]:
        """Read the number of the last final block."""
        block = yield from rpc(session, session.rpc_url, "chain_getFinalizedHead", [])
        header = yield from rpc(session, session.rpc_url, "chain_getHeader", [block])
        return reading(session, lambda: block_number(header))


@dataclass(frozen=True)
class GetFillsSince(ProviderCall[tuple[BlockFills, ...]]):
    """Return the account's fills in each finalized block from a number on; at most 50 blocks, maybe none.

    Raises RpcCallError if the node no longer has a block's state.
    """

    block_number: int

    def steps(self, session: ClientSession) -> Steps[tuple[BlockFills, ...]]:
        """Read the account's fills of the final blocks from a number on, `MAX_FILL_BLOCKS` at most."""
        last = yield from GetFinalizedBlock().steps(session)
        numbers = range(self.block_number, min(last + 1, self.block_number + MAX_FILL_BLOCKS))
        if not numbers:
            return ()
        url, account = session.rpc_url, account_of(session)
        hashes = yield from rpc_batch(session, url, [("chain_getBlockHash", [number]) for number in numbers])
        answers = yield from rpc_batch(session, url, [("lp_order_fills", [block]) for block in hashes])
        return tuple(reading(session, block_fills, account, answer) for answer in answers)


def _provider(session: ClientSession) -> ProviderSession:
    assert isinstance(session, ProviderSession), "these calls belong to LiquidityProvider"
    return session
