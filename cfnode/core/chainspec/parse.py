"""Parser of chain specifications in JSON.

Two forms of Substrate's chain specification are supported. In the *raw* form `genesis.raw.top` and
`genesis.raw.childrenDefault` hold the whole genesis state. In the *light* form `genesis.stateRootHash`
holds its root (as in smoldot), and a top-level field of ours, `grandpaAuthorities`, the first finality
voters:

    "genesis": {"stateRootHash": "0x…32 bytes"},
    "grandpaAuthorities": [["0x…32 bytes", 1], …],
    "genesisHash": "0x…32 bytes"                       (optional; checked against the root)

Unknown top-level fields are kept and not read. The error for any other mistake names the field.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from cfnode.core.chainspec.genesis import genesis_hash
from cfnode.core.chainspec.json_value import JsonValue
from cfnode.core.chainspec.model import CHAIN_TYPES, Authorities, ChainSpec, Genesis, LightGenesis, RawGenesis
from cfnode.core.ss58 import MAX_PREFIX

__all__ = ["parse"]

MAX_STORAGE_ENTRIES = 4_000_000
MAX_STORAGE_KEY = 64 << 10
MAX_STORAGE_VALUE = 64 << 20
MAX_LIST = 100_000
MAX_BLOCK_NUMBER = 2**32 - 1
MAX_AUTHORITY_WEIGHT = 2**64 - 1
MAX_TELEMETRY_LEVEL = 255
HASH_LENGTH = 32

CHAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
PROTOCOL_NAME = re.compile(r"[!-.0-~]{1,128}", re.ASCII)
BOOT_NODE = re.compile(r"/[!-~]+/p2p/[1-9A-HJ-NP-Za-km-z]+", re.ASCII)
V = TypeVar("V")
BLOCK_NUMBER_TEXT = re.compile(r"[0-9]{1,10}", re.ASCII)
KNOWN_FIELDS = frozenset({
    "name", "id", "chainType", "bootNodes", "telemetryEndpoints", "protocolId", "forkId", "properties",
    "codeSubstitutes", "forkBlocks", "badBlocks", "genesis", "grandpaAuthorities", "genesisHash",
})  # fmt: skip


def parse(text: str | bytes, source: str = "chain specification") -> ChainSpec:
    """Return the chain specification in a JSON document; raise ChainSpecError.

    `source` names the document in the error, for example its path.
    """
    root = JsonValue.parse(text, source)
    field = {name: root.get(name) for name in KNOWN_FIELDS}
    spec = ChainSpec(
        name=field["name"].text(),
        id=_matching(field["id"], CHAIN_ID, "names a directory: letters, digits, '.', '_' and '-' only"),
        chain_type=_chain_type(field["chainType"]),
        boot_nodes=_boot_nodes(field["bootNodes"]),
        genesis=_genesis(root),
        protocol_id=_protocol_name(field["protocolId"]),
        fork_id=_protocol_name(field["forkId"]),
        properties=_properties(field["properties"]),
        telemetry_endpoints=_telemetry(field["telemetryEndpoints"]),
        code_substitutes=_code_substitutes(field["codeSubstitutes"]),
        fork_blocks=_fork_blocks(field["forkBlocks"]),
        bad_blocks=tuple(block.hex(HASH_LENGTH, HASH_LENGTH) for block in _optional_list(field["badBlocks"])),
        extensions={name: value for name, value in root.raw.items() if name not in KNOWN_FIELDS},
    )
    _check_genesis_hash(spec, field["genesisHash"])
    return spec


def _matching(value: JsonValue, pattern: re.Pattern[str], wanted: str) -> str:
    text = value.text()
    if not pattern.fullmatch(text):
        value.fail(wanted)
    return text


def _optional_list(value: JsonValue) -> list[JsonValue]:
    return [] if value.is_null else value.elements(MAX_LIST)


def _protocol_name(value: JsonValue) -> str | None:
    if value.is_null:
        return None
    return _matching(value, PROTOCOL_NAME, "must be visible ASCII without '/', at most 128 characters")


def _chain_type(value: JsonValue) -> str:
    if value.is_null:
        return "Live"
    if isinstance(value.raw, dict):
        return value.get("Custom").text()
    if (text := value.text()) not in CHAIN_TYPES:
        value.fail('must be "Development", "Local", "Live" or {"Custom": "…"}')
    return text


def _boot_nodes(value: JsonValue) -> tuple[str, ...]:
    requirement = "must be a multiaddress such as /ip4/192.0.2.1/tcp/30333/p2p/12D3KooW…"
    return tuple(_matching(node, BOOT_NODE, requirement) for node in _optional_list(value))


def _properties(value: JsonValue) -> dict[str, Any]:
    if value.is_null:
        return {}
    properties = {name: item.raw for name, item in value.items(MAX_LIST)}
    if properties.get("ss58Format") is not None:
        value.get("ss58Format").integer(MAX_PREFIX)
    return properties


def _telemetry(value: JsonValue) -> tuple[tuple[str, int], ...]:
    pairs = [endpoint.elements(2, 2) for endpoint in _optional_list(value)]
    return tuple((address.text(), level.integer(MAX_TELEMETRY_LEVEL)) for address, level in pairs)


def _code_substitutes(value: JsonValue) -> dict[int, bytes]:
    substitutes: dict[int, bytes] = {}
    for name, code in () if value.is_null else value.items(MAX_LIST):
        if not BLOCK_NUMBER_TEXT.fullmatch(name) or int(name) > MAX_BLOCK_NUMBER:
            code.fail("the name must be a block number in decimal")
        if int(name) in substitutes:
            code.fail("this block number occurs twice")
        substitutes[int(name)] = code.hex(MAX_STORAGE_VALUE)
    return substitutes


def _fork_blocks(value: JsonValue) -> tuple[tuple[int, bytes], ...]:
    pairs = [entry.elements(2, 2) for entry in _optional_list(value)]
    return tuple(
        (number.integer(MAX_BLOCK_NUMBER), block.hex(HASH_LENGTH, HASH_LENGTH)) for number, block in pairs
    )


def _genesis(root: JsonValue) -> Genesis:
    genesis = root.get("genesis")
    raw, state_root = genesis.get("raw"), genesis.get("stateRootHash")
    if not raw.is_null and not state_root.is_null:
        genesis.fail("has both raw and stateRootHash; one of them states the genesis")
    if not raw.is_null:
        return _raw_genesis(raw)
    if state_root.is_null:
        genesis.fail("has neither raw nor stateRootHash; other forms must be made raw (`build-spec --raw`)")
    authorities = _authorities(root.get("grandpaAuthorities"))
    return LightGenesis(state_root.hex(HASH_LENGTH, HASH_LENGTH), authorities)


def _raw_genesis(raw: JsonValue) -> RawGenesis:
    top, children = raw.get("top"), raw.get("childrenDefault")
    child_tries = () if children.is_null else children.items(MAX_STORAGE_ENTRIES)
    tries: dict[bytes, dict[bytes, bytes]] = {}
    for name, child in child_tries:
        _put(tries, child, name, _storage(child))
    return RawGenesis(_storage(top), tries)


def _storage(value: JsonValue) -> dict[bytes, bytes]:
    pairs: dict[bytes, bytes] = {}
    for name, item in value.items(MAX_STORAGE_ENTRIES):
        _put(pairs, item, name, item.hex(MAX_STORAGE_VALUE))
    return pairs


def _put(pairs: dict[bytes, V], item: JsonValue, name: str, value: V) -> None:
    key = item.key(name, MAX_STORAGE_KEY)
    if key in pairs:
        item.fail("this key occurs twice, in different spelling")
    pairs[key] = value


def _authorities(value: JsonValue) -> Authorities:
    pairs = [authority.elements(2, 2) for authority in value.elements(MAX_LIST)]
    for _, weight in pairs:
        if weight.integer(MAX_AUTHORITY_WEIGHT) == 0:
            weight.fail("a weight is at least 1")
    if not pairs:
        value.fail("names no authority")
    return tuple((key.hex(HASH_LENGTH, HASH_LENGTH), weight.raw) for key, weight in pairs)


def _check_genesis_hash(spec: ChainSpec, stated: JsonValue) -> None:
    if stated.is_null:
        return
    computed = genesis_hash(spec)
    if stated.hex(HASH_LENGTH, HASH_LENGTH) != computed:
        stated.fail(f"does not fit the genesis state, which gives 0x{computed.hex()}")
