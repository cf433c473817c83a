"""Solana: a transaction pays for its signature, its compute units, and the rent of new accounts."""

from __future__ import annotations

import base58

from cfnode.devchain.runtime import values

from .chain import DOLLAR, AssetTerms, ChainFamily, ChainInstance
from .costs import Costs, FeeData

__all__ = ["SOLANA"]

_MICRO = 10**6
_RENT = 2_039_280
"""Lamports that a new token account costs."""
_FAMILY = ChainFamily(
    signer="SolanaThresholdSigner",
    agg_key="Address",
    account="Address",
    amount="u64",
    height="u64",
    channel_state="u8",
    fetch_id="SolanaDepositFetchId",
    deposit_details="VaultSwapOrDepositChannelId",
    transaction_in="(Address, u64)",
    transaction_out="sol::Signature",
    transaction_ref="sol::Signature",
    burn_address=bytes(32),
    transaction_fee="TransactionFee",
)


class _Costs(Costs):
    """Fees by compute units."""

    def ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of fetching a deposit."""
        return _fee(tracked, 38_175 if native else 68_175)

    def vault_ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of closing the account of a vault swap."""
        return _fee(tracked, 39_000)

    def egress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of a transfer."""
        return _fee(tracked, 900) if native else _fee(tracked, 75_675, _RENT)

    def message(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the cost of a transfer with a message."""
        units = min(600_000, budget + (40_000 if native else 80_000))
        return _fee(tracked, units, 0 if native else _RENT)


def _fee(tracked: FeeData, units: int, rent: int = 0) -> int:
    """Return the signature's fee, compute units at their price, and for a token a new account's rent."""
    assert isinstance(tracked, values.SolTrackedData)
    price = max(tracked.priority_fee, 10 * _MICRO)
    return 5_000 + -(-price * units // _MICRO) + rent


SOLANA = ChainInstance(
    name="Solana",
    module="sol",
    family=_FAMILY,
    tracking_index=46,
    vault_index=41,
    broadcaster_index=43,
    ingress_egress_index=44,
    witness_period=15,
    safety_buffer=None,
    broadcast_timeout=600,
    safe_mode_heights=150,
    tracked_type="SolTrackedData",
    tracked_data=values.SolTrackedData(100_000),
    costs=_Costs(),
    assets={
        "Sol": AssetTerms(minimum_deposit=5 * 10**7, minimum_limit_order=10**8, price=127 * DOLLAR),
        "SolUsdc": AssetTerms(token=base58.b58decode("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")),
        "SolUsdt": AssetTerms(token=base58.b58decode("Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB")),
    },
    max_fetches=5,
    closed_by_election=True,
)
