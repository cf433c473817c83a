"""Swaps without their transactions, and swaps of a balance."""

from __future__ import annotations

from typing import Any

from tests.devchain.runtime.swapper import ETHER, Swapper


class SwapsOnly(Swapper):
    """Looks away from transactions on the foreign chains."""

    def happened(self) -> list[str]:
        """Return the events of the block without those of transport."""
        transport = ("Broadcaster.", "ThresholdSigner.", "BroadcastRequested")
        return [name for name in super().happened() if not any(word in name for word in transport)]


NO_LIMITS = {"min_price": 0, "max_oracle_price_slippage": None}
NEVER_MET = {"min_price": 2**255, "max_oracle_price_slippage": None}


def asked(**changes: Any) -> dict[str, Any]:
    """Return the arguments of an internal swap, with changes."""
    usual: dict[str, Any] = {
        "amount": ETHER,
        "input_asset": "Eth",
        "output_asset": "Btc",
        "retry_duration": 0,
        "price_limits": NO_LIMITS,
        "dca_params": None,
    }
    return usual | changes
