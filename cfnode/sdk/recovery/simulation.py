"""Simulation of a failed call at a node of its EVM chain, and the reason if it would fail.

The vault takes a call from any account, so the simulation needs no sender. A node that refuses to simulate,
as providers with limits do, proves nothing about the call: its error is raised unchanged.

A batch succeeds also if a receiver rejects its transfer, which is left out. So the transfer that was searched
for is simulated by itself, too, as the vault would make it.
"""

from __future__ import annotations

from cfnode.core.hashing import keccak_256
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.contracts import balance_of
from cfnode.sdk.recovery.errors import KeyRotated, Pending, RecoveryError, WouldRevert, WrongChain
from cfnode.sdk.recovery.node import FailedCall
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.provider import evm_call, is_failed_execution, revert_reason
from cfnode.sdk.recovery.tokens import amount_text
from cfnode.swaps.checksums import checksum_address

__all__ = ["SimulateCall", "refusal"]

_TOKEN_TRANSFER = keccak_256(b"transfer(address,uint256)")[:4]
_USED = "KeyManager: nonce already used"
_BAD_SIGNATURE = "KeyManager: Sig invalid"
_ADVICE = {
    "Governance: suspended": "the vault is suspended; try again later",
    "SafeERC20: ERC20 operation did not succeed": "the token refuses the transfer to this receiver",
    "Address: call to non-contract": "there is no token at that address: wrong chain or set-up",
}


class SimulateCall(Call[None]):
    """Simulate a failed call at the newest block of the EVM node, as any account may send it.

    Raises WouldRevert with the contract's own text, also if a batch would leave out its `transfer`,
    KeyRotated, or Pending if its nonce is used.
    """

    def __init__(self, failed: FailedCall, url: str) -> None:
        self.failed = failed
        self.url = url

    def steps(self, session: Session) -> Steps[None]:
        payload = self.failed.payload
        call = {"to": checksum_address(payload.vault), "data": "0x" + payload.data.hex()}
        try:
            yield from evm_call(session, self.url, "eth_call", [call, "latest"])
        except RpcCallError as error:
            raise (yield from refusal(session, self.url, payload, error)) from None
        if payload.is_batch:
            yield from self._transfer(session)

    def _transfer(self, session: Session) -> Steps[None]:
        """Simulate the transfer of a batch by itself; raise WouldRevert if the batch would leave it out."""
        payload, transfer = self.failed.payload, self.failed.payload.transfer
        call = {"from": checksum_address(payload.vault)}
        if payload.is_native:
            call |= {"to": checksum_address(transfer.recipient), "value": hex(transfer.amount)}
        else:
            words = transfer.recipient.rjust(32, b"\0") + transfer.amount.to_bytes(32, "big")
            call |= {"to": checksum_address(transfer.token), "data": f"0x{(_TOKEN_TRANSFER + words).hex()}"}
        try:
            yield from evm_call(session, self.url, "eth_call", [call, "latest"])
        except RpcCallError as error:
            found = yield from refusal(session, self.url, payload, error)
            if isinstance(found, WouldRevert):
                raise WouldRevert(
                    f"the vault would take the batch, and leave out the transfer of {amount_text(payload)} "
                    f"to {payload.recipient_text}: {found.message}; for another receiver of the batch: "
                    "cfnode recover --for RECEIVER",
                    found.reason,
                ) from None


def refusal(
    session: Session, url: str, payload: Payload, error: RpcCallError
) -> Steps[RecoveryError | RpcCallError]:
    """Return the error for a call that would fail, with what to do about it."""
    reason = revert_reason(error)
    if reason == _USED:
        return Pending("another transaction that makes this payment is pending: wait, and try again", ())
    if reason == _BAD_SIGNATURE:
        return KeyRotated(f"{reason}: the key was rotated; fetch the payload again in some minutes")
    if not is_failed_execution(error):
        return error
    try:
        balance = yield from balance_of(session, url, payload, payload.vault)
    except (WrongChain, RpcCallError):  # no token there, or one without this function
        balance = payload.transfer.amount
    if balance < payload.transfer.amount:
        advice = (
            f"the vault holds {amount_text(payload, balance)}, less than is to be paid "
            f"({amount_text(payload)}); wait and try again"
        )
    elif payload.message is not None:
        advice = _ADVICE.get(reason, (yield from _about_message(session, url, payload)))
    elif payload.is_native:
        advice = _ADVICE.get(reason, "the receiver still refuses; make it accept payments, then try again")
    else:
        advice = _ADVICE.get(reason, "the token or its receiver refuses; the text is the token's own")
    return WouldRevert(f"sending it now would fail: {reason or error.message}. {advice}", reason)


def _about_message(session: Session, url: str, payload: Payload) -> Steps[str]:
    """Return why a receiver cannot take a message."""
    receiver = checksum_address(payload.transfer.recipient)
    code = yield from evm_call(session, url, "eth_getCode", [receiver, "latest"])
    if code in ("0x", "0x0"):
        return (
            f"there is no contract at {receiver}, so nothing can take the message, and the funds stay in "
            "the vault: ask Chainflip, or have a contract deployed there"
        )
    return "the receiving contract refuses the message; the text is its own"
