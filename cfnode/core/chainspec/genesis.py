"""Genesis of a chain: state root, header, hash, and the first GRANDPA authorities.

The genesis header has number 0, no parent, no extrinsics and no digest (Polkadot spec, "Block header");
only the state root distinguishes chains. The root covers the genesis state as trie of version 1,
the version of all Chainflip networks, with the root of each child trie under `:child_storage:default:` ‖
name. The first GRANDPA authorities are the value of `:grandpa_authorities`: a version byte 01, then the
SCALE list of (key, weight) (Polkadot spec, "Finality").
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.model import Authorities, ChainSpec, LightGenesis
from cfnode.core.header import Header
from cfnode.core.scale import ByteCursor, ScaleError
from cfnode.core.state import CHILD_STORAGE_PREFIX, GRANDPA_AUTHORITIES
from cfnode.core.trie import EMPTY_ROOT, root

__all__ = [
    "STATE_VERSION", "genesis_hash", "genesis_header", "grandpa_authorities", "state_root", "to_light",
]  # fmt: skip

STATE_VERSION = 1
AUTHORITIES_VERSION = 1
AUTHORITY_LENGTH = 40


def state_root(spec: ChainSpec) -> bytes:
    """Return the root of the genesis state (32 bytes); it is computed for a raw genesis."""
    genesis = spec.genesis
    if isinstance(genesis, LightGenesis):
        return genesis.state_root
    children = {
        CHILD_STORAGE_PREFIX + name: root(pairs, STATE_VERSION)
        for name, pairs in genesis.children.items()
        if pairs
    }
    return root({**genesis.top, **children}, STATE_VERSION)


def genesis_header(spec: ChainSpec) -> Header:
    """Return the header of block 0."""
    return Header(
        parent_hash=bytes(32), number=0, state_root=state_root(spec), extrinsics_root=EMPTY_ROOT, digest=()
    )


def genesis_hash(spec: ChainSpec) -> bytes:
    """Return the hash of block 0, which identifies the chain on the network."""
    return genesis_header(spec).hash


def grandpa_authorities(spec: ChainSpec) -> Authorities:
    """Return the GRANDPA authorities of set 0; raise ChainSpecError if a raw genesis does not name them."""
    if isinstance(spec.genesis, LightGenesis):
        return spec.genesis.grandpa_authorities
    field = f'genesis.raw.top["0x{GRANDPA_AUTHORITIES.hex()}"]'
    encoded = spec.genesis.top.get(GRANDPA_AUTHORITIES)
    if encoded is None:
        raise ChainSpecError(spec.id, field, "is missing: it states the GRANDPA authorities")
    try:
        return _decode_authorities(ByteCursor(encoded))
    except ScaleError as error:
        raise ChainSpecError(spec.id, field, f"is not a list of GRANDPA authorities: {error}") from None


def to_light(spec: ChainSpec) -> ChainSpec:
    """Return the chain specification with its genesis in the light form."""
    return replace(spec, genesis=LightGenesis(state_root(spec), grandpa_authorities(spec)))


def _decode_authorities(cursor: ByteCursor) -> Authorities:
    if (version := cursor.u8()) != AUTHORITIES_VERSION:
        raise ScaleError(f"version {version} is not known")
    authorities = tuple((cursor.take(32), cursor.u64()) for _ in range(cursor.count(AUTHORITY_LENGTH)))
    cursor.finish()
    return authorities
