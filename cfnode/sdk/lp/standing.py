"""Open orders of an account and prices of pools, read at one block, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import text_of
from cfnode.sdk.assets import asset_given
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.exchange import Steps, rpc_batch
from cfnode.sdk.lp.answers import read_open, read_pools, read_square_root, reading
from cfnode.sdk.lp.orders import OpenOrder, Pool, pool_json
from cfnode.sdk.lp.session import account_of
from cfnode.sdk.options import ClientSession

__all__ = ["Standing", "open_orders", "square_roots"]

MAX_BATCHED_CALLS = 50
"""Maximum calls of one request: below the nodes' limits on calls (100) and on the size of an answer."""


@dataclass(frozen=True)
class Standing:
    """The best block, the chain's pools and the account's open orders there."""

    block: Any
    pools: tuple[Pool, ...]
    orders: tuple[OpenOrder, ...]


def open_orders(session: ClientSession, asset: str | None) -> Steps[Standing]:
    """Return the open orders in one or all pools. Raises ValidationError for an asset without a pool."""
    name = None if asset is None else asset_given(asset, "asset").name
    calls: list[tuple[str, list[Any]]] = [("cf_available_pools", []), ("chain_getBlockHash", [])]
    pool_list, block = yield from rpc_batch(session, session.rpc_url, calls)
    pools = reading(session, read_pools, pool_list)
    selected = [pool for pool in pools if name in (None, pool[0])]
    if not selected and name is not None:
        raise ValidationError.at("asset", f"there is no pool of {text_of(name)}")
    account, orders = account_of(session), list[OpenOrder]()
    for part in _parts(selected):
        questions = [("cf_pool_orders", [*pool_json(pool).values(), account, False, block]) for pool in part]
        answers = yield from rpc_batch(session, session.rpc_url, questions)
        for pool, answer in zip(part, answers, strict=True):
            orders += reading(session, read_open, pool, answer)
    return Standing(block, pools, tuple(orders))


def square_roots(session: ClientSession, pools: Iterable[Pool], block: Any) -> Steps[dict[Pool, int]]:
    """Return the √price (96 fractional bits) at which the range orders of each pool trade.

    Without pools nothing is requested.
    """
    roots = dict[Pool, int]()
    for part in _parts(sorted(set(pools))):
        questions = [("cf_pool_price_v2", [*pool_json(pool).values(), block]) for pool in part]
        answers = yield from rpc_batch(session, session.rpc_url, questions)
        roots |= {
            pool: reading(session, read_square_root, answer)
            for pool, answer in zip(part, answers, strict=True)
        }
    return roots


def _parts(pools: Sequence[Pool]) -> list[Sequence[Pool]]:
    return [pools[start : start + MAX_BATCHED_CALLS] for start in range(0, len(pools), MAX_BATCHED_CALLS)]
