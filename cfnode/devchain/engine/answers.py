"""The three forms in which an engine answers the chain, and the transactions that carry them.

- *Witnessed*: an event of a foreign chain. Each authority sends the same call; enough votes execute it.
- *Reported*: what one authority says for itself, such as its heartbeat.
- *Proved*: a call without signer whose contents prove themselves, a threshold signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import bare_extrinsic, sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.devchain.engine.block import BlockView, Call
from cfnode.node.chain.runtime_info import RuntimeVersion

__all__ = ["Answer", "Proved", "Reported", "Signers", "Witnessed", "own_authorities"]


@dataclass(frozen=True, slots=True)
class Witnessed:
    """An event of a foreign chain, as the call that the chain makes once enough authorities agree."""

    call: Call


@dataclass(frozen=True, slots=True)
class Reported:
    """A call signed by one authority."""

    authority: bytes
    call: Call


@dataclass(frozen=True, slots=True)
class Proved:
    """An unsigned call."""

    call: Call


Answer = Witnessed | Reported | Proved


def own_authorities(block: BlockView, keys: Mapping[bytes, Keypair]) -> tuple[int, tuple[bytes, ...]]:
    """Return the epoch, and those of its authorities whose keys are ours, in the chain's order."""
    epoch = block.value("Validator", "CurrentEpoch")
    authorities: Iterable[bytes] = block.value("Validator", "HistoricalAuthorities", epoch)
    return epoch, tuple(authority for authority in authorities if authority in keys)


@dataclass(slots=True)
class Signers:
    """The signer of answers for one block, which counts nonces."""

    block: BlockView
    keys: Mapping[bytes, Keypair]
    genesis_hash: bytes
    version: RuntimeVersion
    epoch: int
    authorities: Sequence[bytes]
    _nonces: dict[bytes, int] = field(default_factory=dict)

    def transactions(self, answers: Iterable[Answer]) -> Iterator[bytes]:
        """Yield the extrinsics of answers. Raises ScaleError if the runtime cannot take one."""
        for answer in answers:
            match answer:
                case Proved(call):
                    yield bare_extrinsic(self.block.encoded(call))
                case Reported(authority, call):
                    yield self.signed(authority, call)
                case Witnessed(call):
                    vote = self.block.call("Witnesser", "witness_at_epoch", call=call, epoch_index=self.epoch)
                    yield from [self.signed(authority, vote) for authority in self.authorities]

    def signed(self, account: bytes, call: Call) -> bytes:
        """Return a call signed with an account's next nonce."""
        encoded = self.block.encoded(call)
        nonce = self._nonces.get(account)
        if nonce is None:
            nonce = _nonce(self.block.value("System", "Account", account))
        self._nonces[account] = nonce + 1
        return sign_extrinsic(
            self.block.metadata,
            encoded,
            self.keys[account],
            nonce=nonce,
            era=IMMORTAL,
            era_hash=self.genesis_hash,
            genesis_hash=self.genesis_hash,
            spec_version=self.version.spec_version,
            transaction_version=self.version.transaction_version,
        )


def _nonce(account: Any) -> int:
    nonce = account.get("nonce") if isinstance(account, dict) else None
    if not isinstance(nonce, int):
        raise ScaleError("System.Account has no nonce")
    return nonce
