"""Chain specifications: the chain's identity, its boot nodes, and its genesis state."""

from __future__ import annotations

from cfnode.core.chainspec.builtin import BERGHAIN, BERGHAIN_GENESIS, BUILT_IN, false_name, unknown_chain
from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.genesis import (
    STATE_VERSION,
    genesis_hash,
    genesis_header,
    grandpa_authorities,
    state_root,
    to_light,
)
from cfnode.core.chainspec.model import Authorities, ChainSpec, Genesis, LightGenesis, RawGenesis
from cfnode.core.chainspec.parse import parse
from cfnode.core.chainspec.write import Pairs, raw_json, to_json

__all__ = [
    "BERGHAIN",
    "BERGHAIN_GENESIS",
    "BUILT_IN",
    "STATE_VERSION",
    "Authorities",
    "ChainSpec",
    "ChainSpecError",
    "Genesis",
    "LightGenesis",
    "Pairs",
    "RawGenesis",
    "false_name",
    "genesis_hash",
    "genesis_header",
    "grandpa_authorities",
    "parse",
    "raw_json",
    "state_root",
    "to_json",
    "to_light",
    "unknown_chain",
]
