"""Gas and fees of the transaction that sends a failed call.

Gas: a third above the estimate, as in Chainflip's own engine, since the required gas varies by some thousand
with the time of the block. A message's gas limit binds only the engines, which pay for it; it is not signed,
so a call that needs more gets more. On Arbitrum the estimate and the limit include the gas for Ethereum's
data. An estimate below the minimum of any such call, or above the gas limit of a block, is refused: a
transaction with too little gas fails, and is paid for.

Fees: EIP-1559, twice the base fee and the tip; no tip on Arbitrum. The provider names the tip, so it is
capped at the base fee, or at MAX_TIP on a chain with a lower base fee, and at the highest tip that got a
transaction into one of the last blocks. A chain whose blocks have no base fee
gets a transaction of the older form, with the provider's gas price. The value of the payment bounds all fees
(`cost.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.provider import evm_call, evm_number, optional_call, read_number, unbelievable
from cfnode.sdk.recovery.transaction import PendingTransaction

__all__ = ["Fees", "check_estimate", "current_fees", "gas_for", "latest_block", "raised"]

_NO_TIP = ("Arbitrum",)
DEFAULT_TIP = 10**9
"""Tip in wei per gas, if a provider returns neither a tip nor a gas price."""
MAX_TIP = 3 * 10**9
"""Maximum tip in wei per gas, on a chain whose base fee is lower."""
TIP_HISTORY_BLOCKS = 20
"""Number of the newest blocks whose tips are read."""
TIP_PERCENTILE = 60
"""Share of a block's gas, in percent, whose tip is at most the block's usual one, as geth proposes it."""
MIN_RAISE_PERCENT = 10
"""Percentage by which both fees of a replacing transaction are higher, by the nodes' rule."""
_TRANSACTION_GAS = 21_000
_ZERO_BYTE_GAS, _BYTE_GAS = 4, 16
_SIGNATURE_GAS = 3_000
"""Gas to recover an address from the signature in the key manager (`ecrecover`)."""
_NONCE_GAS = 22_100
"""Gas to store the nonce in an empty slot of the key manager (EIP-2929)."""
_LATEST = "eth_getBlockByNumber"


@dataclass(frozen=True, slots=True)
class Fees:
    """The maximum fee per gas, and the part of it for the block's author; in wei.

    `is_legacy`: the chain has no EIP-1559, and `most` is the gas price.
    """

    most: int
    tip: int
    is_legacy: bool = False


def gas_for(payload: Payload, estimate: int) -> int:
    """Return the gas of the transaction: at least the call's own limit, and a third above the estimate."""
    return max(payload.gas_limit or 0, -(-estimate * 4 // 3))


def latest_block(session: ClientSession, url: str) -> Steps[Mapping[str, Any]]:
    """Return the newest block of the EVM node, without transactions."""
    block = yield from evm_call(session, url, _LATEST, ["latest", False])
    if not isinstance(block, Mapping):
        raise unbelievable(url, _LATEST, "no block")
    return block


def check_estimate(payload: Payload, estimate: int, block: Mapping[str, Any], url: str) -> None:
    """Raise BadAnswer for an estimate that no call of the vault can have in this block."""
    zeros = payload.data.count(0)
    min_gas = _TRANSACTION_GAS + _ZERO_BYTE_GAS * zeros + _BYTE_GAS * (len(payload.data) - zeros)
    min_gas += _SIGNATURE_GAS + _NONCE_GAS
    if estimate < min_gas:
        raise unbelievable(
            url, "eth_estimateGas", f"{estimate}: this call takes at least {min_gas} gas, on any chain"
        )
    limit = read_number(block.get("gasLimit"), url, f"{_LATEST}: gasLimit")
    if estimate > limit:
        raise unbelievable(url, "eth_estimateGas", f"{estimate}, more than a block holds ({limit})")


def current_fees(session: ClientSession, url: str, chain: str, block: Mapping[str, Any]) -> Steps[Fees]:
    """Return the fees of a transaction after the node's newest block."""
    if block.get("baseFeePerGas") is None:
        price = yield from evm_number(session, url, "eth_gasPrice", [])
        return Fees(price, price, is_legacy=True)
    base = read_number(block["baseFeePerGas"], url, f"{_LATEST}: baseFeePerGas")
    tip = 0 if chain in _NO_TIP else (yield from _bounded_tip(session, url, base))
    return Fees(2 * base + tip, tip)


def _bounded_tip(session: ClientSession, url: str, base: int) -> Steps[int]:
    """Return the provider's tip within its bounds: the base fee, and the tips of the last blocks; in wei."""
    tip = yield from _tip(session, url, base)
    paid = yield from _highest_paid_tip(session, url)
    return min(tip, max(base, MAX_TIP), paid or tip)


def _highest_paid_tip(session: ClientSession, url: str) -> Steps[int]:
    """Return the highest of the last blocks' usual tips, in wei per gas; 0 if none is known or was paid."""
    method = "eth_feeHistory"
    asked = [hex(TIP_HISTORY_BLOCKS), "latest", [TIP_PERCENTILE]]
    history = yield from optional_call(session, url, method, asked)
    tips = history.get("reward") if isinstance(history, Mapping) else None
    if not isinstance(tips, list):  # a node without the method, or with no block yet
        return 0
    rows = [row for row in tips[:TIP_HISTORY_BLOCKS] if isinstance(row, list) and row]
    return max((read_number(row[0], url, f"{method}: reward") for row in rows), default=0)


def _tip(session: ClientSession, url: str, base: int) -> Steps[int]:
    """Return the provider's tip; else its gas price minus the base fee, else DEFAULT_TIP; wei per gas."""
    method = "eth_maxPriorityFeePerGas"
    if (tip := (yield from optional_call(session, url, method, []))) is not None:
        return read_number(tip, url, method)
    if (price := (yield from optional_call(session, url, "eth_gasPrice", []))) is not None:
        return max(read_number(price, url, "eth_gasPrice") - base, 1)
    return DEFAULT_TIP


def raised(fees: Fees, pending: PendingTransaction) -> Fees:
    """Return the fees with which a node lets a transaction replace a pending one."""
    max_fee = max(fees.most, _above(pending.max_fee_per_gas))
    if fees.is_legacy:
        return Fees(max_fee, max_fee, is_legacy=True)
    tip = max(fees.tip, _above(pending.max_priority_fee_per_gas))
    return Fees(max(max_fee, tip), tip)


def _above(fee: int) -> int:
    return max(-(-fee * (100 + MIN_RAISE_PERCENT) // 100), fee + 1)
