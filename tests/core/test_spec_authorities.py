"""A chain specification with other authorities: what is written anew, and what stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core.chainspec import BERGHAIN, ChainSpec, ChainSpecError, RawGenesis, grandpa_authorities, parse
from cfnode.core.chainspec import to_json as written
from cfnode.core.chainspec.authorities import AUTHORITY_FUNDS, Rewritten, SpecAuthority, with_authorities
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.devchain.runtime_choice import runtime_for
from cfnode.runtime.genesis_state import GenesisRuntime

AUTHORITIES = [
    SpecAuthority(Keypair.from_suri(name).public, Keypair.from_suri(name, "ed25519").public)
    for name in ("//Dave", "//Eve")
]
ACCOUNTS = [authority.aura for authority in AUTHORITIES]


@pytest.fixture(scope="module")
def spec() -> ChainSpec:
    """Return the development chain's specification."""
    return dev_chain_spec(DevGenesis())


@pytest.fixture(scope="module")
def metadata(spec: ChainSpec) -> Metadata:
    """Return the development runtime's metadata."""
    assert isinstance(spec.genesis, RawGenesis)
    return decode_metadata(GenesisRuntime(spec.genesis, runtime_for).call("Metadata_metadata")[4:])


def test_every_item_that_names_authorities_is_replaced(spec: ChainSpec, metadata: Metadata) -> None:
    """Replace every storage item that names authorities, fund the new ones, and leave most others alone."""
    changed, done = with_authorities(spec, metadata, AUTHORITIES)
    assert isinstance(changed.genesis, RawGenesis) and isinstance(spec.genesis, RawGenesis)
    top = changed.genesis.top

    def value(pallet: str, item: str, *keys: object) -> object:
        entry = metadata.storage(pallet, item)
        return entry.decode(top.get(entry.key(*keys)))

    assert grandpa_authorities(changed) == tuple((authority.grandpa, 1) for authority in AUTHORITIES)
    assert value("Aura", "Authorities") == value("Session", "Validators") == ACCOUNTS
    assert value("Grandpa", "Authorities") == [(authority.grandpa, 1) for authority in AUTHORITIES]
    assert value("Grandpa", "CurrentSetId") == 0
    assert value("Validator", "CurrentAuthorities") == ACCOUNTS
    epoch = value("Validator", "CurrentEpoch")
    assert value("Validator", "AuthorityIndex", epoch, ACCOUNTS[1]) == 1
    for authority in AUTHORITIES:
        keys = {"aura": authority.aura, "grandpa": authority.grandpa}
        assert value("Session", "NextKeys", authority.aura) == keys
        assert value("Session", "KeyOwner", (b"gran", authority.grandpa)) == authority.aura
        balance = value("Flip", "Account", authority.aura)
        assert isinstance(balance, dict) and balance["balance"] == AUTHORITY_FUNDS
    assert Rewritten("Aura.Authorities", 1, 1) in done
    untouched = {key for key in spec.genesis.top if spec.genesis.top[key] == top.get(key)}
    assert b":code" in untouched and len(untouched) > len(spec.genesis.top) // 2


def test_the_old_authorities_are_nowhere_among_the_items(spec: ChainSpec, metadata: Metadata) -> None:
    """Remove what earlier authorities had in maps, so that none of them can author by an old key."""
    changed, _ = with_authorities(spec, metadata, AUTHORITIES)
    again, done = with_authorities(changed, metadata, AUTHORITIES[:1])
    assert isinstance(again.genesis, RawGenesis)
    removed = {item.item: (item.removed, item.written) for item in done}
    assert removed["Session.NextKeys"] == (2, 1)
    assert removed["Session.KeyOwner"] == (4, 2)
    assert removed["Validator.AuthorityIndex"] == (2, 1)


def test_it_is_another_chain_without_boot_nodes(spec: ChainSpec, metadata: Metadata) -> None:
    """Make it another chain, without boot nodes: it must not connect to the original."""
    named = replace(spec, boot_nodes=("/dns/a/tcp/1/p2p/x",), protocol_id="flip", bad_blocks=(bytes(32),))
    changed, _ = with_authorities(named, metadata, AUTHORITIES)
    assert (changed.id, changed.protocol_id) == (f"{spec.id}-dev", "flip-dev")
    assert (changed.boot_nodes, changed.bad_blocks, changed.fork_blocks) == ((), (), ())
    assert parse(written(changed).encode(), source="text") == changed


def test_a_specification_without_state_or_authorities_is_refused(spec: ChainSpec, metadata: Metadata) -> None:
    """Refuse a specification without state, and an empty list of authorities."""
    with pytest.raises(ChainSpecError, match="holds no state"):
        with_authorities(BERGHAIN, metadata, AUTHORITIES)
    with pytest.raises(ChainSpecError, match="at least one"):
        with_authorities(spec, metadata, [])
