"""Bitcoin: its vault is a set of outputs, and a transaction pays for its bytes."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import DOLLAR, AssetTerms, ChainFamily, ChainInstance, Retries
from .costs import Costs, FeeData

__all__ = ["BITCOIN", "DEPOSIT_BYTES", "FIXED_BYTES", "OUTPUT_BYTES", "VAULT_BYTES", "BitcoinCosts"]

_FAMILY = ChainFamily(
    signer="BitcoinThresholdSigner",
    agg_key="btc::AggKey",
    account="ScriptPubkey",
    amount="u64",
    height="u64",
    channel_state="DepositAddress",
    fetch_id="BitcoinFetchId",
    deposit_details="Utxo",
    transaction_in="H256",
    transaction_out="H256",
    transaction_ref="H256",
    burn_address=("Taproot", bytes(32)),
    transaction_fee="u64",
)
FIXED_BYTES, DEPOSIT_BYTES, VAULT_BYTES, OUTPUT_BYTES = 16, 78, 58, 51
"""Virtual bytes of a transaction's fixed part, of an input (a deposit's or the vault's), of an output."""

_PATIENT, _LONGEST = 25, 1_200
"""Failures after which delays double, and the longest delay in blocks."""


class BitcoinCosts(Costs):
    """Fees by virtual bytes."""

    def ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of spending a deposit."""
        return self.of(tracked, DEPOSIT_BYTES)

    def vault_ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of spending the output of a vault swap."""
        return self.ingress(tracked, native)

    def egress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of the fixed part, one vault input and two outputs."""
        return (
            self.of(tracked, FIXED_BYTES) + self.of(tracked, VAULT_BYTES) + 2 * self.of(tracked, OUTPUT_BYTES)
        )

    @staticmethod
    def of(tracked: FeeData, size: int) -> int:
        """Return the satoshi for so many virtual bytes."""
        assert isinstance(tracked, values.BitcoinTrackedData)
        return size * tracked.btc_fee_info.sats_per_kilobyte // 1_000


class _Retries(Retries):
    """After many failures the delay doubles each time, up to two hours."""

    def after_failure(self, failures: int) -> int:
        """Return the blocks until the next attempt after so many failures."""
        return 1 if failures < _PATIENT else min(2 ** min(failures - _PATIENT, 16), _LONGEST)

    def without_nominee(self, failures: int) -> int:
        """Return the blocks until the next attempt when no authority could be asked."""
        return self.after_failure(failures)


BITCOIN = ChainInstance(
    name="Bitcoin",
    module="btc",
    family=_FAMILY,
    tracking_index=20,
    vault_index=23,
    broadcaster_index=29,
    ingress_egress_index=34,
    witness_period=1,
    safety_buffer=8,
    broadcast_timeout=9,
    safe_mode_heights=1,
    tracked_type="BitcoinTrackedData",
    tracked_data=values.BitcoinTrackedData(values.BitcoinFeeInfo(5_000)),
    costs=BitcoinCosts(),
    retries=_Retries(),
    assets={
        "Btc": AssetTerms(
            minimum_deposit=20_000, minimum_limit_order=10_000, price=86_500 * DOLLAR, dust_limit=600
        )
    },
)
