"""How is a chain specification written as JSON?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cfnode.core.chainspec.genesis import genesis_hash
from cfnode.core.chainspec.model import CHAIN_TYPES, ChainSpec, LightGenesis, RawGenesis

__all__ = ["to_json"]


def to_json(spec: ChainSpec) -> str:
    """The document that `parse` reads back to an equal chain, in Substrate's order of fields."""
    fields: dict[str, Any] = {
        "name": spec.name,
        "id": spec.id,
        "chainType": spec.chain_type if spec.chain_type in CHAIN_TYPES else {"Custom": spec.chain_type},
        "bootNodes": list(spec.boot_nodes),
        "telemetryEndpoints": [list(endpoint) for endpoint in spec.telemetry_endpoints] or None,
        "protocolId": spec.protocol_id,
        **({} if spec.fork_id is None else {"forkId": spec.fork_id}),
        "properties": dict(spec.properties),
        **(
            {}
            if not spec.fork_blocks
            else {"forkBlocks": [[n, _hex(block)] for n, block in spec.fork_blocks]}
        ),
        **({} if not spec.bad_blocks else {"badBlocks": [_hex(block) for block in spec.bad_blocks]}),
        "codeSubstitutes": {str(number): _hex(code) for number, code in spec.code_substitutes.items()},
        **spec.extensions,
        **_genesis(spec),
    }
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def _genesis(spec: ChainSpec) -> dict[str, Any]:
    match spec.genesis:
        case RawGenesis(top, children):
            tries = {_hex(name): _storage(pairs) for name, pairs in sorted(children.items())}
            return {"genesis": {"raw": {"top": _storage(top), "childrenDefault": tries}}}
        case LightGenesis(root, authorities):
            return {
                "genesis": {"stateRootHash": _hex(root)},
                "grandpaAuthorities": [[_hex(key), weight] for key, weight in authorities],
                "genesisHash": _hex(genesis_hash(spec)),
            }


def _storage(pairs: Mapping[bytes, bytes]) -> dict[str, str]:
    return {_hex(key): _hex(value) for key, value in sorted(pairs.items())}


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"
