"""Limits that the State Chain sets for swaps, from `cf_environment`.

Amounts are numbers or 0x hex. A chain or asset that the node does not list has no minimum, no fee and no
maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import ForeignAsset
from cfnode.sdk.errors import BadAnswer, ValidationError
from cfnode.sdk.record import read_amount

__all__ = ["SwapEnvironment", "check_amount"]

_U128 = 2**128 - 1


@dataclass(frozen=True)
class SwapEnvironment:
    """The two parts of `cf_environment` that swaps depend on, as JSON."""

    ingress_egress: Mapping[str, Any]
    swapping: Mapping[str, Any]
    source: str

    def minimum_deposit(self, asset: ForeignAsset) -> int:
        """Return the smallest deposit that is not ignored, in base units; 0 without a minimum."""
        return self._leaf(self.ingress_egress, "minimum_deposit_amounts", asset) or 0

    def maximum_swap(self, asset: ForeignAsset) -> int | None:
        """Return the largest amount of a swap in base units; None means unlimited."""
        return self._leaf(self.swapping, "maximum_swap_amounts", asset)

    def dust_limit(self, asset: ForeignAsset) -> int:
        """Return the smallest amount that is paid out, in base units; 0 without a minimum."""
        return self._leaf(self.ingress_egress, "egress_dust_limits", asset) or 0

    def opening_fees(self) -> dict[str, int]:
        """Return the fee for opening a channel, in FLIP base units, by source chain."""
        fees = _member(self.ingress_egress, "channel_opening_fees")
        return {chain: self._amount(fee, f"channel_opening_fees.{chain}") for chain, fee in fees.items()}

    def confirmations(self) -> dict[str, int | None]:
        """Return the blocks after which a deposit counts, by chain; None if it counts at once."""
        margins = _member(self.ingress_egress, "witness_safety_margins")
        return {
            chain: self._amount(margin, f"witness_safety_margins.{chain}") + 1 if margin else None
            for chain, margin in margins.items()
        }

    def retry_duration_blocks(self, chain: str) -> int | None:
        """Return how long a swap may be retried, in State Chain blocks.

        Older nodes have the limit by source chain.
        """
        by_chain = self.ingress_egress.get("max_swap_retry_duration_blocks")
        of_chain = by_chain.get(chain) if isinstance(by_chain, Mapping) else None
        return of_chain if of_chain is not None else self.swapping.get("max_swap_retry_duration_blocks")

    def _leaf(self, section: Mapping[str, Any], name: str, asset: ForeignAsset) -> int | None:
        chain = _member(section, name).get(asset.chain)
        value = chain.get(asset.symbol) if isinstance(chain, Mapping) else None
        return None if value is None else self._amount(value, f"{name}.{asset.chain}.{asset.symbol}")

    def _amount(self, value: Any, field: str) -> int:
        try:
            return read_amount(value, field)
        except ValidationError as error:
            text = f"unexpected cf_environment: {error.message}"
            raise BadAnswer(text, url=self.source, sent=True, retryable=False) from None


def check_amount(asset: ForeignAsset, amount: int, limits: SwapEnvironment, field: str) -> None:
    """Raise ValidationError for an amount that the chain would ignore or refuse."""
    if amount < (minimum := limits.minimum_deposit(asset)):
        raise ValidationError(field, f"expected amount is below minimum swap amount ({minimum})")
    maximum = limits.maximum_swap(asset)
    if amount > (maximum := _U128 if maximum is None else maximum):
        raise ValidationError(field, f"expected amount is above maximum swap amount ({maximum})")


def _member(section: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = section.get(name)
    return value if isinstance(value, Mapping) else {}
