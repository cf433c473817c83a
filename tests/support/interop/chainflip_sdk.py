"""The SDK's two forms of a status, and the releases that read them."""

from __future__ import annotations

BOTH_FORMS, NEWER_FORM = "@chainflip/sdk", "chainflip-sdk-1.11"
OLDER = "chainflip-sdk-1.6"
"""A release with both forms that is only read with."""
WAYS = {
    "V2": ["WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT", "COMPLETED"],
    "V1": ["AWAITING_DEPOSIT", "DEPOSIT_RECEIVED", "EGRESS_SCHEDULED", "BROADCASTED", "COMPLETE"],
}
