"""Status of a swap, by a reference from a request's path."""

from __future__ import annotations

from typing import Any

from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swaps.documents.status import status_v2
from cfnode.swaps.history import swap_history
from cfnode.swaps.identity import UnknownChain
from cfnode.swaps.locate import UnknownSwap
from cfnode.swaps.record import SwapRecord

__all__ = ["status"]


def status(record: SwapRecord, reference: str) -> dict[str, Any]:
    """Return the status in version 2 of the swap that `reference` names. Raises Refusal."""
    try:
        return status_v2(swap_history(record, reference))
    except UnknownChain as error:
        raise RequestRefusal(400, f"Invalid chain: {error.name}") from None
    except UnknownSwap:
        raise RequestRefusal(404, "resource not found") from None
