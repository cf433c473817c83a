"""Status of a swap, from the swap service (`GET /swaps/…`, `GET /v2/swaps/…`).

A swap is named by its deposit channel (`6739624-Ethereum-2562`, the chain in any case), by its swap id, or by
a transaction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from cfnode.sdk.calls import Call
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import BackendError, ValidationError
from cfnode.sdk.exchange import Steps, backend, read_answer
from cfnode.sdk.models.status import SwapStatus, SwapStatusV1
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import Record
from cfnode.swaps.identity import ChannelId, UnknownChain

__all__ = ["GetStatus", "GetStatusV2", "channel_of", "swap_reference"]

_MAX_REFERENCE_CHARS = 200
_STATUS_UNKNOWN_SWAP = 404
_EXPECTED = (
    "give a deposit channel's id (BLOCK-CHAIN-NUMBER, such as 6739624-Ethereum-2562), a swap's id (a "
    "number) or a transaction (its hash)"
)
_IDENTITY = re.compile(
    r"[0-9]+|[0-9]+-[A-Za-z]+-[0-9]+|[0-9]+-[0-9]+|(0[xX])?[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{43,90}"
)
"""References of a swap: an id, a channel's id, Polkadot's block and index, hashes in hex and base58."""
S = TypeVar("S", bound=Record)


def swap_reference(reference: str | int) -> str:
    """Return the reference of a swap in the service's format; raise ValidationError for a malformed one."""
    text = str(reference).strip()
    if not text or len(text) > _MAX_REFERENCE_CHARS or isinstance(reference, bool):
        raise ValidationError.at("id", f"{text!r:.80} is not a swap: {_EXPECTED}")
    if (channel := channel_of(text)) is not None:
        return str(channel)
    return f"0x{text[2:]}" if text.startswith("0X") else text


def _unknown_swap(reference: str, reason: str) -> str:
    """Return the error text for a reference that the service does not know."""
    if _IDENTITY.fullmatch(reference) is None:
        return f"{reference!r:.80} is not a swap: {_EXPECTED}"
    return (
        f"the swap service knows no swap of {reference:.80} ({reason}): check the reference and the "
        "network, or ask again later if it is not in a block yet"
    )


def channel_of(text: str) -> ChannelId | None:
    """Return the deposit channel that a text names; None for another text.

    Raises ValidationError for an unknown chain.
    """
    try:
        return ChannelId.parse(text)
    except UnknownChain as error:
        raise ValidationError.at("id", unknown_value("chain", error.name, error.known)) from None


@dataclass(frozen=True)
class GetStatusV2(Call[SwapStatus]):
    """Request the status of a swap, by its `deposit_channel_id`, its swap id or a transaction.

    Raises BackendError with the status 404 if the swap is unknown to the swap service (yet).
    """

    id: str | int

    def steps(self, session: ClientSession) -> Steps[SwapStatus]:
        """Ask the swap service for the status of version 2."""
        return _status(session, "/v2/swaps/", self.id, SwapStatus)


@dataclass(frozen=True)
class GetStatus(Call[SwapStatusV1]):
    """Request the older, flat status of a swap; names and errors are those of `get_status_v2`."""

    id: str | int

    def steps(self, session: ClientSession) -> Steps[SwapStatusV1]:
        """Ask the swap service for the status of version 1."""
        return _status(session, "/swaps/", self.id, SwapStatusV1)


def _status(session: ClientSession, path: str, reference: str | int, record: type[S]) -> Steps[S]:
    try:
        document = yield from backend(session, "GET", path + quote(swap_reference(reference), safe=""))
    except BackendError as error:
        if error.status != _STATUS_UNKNOWN_SWAP:
            raise
        raise BackendError(
            _unknown_swap(str(reference).strip(), error.message), status=_STATUS_UNKNOWN_SWAP
        ) from None
    return read_answer(record, document, session.backend_url)
