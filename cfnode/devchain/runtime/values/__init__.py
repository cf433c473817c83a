"""What are the chain's values in Python?

A frozen dataclass for each struct, and for each variant with fields of an enum; the enum's name is the union
of them. `FORMS` says which declaration has which. Written by scripts/chain_values.py: change the declarations
instead.
"""

from __future__ import annotations

from .forms import FORMS
from .funding import (
    FundingSource,
    FundingSourceEthTransaction,
    FundingSourceInitialFunding,
    FundingSourceSwap,
    PendingRedemptionInfo,
    RedemptionAmount,
    RedemptionAmountExact,
)

__all__ = [
    "FORMS",
    "FundingSource",
    "FundingSourceEthTransaction",
    "FundingSourceInitialFunding",
    "FundingSourceSwap",
    "PendingRedemptionInfo",
    "RedemptionAmount",
    "RedemptionAmountExact",
]
