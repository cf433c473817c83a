"""Runtime APIs that the node itself calls, with decoded answers.

Substrate fixes their layout (AuraApi, GrandpaApi, AccountNonceApi, TaggedTransactionQueue, BlockBuilder), so
they are called without metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cfnode.core.aura import keeps_authorities
from cfnode.core.bounded import BoundedDict
from cfnode.core.grandpa import AuthoritySet, read_authorities
from cfnode.core.header import Header
from cfnode.core.scale import ByteCursor
from cfnode.core.validity import Invalid, UnknownValidity, Validity, decode_validity, decode_validity_error
from cfnode.node.chain.states import States
from cfnode.runtime.calls import BlockSource, Unanswerable, Verdict
from cfnode.runtime.executor import Executor

MAX_CACHED_AUTHORITY_SETS = 16
"""Blocks whose authorities are cached: a header is verified before its body is fetched, and again at
import."""


@contextmanager
def _own_question(name: str) -> Iterator[None]:
    """Call the runtime inside the `with` without input from peers. Raise Unanswerable if it fails.

    It also raises if this build does not know the form of the answer: the block or the votes for which the
    runtime was called are not to blame.
    """
    try:
        yield
    except Verdict as error:
        raise Unanswerable(f"{name} fails on a state of our own: {error}") from error
    except ValueError as error:  # ScaleError too
        raise Unanswerable(f"{name} returns a value unknown to this build: {error}") from error


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run of an extrinsic.

    `invalid`: it may not enter a block; `dispatch_error`: it would be included and fail (SCALE
    `DispatchError`); both None: it would succeed.
    """

    invalid: Invalid | UnknownValidity | None = None
    dispatch_error: bytes | None = None


class RuntimeQueries:
    """Typed runtime calls, each at the state of one block."""

    def __init__(self, states: States, executor: Executor) -> None:
        self._states = states
        self._executor = executor
        self._authorities = BoundedDict[bytes, tuple[bytes, ...]](MAX_CACHED_AUTHORITY_SETS)

    async def call(self, at: bytes, function: str, args: bytes = b"") -> bytes:
        """Return the output of a runtime API function on the state of block `at`."""
        (output,) = await self._states.call_all(at, [(function, args)])
        return output

    async def call_all(self, at: bytes, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """Return the outputs of calls (function, args) on the state of block `at`, in one message."""
        return await self._states.call_all(at, calls)

    def authorities_after(self, header: Header) -> tuple[bytes, ...] | None:
        """Return the authors of the children of a block, if known without its state; else None.

        They are known from its digest and from the authors of its parent's children.
        """
        return self._authorities.get(header.parent_hash) if keeps_authorities(header) else None

    def inherit_authorities(self, header: Header) -> None:
        """Record the authors of an added block's children, unless its digest announces others.

        The runtime need not be called for them.
        """
        authorities = self.authorities_after(header)
        if authorities is not None:
            self._authorities[header.hash] = authorities

    async def aura_authorities(self, at: bytes, *, inherited: bool = True) -> tuple[bytes, ...]:
        """Return the sr25519 keys of the authors, by slot, for the children of `at`. Raise LocalFault.

        `inherited`: keys known from the digests of headers suffice. Digests are the rule of Substrate's Aura;
        a migration at an upgrade could break it, so a block is refused only by the keys of the runtime.
        """
        authorities = self._authorities.get(at) if inherited else None
        if authorities is None:
            with _own_question("AuraApi_authorities"):
                cursor = ByteCursor(await self.call(at, "AuraApi_authorities"))
                authorities = tuple(cursor.take(32) for _ in range(cursor.count(32)))
            self._authorities[at] = authorities
        return authorities

    async def grandpa_authorities(self, at: bytes) -> AuthoritySet:
        """Return the weighted voters that finalize the blocks after `at`. Raise LocalFault."""
        calls = [("GrandpaApi_grandpa_authorities", b""), ("GrandpaApi_current_set_id", b"")]
        with _own_question("GrandpaApi"):
            voters, set_id = await self.call_all(at, calls)
            return AuthoritySet(ByteCursor(set_id).u64(), read_authorities(ByteCursor(voters)))

    async def account_nonce(self, at: bytes, account: bytes) -> int:
        """Return the nonce of `account` (32 bytes): the number of its transactions so far."""
        return ByteCursor(await self.call(at, "AccountNonceApi_account_nonce", account)).u32()

    async def validate(self, at: bytes, source: int, extrinsic: bytes) -> Validity:
        """Return the validity of the extrinsic (with its length prefix) on top of `at`."""
        return decode_validity(await self._executor.validate(BlockSource(at), source, extrinsic))

    async def dry_run(self, at: bytes, extrinsic: bytes) -> DryRun:
        """Return the result of applying the extrinsic on top of `at`, without keeping it."""
        cursor = ByteCursor(await self._executor.dry_run(BlockSource(at), extrinsic))
        if cursor.boolean():
            return DryRun(invalid=decode_validity_error(cursor))
        if cursor.boolean():
            return DryRun(dispatch_error=cursor.take(cursor.remaining))
        return DryRun()
