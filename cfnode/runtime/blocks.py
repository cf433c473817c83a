"""Execution and building of blocks with the runtime's own entry points.

Executing: `Core_execute_block` runs the block without its seal. Then the header (state root, extrinsics root,
digest) is also compared here, so that a runtime that omits a check cannot make this node accept a wrong
header.

Building follows Substrate's authors: initialize; let the runtime turn the inherent data into extrinsics;
apply those and then the candidates, each in its own transaction, until the deadline; finalize. The returned
header is compared in the same way.

Substrate: `sp_block_builder`, `sc_basic_authorship`; Polkadot spec, runtime API Core and BlockBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cfnode.core.hashing import blake2_256, twox_128
from cfnode.core.header import DigestItem, Header
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact
from cfnode.core.state import Changes
from cfnode.core.trie import ordered_root
from cfnode.runtime.calls import BlockRefused, BuiltBlock, InherentData, Runtime, RuntimeTrap
from cfnode.runtime.journal import Journal

__all__ = ["BuildOrder", "build_block", "execute_block"]

_DIGEST_KEY = twox_128(b"System") + twox_128(b"Digest")
"""The key of the digest that the runtime has received and extended: `frame_system::Digest`."""

_NO_ROOT = bytes(32)
_ONLY_INHERENTS = b"\x01"  # ExtrinsicInclusionMode
_EXHAUSTS_RESOURCES = b"\x01\x00\x06"  # Err(TransactionValidityError::Invalid(ExhaustsResources))
MAX_SKIPPED = 8
"""Candidates that are too large for the rest of the block; after so many, building ends."""


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """The parts of a block to be built. `seconds`: the time after which no further candidate is tried."""

    parent: bytes
    number: int
    digest: tuple[DigestItem, ...]
    inherents: InherentData
    candidates: list[bytes]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Versions:
    """The trie versions of a runtime."""

    state: int
    extrinsics: int


def execute_block(runtime: Runtime, journal: Journal, header: Header, body: list[bytes]) -> Changes:
    """Execute a block (without seal) on its parent's state. Raises BlockRefused and RuntimeTrap."""
    block = header.encode() + encode_compact(len(body)) + b"".join(body)
    runtime.call("Core_execute_block", block, journal)
    journal.rollback_to(0)
    versions = _versions(runtime)
    _compare(header, body, journal, versions)
    return journal.changes(versions.state)


def build_block(
    runtime: Runtime, journal: Journal, order: BuildOrder, clock: Callable[[], float]
) -> BuiltBlock:
    """Build a block on its parent's state; `clock` counts seconds. Raises BlockRefused and RuntimeTrap."""
    deadline = clock() + order.seconds
    header = Header(order.parent, order.number, _NO_ROOT, _NO_ROOT, order.digest)
    mode = _call(runtime, "Core_initialize_block", header.encode(), journal)
    body = list(_apply_inherents(runtime, journal, order.inherents))
    refused: list[tuple[bytes, str]] = []
    if mode != _ONLY_INHERENTS:
        for extrinsic, reason in _apply_candidates(
            runtime, journal, order.candidates, lambda: clock() < deadline
        ):
            if reason is None:
                body.append(extrinsic)
            else:
                refused.append((blake2_256(extrinsic), reason))
    return _finish_block(runtime, journal, body, refused)


def _apply_inherents(runtime: Runtime, journal: Journal, data: InherentData) -> Iterator[bytes]:
    items = b"".join(name + encode_compact(len(value)) + value for name, value in data)
    args = encode_compact(len(data)) + items
    for extrinsic in _read_extrinsics(_call(runtime, "BlockBuilder_inherent_extrinsics", args, journal)):
        result = _call(runtime, "BlockBuilder_apply_extrinsic", extrinsic, journal)
        if result[:1] != b"\x00":
            raise BlockRefused(
                f"the runtime refuses its own inherent extrinsic 0x{extrinsic[:40].hex()}: "
                f"{_reason_text(result)}"
            )
        yield extrinsic


def _apply_candidates(
    runtime: Runtime, journal: Journal, candidates: list[bytes], in_time: Callable[[], bool]
) -> Iterator[tuple[bytes, str | None]]:
    """Yield each included extrinsic, with None, and each rejected one, with the reason."""
    skipped = 0
    for extrinsic in candidates:
        if skipped == MAX_SKIPPED or not in_time():
            return
        journal.begin()
        try:
            result = _call(runtime, "BlockBuilder_apply_extrinsic", extrinsic, journal)
        except RuntimeTrap as trap:
            journal.rollback()
            yield extrinsic, f"the runtime trapped on it: {trap}"
            continue
        if result[:1] == b"\x00":
            journal.commit()
            yield extrinsic, None
            continue
        journal.rollback()
        if result == _EXHAUSTS_RESOURCES:
            skipped += 1
        else:
            yield extrinsic, _reason_text(result)


def _finish_block(
    runtime: Runtime, journal: Journal, body: list[bytes], refused: list[tuple[bytes, str]]
) -> BuiltBlock:
    encoded = _call(runtime, "BlockBuilder_finalize_block", b"", journal)
    try:
        header = Header.decode(encoded)
    except ScaleError as error:
        raise BlockRefused(f"the runtime returned a malformed header: {error}") from error
    versions = _versions(runtime)
    _compare(header, body, journal, versions)
    return BuiltBlock(header, body, journal.changes(versions.state), refused)


def _call(runtime: Runtime, function: str, args: bytes, journal: Journal) -> bytes:
    """Make one of several calls on the same journal; roll back transactions that it leaves open."""
    depth = journal.depth
    try:
        return runtime.call(function, args, journal)
    finally:
        journal.rollback_to(depth)


def _compare(header: Header, body: list[bytes], journal: Journal, versions: _Versions) -> None:
    """Check that the header matches the execution. Raises BlockRefused."""
    digest = encode_compact(len(header.digest)) + b"".join(item.encode() for item in header.digest)
    claims = (
        ("state root", header.state_root, journal.root(versions.state)),
        ("extrinsics root", header.extrinsics_root, ordered_root(body, versions.extrinsics)),
        ("digest", digest, journal.get(_DIGEST_KEY) or b"\x00"),
    )
    for name, claimed, computed in claims:
        if claimed != computed:
            raise BlockRefused(
                f"the {name} of block {header.number} is 0x{computed.hex()}, "
                f"but 0x{claimed.hex()} in its header"
            )


def _versions(runtime: Runtime) -> _Versions:
    """Return the trie versions of a runtime, from its system version.

    System version 0: both roots version 0; 1: state version 1; 2: extrinsics version 1 too.
    """
    cursor = ByteCursor(runtime.version())
    cursor.text(), cursor.text()  # spec and implementation
    cursor.take(12)
    cursor.take(12 * cursor.count(12))  # APIs
    cursor.u32()
    system = cursor.u8() if cursor.remaining else 0
    return _Versions(state=int(system >= 1), extrinsics=int(system >= 2))


def _read_extrinsics(data: bytes) -> list[bytes]:
    """Read the SCALE Vec<Extrinsic>; each extrinsic keeps its length prefix."""
    cursor = ByteCursor(data)
    extrinsics = []
    for _ in range(cursor.count()):
        start = cursor.offset
        cursor.take(cursor.count())
        extrinsics.append(data[start : cursor.offset])
    cursor.finish()
    return extrinsics


# --- reasons

_INVALID = (
    *(
        "the call is not allowed",
        "the fee cannot be paid",
        "its nonce lies in the future",
        "its nonce is used",
    ),
    *("bad signature or another chain", "it has expired", "the block is full", "custom reason"),
    *("a mandatory call failed", "mandatory calls come from the author", "unknown signer"),
    *("its implicit part is unknown", "no origin fits"),
)
_UNKNOWN = ("not found", "no validator for unsigned extrinsics", "custom reason")


def _reason_text(result: bytes) -> str:
    """Return the text of a SCALE Err(TransactionValidityError)."""
    if result[:1] != b"\x01" or len(result) < 3:
        return f"malformed answer 0x{result[:40].hex()}"
    table = _INVALID if result[1] == 0 else _UNKNOWN
    text = table[result[2]] if result[2] < len(table) else f"reason {result[2]}"
    return f"{text} {result[3]}" if len(result) > 3 else text
