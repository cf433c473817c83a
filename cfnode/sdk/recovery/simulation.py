"""Simulation of a failed call at a node of its EVM chain, and the reason if it would fail.

The vault takes a call from any account, so the simulation needs no sender. A node that refuses to simulate,
as providers with limits do, proves nothing about the call: its error is raised unchanged.

A batch succeeds also if a receiver rejects its transfer, which is left out. So the transfer that was searched
for is simulated by itself, too, as the vault would make it; without one, each transfer is. The vault gives a
transfer of its chain's coin 8,000 gas, and that of a token all (Vault.sol, `_transfer`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.core.hashing import keccak_256
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.contracts import balance_of
from cfnode.sdk.recovery.errors import KeyRotated, Pending, RecoveryError, WouldRevert, WrongChain
from cfnode.sdk.recovery.offered_call import FailedCall
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.provider import evm_call, is_failed_execution, optional_call, revert_reason
from cfnode.sdk.recovery.tokens import amount_text
from cfnode.swaps.checksums import checksum_address

__all__ = ["SimulateCall", "refusal"]

MAX_SIMULATED = 60
"""Transfers of a batch that are simulated; the State Chain puts at most 50 into one."""
_GAS_OF_BATCH = 8_000
"""Gas that the vault gives a transfer of its chain's coin in a batch."""
_STIPEND = 2_300
"""Gas that the EVM adds to a call with a value."""
_TRANSACTION_GAS = 21_000
_DATA_IN_GAS = ("Arbitrum",)
"""Chains where a transaction's gas also pays for the data that goes to another chain."""
_REFUSED, _TAKEN = 1, 2
_NEEDS_GAS = (
    f"the receiver needs more gas than the {_GAS_OF_BATCH:,} that the vault gives a transfer in a batch; "
    "once it has been left out, a call of its own gives it all gas"
)
_TOKEN_TRANSFER = keccak_256(b"transfer(address,uint256)")[:4]
_USED = "KeyManager: nonce already used"
_BAD_SIGNATURE = "KeyManager: Sig invalid"
_ADVICE = {
    "Governance: suspended": "the vault is suspended; try again later",
    "SafeERC20: ERC20 operation did not succeed": "the token refuses the transfer to this receiver",
    "Address: call to non-contract": "there is no token at that address: wrong chain or set-up",
}


class SimulateCall(Call[tuple[str, ...]]):
    """Simulate a failed call at the newest block of the EVM node, as any account may send it.

    Return, as sentences, which transfers the vault would leave out of a batch of which none was searched for.
    Raises WouldRevert with the contract's own text, also if a batch would leave out the transfer that was
    searched for, or all; KeyRotated, or Pending if its nonce is used.
    """

    def __init__(self, failed: FailedCall, url: str) -> None:
        self.failed = failed
        self.url = url

    def steps(self, session: ClientSession) -> Steps[tuple[str, ...]]:
        """Simulate a failed call on its chain. Raises an error with the reason if it would fail."""
        payload = self.failed.payload
        call = {"to": checksum_address(payload.vault), "data": "0x" + payload.data.hex()}
        try:
            yield from evm_call(session, self.url, "eth_call", [call, "latest"])
        except RpcCallError as error:
            raise (yield from refusal(session, self.url, payload, error)) from None
        return (yield from self._left_out(session)) if payload.is_batch else ()

    def _left_out(self, session: ClientSession) -> Steps[tuple[str, ...]]:
        """Simulate the transfers of a batch that count, each alone; raise WouldRevert if none is taken."""
        parts, refusals = self.failed.payload.parts, list[tuple[Payload, WouldRevert]]()
        for part in parts[:MAX_SIMULATED]:
            refused = yield from _refused_transfer(session, self.url, part)
            refusals += [] if refused is None else [(part, refused)]
        sentences = [
            f"the vault would take the batch, and leave out the transfer of {amount_text(part)} to "
            f"{part.recipient_text}: {refused.message}"
            for part, refused in refusals
        ]
        if len(refusals) == len(parts):
            advice = "; for another receiver of the batch: cfnode recover --for RECEIVER"
            is_chosen = self.failed.payload.is_chosen
            raise WouldRevert("; ".join(sentences) + (advice if is_chosen else ""), refusals[0][1].reason)
        return tuple(sentences)


def _refused_transfer(session: ClientSession, url: str, payload: Payload) -> Steps[WouldRevert | None]:
    """Simulate the transfer of a batch as the vault makes it; return why it would be left out."""
    transfer = payload.transfer
    call = {"from": checksum_address(payload.vault)}
    if payload.is_native:
        call |= {"to": checksum_address(transfer.recipient), "value": hex(transfer.amount)}
    else:
        words = transfer.recipient.rjust(32, b"\0") + transfer.amount.to_bytes(32, "big")
        call |= {"to": checksum_address(transfer.token), "data": f"0x{(_TOKEN_TRANSFER + words).hex()}"}
    try:
        answer = yield from evm_call(session, url, "eth_call", [call, "latest"])
    except RpcCallError as error:
        refused = yield from refusal(session, url, payload, error)
        return refused if isinstance(refused, WouldRevert) else None
    if payload.is_native:
        takes = yield from _takes_with_gas_of_batch(session, url, payload, call)
        return None if takes else WouldRevert(_NEEDS_GAS, "")
    is_false = bool(returned := _bytes_of(answer)) and not any(returned)
    return WouldRevert("sending it now would fail: the token returns false for it", "") if is_false else None


def _takes_with_gas_of_batch(
    session: ClientSession, url: str, payload: Payload, call: Mapping[str, str]
) -> Steps[bool]:
    """Return whether a receiver takes its coins with the gas that the vault gives each transfer of a batch.

    The vault's code is replaced in the simulation by one that makes this transfer alone. A node that does not
    replace code gets the transfer as a transaction with as much gas. On Arbitrum that gas would also have to
    pay for Ethereum's data, so there nothing is proven, and the answer is True.
    """
    vault = checksum_address(payload.vault)
    code = _transferring(payload.transfer.recipient, payload.transfer.amount)
    question = [{"to": vault, "data": "0x00"}, "latest", {vault: {"code": f"0x{code.hex()}"}}]
    answer = _bytes_of((yield from optional_call(session, url, "eth_call", question)))
    if len(answer) == 32 and answer[-1] in (_REFUSED, _TAKEN):
        return answer[-1] == _TAKEN
    if payload.chain in _DATA_IN_GAS:
        return True
    limited = {**call, "gas": hex(_TRANSACTION_GAS + _GAS_OF_BATCH + _STIPEND)}
    try:
        yield from evm_call(session, url, "eth_call", [limited, "latest"])
    except RpcCallError as error:
        return not is_failed_execution(error)
    return True


def _transferring(recipient: bytes, amount: int) -> bytes:
    """Return the code of a contract that pays a receiver as the vault does; it returns _REFUSED or _TAKEN."""
    no_data = bytes.fromhex("6000600060006000")
    pay = b"\x7f" + amount.to_bytes(32, "big") + b"\x73" + recipient
    pay += b"\x61" + _GAS_OF_BATCH.to_bytes(2, "big") + b"\xf1"  # CALL, which leaves 0 or 1
    return no_data + pay + bytes.fromhex("60010160005260206000f3")  # one more, stored and returned


def _bytes_of(answer: Any) -> bytes:
    """Return the bytes of an answer; none for one that is no hex."""
    try:
        return bytes.fromhex(str(answer)[2:])
    except ValueError:
        return b""


def refusal(
    session: ClientSession, url: str, payload: Payload, error: RpcCallError
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


def _about_message(session: ClientSession, url: str, payload: Payload) -> Steps[str]:
    """Return why a receiver cannot take a message."""
    receiver = checksum_address(payload.transfer.recipient)
    code = yield from evm_call(session, url, "eth_getCode", [receiver, "latest"])
    if code in ("0x", "0x0"):
        return (
            f"there is no contract at {receiver}, so nothing can take the message, and the funds stay in "
            "the vault: ask Chainflip, or have a contract deployed there"
        )
    return "the receiving contract refuses the message; the text is its own"
