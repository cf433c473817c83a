"""Can this account send the payload now, and what does it cost?

A pending transaction of the account is checked first: a second one could pay the gas twice. Then the call is
simulated, so that a refusal costs nothing, and only then gas and fees are computed.
"""

from __future__ import annotations

from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.contracts import held_by_vault
from cfnode.sdk.recovery.errors import (
    KeyRotated,
    NoFundsForGas,
    Pending,
    RecoveryError,
    WouldRevert,
    WrongChain,
)
from cfnode.sdk.recovery.gas import current_fees, gas_for, raised
from cfnode.sdk.recovery.node import FailedCall
from cfnode.sdk.recovery.pending import account_nonces, pending_of
from cfnode.sdk.recovery.provider import at_pending, evm_call, evm_number, read_number, revert_reason
from cfnode.sdk.recovery.tokens import amount_text, coin
from cfnode.sdk.recovery.transaction import PendingTransaction, UnsignedTransaction
from cfnode.swaps.checksums import checksum_address

__all__ = ["PrepareTransaction"]

_USED = "KeyManager: nonce already used"
_BAD_SIGNATURE = "KeyManager: Sig invalid"
_ADVICE = {
    "Governance: suspended": "the vault is suspended; try again later",
    "SafeERC20: ERC20 operation did not succeed": "the token refuses the transfer to this receiver",
    "Address: call to non-contract": "there is no token at that address: wrong chain or set-up",
}


class PrepareTransaction(Call[UnsignedTransaction]):
    """The transaction that `sender` (20 bytes) would send.

    Raises WouldRevert or NoFundsForGas, and Pending if a transaction of the sender is pending; with `replace`
    the result replaces that one, if it is for the same call, at a higher fee.
    """

    def __init__(self, failed: FailedCall, url: str, sender: bytes, *, replace: bool = False) -> None:
        self.failed = failed
        self.url = url
        self.sender = sender
        self.replace = replace

    def steps(self, session: Session) -> Steps[UnsignedTransaction]:
        payload, url, sender = self.failed.payload, self.url, checksum_address(self.sender)
        done, pending = yield from account_nonces(session, url, sender)
        replaced = (yield from self._waiting(session, done, pending)) if pending > done else None
        call = {"from": sender, "to": checksum_address(payload.vault), "data": "0x" + payload.data.hex()}
        estimate = yield from self._simulated(session, call, replaced)
        fees = yield from current_fees(session, url, payload.chain)
        if replaced is not None:
            fees = raised(fees, replaced)
        transaction = UnsignedTransaction(
            payload.chain_id,
            payload.vault,
            payload.data,
            done if replaced is None else replaced.nonce,
            gas_for(payload, estimate),
            fees.most,
            fees.tip,
            estimate,
        )
        held = yield from evm_number(session, url, "eth_getBalance", [sender, "latest"])
        if held < transaction.highest_cost:
            raise NoFundsForGas(
                f"{sender} has {coin(held, payload.chain)}; the gas may cost "
                f"{coin(transaction.highest_cost, payload.chain)}: send it some of {payload.chain}'s own "
                "coin first"
            )
        return transaction

    def _waiting(self, session: Session, done: int, pending: int) -> Steps[PendingTransaction]:
        """The pending transaction to replace; raises Pending if there is none."""
        sender, payload = checksum_address(self.sender), self.failed.payload
        found = yield from pending_of(session, self.url, sender)
        ours = [each for each in found if each.to == payload.vault and _is_same_call(each.data, payload.data)]
        if self.replace and ours:
            return ours[0]
        count = pending - done
        listed = "; ".join(f"{each.hash} with nonce {each.nonce}" for each in found)
        subject = f"{count} transaction{'s' if count > 1 else ''} of {sender} wait{'' if count > 1 else 's'}"
        if ours:
            advice = "it makes this same payment: wait for it, or raise its fee with --replace"
        elif self.replace:
            advice = "none of them is known to make this payment, so nothing is replaced: wait"
        else:
            advice = "wait until it is in a block, then try again"
        raise Pending(
            f"{subject} for a block ({listed or 'the node does not list it'}); {advice}", tuple(found)
        )

    def _simulated(
        self, session: Session, call: dict[str, str], replaced: PendingTransaction | None
    ) -> Steps[int]:
        """The gas of the call; the call is simulated first, so that a refusal has its reason."""
        try:
            if replaced is not None:  # in the pending block the call is done already
                yield from evm_call(session, self.url, "eth_call", [call, "latest"])
                return (yield from evm_number(session, self.url, "eth_estimateGas", [call, "latest"]))
            yield from at_pending(session, self.url, "eth_call", [call])
            return read_number(
                (yield from at_pending(session, self.url, "eth_estimateGas", [call])), self.url
            )
        except RpcCallError as error:
            reason = revert_reason(error)
            if "insufficient funds" in error.rpc_message.lower() and not reason:
                raise NoFundsForGas(f"{call['from']} cannot pay the gas: {error.rpc_message}") from None
            raise (yield from self._refusal(session, reason, error)) from None

    def _refusal(
        self, session: Session, reason: str, error: RpcCallError
    ) -> Steps[RecoveryError | RpcCallError]:
        """The error for a call that would fail, with what to do about it."""
        payload = self.failed.payload
        if reason == _USED:
            return Pending("another transaction that makes this payment is pending: wait, and try again", ())
        if reason == _BAD_SIGNATURE:
            return KeyRotated(f"{reason}: the key was rotated; fetch the payload again in some minutes")
        try:
            held = yield from held_by_vault(session, self.url, payload)
        except (WrongChain, RpcCallError):  # no token there, or one without this function
            held = payload.transfer.amount
        if held < payload.transfer.amount:
            advice = (
                f"the vault holds {amount_text(payload, held)}, less than is to be paid "
                f"({amount_text(payload)}); wait and try again"
            )
        elif payload.message is not None:
            advice = _ADVICE.get(reason, "the receiving contract refuses the message; the text is its own")
        elif payload.is_native:
            advice = _ADVICE.get(
                reason, "the receiver still refuses; make it accept payments, then try again"
            )
        else:
            advice = _ADVICE.get(reason, "the token or its receiver refuses; the text is the token's own")
        return WouldRevert(f"sending it now would fail: {reason or error.message}. {advice}", reason)


def _is_same_call(one: bytes, other: bytes) -> bool:
    """Whether two calls differ only in the signature: the same function, nonce and arguments."""
    return one[:4] == other[:4] and one[36:68] == other[36:68] and one[100:] == other[100:]
