"""Polkadot and Assethub, whose vaults are accounts of Substrate chains."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import DOLLAR, AssetTerms, ChainFamily
from .costs import Costs, FeeData

__all__ = ["DOT", "SUBSTRATE", "VERSION", "SubstrateCosts"]

SUBSTRATE = ChainFamily(
    signer="PolkadotThresholdSigner",
    agg_key="PolkadotAccountId",
    account="PolkadotAccountId",
    amount="u128",
    height="u32",
    channel_state="PolkadotChannelState",
    fetch_id="u64",
    deposit_details="u32",
    transaction_in="TxId",
    transaction_out="PolkadotSignature",
    transaction_ref="PolkadotTransactionId",
    burn_address=bytes(32),
    transaction_fee="u128",
)
DOT = AssetTerms(minimum_deposit=2 * 10**10, minimum_limit_order=5 * 10**10, price=2 * DOLLAR)
VERSION = values.DotRuntimeVersion(spec_version=1_007_001, transaction_version=26)


class SubstrateCosts(Costs):
    """Fixed fees, and a tip."""

    def ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of fetching a deposit."""
        return self.of(tracked, 197_300_000)

    def egress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of a transfer."""
        return self.of(tracked, 197_450_000)

    def message(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the cost of a transfer with a message."""
        return self.of(tracked, 100_000_000 + 2_000_000 * length)

    @staticmethod
    def of(tracked: FeeData, fixed: int) -> int:
        """Return a fixed fee with the tip."""
        assert isinstance(tracked, (values.PolkadotTrackedData, values.AssethubTrackedData))
        return tracked.median_tip + fixed
