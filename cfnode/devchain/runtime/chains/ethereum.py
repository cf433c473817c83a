"""Ethereum."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import DOLLAR, AssetTerms, ChainInstance
from .contracts import EvmAddresses
from .costs import FeeData
from .evm import COIN, EVM, MAX_FETCHES, MAX_TRANSFERS, Gas, GasCosts, tokens

__all__ = ["ETHEREUM"]

_BITCOIN = 86_500 * DOLLAR
_ASSETS = {
    "Eth": AssetTerms(
        minimum_deposit=4 * 10**15, minimum_limit_order=3 * 10**15, price=2_800 * DOLLAR, token=COIN
    ),
    "Flip": AssetTerms(
        minimum_deposit=10 * 10**18,
        minimum_limit_order=10 * 10**18,
        price=DOLLAR * 40 // 100,
        token=bytes.fromhex("826180541412D574cf1336d22c0C0a287822678A"),
    ),
    "Usdc": AssetTerms(token=bytes.fromhex("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")),
    "Usdt": AssetTerms(token=bytes.fromhex("dAC17F958D2ee523a2206206994597C13D831ec7")),
    "Wbtc": AssetTerms(
        minimum_deposit=20_000,
        minimum_limit_order=10_000,
        price=_BITCOIN,
        token=bytes.fromhex("2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"),
    ),
    "Cbbtc": AssetTerms(
        minimum_deposit=20_000,
        minimum_limit_order=10_000,
        price=_BITCOIN,
        token=bytes.fromhex("cbB7C0000aB88B473b1f5aFd9ef808440eed33Bf"),
    ),
}


class _Costs(GasCosts):
    """A part of the price is burned, and the rest is the tip."""

    def price(self, tracked: FeeData) -> int:
        """Return the base fee with the tip."""
        assert isinstance(tracked, values.EthereumTrackedData)
        return tracked.base_fee + tracked.priority_fee

    def bid(self, tracked: FeeData) -> tuple[int, int] | None:
        """Return the tip, and twice the base fee with it."""
        assert isinstance(tracked, values.EthereumTrackedData)
        return tracked.priority_fee, 2 * tracked.base_fee + tracked.priority_fee


ETHEREUM = ChainInstance(
    name="Ethereum",
    module="eth",
    family=EVM,
    tracking_index=18,
    vault_index=21,
    broadcaster_index=27,
    ingress_egress_index=32,
    witness_period=1,
    safety_buffer=8,
    broadcast_timeout=20,
    safe_mode_heights=4,
    tracked_type="EthereumTrackedData",
    tracked_data=values.EthereumTrackedData(base_fee=2_000_000_000, priority_fee=100_000_000),
    costs=_Costs(fetch=Gas(50_000, 80_000), transfer=Gas(70_000, 90_000), max_message_gas=10_000_000),
    assets=_ASSETS,
    contracts=EvmAddresses(
        chain_id=10_997,
        key_manager=bytes.fromhex("a16E02E87b7454126E5E10d957A927A7F5B5d2be"),
        vault=bytes.fromhex("B7A5bd0345EF1Cc5E66bf61BdeC17D2461fBd968"),
        gateway=bytes.fromhex("eEBe00Ac0756308ac4AaBfD76c05c4F3088B8883"),
        tokens=tokens(_ASSETS),
    ),
    max_fetches=MAX_FETCHES,
    max_transfers=MAX_TRANSFERS,
)
