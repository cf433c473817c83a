"""Writer of chain specifications in JSON.

A state may be too large to hold in memory: `raw_json` writes it piece by piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cfnode.core.chainspec.genesis import genesis_hash
from cfnode.core.chainspec.model import CHAIN_TYPES, ChainSpec, LightGenesis, RawGenesis

__all__ = ["Pairs", "raw_json", "to_json"]

Pairs = Iterable[tuple[bytes, bytes]]
"""Keys with their values, in the order of the keys."""


def to_json(spec: ChainSpec) -> str:
    """Return the document that `parse` reads as an equal chain, in Substrate's order of fields."""
    return json.dumps({**_about(spec), **_genesis(spec)}, indent=2, ensure_ascii=False) + "\n"


def raw_json(spec: ChainSpec, top: Pairs, children: Iterable[tuple[bytes, Pairs]]) -> Iterator[str]:
    """Yield the document of a chain in pieces, with a state (`top`, `children`) in place of its own genesis.

    A consumer takes the whole top trie first, and each child trie before it asks for the next one.
    """
    yield json.dumps(_about(spec), indent=2, ensure_ascii=False).removesuffix("\n}")
    yield ',\n  "genesis": {\n    "raw": {\n      "top": {'
    yield from _rows(top, " " * 8)
    yield '\n      },\n      "childrenDefault": {'
    for index, (name, pairs) in enumerate(children):
        yield f'{"," if index else ""}\n        "{_hex(name)}": {{'
        yield from _rows(pairs, " " * 10)
        yield "\n        }"
    yield "\n      }\n    }\n  }\n}\n"


def _rows(pairs: Pairs, indent: str) -> Iterator[str]:
    for index, (key, value) in enumerate(pairs):
        yield f'{"," if index else ""}\n{indent}"{_hex(key)}": "{_hex(value)}"'


def _about(spec: ChainSpec) -> dict[str, Any]:
    """Return all fields but the genesis."""
    return {
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
    }


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
