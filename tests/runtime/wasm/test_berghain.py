"""The official main-net runtime at genesis (spec 100), where its chain specification is at hand."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pytest

from cfnode.core.chainspec import RawGenesis, parse
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.runtime.calls import RuntimeTrap
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.artefacts import Artefacts
from cfnode.runtime.wasm.binding import Binding, PublicBinding
from cfnode.runtime.wasm.raw import RawBinding
from cfnode.runtime.wasm.runtime import WasmRuntime, wasm_runtime

PUBLISHED_METADATA = "bdfbd9039763f42f2fa0ca12e1437194c4eb842d3bbe6fee810cda3c8a10331f"
"""BLAKE2b-256 of the metadata that Chainflip has published for spec 100."""


@pytest.fixture(scope="module")
def genesis(request: pytest.FixtureRequest) -> GenesisRuntime:
    """Return the official runtime on the main net's genesis state."""
    path: Path = request.getfixturevalue("berghain_spec")
    parsed = parse(path.read_bytes(), source=str(path))
    assert isinstance(parsed.genesis, RawGenesis)
    return GenesisRuntime(parsed.genesis, wasm_runtime)


@pytest.fixture(scope="module")
def metadata(genesis: GenesisRuntime) -> Metadata:
    """Return the official runtime's metadata of version 15."""
    encoded = genesis.call("Metadata_metadata_at_version", (15).to_bytes(4, "little"))
    assert encoded[:1] == b"\x01"
    return decode_metadata(ByteCursor(encoded[1:]).bytes())


@pytest.mark.parametrize("binding", [RawBinding, PublicBinding])
def test_metadata_is_the_published_one(
    genesis: GenesisRuntime, artefacts: Artefacts, binding: Callable[[], Binding]
) -> None:
    """Give the metadata that Chainflip has published, through both bindings."""
    runtime = WasmRuntime(genesis.code, artefacts, binding=binding())
    published = ByteCursor(runtime.call("Metadata_metadata", b"", Journal(genesis.state))).bytes()
    assert blake2b(published, digest_size=32).hexdigest() == PUBLISHED_METADATA


def test_the_version_in_the_sections_is_the_one_it_gives(genesis: GenesisRuntime) -> None:
    """Read from the module's sections the version that the runtime itself answers."""
    assert genesis.version() == genesis.call("Core_version")


def test_accounts_authorities_and_supply_can_be_read(genesis: GenesisRuntime, metadata: Metadata) -> None:
    """Read root, accounts, supply and auction state of the main net's genesis by runtime calls."""
    assert genesis.state.root.hex() == "ceb969ab679b7db5c793e8d0aa42c6284c0c05e183a728440946660810ee3b8d"
    aura = ByteCursor(genesis.call("AuraApi_authorities"))
    authorities = [aura.take(32) for _ in range(aura.count(32))]

    def ask(function: str, *args: object) -> object:
        method = metadata.api_method(function)
        return method.decode(genesis.call(function, method.encode_args(*args)))

    assert ask("AccountNonceApi_account_nonce", authorities[0]) == 0
    accounts = ask("CustomRuntimeApi_cf_accounts")
    assert isinstance(accounts, list) and {account for account, _ in accounts} == set(authorities)
    assert ask("CustomRuntimeApi_cf_flip_supply") == (90_000_000 * 10**18, 89_997_000 * 10**18)
    state = ask("CustomRuntimeApi_cf_auction_state")
    assert isinstance(state, dict) and state["blocks_per_epoch"] == 14_400
    info = ask("CustomRuntimeApi_cf_account_info_v2", authorities[0])
    assert isinstance(info, dict) and info["balance"] == 1_000 * 10**18


def test_session_keys_are_generated_by_no_runtime_call(genesis: GenesisRuntime) -> None:
    """As in a Substrate node: keys are made for `author_rotateKeys` alone, whose call brings a keystore."""
    with pytest.raises(
        RuntimeTrap, match=r"calls ext_crypto_\w+_generate_version_1, which this node does not"
    ):
        genesis.call("SessionKeys_generate_session_keys", b"\0")
