"""Tron: an EVM chain that counts energy and bytes, and whose fees are in sun."""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.rules import Rules, TronEnergy

from .chain import DOLLAR, AssetTerms, ChainInstance
from .contracts import EvmAddresses
from .costs import FeeData, TrackedData
from .evm import COIN, EVM, MAX_FETCHES, MAX_TRANSFERS, EvmCosts, Transaction, TransactionFee, tokens

__all__ = ["TRON"]

_SUN_PER_ENERGY, _SUN_PER_BYTE = 100, 1_000
_SUN_PER_TRX = 10**6
_BATCH_ENERGY = 40_000
"""Energy that each batch takes."""
_MAX_FEE = 10**9
_FAMILY = replace(
    EVM,
    transaction="TronTransaction",
    transaction_metadata="TronTransactionMetadata",
    transaction_fee="TronTransactionFee",
)
_ASSETS = {
    "Trx": AssetTerms(
        minimum_deposit=30 * 10**6, minimum_limit_order=15 * 10**6, price=DOLLAR * 30 // 100, token=COIN
    ),
    "TrxUsdt": AssetTerms(token=bytes.fromhex("a614f803b6fd780986a42c78ec9c7f77e6ded13c")),
}


def _batch(size: int, energy: int) -> int:
    """Return the cost of a batch of `size` bytes with one transfer or fetch."""
    return (_BATCH_ENERGY + energy) * _SUN_PER_ENERGY + size * _SUN_PER_BYTE


def _energy(tracked: FeeData) -> TronEnergy:
    assert isinstance(tracked, TronEnergy)
    return tracked


class _Costs(EvmCosts):
    """Fees by the energy of the release's rules."""

    scales_messages = False

    def basis(self, tracked: TrackedData, rules: Rules) -> FeeData:
        """Return the release's energy."""
        return rules.tron_energy

    def ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of fetching a deposit."""
        return _batch(636, 5_000 if native else _energy(tracked).fetch_token)

    def egress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of a transfer."""
        return _batch(668, _energy(tracked).transfer if native else _energy(tracked).transfer_token)

    def message(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the fee limit of a transfer with a message."""
        return self.limit(tracked, native, budget, length)

    def limit(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the fee limit of a message, in sun."""
        energy = _energy(tracked)
        units = energy.message + budget + (energy.transfer if native else energy.transfer_token)
        return min(_MAX_FEE, units * _SUN_PER_ENERGY + (668 + length) * _SUN_PER_BYTE)

    def bid(self, tracked: FeeData) -> tuple[int, int] | None:
        """Return None: a transaction offers no price."""
        return None

    def plain_fee(self, tracked: FeeData) -> TransactionFee:
        """Return the fee of a plain transaction: 20 TRX."""
        return values.TronTransactionFee(
            fee=20 * _SUN_PER_TRX,
            energy_usage=None,
            energy_fee=None,
            origin_energy_usage=None,
            energy_usage_total=None,
            net_usage=None,
            net_fee=None,
            energy_penalty_total=None,
        )

    def transaction(
        self, replay: values.EvmReplayProtection, data: bytes, limit: int | None, function: str
    ) -> Transaction:
        """Return a transaction that calls a function by its signature."""
        return values.TronTransaction(
            fee_limit=limit,
            contract=replay.contract_address,
            value=0,
            data=data,
            function_selector=function.encode(),
        )


TRON = ChainInstance(
    name="Tron",
    module="tron",
    family=_FAMILY,
    tracking_index=58,
    vault_index=59,
    broadcaster_index=60,
    ingress_egress_index=61,
    witness_period=1,
    safety_buffer=25,
    broadcast_timeout=40,
    safe_mode_heights=10,
    tracked_type="TronTrackedData",
    tracked_data=(),
    costs=_Costs(),
    assets=_ASSETS,
    contracts=EvmAddresses(
        chain_id=3_448_148_188,
        key_manager=bytes.fromhex("eb99889eb704b4d58256ff25b4f033c673c166b6"),
        vault=bytes.fromhex("2fca9b8e3816e10d6c6033d0f7e0471542a09110"),
        tokens=tokens(_ASSETS),
    ),
    max_fetches=MAX_FETCHES,
    max_transfers=MAX_TRANSFERS,
    fetches_coin=True,
    hides_failed_coins=True,
)
