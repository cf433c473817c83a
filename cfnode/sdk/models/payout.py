"""Failed payout of a swap, from its status: where the money is, and the command that recovers it.

`cfnode.swaps.fate` decides what became of it. A status may have the signed call that makes the payout, with a
signature that is not checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import asset_by_symbol
from cfnode.sdk.assets import units
from cfnode.sdk.models.transfer import Deposit, Egress, Failure
from cfnode.swaps.checksums import checksum_text
from cfnode.swaps.documents.payouts import FAILED_STATES
from cfnode.swaps.fate import CALL_CHAINS, EXPLANATIONS, Evidence, Fate, Signed, fate
from cfnode.swaps.journey import JourneyState

__all__ = ["FailedPayout", "Receiver", "SwapTransfers", "evidence_of", "failed_payout"]

_BATCH = "0x5f8c0f9a"
"""The selector of `allBatch`, a call that pays many receivers."""
_LOST = {
    "DEPOSIT_IGNORED": "The deposit stays at its address, and is not refunded.",
    "DEPOSIT_REJECTED": "Chainflip returns it.",
    "SWAP_OUTPUT_TOO_SMALL": "The output is below Chainflip's minimum, and is not paid.",
    "REFUND_OUTPUT_TOO_SMALL": "The refund is below Chainflip's minimum, and is not paid.",
}


@dataclass(frozen=True, slots=True)
class FailedPayout:
    """A payout, refund or deposit that failed; `amount` in base units of `asset` (its symbol).

    `fate` is what became of it as far as the status reveals, None for a deposit and for a payout that is not
    made; `explanation` describes where the money is; `is_recoverable`: whether `command` may recover it.
    """

    reference: str
    chain: str
    asset: str
    amount: int
    recipient: str
    explanation: str
    is_recoverable: bool
    fate: Fate | None = None

    def command(self, *flags: str) -> str | None:
        """Return the command line that recovers the payout, with more flags; None if not recoverable."""
        if not self.is_recoverable:
            return None
        return " ".join(("cfnode recover", self.chain.lower(), "--for", self.reference, *flags))

    def to_json(self, *flags: str) -> dict[str, Any]:
        """Return the payout as a JSON object; the amount is text."""
        return {
            "chain": self.chain,
            "asset": self.asset,
            "amount": str(self.amount),
            "recipient": self.recipient,
            "fate": self.fate,
            "explanation": self.explanation,
            "isRecoverable": self.is_recoverable,
            "command": self.command(*flags),
        }


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiver of a payment: a chain, the symbol of an asset, an address; "" for an unknown member."""

    chain: str
    asset: str
    address: str


@dataclass(frozen=True, slots=True)
class SwapTransfers:
    """The transfers of one swap. `reference` names the swap: the id of its channel, or its own."""

    reference: str
    has_failed: bool
    target: Receiver
    refund: Receiver
    deposit: Deposit | None
    swap_egress: Egress | None
    refund_egress: Egress | None
    fallback_egress: Egress | None


def failed_payout(swap: SwapTransfers) -> FailedPayout | None:
    """Return the failed payout of a swap, or None."""
    for egress, receiver in ((swap.swap_egress, swap.target), (swap.refund_egress, swap.refund)):
        if egress is not None and egress.failure is not None:
            return _payout(swap, egress, egress.failure, receiver)
    if swap.fallback_egress is not None and swap.has_failed:
        return _payout(swap, swap.fallback_egress, None, swap.target)
    if swap.deposit is not None and (failure := swap.deposit.failure) is not None:
        return _payout(swap, swap.deposit, failure, swap.refund)
    return None


def evidence_of(egress: Egress, chain: str) -> Evidence:
    """Return the evidence that a status has of an egress that failed, for whatever other reason."""
    reason = egress.failure.reason.get("name") if egress.failure is not None else None
    state, payload = FAILED_STATES.get(str(reason), JourneyState.FAILED), egress.transaction_payload
    if not isinstance(payload, Mapping):
        return Evidence(chain, state)
    is_batch = str(payload.get("data")).startswith(_BATCH)
    return Evidence(chain, state, is_batch, Signed.UNCHECKED)


def _payout(
    swap: SwapTransfers, transfer: Deposit | Egress, failure: Failure | None, receiver: Receiver
) -> FailedPayout:
    chain, symbol, recipient = receiver.chain, receiver.asset, checksum_text(receiver.address)
    lost = None if failure is None else _LOST.get(failure.mode)
    fate_found = fate(evidence_of(transfer, chain)) if isinstance(transfer, Egress) and lost is None else None
    reason = str(failure.reason.get("message") or failure.mode) if failure is not None else ""
    if isinstance(transfer, Deposit):
        head = f"The deposit of {_units(chain, symbol, transfer.amount)} on {chain} failed"
    else:
        head = f"{_units(chain, symbol, transfer.amount)} for {recipient} could not be paid out on {chain}"
    whereabouts = (lost or "") if fate_found is None else EXPLANATIONS[fate_found]
    return FailedPayout(
        swap.reference,
        chain,
        symbol,
        transfer.amount,
        recipient,
        f"{head}{f' ({reason})' if reason else ''}. {whereabouts}".strip(),
        bool(swap.reference) and fate_found is not None and fate_found.may_have_call and chain in CALL_CHAINS,
        fate_found,
    )


def _units(chain: str, symbol: str, amount: int) -> str:
    try:
        return f"{units(amount, asset_by_symbol(chain, symbol).decimals)} {symbol}"
    except KeyError:
        return f"{amount} base units of {symbol}"
