"""Where is the money of a failed payout, and what can its owner do?

On Ethereum, Arbitrum, BSC and Tron a signed call makes the payout, and any account may send it. On all but
BSC the State Chain lists the call; a batch that was aborted is such a call itself, and a status has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.assets import asset_by_symbol
from cfnode.sdk.assets import units
from cfnode.sdk.models.transfer import Deposit, Egress, Failure
from cfnode.swaps.checksums import checksum_address, evm_account

__all__ = ["FailedPayout", "Receiver", "SwapTransfers", "failed_payout"]

_LISTED = ("Ethereum", "Arbitrum", "Tron")
_SIGNED_ONLY = ("Bsc",)
"""Chains with calls that are in events and statuses, and in no list of the State Chain."""
_BATCH = "0x5f8c0f9a"
"""The selector of `allBatch`, a call that pays many receivers."""
_CALL_EXPIRED = "FailedForeignChainCallExpired"
"""The reason of a failure whose call has expired."""
_LOST = {
    "DEPOSIT_IGNORED": "It stays where it is and is not refunded.",
    "DEPOSIT_REJECTED": "Chainflip returns it.",
    "SWAP_OUTPUT_TOO_SMALL": "The output is below Chainflip's minimum, and is not paid.",
    "REFUND_OUTPUT_TOO_SMALL": "The refund is below Chainflip's minimum, and is not paid.",
}
_EXPIRED = (
    "The money is in Chainflip's vault. The call that pays it out has expired, at the end of the epoch after "
    "that of the failure, and is not signed again: ask Chainflip."
)
_OFFERED = (
    "The money is in Chainflip's vault. A signed call that pays it out is on offer until the end of the "
    "epoch after that of the failure (three to six days on the main net), and any account may send it."
)
_SIGNED = (
    "The money is in Chainflip's vault. A signed call that pays it out exists, and any account may send it "
    "until the vault gets the next epoch's key."
)
_BATCH_FAILED = (
    "The money is in Chainflip's vault. The transaction that should have paid it, with other payouts, was "
    "signed and could not be sent. Any account may send it until the vault gets the next epoch's key."
)
_NO_CALL = "The money is in Chainflip's vault, and there is no call to send: ask Chainflip."
_UNSIGNED = (
    "The money is in Chainflip's vault. The status has no signed call that pays it out: look again in some "
    "minutes, or ask Chainflip."
)


@dataclass(frozen=True, slots=True)
class FailedPayout:
    """A payout, refund or deposit that failed; `amount` in base units of `asset` (its symbol).

    `explanation` describes where the money is; `is_recoverable`: whether `command` recovers it.
    """

    reference: str
    chain: str
    asset: str
    amount: int
    recipient: str
    explanation: str
    is_recoverable: bool

    def command(self, *flags: str) -> str | None:
        """The command line that recovers the payout, with additional flags; None if it is not recoverable."""
        if not self.is_recoverable:
            return None
        chain = (self.chain.lower(),) if self.chain in _LISTED else ()
        return " ".join(("cfnode recover", *chain, "--for", self.reference, *flags))

    def to_json(self, *flags: str) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "chain": self.chain,
            "asset": self.asset,
            "amount": str(self.amount),
            "recipient": self.recipient,
            "explanation": self.explanation,
            "isRecoverable": self.is_recoverable,
            "command": self.command(*flags),
        }


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where money goes: a chain, the symbol of an asset, and an address; "" for what is unknown."""

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
    """The failed payout of a swap, or None."""
    for egress, receiver in ((swap.swap_egress, swap.target), (swap.refund_egress, swap.refund)):
        if egress is not None and egress.failure is not None:
            return _of_egress(swap, egress, egress.failure, receiver)
    if swap.fallback_egress is not None and swap.has_failed:
        return _of_egress(swap, swap.fallback_egress, None, swap.target)
    if swap.deposit is not None and (failure := swap.deposit.failure) is not None:
        return _payout(swap, swap.deposit.amount, failure, swap.refund, _LOST.get(failure.mode, ""), False)
    return None


def _of_egress(
    swap: SwapTransfers, egress: Egress, failure: Failure | None, receiver: Receiver
) -> FailedPayout:
    if failure is not None and failure.mode in _LOST:
        return _payout(swap, egress.amount, failure, receiver, _LOST[failure.mode], False)
    where, is_recoverable = _call_of(egress, failure, receiver.chain)
    return _payout(swap, egress.amount, failure, receiver, where, is_recoverable)


def _call_of(egress: Egress, failure: Failure | None, chain: str) -> tuple[str, bool]:
    """Where the money of an egress is, and whether a signed call pays it."""
    if chain not in (*_LISTED, *_SIGNED_ONLY):
        return _NO_CALL, False
    if failure is not None and failure.reason.get("name") == _CALL_EXPIRED:
        return _EXPIRED, False
    payload = egress.transaction_payload
    if isinstance(payload, Mapping) and str(payload.get("data")).startswith(_BATCH):
        return _BATCH_FAILED, True
    if chain in _LISTED:
        return _OFFERED, True
    return (_SIGNED, True) if isinstance(payload, Mapping) else (_UNSIGNED, False)


def _payout(
    swap: SwapTransfers,
    amount: int,
    failure: Failure | None,
    receiver: Receiver,
    where: str,
    is_recoverable: bool,
) -> FailedPayout:
    chain, symbol, recipient = receiver.chain, receiver.asset, _checked(receiver.address)
    reason = str(failure.reason.get("message") or failure.mode) if failure is not None else ""
    if failure is not None and failure.mode.startswith("DEPOSIT"):
        head = f"The deposit of {_units(chain, symbol, amount)} on {chain} failed"
    else:
        head = f"{_units(chain, symbol, amount)} for {recipient} could not be paid out on {chain}"
    text = f"{head}{f' ({reason})' if reason else ''}. {where}".strip()
    is_recoverable = is_recoverable and bool(swap.reference)
    return FailedPayout(swap.reference, chain, symbol, amount, recipient, text, is_recoverable)


def _checked(address: str) -> str:
    """An EVM address with its checksum; any other address unchanged."""
    account = evm_account(address)
    return address if account is None else checksum_address(account)


def _units(chain: str, symbol: str, amount: int) -> str:
    try:
        return f"{units(amount, asset_by_symbol(chain, symbol).decimals)} {symbol}"
    except KeyError:
        return f"{amount} base units of {symbol}"
