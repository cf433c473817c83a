"""All rows of the `cf_*` namespace."""

from __future__ import annotations

from typing import Final

from cfnode.rpc.cf import accounts, chain, electoral, environment, monitoring, pools, views

CF: Final = (
    *chain.METHODS,
    *accounts.METHODS,
    *pools.METHODS,
    *environment.METHODS,
    *views.METHODS,
    *electoral.METHODS,
)
MONITORING: Final = monitoring.METHODS
