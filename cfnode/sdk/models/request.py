"""Terms that a caller may set for a swap: the parts of requests, echoed unchanged in answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.sdk.record import GivenRecord, Number, alias

__all__ = ["AffiliateBroker", "CcmParams", "DcaParams", "FillOrKillParams"]


@dataclass(frozen=True)
class DcaParams(GivenRecord):
    """A swap in `number_of_chunks` parts, one each `chunk_interval_blocks` State Chain blocks (2 or more)."""

    number_of_chunks: int
    chunk_interval_blocks: int = alias("chunkInterval", default=2)


@dataclass(frozen=True)
class FillOrKillParams(GivenRecord):
    """Conditions of a refund: exactly one of `slippage_tolerance_percent` and `min_price`.

    `refund_address` is an address of the source chain. `retry_duration_blocks` counts State Chain blocks (6
    s) for which the swap is retried; `retry_duration_minutes` may be used instead. `min_price` is in whole
    units of the destination asset for one of the source asset.
    """

    refund_address: str
    retry_duration_blocks: int | None = None
    slippage_tolerance_percent: Number | None = None
    min_price: Number | None = None
    retry_duration_minutes: float | None = None
    live_price_slippage_tolerance_percent: Number | None = None
    refund_ccm_metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class CcmParams(GivenRecord):
    """A message for a contract on the destination chain: `message` 0x hex, `gas_budget` in its gas units."""

    message: str
    gas_budget: int | str
    ccm_additional_data: str | None = alias("additionalData", "cfParameters")


@dataclass(frozen=True)
class AffiliateBroker(GivenRecord):
    """Another broker (`cF…`) with a commission of `commission_bps`."""

    account: str
    commission_bps: int
