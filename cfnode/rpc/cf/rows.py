"""All rows of the `cf_*` namespace."""

from __future__ import annotations

from typing import Final

from cfnode.rpc.cf import (
    accounts,
    calls,
    chain,
    controlled,
    electoral,
    environment,
    monitoring,
    order_fills,
    pools,
    streams,
    vault_swaps,
    views,
    witnessed,
)
from cfnode.rpc.table.rows import Method, Subscription

CF: Final[tuple[Method | Subscription, ...]] = (
    *chain.METHODS,
    *accounts.METHODS,
    *pools.METHODS,
    *environment.METHODS,
    *views.METHODS,
    *witnessed.METHODS,
    *controlled.METHODS,
    *order_fills.METHODS,
    *vault_swaps.METHODS,
    *calls.METHODS,
    *electoral.METHODS,
    *streams.CF_STREAMS,
)
MONITORING: Final = monitoring.METHODS
