"""A runtime upgrade: new code in one block, a new spec version from the next one on."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.header import DigestKind
from cfnode.runtime.dev.config import DevGenesis
from cfnode.runtime.dev.releases import RELEASES, release_for
from cfnode.runtime.dev.runtime import DevRuntime, development_runtime
from tests.runtime.dev.world import World, bare_extrinsic, described


def upgrade(world: World, code: bytes) -> Any:
    """Set the code as the chain itself would; the outcome."""
    call = world.call("Dev", "as_root", call=("System", ("set_code", {"code": code})))
    return world.block(bare_extrinsic(call))[0][1]


@pytest.fixture
def world() -> World:
    return World()


def test_the_block_says_so_and_the_next_one_runs_the_new_version(world: World) -> None:
    newer = DevRuntime(release_for(20_204))
    assert upgrade(world, newer.code) == ("Ok", ())
    assert world.header.digest[-1].kind == DigestKind.RUNTIME_ENVIRONMENT_UPDATED
    assert "System.CodeUpdated" in world.names()
    assert world.stored("System", "LastRuntimeUpgrade")["spec_version"] == 20_203

    code = world.state.get(b":code")
    assert code == newer.code
    world.runtime = development_runtime(code)
    assert world.runtime.version() != DevRuntime().version()
    remark = world.call("System", "remark", remark=b"")
    assert world.validate(world.sign(remark, spec_version=20_203)) == ("Err", ("Invalid", "BadProof"))
    assert world.block(world.sign(remark)) == [("Ok", ("Ok", ()))]
    assert world.stored("System", "LastRuntimeUpgrade")["spec_version"] == 20_204
    told = {"spec_version": 20_204, "spec_name": "chainflip-node"}
    assert world.api("MonitoringRuntimeApi_cf_build_version") == told


def test_the_next_release_brings_the_storage_of_the_last_one_to_its_own_form(world: World) -> None:
    newer = DevRuntime(RELEASES["2.2.9"])
    upgrade(world, newer.code)
    assert world.stored("Environment", "CurrentReleaseVersion")["patch"] == 3
    world.runtime, world.metadata = described("2.2.9")
    assert world.stored("AssetBalances", "RefundFeeMultiple", "Tron") == 100
    world.block()
    assert world.stored("System", "LastRuntimeUpgrade")["spec_version"] == 20_209
    assert world.stored("Environment", "CurrentReleaseVersion") == {"major": 2, "minor": 2, "patch": 9}
    multiples = {
        chain: world.stored("AssetBalances", "RefundFeeMultiple", chain) for chain in ("Tron", "Bitcoin")
    }
    assert multiples == {"Tron": 15, "Bitcoin": 100}

    key = world.metadata.storage("AssetBalances", "RefundFeeMultiple").key("Tron")
    world.block(
        bare_extrinsic(world.call("Dev", "as_root", call=("System", ("kill_storage", {"keys": [key]}))))
    )
    world.block()
    assert world.stored("AssetBalances", "RefundFeeMultiple", "Tron") == 100


def test_a_chain_that_begins_with_a_release_has_nothing_to_migrate() -> None:
    world = World(DevGenesis(release="2.2.9"))
    world.block()
    assert world.stored("AssetBalances", "RefundFeeMultiple", "Tron") == 100


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (b"\0asm", "FailedToExtractRuntimeVersion"),
        (b"cfnode-dev:", "FailedToExtractRuntimeVersion"),
        (DevRuntime().code, "SpecVersionNeedsToIncrease"),
        (
            DevRuntime(release_for(20_300)).code.replace(b"chainflip-node", b"chainflop-node"),
            "InvalidSpecName",
        ),
    ],
)
def test_code_that_is_no_newer_runtime_of_this_chain_is_refused(
    world: World, code: bytes, error: str
) -> None:
    kind, failure = upgrade(world, code)
    assert (kind, world.metadata.error(0, failure[1]["error"])[1]) == ("Err", error)
    assert world.state.get(b":code") == DevRuntime().code
