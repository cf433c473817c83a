"""BSC, where nothing is burned: the price of gas is the tip, which has a minimum."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import DOLLAR, AssetTerms, ChainInstance
from .contracts import EvmAddresses
from .costs import FeeData
from .evm import COIN, EVM, MAX_FETCHES, MAX_TRANSFERS, Gas, GasCosts, tokens

__all__ = ["BSC"]

_MIN_PRICE = 100_000_000
"""Wei below which no validator takes a transaction."""
_ASSETS = {
    "Bnb": AssetTerms(minimum_deposit=10**16, minimum_limit_order=10**16, price=600 * DOLLAR, token=COIN),
    "BscUsdt": AssetTerms(
        minimum_deposit=10 * 10**18,
        minimum_limit_order=5 * 10**18,
        token=bytes.fromhex("55d398326f99059fF775485246999027B3197955"),
    ),
}


class _Costs(GasCosts):
    """The tip is the price."""

    def price(self, tracked: FeeData) -> int:
        """Return the tip."""
        assert isinstance(tracked, values.BscTrackedData)
        return max(tracked.priority_fee, _MIN_PRICE)

    def bid(self, tracked: FeeData) -> tuple[int, int] | None:
        """Return half as much again as the tip, for both."""
        assert isinstance(tracked, values.BscTrackedData)
        tip = max(tracked.priority_fee * 3 // 2, _MIN_PRICE)
        return tip, tip


BSC = ChainInstance(
    name="Bsc",
    module="bsc",
    family=EVM,
    tracking_index=63,
    vault_index=64,
    broadcaster_index=65,
    ingress_egress_index=66,
    witness_period=14,
    safety_buffer=8,
    broadcast_timeout=266,
    safe_mode_heights=133,
    tracked_type="BscTrackedData",
    tracked_data=values.BscTrackedData(10_000_000_000),
    costs=_Costs(fetch=Gas(70_000, 86_000), transfer=Gas(106_000, 105_000), max_message_gas=10_000_000),
    assets=_ASSETS,
    contracts=EvmAddresses(
        chain_id=343,
        key_manager=bytes.fromhex("5FbDB2315678afecb367f032d93F642f64180aa3"),
        vault=bytes.fromhex("e7f1725E7734CE288F8367e1Bb143E90bb3F0512"),
        tokens=tokens(_ASSETS),
    ),
    max_fetches=MAX_FETCHES,
    max_transfers=MAX_TRANSFERS,
)
