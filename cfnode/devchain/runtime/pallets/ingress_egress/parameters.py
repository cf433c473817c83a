"""Genesis parameters of deposits and transfers.

Amounts are in the assets' smallest units. Governance has set the main net's minimum deposits after genesis;
these are of their size.
"""

from __future__ import annotations

__all__ = ["CHANNEL_OPENING_FEE", "DUST_LIMITS", "MINIMUM_DEPOSITS"]

CHANNEL_OPENING_FEE = 0  # in FLIP

_TEN_DOLLARS = 10 * 10**6
_ETHER = 4 * 10**15
_SATOSHI = 20_000

MINIMUM_DEPOSITS: dict[str, dict[str, int]] = {
    "Ethereum": {
        "Eth": _ETHER,
        "Flip": 10 * 10**18,
        "Usdc": _TEN_DOLLARS,
        "Usdt": _TEN_DOLLARS,
        "Wbtc": _SATOSHI,
        "Cbbtc": _SATOSHI,
    },
    "Polkadot": {"Dot": 2 * 10**10},
    "Bitcoin": {"Btc": _SATOSHI},
    "Arbitrum": {"ArbEth": _ETHER, "ArbUsdc": _TEN_DOLLARS, "ArbUsdt": _TEN_DOLLARS},
    "Solana": {"Sol": 5 * 10**7, "SolUsdc": _TEN_DOLLARS, "SolUsdt": _TEN_DOLLARS},
    "Assethub": {"HubDot": 2 * 10**10, "HubUsdt": _TEN_DOLLARS, "HubUsdc": _TEN_DOLLARS},
    "Tron": {"Trx": 30 * 10**6, "TrxUsdt": _TEN_DOLLARS},
    "Bsc": {"Bnb": 10**16, "BscUsdt": 10 * 10**18},
}

DUST_LIMITS: dict[str, dict[str, int]] = {"Bitcoin": {"Btc": 600}}
"""Dust limits by chain and asset, where they are more than 1."""
