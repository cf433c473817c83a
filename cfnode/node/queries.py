"""What does the node itself ask the runtime, and how are the answers read?

The runtime APIs whose layout is fixed by Substrate (AuraApi, GrandpaApi, AccountNonceApi,
TaggedTransactionQueue, BlockBuilder): they are asked without metadata.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cfnode.core.grandpa import AuthoritySet, read_authorities
from cfnode.core.scale import Cursor
from cfnode.core.validity import Invalid, Unknown, Validity, decode_validity, decode_validity_error
from cfnode.node.states import States
from cfnode.runtime.calls import BlockSource, Unanswerable, Verdict
from cfnode.runtime.executor import Executor

MAX_NONCES = 256
"""Answers to `account_nonce` that are kept."""

MAX_AUTHORITIES = 16
"""Blocks whose authorities are kept: a header is judged before its body comes, and again at its import."""


@contextmanager
def _own_question(name: str) -> Iterator[None]:
    """Ask what holds no input of a stranger: if the runtime has no answer that this build can read, the block
    or the votes that it was asked for are not to blame."""
    try:
        yield
    except Verdict as error:
        raise Unanswerable(f"{name} fails on a state of our own: {error}") from error
    except ValueError as error:  # ScaleError too
        raise Unanswerable(f"{name} has an answer unknown to this build: {error}") from error


@dataclass(frozen=True, slots=True)
class DryRun:
    """What applying an extrinsic would give.

    `invalid`: it may not enter a block; `dispatch_error`: it would be included and fail (SCALE
    `DispatchError`); both None: it would succeed.
    """

    invalid: Invalid | Unknown | None = None
    dispatch_error: bytes | None = None


class RuntimeQueries:
    """Typed questions to the runtime, each at the state of one block."""

    def __init__(self, states: States, executor: Executor) -> None:
        self._states = states
        self._executor = executor
        self._authorities: OrderedDict[bytes, tuple[bytes, ...]] = OrderedDict()
        self._nonces: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()

    async def call(self, at: bytes, function: str, args: bytes = b"") -> bytes:
        """The output of a runtime API function on the state of block `at`."""
        (output,) = await self._states.call_all(at, [(function, args)])
        return output

    async def call_all(self, at: bytes, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """The outputs of calls (function, args) on the state of block `at`, asked in one message."""
        return await self._states.call_all(at, calls)

    async def aura_authorities(self, at: bytes) -> tuple[bytes, ...]:
        """The sr25519 keys whose turn it is by slot, for the children of `at`. Raises LocalFault."""
        if at not in self._authorities:
            with _own_question("AuraApi_authorities"):
                cursor = Cursor(await self.call(at, "AuraApi_authorities"))
                self._authorities[at] = tuple(cursor.take(32) for _ in range(cursor.count(32)))
            while len(self._authorities) > MAX_AUTHORITIES:
                self._authorities.popitem(last=False)
        return self._authorities[at]

    async def grandpa_authorities(self, at: bytes) -> AuthoritySet:
        """The weighted voters that finalize what follows `at`. Raises LocalFault."""
        calls = [("GrandpaApi_grandpa_authorities", b""), ("GrandpaApi_current_set_id", b"")]
        with _own_question("GrandpaApi"):
            voters, set_id = await self.call_all(at, calls)
            return AuthoritySet(Cursor(set_id).u64(), read_authorities(Cursor(voters)))

    async def account_nonce(self, at: bytes, account: bytes) -> int:
        """How many transactions of `account` (32 bytes) the chain has counted.

        Whoever signs many transactions for one block asks this for each of them: the answer is kept.
        """
        nonce = self._nonces.get((at, account))
        if nonce is None:
            nonce = Cursor(await self.call(at, "AccountNonceApi_account_nonce", account)).u32()
            self._nonces[at, account] = nonce
            while len(self._nonces) > MAX_NONCES:
                self._nonces.popitem(last=False)
        return nonce

    async def validate(self, at: bytes, source: int, extrinsic: bytes) -> Validity:
        """Is the extrinsic (with its length prefix) valid on top of `at`?"""
        return decode_validity(await self._executor.validate(BlockSource(at), source, extrinsic))

    async def dry_run(self, at: bytes, extrinsic: bytes) -> DryRun:
        """What would applying the extrinsic on top of `at` give?"""
        cursor = Cursor(await self._executor.dry_run(BlockSource(at), extrinsic))
        if cursor.boolean():
            return DryRun(invalid=decode_validity_error(cursor))
        if cursor.boolean():
            return DryRun(dispatch_error=cursor.take(cursor.remaining))
        return DryRun()
