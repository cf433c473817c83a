"""Arbitrum, which pays for Ethereum's bytes with its own gas."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import DOLLAR, AssetTerms, ChainInstance
from .contracts import EvmAddresses
from .costs import FeeData
from .evm import COIN, EVM, MAX_FETCHES, MAX_TRANSFERS, Gas, GasCosts, tokens

__all__ = ["ARBITRUM"]

_BYTES_OF_L1_CALL = 356 + 36
_ASSETS = {
    "ArbEth": AssetTerms(
        minimum_deposit=4 * 10**15, minimum_limit_order=3 * 10**15, price=2_800 * DOLLAR, token=COIN
    ),
    "ArbUsdc": AssetTerms(token=bytes.fromhex("af88d065e77c8cC2239327C5EDb3A432268e5831")),
    "ArbUsdt": AssetTerms(token=bytes.fromhex("Fd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9")),
}


class _Costs(GasCosts):
    """There is no tip."""

    def price(self, tracked: FeeData) -> int:
        """Return the base fee."""
        assert isinstance(tracked, values.ArbitrumTrackedData)
        return tracked.base_fee

    def bid(self, tracked: FeeData) -> tuple[int, int] | None:
        """Return no tip, and half as much again as the base fee."""
        return 0, self.price(tracked) * 3 // 2

    def first_layer(self, tracked: FeeData) -> int:
        """Return the gas by which a message pays for its bytes on Ethereum."""
        assert isinstance(tracked, values.ArbitrumTrackedData)
        return -(-tracked.l1_base_fee_estimate * 16 * _BYTES_OF_L1_CALL // tracked.base_fee)


ARBITRUM = ChainInstance(
    name="Arbitrum",
    module="arb",
    family=EVM,
    tracking_index=37,
    vault_index=38,
    broadcaster_index=39,
    ingress_egress_index=40,
    witness_period=24,
    safety_buffer=8,
    broadcast_timeout=480,
    safe_mode_heights=240,
    tracked_type="ArbitrumTrackedData",
    tracked_data=values.ArbitrumTrackedData(base_fee=20_000_000, l1_base_fee_estimate=1),
    costs=_Costs(fetch=Gas(60_000, 90_000), transfer=Gas(80_000, 100_000), max_message_gas=25_000_000),
    assets=_ASSETS,
    contracts=EvmAddresses(
        chain_id=412_346,
        key_manager=bytes.fromhex("5FbDB2315678afecb367f032d93F642f64180aa3"),
        vault=bytes.fromhex("e7f1725E7734CE288F8367e1Bb143E90bb3F0512"),
        tokens=tokens(_ASSETS),
    ),
    max_fetches=MAX_FETCHES,
    max_transfers=MAX_TRANSFERS,
)
