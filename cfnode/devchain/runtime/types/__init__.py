"""Type declarations of the runtime: Substrate's own types, and Chainflip's.

Importing this package declares them all.
"""

from __future__ import annotations

from . import (
    addresses,
    assets,
    channels,
    deposits,
    egress,
    environment,
    funding,
    pools,
    rotation,
    safe_mode,
    substrate,
    swaps,
    validators,
    vault_swaps,
    wallets,
    witnessed,
    xcm,
)

__all__ = [
    "addresses",
    "assets",
    "channels",
    "deposits",
    "egress",
    "environment",
    "funding",
    "pools",
    "rotation",
    "safe_mode",
    "substrate",
    "swaps",
    "validators",
    "vault_swaps",
    "wallets",
    "witnessed",
    "xcm",
]
