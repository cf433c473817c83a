"""Chain specifications: the main net's facts, both forms, and the name of every wrong field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.chainspec import (
    BERGHAIN,
    BERGHAIN_GENESIS,
    BUILT_IN,
    ChainSpec,
    ChainSpecError,
    LightGenesis,
    RawGenesis,
    false_name,
    genesis_hash,
    genesis_header,
    grandpa_authorities,
    parse,
    state_root,
    to_json,
    to_light,
)
from cfnode.core.peer_id import public_of
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import EMPTY_ROOT, root
from tests.conftest import shared

BERGHAIN_HASH = "8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
AUTHORITIES = "0x3a6772616e6470615f617574686f726974696573"


def raw_document(**changes: Any) -> dict[str, Any]:
    """Return a raw specification with changed fields, as a dict."""
    document = {
        "name": "Test chain",
        "id": "test",
        "chainType": "Local",
        "bootNodes": ["/ip4/127.0.0.1/tcp/30333/p2p/12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF"],
        "telemetryEndpoints": None,
        "protocolId": None,
        "properties": {"ss58Format": 42, "tokenSymbol": "TEST"},
        "codeSubstitutes": {},
        "genesis": {"raw": {"top": {"0x01": "0x0203"}, "childrenDefault": {}}},
    }
    return {**document, **changes}


def raw_text(**changes: Any) -> str:
    """Return a raw specification with changed fields, as JSON."""
    return json.dumps(raw_document(**changes))


def with_top(top: dict[str, Any]) -> dict[str, Any]:
    """Return a genesis with these storage entries."""
    return {"raw": {"top": top, "childrenDefault": {}}}


def light_text(**changes: Any) -> str:
    """Return a specification that states root and authorities instead of the state, as JSON."""
    light = {
        "genesis": {"stateRootHash": "0x" + "11" * 32},
        "grandpaAuthorities": [["0x" + "22" * 32, 1], ["0x" + "33" * 32, 5]],
    }
    return raw_text(**{**light, **changes})


def test_the_built_in_main_net_has_the_hash_that_the_network_goes_by() -> None:
    """Compute the main net's genesis hash, header and authorities from the built-in specification."""
    expected = json.loads(shared("vectors", "chainflip", "genesis-expected.json").read_text())["berghain"]
    header = genesis_header(BERGHAIN)
    assert header.hash.hex() == expected["genesis_hash"] == BERGHAIN_HASH
    assert header.encode().hex() == expected["genesis_header_scale"]
    assert state_root(BERGHAIN).hex() == expected["state_root"]
    authorities = [[key.hex(), weight] for key, weight in grandpa_authorities(BERGHAIN)]
    assert authorities == expected["grandpa_authorities_at_genesis"]
    assert BUILT_IN["berghain"] is BERGHAIN


def test_the_official_specification_gives_every_built_in_fact(berghain_spec: Path) -> None:
    """Derive every built-in fact from the official specification."""
    official = parse(berghain_spec.read_bytes(), str(berghain_spec))
    assert isinstance(official.genesis, RawGenesis)
    assert state_root(official).hex().startswith("ceb969ab")
    assert genesis_hash(official).hex() == BERGHAIN_HASH
    assert to_light(official) == BERGHAIN


def test_the_boot_nodes_hold_the_keys_of_the_network() -> None:
    """Build in boot nodes whose keys are those of the network's own."""
    keys = [public_of(node.rpartition("/")[2]).hex() for node in BERGHAIN.boot_nodes]
    assert [key[:8] for key in keys] == ["cb863746", "77787ac6", "1048abc5"]


def test_a_raw_specification_is_read() -> None:
    """Read all fields of a raw specification, and the authorities of a light one."""
    spec = parse(raw_text(forkId="f1", forkBlocks=[[7, "0x" + "aa" * 32]], badBlocks=["0x" + "bb" * 32]))
    assert (spec.name, spec.id, spec.chain_type) == ("Test chain", "test", "Local")
    assert (spec.protocol_id, spec.fork_id, spec.properties["ss58Format"]) == (None, "f1", 42)
    assert (spec.fork_blocks, spec.bad_blocks) == (((7, b"\xaa" * 32),), (b"\xbb" * 32,))
    assert spec.genesis == RawGenesis({b"\x01": b"\x02\x03"}, {})
    assert grandpa_authorities(parse(light_text())) == ((b"\x22" * 32, 1), (b"\x33" * 32, 5))


def test_a_custom_chain_type_keeps_its_name() -> None:
    """Keep the name of a custom chain type when it is read and written."""
    spec = parse(raw_text(chainType={"Custom": "Staging"}))
    assert spec.chain_type == "Staging"
    assert json.loads(to_json(spec))["chainType"] == {"Custom": "Staging"}


def test_unknown_fields_are_kept() -> None:
    """Keep fields that we do not know: other tools' data must survive a rewrite."""
    spec = parse(raw_text(lightSyncState={"a": [1]}))
    assert json.loads(to_json(spec))["lightSyncState"] == {"a": [1]}


@pytest.mark.parametrize(
    "text", [raw_text(), light_text(), to_json(BERGHAIN), raw_text(codeSubstitutes={"7": "0xcafe"})]
)
def test_what_is_written_reads_back_the_same(text: str) -> None:
    """Read back every specification that was written."""
    assert parse(to_json(parse(text))) == parse(text)


@given(
    top=st.dictionaries(st.binary(max_size=8), st.binary(max_size=40), max_size=6),
    children=st.dictionaries(
        st.binary(min_size=1, max_size=4),
        st.dictionaries(st.binary(max_size=4), st.binary(max_size=4)),
        max_size=2,
    ),
)
@settings(max_examples=30)
def test_every_genesis_state_survives_its_json(
    top: dict[bytes, bytes], children: dict[bytes, dict[bytes, bytes]]
) -> None:
    """Write any genesis state, child tries included, as JSON and read it back."""
    spec = ChainSpec("n", "i", "Live", (), RawGenesis(top, children))
    assert parse(to_json(spec)) == spec


def test_the_root_of_a_child_trie_is_part_of_the_state() -> None:
    """Include the roots of child tries in the state root, but not empty ones."""
    spec = ChainSpec("n", "i", "Live", (), RawGenesis({b"a": b"b"}, {b"kid": {b"c": b"d"}, b"none": {}}))
    child = root({b"c": b"d"}, 1)
    assert state_root(spec) == root({b"a": b"b", CHILD_STORAGE_PREFIX + b"kid": child}, 1)
    assert genesis_header(spec).extrinsics_root == EMPTY_ROOT


def test_a_stated_genesis_hash_must_fit() -> None:
    """Refuse a stated genesis hash that the specification does not have, and print the right one."""
    right = genesis_hash(parse(light_text())).hex()
    assert parse(light_text(genesisHash=f"0x{right}"))
    with pytest.raises(ChainSpecError, match=rf"^mine\.json: genesisHash: .*0x{right}$"):
        parse(light_text(genesisHash="0x" + "00" * 32), "mine.json")


def twice(text: str, name: str, value: str) -> str:
    """Return a JSON object with a name put in a second time."""
    return text.replace("{", f"{{{json.dumps(name)}: {value}, ", 1)


def top(pairs: dict[str, Any]) -> str:
    """Return a raw specification with these storage entries, as JSON."""
    return raw_text(genesis=with_top(pairs))


def children(tries: Any) -> str:
    """Return a raw specification with these child tries, as JSON."""
    return raw_text(genesis={"raw": {"top": {}, "childrenDefault": tries}})


def voters(*authorities: Any) -> str:
    """Return a light specification with these authorities, as JSON."""
    return light_text(grandpaAuthorities=list(authorities))


KEY = "0x" + "22" * 32
REPEATED_KEY = top({"0x01": "0x"}).replace('"0x01":', '"0x01": "0x02", "0x01":')
SPELLING = "this key occurs twice, in different spelling"
BOTH = "has both raw and stateRootHash; one of them states the genesis"
DECIMAL = "the name must be a block number in decimal"
AGAIN = "this block number occurs twice"
NEITHER = "has neither raw nor stateRootHash; other forms must be made raw (`build-spec --raw`)"
MULTIADDRESS = "must be a multiaddress such as /ip4/192.0.2.1/tcp/30333/p2p/12D3KooW…"
TYPES = 'must be "Development", "Local", "Live" or {"Custom": "…"}'
NAMING = "names a directory: letters, digits, '.', '_' and '-' only"
PROTOCOL = "must be visible ASCII without '/', at most 128 characters"


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        (top({"0x3a63": "0x1"}), 'genesis.raw.top["0x3a63"]', "odd number of hex digits"),
        (top({"0x3a63": "zz"}), 'genesis.raw.top["0x3a63"]', "must be hexadecimal and begin with 0x"),
        (top({"0x123": "0x"}), 'genesis.raw.top["0x123"]', "odd number of hex digits"),
        (top({"0xaa": "0x", "0xAA": "0x"}), 'genesis.raw.top["0xAA"]', SPELLING),
        (top({"0xaa": None}), 'genesis.raw.top["0xaa"]', "is missing"),
        (top({"0x" + "ab" * 99: 1}), f'genesis.raw.top["0x{"ab" * 44}…"]', "must be text, not a number"),
        (children({"0x01": []}), 'genesis.raw.childrenDefault["0x01"]', "must be an object, not a list"),
        (raw_text(genesis={"raw": {}}), "genesis.raw.top", "is missing"),
        (raw_text(genesis={"runtimeGenesis": {}}), "genesis", NEITHER),
        (raw_text(genesis={"raw": {"top": {}}, "stateRootHash": "0x"}), "genesis", BOTH),
        (raw_text(genesis=None), "genesis", "is missing"),
        (light_text(genesis={"stateRootHash": "0x11"}), "genesis.stateRootHash", "must be 32 bytes, not 1"),
        (light_text(grandpaAuthorities=None), "grandpaAuthorities", "is missing"),
        (voters(), "grandpaAuthorities", "names no authority"),
        (voters([KEY]), "grandpaAuthorities[0]", "must have 2 elements, not 1"),
        (voters([KEY, 1], [KEY, 0]), "grandpaAuthorities[1][1]", "a weight is at least 1"),
        (voters([KEY, True]), "grandpaAuthorities[0][1]", "must be a whole number, not true or false"),
        (voters([KEY, 2**64]), "grandpaAuthorities[0][1]", f"must lie in 0..{2**64 - 1}"),
        (raw_text(name=7), "name", "must be text, not a number"),
        (raw_text(name=""), "name", "is empty"),
        (raw_text(name="x" * 5000), "name", "is longer than 4096 characters"),
        (raw_text(id="../up"), "id", NAMING),
        (raw_text(chainType="live"), "chainType", TYPES),
        (raw_text(bootNodes="/ip4"), "bootNodes", "must be a list, not text"),
        (raw_text(bootNodes=["/dns/x/tcp/1"]), "bootNodes[0]", MULTIADDRESS),
        (raw_text(protocolId="a/b"), "protocolId", PROTOCOL),
        (raw_text(properties={"ss58Format": 16384}), "properties.ss58Format", "must lie in 0..16383"),
        (raw_text(properties=[]), "properties", "must be an object, not a list"),
        (raw_text(telemetryEndpoints=[["/dns", 256]]), "telemetryEndpoints[0][1]", "must lie in 0..255"),
        (raw_text(codeSubstitutes={"0x1": "0x"}), 'codeSubstitutes["0x1"]', DECIMAL),
        (raw_text(codeSubstitutes={"1": "0x", "01": "0x"}), 'codeSubstitutes["01"]', AGAIN),
        (raw_text(forkBlocks=[[1.5, "0x"]]), "forkBlocks[0][0]", "must be a whole number, not a fraction"),
        (raw_text(badBlocks=["0x00"]), "badBlocks[0]", "must be 32 bytes, not 1"),
        (twice(raw_text(), "name", '"other"'), "name", "occurs twice"),
        (REPEATED_KEY, 'genesis.raw.top["0x01"]', "occurs twice"),
        ("[]", "", "must be an object, not a list"),
        ('{"name": ', "", "not JSON: Expecting value (line 1, column 10)"),
        ('{"name": NaN}', "", "not JSON: NaN is not a JSON number"),
        ("[" * 100_000, "", "is not JSON"),
        ("[" * 100 + "]" * 100, "", "is nested more than 64 levels deep"),
    ],
)  # fmt: skip
def test_the_error_for_a_mistake_names_its_field(text: str, field: str, problem: str) -> None:
    """Name file, field and problem of a mistake, so that its author finds it among thousands of lines."""
    with pytest.raises(ChainSpecError) as caught:
        parse(text, "spec.json")
    assert (caught.value.field, caught.value.problem) == (field, problem)
    assert str(caught.value) == ": ".join(part for part in ("spec.json", field, problem) if part)


def test_a_chain_spec_that_is_not_text_is_refused() -> None:
    """Refuse a file that is not UTF-8, and name the first bad byte."""
    with pytest.raises(ChainSpecError, match=r"^spec: not UTF-8 text \(byte 0\)$"):
        parse(b"\xff\xfe", "spec")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "is missing"),
        ("0x02", "version 2 is not known"),
        ("0x0104", "not a list"),
        ("0x010000", "not a list"),
    ],
)
def test_a_raw_genesis_must_state_its_authorities(value: str | None, words: str) -> None:
    """Refuse a raw genesis without readable authorities: nothing could be finalized."""
    spec = parse(top({} if value is None else {AUTHORITIES: value}))
    with pytest.raises(ChainSpecError, match=words) as caught:
        grandpa_authorities(spec)
    assert caught.value.field == f'genesis.raw.top["{AUTHORITIES}"]'


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
FIELDS = [*sorted(raw_document()), "grandpaAuthorities", "genesisHash", "forkBlocks", "badBlocks"]


@given(JSON_VALUES, st.sampled_from(FIELDS))
@settings(max_examples=100)
def test_no_value_in_any_field_raises_anything_but_its_own_error(value: Any, name: str) -> None:
    """Answer any value in any field with a specification or a ChainSpecError."""
    try:
        spec = parse(light_text(**{name: value}))
    except ChainSpecError:
        return
    assert isinstance(spec.genesis, LightGenesis | RawGenesis)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"genesis": replace(BERGHAIN.genesis, state_root=bytes(32))}, "it is not the Chainflip main net"),  # type: ignore[type-var]
        ({"genesis": replace(BERGHAIN.genesis, grandpa_authorities=())}, "but other first authorities"),  # type: ignore[type-var]
        (
            {"genesis": RawGenesis({}, {}), "name": "My BERGHAIN", "id": "x"},
            "named My BERGHAIN (id x), but it is",
        ),
        ({"genesis": RawGenesis({}, {}), "name": "Other"}, "named Other (id Chainflip-Berghain), but it is"),
        ({"genesis": RawGenesis({}, {}), "name": "Other", "id": "other"}, None),
    ],
)
def test_a_specification_with_berghains_name_needs_its_genesis(
    changes: dict[str, Any], words: str | None
) -> None:
    """Warn of a specification that bears the main net's name and has another genesis."""
    assert genesis_hash(BERGHAIN) == BERGHAIN_GENESIS
    spec = replace(BERGHAIN, **changes)
    warning = false_name(spec, genesis_hash(spec))
    assert (warning is None) is (words is None)
    assert words is None or (warning is not None and words in warning)
