"""Content of a chain specification.

It is Substrate's chain specification (Substrate docs, "Chain specification") with the genesis state either in
full (`RawGenesis`) or reduced to what a light node needs (`LightGenesis`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CHAIN_TYPES", "Authorities", "ChainSpec", "Genesis", "LightGenesis", "RawGenesis"]

Authorities = tuple[tuple[bytes, int], ...]
"""(ed25519 public key, weight) of each GRANDPA authority."""

CHAIN_TYPES = ("Development", "Local", "Live")


@dataclass(frozen=True, slots=True)
class RawGenesis:
    """The whole genesis state. `children` maps a child trie's name (no prefix) to its pairs."""

    top: Mapping[bytes, bytes] = field(repr=False)
    children: Mapping[bytes, Mapping[bytes, bytes]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class LightGenesis:
    """The part of the genesis state that a light node needs: its root and the first GRANDPA authorities."""

    state_root: bytes
    grandpa_authorities: Authorities


Genesis = RawGenesis | LightGenesis


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """A chain. `id` names its directory; `chain_type` is Development, Local, Live or a name of its own.

    `boot_nodes` are multiaddresses that end in /p2p/<peer id>; `code_substitutes` maps a block number to
    the runtime that replaces the chain's from there on; the block at a number in `fork_blocks` must have
    that hash; a block in `bad_blocks` is refused; `extensions` are top-level fields that cfnode does not
    read.
    """

    name: str
    id: str
    chain_type: str
    boot_nodes: tuple[str, ...]
    genesis: Genesis
    protocol_id: str | None = None
    fork_id: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    telemetry_endpoints: tuple[tuple[str, int], ...] = ()
    code_substitutes: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    fork_blocks: tuple[tuple[int, bytes], ...] = ()
    bad_blocks: tuple[bytes, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict, repr=False)
