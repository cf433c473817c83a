"""A runtime upgrade: new code in one block, a new spec version from the next one on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.hashing import twox_64, twox_128
from cfnode.core.header import DigestKind
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import CONTRACTS, DevGenesis
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.ingress_egress.upgrades import name_deposits_by_block
from cfnode.devchain.runtime.releases import RELEASES, codec_in, release_for
from cfnode.devchain.runtime.runtime import DevRuntime, development_runtime
from tests.devchain.runtime.memory import MemoryHost
from tests.devchain.runtime.world import ALICE, BOB, OLDEST, World, bare_extrinsic, described

BSC = CONTRACTS["Bsc"]
ETHEREUM = CONTRACTS["Ethereum"]


def upgrade(world: World, code: bytes) -> Any:
    """Set the code as the chain itself would; the outcome."""
    call = world.call("Dev", "as_root", call=("System", ("set_code", {"code": code})))
    return world.block(bare_extrinsic(call))[0][1]


@pytest.fixture
def world() -> World:
    """Return a new chain of 2.2.3."""
    return World(OLDEST)


def test_the_block_says_so_and_the_next_one_runs_the_new_version(world: World) -> None:
    """Announce new code in its block, and run its version, for signatures too, from the next block on."""
    newer = DevRuntime(release_for(20_204))
    assert upgrade(world, newer.code) == ("Ok", ())
    assert world.header.digest[-1].kind == DigestKind.RUNTIME_ENVIRONMENT_UPDATED
    assert "System.CodeUpdated" in world.names()
    assert world.stored("System", "LastRuntimeUpgrade")["spec_version"] == 20_203

    code = world.state.get(b":code")
    assert code == newer.code
    world.runtime = development_runtime(code)
    assert world.runtime.version() != DevRuntime(RELEASES["2.2.3"]).version()
    remark = world.call("System", "remark", remark=b"")
    assert world.validate(world.sign(remark, spec_version=20_203)) == ("Err", ("Invalid", "BadProof"))
    assert world.block(world.sign(remark)) == [("Ok", ("Ok", ()))]
    assert world.stored("System", "LastRuntimeUpgrade")["spec_version"] == 20_204
    version = {"spec_version": 20_204, "spec_name": "chainflip-node"}
    assert world.api("MonitoringRuntimeApi_cf_build_version") == version


def test_the_next_release_brings_the_storage_of_the_last_one_to_its_own_form(world: World) -> None:
    """Migrate the storage in the first block of a new release, once."""
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


def test_2_3_moves_addresses_and_begins_with_bsc(world: World) -> None:
    """Migrate to 2.3: addresses and lending pools move, safe mode is kept, BSC and its pool begin."""
    for pair, pallet, name, arguments in (
        (ALICE, "Swapping", "register_as_broker", {}),
        (ALICE, "Swapping", "bind_broker_fee_withdrawal_address", {"address": b"\x07" * 20}),
        (BOB, "LiquidityProvider", "register_lp_account", {}),
        (BOB, "LiquidityProvider", "register_liquidity_refund_address", {"address": ("Tron", b"\x08" * 20)}),
    ):
        call = world.call(pallet, name, **arguments)
        assert world.block(world.sign(call, pair)) == [("Ok", ("Ok", ()))]
    board = world.stored("Environment", "RuntimeSafeMode")
    board["funding"] = {"redeem_enabled": False}
    board["liquidity_provider"]["withdrawal_enabled"] = False
    stop = ("Environment", ("update_safe_mode", {"update": ("CodeAmber", board)}))
    assert world.block(bare_extrinsic(world.call("Dev", "as_governance", call=stop))) == [("Ok", ("Ok", ()))]

    lend = world.call("Dev", "set_lending_depth", asset="Btc", amount=10**8)
    assert world.block(bare_extrinsic(lend)) == [("Ok", ("Ok", ()))]
    (before,) = world.api("CustomRuntimeApi_cf_lending_pools", "Btc")

    upgrade(world, DevRuntime(RELEASES["2.3.0"]).code)
    world.runtime, world.metadata = described()
    world.block()
    (pool,) = world.api("CustomRuntimeApi_cf_lending_pools", "Btc")
    assert (before, before["available_amount"]) == (pool | {"owed_to_network": 0}, 10**8)
    assert world.stored("AssetBalances", "BoundBrokerWithdrawalAddress", ALICE.account) == b"\x07" * 20
    assert world.stored("AssetBalances", "RefundAddresses", BOB.account, "Tron") == ("Tron", b"\x08" * 20)
    addresses = world.api("CustomRuntimeApi_cf_liquidity_provider_info", BOB.account, "No")[
        "refund_addresses"
    ]
    assert dict(addresses)["Tron"] == ("Tron", b"\x08" * 20)
    assert (
        world.api("CustomRuntimeApi_cf_broker_info", ALICE.account)["bound_fee_withdrawal_address"]
        == b"\x07" * 20
    )
    provider = {"deposit_enabled": True, "withdrawal_enabled": False, "internal_swaps_enabled": True}
    after = world.stored("Environment", "RuntimeSafeMode")
    assert after["liquidity_provider"] == provider | {"flip_to_on_chain_balance_enabled": True}
    assert (after["funding"], after["bsc_elections"]) == (
        {"redeem_enabled": False},
        {"key_manager_witnessing": True},
    )
    for owner, item in MOVED:
        prefix = twox_128(owner) + twox_128(item)
        assert not (world.state.next_key(prefix) or b"").startswith(prefix)

    assert world.stored("Environment", "BscVaultAddress") == BSC.vault
    assert world.stored("Environment", "EthereumSupportedAssets", "Cbbtc") == dict(ETHEREUM.tokens)["Cbbtc"]
    assert world.stored("BscIngressEgress", "DepositChannelLifetime") == 192_000
    assert world.stored("LiquidityPools", "MinimumLimitOrderAmount", "Bnb") == 10**16
    assert world.stored("AssetBalances", "RefundFeeMultiple", "Tron") == 15
    price = world.api("CustomRuntimeApi_cf_pool_price_v2", "Bnb", "Usdc")
    assert price[0] == "Ok" and price[1]["sell"] is not None
    world.block()
    assert world.stored("BscChainTracking", "CurrentChainState")["block_height"] % 14 == 0


@pytest.mark.world
def test_contracts_on_bsc_that_genesis_states_are_those_of_the_upgraded_chain() -> None:
    """Use the BSC contracts of the genesis configuration after an upgrade to 2.3."""
    own = replace(BSC, vault=b"\x31" * 20, key_manager=b"\x32" * 20, chain_id=31_337)
    world = World(DevGenesis(release="2.2.9", contracts=(("Bsc", own),)))
    upgrade(world, DevRuntime(RELEASES["2.3.0"]).code)
    world.runtime, world.metadata = described()
    world.block()
    stored = [
        world.stored("Environment", f"Bsc{item}") for item in ("VaultAddress", "KeyManagerAddress", "ChainId")
    ]
    assert stored == [own.vault, own.key_manager, own.chain_id]
    assert world.stored("Environment", "BscSupportedAssets", "BscUsdt") == dict(BSC.tokens)["BscUsdt"]
    usual = DevGenesis(release="2.2.9")
    assert dev_genesis(replace(usual, contracts=(("Bsc", replace(BSC)),))) == dev_genesis(usual)


MOVED = (
    (b"Swapping", b"BoundBrokerWithdrawalAddress"),
    (b"LiquidityProvider", b"LiquidityRefundAddress"),
)


def test_assethubs_pending_deposits_are_named_by_their_blocks() -> None:
    """Deposits that wait for a boost's delay, in the words of 2.2.9."""
    names = INGRESS_EGRESS["Assethub"].names
    composition = DevRuntime(RELEASES["2.3.0"]).composition
    pallet = composition.pallet(INGRESS_EGRESS["Assethub"])
    codec = codec_in("2.2.9", "Vec<(DepositWitness, Height)>", names)
    witness = values.DepositWitness(deposit_address=b"\x01" * 32, asset="HubDot", amount=5, deposit_details=3)
    host = MemoryHost()
    with composition.on(host):
        key = pallet.PendingDepositChannelDeposits.prefix + twox_64(b"\x09\0\0\0") + b"\x09\0\0\0"
        host.set(key, codec.encode([(witness, 77)]))
        name_deposits_by_block(pallet)
        named = replace(witness, deposit_details=values.TxId(block_number=77, extrinsic_index=3))
        assert list(pallet.PendingDepositChannelDeposits.items()) == [(9, [(named, 77)])]


def test_a_chain_that_begins_with_a_release_has_nothing_to_migrate() -> None:
    """Migrate nothing on a chain that begins with its release."""
    world = World(DevGenesis(release="2.2.9"))
    world.block()
    assert world.stored("AssetBalances", "RefundFeeMultiple", "Tron") == 100


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (lambda: b"\0asm", "FailedToExtractRuntimeVersion"),
        (lambda: b"cfnode-dev:", "FailedToExtractRuntimeVersion"),
        (lambda: described("2.2.3")[0].code, "SpecVersionNeedsToIncrease"),
        (
            lambda: described("2.3.0")[0].code.replace(b"chainflip-node", b"chainflop-node"),
            "InvalidSpecName",
        ),
    ],
    ids=["no code of ours", "no version", "not newer", "another chain's"],
)
def test_code_that_is_no_newer_runtime_of_this_chain_is_refused(
    world: World, code: Callable[[], bytes], error: str
) -> None:
    """Refuse code that is no newer runtime of this chain with the official error; the code stays."""
    kind, failure = upgrade(world, code())
    assert (kind, world.metadata.error(0, failure[1]["error"])[1]) == ("Err", error)
    assert world.state.get(b":code") == DevRuntime(RELEASES["2.2.3"]).code
