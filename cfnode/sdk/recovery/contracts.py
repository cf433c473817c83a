"""Checks that the contracts of an EVM chain accept a call's signature, and that it is unused.

The cheap checks come first: the chain id, the vault, its key manager, whether the nonce is used, whether the
contract holds the key that signed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cfnode.core.hashing import keccak_256
from cfnode.core.vault_calls import NATIVE_TOKEN
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.errors import AlreadySent, KeyRotated, WrongChain
from cfnode.sdk.recovery.offered_call import FailedCall, check_key
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.provider import evm_call, evm_number, is_revert
from cfnode.swaps.checksums import checksum_address

__all__ = ["CheckContracts", "already_sent", "balance_of", "is_used", "unused"]


class CheckContracts(Call[None]):
    """Check that the EVM chain would accept the signature.

    Raises WrongChain, AlreadySent or KeyRotated.
    """

    def __init__(self, failed: FailedCall, url: str) -> None:
        self.failed = failed
        self.url = url

    def steps(self, session: ClientSession) -> Steps[None]:
        """Check vault and key manager of the payload. Raises RecoveryError."""
        yield from self._vault(session)
        yield from self._key_manager(session)

    def _vault(self, session: ClientSession) -> Steps[None]:
        """Check the chain, and that the vault's key manager is the State Chain's."""
        payload, url = self.failed.payload, self.url
        chain_id = yield from evm_number(session, url, "eth_chainId", [])
        if chain_id != payload.chain_id:
            raise WrongChain(
                f"wrong chain: the payload is for chain id {payload.chain_id}, the EVM node serves {chain_id}"
            )
        vault = checksum_address(payload.vault)
        code = yield from evm_call(session, url, "eth_getCode", [vault, "latest"])
        if not isinstance(code, str) or code in ("0x", "0x0"):
            raise WrongChain(f"wrong chain: there is no contract at the vault's address {vault}")
        if (yield from _manager(session, url, payload.vault)) != self.failed.key_manager:
            raise WrongChain(
                f"wrong chain: the vault {vault} names another key manager than the State Chain does"
            )

    def _key_manager(self, session: ClientSession) -> Steps[None]:
        """Check that the nonce is unused, and that the contract holds the key that signed."""
        payload, manager = self.failed.payload, self.failed.key_manager
        if (yield from is_used(session, self.url, manager, payload.nonce)):
            raise already_sent([payload])
        key = yield from _view(session, self.url, manager, "getAggregateKey()")
        if not payload.is_signed_by(bytes([2 + (key[63] & 1)]) + key[:32], manager):
            check_key(self.failed)
            raise KeyRotated(
                f"key rotated: the key manager on {payload.chain} holds another key than the one that "
                "signed; fetch the payload again in some minutes"
            )


def already_sent(calls: Sequence[Payload]) -> AlreadySent:
    """Return the error for calls whose nonces the key manager has accepted.

    A batch pays all receivers but those who reject their transfer; any other call pays, or it reverts.
    """
    numbers = ", ".join(str(call.nonce) for call in calls)
    used = f"already sent: nonce {numbers} is used on {calls[0].chain}"
    if any(call.is_batch for call in calls):
        return AlreadySent(
            f"{used}, so the batch has been sent, and each receiver that took its transfer has been paid. A "
            "receiver that rejected it gets a call of its own some minutes later: cfnode recover --for "
            "RECEIVER finds that"
        )
    return AlreadySent(f"{used}, so the receiver has been paid; nothing is left to do")


def unused(session: ClientSession, url: str, calls: Iterable[Payload]) -> Steps[tuple[Payload, ...]]:
    """Return the calls that have not been executed on the EVM chain yet; calls of other chains are kept."""
    chain_id = yield from evm_number(session, url, "eth_chainId", [])
    calls_left: list[Payload] = []
    managers: dict[bytes, bytes] = {}
    for call in calls:
        if call.chain_id != chain_id:
            calls_left.append(call)
            continue
        if call.vault not in managers:
            managers[call.vault] = yield from _manager(session, url, call.vault)
        if not (yield from is_used(session, url, managers[call.vault], call.nonce)):
            calls_left.append(call)
    return tuple(calls_left)


def balance_of(
    session: ClientSession, url: str, payload: Payload, account: bytes, at: str = "latest"
) -> Steps[int]:
    """Return an account's balance of the asset that a call pays, in base units, at a block."""
    if payload.transfer.token == NATIVE_TOKEN:
        return (yield from evm_number(session, url, "eth_getBalance", [checksum_address(account), at]))
    owner = int.from_bytes(account, "big")
    word = yield from _view(session, url, payload.transfer.token, "balanceOf(address)", owner, at=at)
    return int.from_bytes(word[:32], "big")


def is_used(session: ClientSession, url: str, manager: bytes, nonce: int) -> Steps[bool]:
    """Return whether a key manager has accepted a signature with this nonce."""
    return any((yield from _view(session, url, manager, "isNonceUsedByAggKey(uint256)", nonce)))


def _manager(session: ClientSession, url: str, vault: bytes) -> Steps[bytes]:
    return (yield from _view(session, url, vault, "getKeyManager()"))[12:32]


def _view(
    session: ClientSession, url: str, contract: bytes, signature: str, *arguments: int, at: str = "latest"
) -> Steps[bytes]:
    data = keccak_256(signature.encode())[:4] + b"".join(
        argument.to_bytes(32, "big") for argument in arguments
    )
    address = checksum_address(contract)
    call: dict[str, Any] = {"to": address, "data": "0x" + data.hex()}
    try:
        raw = bytes.fromhex(str((yield from evm_call(session, url, "eth_call", [call, at])))[2:])
    except ValueError:
        raw = b""
    except RpcCallError as error:
        if not is_revert(error):
            raise
        raw = b""
    if len(raw) < 32 * (2 if signature == "getAggregateKey()" else 1):
        raise WrongChain(f"{address} does not answer {signature}: it is not a contract of Chainflip")
    return raw
