"""Preparation of the transaction that sends a failed call: checks, simulation, gas and fees.

A pending transaction of the account is checked first: a second one could pay the gas twice. Then the call is
simulated, so that a refusal costs nothing, and only then gas and fees are computed, and compared with the
value of the payment.
"""

from __future__ import annotations

from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import read_amount
from cfnode.sdk.recovery.cost import check_cost
from cfnode.sdk.recovery.errors import (
    NoFundsForGas,
    Pending,
)
from cfnode.sdk.recovery.gas import Fees, check_estimate, current_fees, gas_for, latest_block, raised
from cfnode.sdk.recovery.offered_call import FailedCall
from cfnode.sdk.recovery.payload import checked_account
from cfnode.sdk.recovery.pending import account_nonces, pending_of
from cfnode.sdk.recovery.provider import at_pending, evm_call, evm_number, read_number, revert_reason
from cfnode.sdk.recovery.simulation import refusal
from cfnode.sdk.recovery.tokens import coin
from cfnode.sdk.recovery.transaction import PendingTransaction, UnsignedTransaction
from cfnode.swaps.checksums import checksum_address

__all__ = ["PrepareTransaction"]


class PrepareTransaction(Call[UnsignedTransaction]):
    """Prepare the transaction that `sender` (20 bytes) would send.

    `max_fee` is the maximum that the gas may cost, in wei; the default is a tenth of the payment's value.

    Raises ValidationError for a malformed sender or maximum, before any exchange; WouldRevert, NoFundsForGas
    or TooExpensive, BadAnswer for numbers of the node that cannot be true, and Pending if a transaction of
    the sender is pending. With `replace` the result replaces the pending transaction, at a higher fee, if
    that one is for the same call.
    """

    def __init__(
        self,
        failed: FailedCall,
        url: str,
        sender: bytes,
        *,
        replace: bool = False,
        max_fee: int | None = None,
    ) -> None:
        self.failed = failed
        self.url = url
        self.sender = checked_account(sender, "sender")
        self.replace = replace
        self.max_fee = None if max_fee is None else read_amount(max_fee, "max_fee")

    def steps(self, session: ClientSession) -> Steps[UnsignedTransaction]:
        """Check, simulate and price the transaction that sends a failed call; return it unsigned."""
        payload, url, sender = self.failed.payload, self.url, checksum_address(self.sender)
        done, pending = yield from account_nonces(session, url, sender)
        replaced = (yield from self._waiting(session, done, pending)) if pending > done else None
        call = {"from": sender, "to": checksum_address(payload.vault), "data": "0x" + payload.data.hex()}
        estimate = yield from self._simulated(session, call, replaced)
        block = yield from latest_block(session, url)
        check_estimate(payload, estimate, block, url)
        fees = yield from current_fees(session, url, payload.chain, block)
        if replaced is not None:
            fees = raised(fees, replaced)
        nonce = done if replaced is None else replaced.nonce
        transaction = self._transaction(nonce, estimate, fees)
        yield from self._check_funds(session, sender, transaction.highest_cost)
        yield from check_cost(session, payload, transaction, self.max_fee)
        return transaction

    def _transaction(self, nonce: int, estimate: int, fees: Fees) -> UnsignedTransaction:
        payload = self.failed.payload
        return UnsignedTransaction(
            payload.chain_id,
            payload.vault,
            payload.data,
            nonce,
            gas_for(payload, estimate),
            fees.most,
            fees.tip,
            estimate,
            fees.is_legacy,
        )

    def _check_funds(self, session: ClientSession, sender: str, cost: int) -> Steps[None]:
        chain = self.failed.payload.chain
        balance = yield from evm_number(session, self.url, "eth_getBalance", [sender, "latest"])
        if balance < cost:
            raise NoFundsForGas(
                f"{sender} has {coin(balance, chain)}; the gas may cost {coin(cost, chain)}: send it some of "
                f"{chain}'s own coin first"
            )

    def _waiting(self, session: ClientSession, done: int, pending: int) -> Steps[PendingTransaction]:
        """Return the pending transaction to replace; raise Pending if there is none."""
        sender, payload = checksum_address(self.sender), self.failed.payload
        waiting = yield from pending_of(session, self.url, sender)
        same_call = [
            transaction
            for transaction in waiting
            if transaction.to == payload.vault and _is_same_call(transaction.data, payload.data)
        ]
        if self.replace and same_call:
            return same_call[0]
        count = pending - done
        listing = "; ".join(f"{transaction.hash} with nonce {transaction.nonce}" for transaction in waiting)
        subject = f"{count} transaction{'s' if count > 1 else ''} of {sender} wait{'' if count > 1 else 's'}"
        if same_call:
            advice = (
                f"{same_call[0].hash} makes this same payment: wait for it, or raise its fee with --replace"
            )
        elif self.replace:
            advice = "none of them is known to make this payment, so nothing is replaced: wait"
        else:
            advice = "wait until it is in a block, then try again"
        raise Pending(
            f"{subject} for a block ({listing or 'the node does not list it'}); {advice}", tuple(waiting)
        )

    def _simulated(
        self, session: ClientSession, call: dict[str, str], replaced: PendingTransaction | None
    ) -> Steps[int]:
        """Simulate the call, so that a refusal has its reason; return its gas."""
        try:
            if replaced is not None:  # the pending block has executed the call already
                yield from evm_call(session, self.url, "eth_call", [call, "latest"])
                return (yield from evm_number(session, self.url, "eth_estimateGas", [call, "latest"]))
            yield from at_pending(session, self.url, "eth_call", [call])
            estimate = yield from at_pending(session, self.url, "eth_estimateGas", [call])
            return read_number(estimate, self.url, "eth_estimateGas")
        except RpcCallError as error:
            reason = revert_reason(error)
            if "insufficient funds" in error.rpc_message.lower() and not reason:
                raise NoFundsForGas(f"{call['from']} cannot pay the gas: {error.rpc_message}") from None
            raise (yield from refusal(session, self.url, self.failed.payload, error)) from None


def _is_same_call(first: bytes, other: bytes) -> bool:
    """Return whether two calls differ only in the signature: the same function, nonce and arguments."""
    return first[:4] == other[:4] and first[36:68] == other[36:68] and first[100:] == other[100:]
