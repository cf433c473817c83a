"""Why can a failed transfer not be recovered just now? Each reason with what to do about it.

RecoveryError
  NoSuchCall        NO_SUCH_CALL    no broadcast of that number failed
  Expired           EXPIRED         its two epochs are over
  BeingSigned       BEING_SIGNED    no signature yet, or being signed anew: ask again in some blocks
  AlreadySent       ALREADY_SENT    somebody has sent it; the receiver has the funds
  WrongChain        WRONG_CHAIN     the EVM node is of another chain, or has other contracts
  KeyRotated        KEY_ROTATED     the signature is not by the key that the contract holds: fetch it again
  NeedsArchive      NEEDS_ARCHIVE   the node no longer has the state in which the answer lies
  NoFundsForGas     NO_GAS_FUNDS    the sending account cannot pay the gas
  WouldRevert       WOULD_REVERT    the contract would refuse: `reason` says why
  BadPayload        BAD_PAYLOAD     the node's answer is not a call of Chainflip's vault
  MissingExtra      MISSING_EXTRA   signing needs `pip install cfnode[evm]`
"""

from __future__ import annotations

from cfnode.sdk.errors import SdkError

__all__ = [
    "AlreadySent",
    "BadPayload",
    "BeingSigned",
    "Expired",
    "KeyRotated",
    "MissingExtra",
    "NeedsArchive",
    "NoFundsForGas",
    "NoSuchCall",
    "RecoveryError",
    "WouldRevert",
    "WrongChain",
]


class RecoveryError(SdkError):
    """A recovery that cannot go on; `code` is stable, the text says what to do."""

    code = "RECOVERY"


class NoSuchCall(RecoveryError):
    """No broadcast of that number failed."""

    code = "NO_SUCH_CALL"


class Expired(RecoveryError):
    """The call was offered for its two epochs and is gone."""

    code = "EXPIRED"


class BeingSigned(RecoveryError):
    """The call waits for its signature; it will be offered again within blocks."""

    code = "BEING_SIGNED"


class AlreadySent(RecoveryError):
    """The signature's nonce is used: the call has been sent."""

    code = "ALREADY_SENT"


class WrongChain(RecoveryError):
    """The EVM node does not serve the chain that the signature is bound to."""

    code = "WRONG_CHAIN"


class KeyRotated(RecoveryError):
    """The key that signed is not the one that the contract holds now."""

    code = "KEY_ROTATED"


class NeedsArchive(RecoveryError):
    """The blocks that would tell are older than the states that the node keeps: ask an archive node."""

    code = "NEEDS_ARCHIVE"


class NoFundsForGas(RecoveryError):
    """The sending account has less than the gas may cost."""

    code = "NO_GAS_FUNDS"


class WouldRevert(RecoveryError):
    """The call would fail on the chain; `reason` is the contract's own text, or "" without one."""

    code = "WOULD_REVERT"

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class BadPayload(RecoveryError):
    """The answer cannot be read as a call of the vault, or does not say what it must."""

    code = "BAD_PAYLOAD"


class MissingExtra(RecoveryError):
    """The libraries for signing are not installed."""

    code = "MISSING_EXTRA"
