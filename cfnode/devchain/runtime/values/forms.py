"""Which class have values of which declaration? Written by scripts/chain_values.py."""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.scale import PythonForm

from .funding import (
    FundingSourceEthTransaction,
    FundingSourceInitialFunding,
    FundingSourceSwap,
    PendingRedemptionInfo,
    RedemptionAmountExact,
)

FORMS: Mapping[str, PythonForm] = {
    "FundingSource": {
        "EthTransaction": FundingSourceEthTransaction,
        "Swap": FundingSourceSwap,
        "InitialFunding": FundingSourceInitialFunding,
    },
    "PendingRedemptionInfo": PendingRedemptionInfo,
    "RedemptionAmount": {"Exact": RedemptionAmountExact},
}
