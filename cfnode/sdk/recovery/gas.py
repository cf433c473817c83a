"""How much gas may a call take, and which fees does its transaction offer?

Gas: a third above the estimate, as in Chainflip's own engine: the required gas varies by some thousand with
the time of the block. A message's gas limit binds only the engines, which pay for it; it is not signed, so a
call that needs more is sent with more. On Arbitrum the estimate and the limit include the gas for Ethereum's
data.

Fees: EIP-1559, twice the base fee and the tip; no tip on Arbitrum.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.provider import evm_call, optional_call, read_number
from cfnode.sdk.recovery.transaction import PendingTransaction

__all__ = ["Fees", "current_fees", "gas_for", "raised"]

_NO_TIP = ("Arbitrum",)
DEFAULT_TIP = 10**9
"""Wei per gas, if a provider returns neither a tip nor a gas price."""
MIN_RAISE_PERCENT = 10
"""The nodes' rule for a transaction that replaces another: both of its fees are this much higher."""


@dataclass(frozen=True, slots=True)
class Fees:
    """The maximum fee per gas, and the part of it for the block's author; wei."""

    most: int
    tip: int


def gas_for(payload: Payload, estimate: int) -> int:
    """The gas of the transaction: at least the call's own limit, and a third above the estimate."""
    return max(payload.gas_limit or 0, -(-estimate * 4 // 3))


def current_fees(session: Session, url: str, chain: str) -> Steps[Fees]:
    """The current fees."""
    block = yield from evm_call(session, url, "eth_getBlockByNumber", ["latest", False])
    base = read_number(block.get("baseFeePerGas") if isinstance(block, dict) else None, url)
    tip = 0 if chain in _NO_TIP else (yield from _tip(session, url, base))
    return Fees(2 * base + tip, tip)


def _tip(session: Session, url: str, base: int) -> Steps[int]:
    """The provider's tip; else its gas price minus the base fee."""
    if (tip := (yield from optional_call(session, url, "eth_maxPriorityFeePerGas", []))) is not None:
        return read_number(tip, url)
    if (price := (yield from optional_call(session, url, "eth_gasPrice", []))) is not None:
        return max(read_number(price, url) - base, 1)
    return DEFAULT_TIP


def raised(fees: Fees, pending: PendingTransaction) -> Fees:
    """The fees with which a node lets a transaction replace a pending one."""
    tip = max(fees.tip, _above(pending.max_priority_fee_per_gas))
    return Fees(max(fees.most, _above(pending.max_fee_per_gas), tip), tip)


def _above(fee: int) -> int:
    return max(-(-fee * (100 + MIN_RAISE_PERCENT) // 100), fee + 1)
