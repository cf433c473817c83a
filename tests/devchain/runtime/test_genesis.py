"""Block 0 of `dev` is one constant; another configuration is another chain."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cfnode.core.chainspec import genesis_hash
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.config import FLIP, DevGenesis
from cfnode.devchain.runtime.genesis import dev_authorities, dev_chain_spec, dev_genesis
from cfnode.devchain.runtime.release_names import RELEASE_NAMES
from cfnode.devchain.runtime.releases import RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime, development_runtime
from cfnode.runtime.calls import UnsupportedCode
from tests.devchain.runtime.world import World

DEV_GENESIS_HASH = "bbd747e38600d09bfead3111280ad05e477c567273713309c92c972f0d980eff"
"""Changes whenever a declaration or a genesis value of the development runtime changes: then note it here."""


def test_the_genesis_hash_of_dev_is_this_constant() -> None:
    """Build the default genesis with one known hash: a change here breaks chains that exist."""
    spec = dev_chain_spec()
    assert genesis_hash(spec).hex() == DEV_GENESIS_HASH
    assert (spec.id, spec.chain_type) == ("dev", "Development")


@pytest.mark.world
def test_it_is_the_same_in_another_process_with_another_hash_seed() -> None:
    """Build the genesis with its hash in another process with another hash seed."""
    program = (
        "from cfnode.devchain.runtime.genesis import dev_chain_spec; "
        "from cfnode.core.chainspec import genesis_hash; print(genesis_hash(dev_chain_spec()).hex())"
    )
    environment = {"PYTHONHASHSEED": "1234", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert done.stdout.decode().strip() == DEV_GENESIS_HASH


def test_another_configuration_is_a_chain_with_its_own_id() -> None:
    """Give another configuration an id and a protocol of its own, so that nodes of both never mix."""
    spec = dev_chain_spec(DevGenesis(epoch_blocks=10))
    assert spec.id == f"dev-{genesis_hash(spec).hex()[:8]}" != "dev"
    assert spec.protocol_id != dev_chain_spec().protocol_id
    assert dev_chain_spec(DevGenesis()).id == "dev"
    assert dev_chain_spec(DevGenesis(authorities=dev_authorities(1))).id == "dev"


def test_another_release_is_another_chain_with_a_runtime_of_its_own() -> None:
    """Run another release's runtime on a chain of its own, by version, storage and blocks."""
    config = DevGenesis(release="2.2.9")
    assert dev_chain_spec(config).id == f"dev-{genesis_hash(dev_chain_spec(config)).hex()[:8]}"
    world = World(config)
    assert world.api("Core_version")["spec_version"] == 20_209
    assert world.stored("Environment", "CurrentReleaseVersion") == {"major": 2, "minor": 2, "patch": 9}
    assert world.stored("AssetBalances", "RefundFeeMultiple", "Tron") == 100
    remark = world.sign(world.call("System", "remark", remark=b""))
    assert world.block(remark) == [("Ok", ("Ok", ()))]
    assert World().api("Core_version")["spec_version"] == 20_300


def test_the_command_line_knows_the_names_of_all_releases() -> None:
    """List on the command line the names of all releases."""
    assert tuple(RELEASES) == RELEASE_NAMES


def test_the_well_known_accounts_are_funded_and_unregistered() -> None:
    """Fund the well-known accounts without a role, and count their FLIP in the issuance."""
    world = World()
    for name in ("Alice", "Bob", "Charlie", "Dave", "Eve", "Ferdie"):
        account = Keypair.from_suri(f"//{name}").account
        assert world.stored("Flip", "Account", account) == {"balance": 1_000_000 * FLIP, "bond": 0}
        assert world.stored("AccountRoles", "AccountRoles", account) == "Unregistered"
    issued, outside = world.stored("Flip", "TotalIssuance"), world.stored("Flip", "OffchainFunds")
    assert issued - outside == 6 * 1_000_000 * FLIP + world.stored("Validator", "Bond")


def test_authorities_are_alice_and_friends_and_then_numbered() -> None:
    """Name authorities after the well-known accounts, then by number, with the weights asked for."""
    made = dev_authorities(8, (5,))
    assert made[0].aura == Keypair.from_suri("//Alice").public
    assert made[0].grandpa == Keypair.from_suri("//Alice", "ed25519").public
    assert made[7].aura == Keypair.from_suri("//Authority//7").public
    assert [authority.weight for authority in made] == [5, 1, 1, 1, 1, 1, 1, 1]
    world = World(DevGenesis(authorities=made))
    assert world.api("AuraApi_authorities") == [authority.aura for authority in made]
    assert world.api("GrandpaApi_grandpa_authorities") == [
        (authority.grandpa, authority.weight) for authority in made
    ]
    assert world.api("GrandpaApi_current_set_id") == 0


def test_state_entries_fill_the_state() -> None:
    """Fill the state with as many entries as the configuration asks for."""
    small, large = dev_genesis(), dev_genesis(DevGenesis(state_entries=100))
    assert len(large) - len(small) == 100
    assert sum(map(len, large.values())) - sum(map(len, small.values())) == 100 * 66


def test_the_code_names_version_and_declarations_and_other_code_is_refused() -> None:
    """Name version and declarations in the code, and refuse code of another declaration with both hashes."""
    code = DevRuntime().code
    assert code.startswith(b"cfnode-dev:\x38chainflip-node")
    assert development_runtime(code).version() == code[len(b"cfnode-dev:") : -32]
    with pytest.raises(UnsupportedCode, match=f"0x{'00' * 32}.*0x{code[-32:].hex()}"):
        development_runtime(code[:-32] + bytes(32))
