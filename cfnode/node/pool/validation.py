"""Validation of transactions by the runtime.

`TaggedTransactionQueue_validate_transaction` at a block decides. The answer becomes a transaction for the
pool, or an error with the reason.
"""

from __future__ import annotations

from typing import Final

from cfnode.core.block import BlockRef
from cfnode.core.hashing import blake2_256
from cfnode.core.scale import ScaleError, decode_compact
from cfnode.core.validity import Invalid, UnknownValidity
from cfnode.node.chain.queries import RuntimeQueries
from cfnode.node.pool.errors import (
    BadFormat,
    InvalidTransaction,
    NoTagsProvided,
    NotJudged,
    Unactionable,
    UnknownTransaction,
    VerificationFailed,
)
from cfnode.node.pool.transaction import PoolTransaction
from cfnode.runtime.calls import LocalFault, RuntimeTrap, Verdict
from cfnode.store import StateDiscarded, UnknownBlock

SIGNED_MASK, SIGNED = 0b1100_0000, 0b1000_0000
EMPTY_EXTRINSIC: Final = b"\0"
"""An extrinsic without bytes."""
_EMPTY_TRAP: Final = "Bad input data provided to validate_transaction: Not enough data to fill buffer"


class TransactionValidator:
    """The validator of transactions, by calls of the runtime.

    `may_include`: this node makes blocks, so it accepts transactions that must not be sent to peers.
    """

    def __init__(self, queries: RuntimeQueries, *, may_include: bool) -> None:
        self._queries = queries
        self._may_include = may_include
        self.scheduled = self.finished = 0
        """Validations so far: begun, and ended in whatever way."""

    async def validate(self, extrinsic: bytes, source: int, at: BlockRef) -> PoolTransaction:
        """Return the extrinsic (with its length prefix), validated on top of `at`. Raise PoolError."""
        self.scheduled += 1
        try:
            return await self._validated(extrinsic, source, at)
        finally:
            self.finished += 1

    async def _validated(self, extrinsic: bytes, source: int, at: BlockRef) -> PoolTransaction:
        if extrinsic == EMPTY_EXTRINSIC:  # every runtime traps on it, so none is asked
            raise VerificationFailed(_EMPTY_TRAP) from RuntimeTrap(_EMPTY_TRAP)
        try:
            answer = await self._queries.validate(at.hash, source, extrinsic)
        except (LocalFault, StateDiscarded, UnknownBlock) as error:
            raise NotJudged(str(error)) from error
        except (Verdict, ScaleError) as error:
            raise VerificationFailed(str(error)) from error
        if isinstance(answer, Invalid):
            raise InvalidTransaction(answer)
        if isinstance(answer, UnknownValidity):
            raise UnknownTransaction(answer)
        if not answer.provides:
            raise NoTagsProvided
        if not answer.propagate and not self._may_include:
            raise Unactionable
        return PoolTransaction(
            hash=blake2_256(extrinsic),
            data=extrinsic,
            priority=answer.priority,
            requires=answer.requires,
            provides=answer.provides,
            valid_till=at.number + answer.longevity,
            propagate=answer.propagate,
            source=source,
        )


def check_format(extrinsic: bytes) -> None:
    """Check that the bytes are one extrinsic, as long as its length prefix. Raise BadFormat."""
    try:
        length, start = decode_compact(extrinsic, 0)
    except ScaleError as error:
        raise BadFormat(str(error)) from None
    if len(extrinsic) - start != length:
        raise BadFormat(f"its length prefix is {length} bytes, but {len(extrinsic) - start} follow")


def is_signed(extrinsic: bytes) -> bool:
    """Return whether an extrinsic is signed, and no inherent of the author (Substrate's formats)."""
    _, start = decode_compact(extrinsic, 0)
    return extrinsic[start] & SIGNED_MASK == SIGNED
