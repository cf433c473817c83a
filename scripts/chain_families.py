"""Which declared types have classes? For `chain_values`.

By module of `cfnode/devchain/runtime/values`; a family may use those before it. Types that are declared for
each chain stand here once, without the chain's name.
"""

from __future__ import annotations

FAMILIES: dict[str, tuple[str, ...]] = {
    "funding": ("PendingRedemptionInfo", "RedemptionAmount", "FundingSource"),
}
