"""All rows of the `cf_*` namespace."""

from __future__ import annotations

from typing import Final

from cfnode.rpc.cf import (
    accounts,
    calls,
    chain,
    electoral,
    environment,
    monitoring,
    pools,
    vault_swaps,
    views,
)

CF: Final = (
    *chain.METHODS,
    *accounts.METHODS,
    *pools.METHODS,
    *environment.METHODS,
    *views.METHODS,
    *vault_swaps.METHODS,
    *calls.METHODS,
    *electoral.METHODS,
)
MONITORING: Final = monitoring.METHODS
