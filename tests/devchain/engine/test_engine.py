"""Swaps in the official genesis runtime (spec 100), signed, witnessed and sent by the engine in the node."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from cfnode.cli.build_spec import build_spec
from cfnode.cli.client import CallRefused
from cfnode.core import ss58
from cfnode.core.amm import RangePool, liquidity_for_quote, sqrt_price_of_amounts
from tests.lengths import repeats
from tests.support.cli.commands import run
from tests.support.devchain.engine import (
    BROADCASTERS,
    RECEIVERS,
    Play,
    address_text,
    engine_spec,
    named,
    playing,
)

SIGNERS = ("EthereumThresholdSigner", "BitcoinThresholdSigner", "PolkadotThresholdSigner")
PAIRS = [(source, target) for source in BROADCASTERS for target in BROADCASTERS if source != target]
ETHEREUM, BITCOIN = "EthereumBroadcaster", "BitcoinBroadcaster"


@pytest.fixture(scope="module")
def spec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the official genesis with the engine's keys, both vaults written and nothing in safe mode."""
    official: Path = request.getfixturevalue("berghain_spec")
    path = tmp_path_factory.mktemp("engine") / "mine.json"
    said = engine_spec(official, path).stderr.splitlines()
    assert "EthereumVault.Vaults: 1 removed, 1 written" in said
    assert "BitcoinVault.Vaults: 0 removed, 1 written" in said
    assert "engine: safe mode stops nothing" in said
    return path


@pytest.fixture(scope="module")
def play(spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """One chain with three pools for all tests of this file that leave it whole."""
    with playing(spec, tmp_path_factory.mktemp("node")) as play:
        play.begin("Eth", "Btc", "Dot")
        yield play


def assert_nothing_waits(play: Play) -> None:
    """Assert that after three blocks no ceremony and no broadcast is pending."""
    for _ in range(3):
        play.block()
    assert {name: play.count(name, "PendingCeremonies") for name in SIGNERS} == dict.fromkeys(SIGNERS, 0)
    broadcasters = BROADCASTERS.values()
    assert {name: play.count(name, "AwaitingBroadcast") for name in broadcasters} == dict.fromkeys(
        broadcasters, 0
    )


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_swap_succeeds_in_four_blocks(play: Play, source: str, target: str) -> None:
    """Swap between two chains in four blocks, and leave no ceremony or broadcast pending."""
    address = play.channel(source, target)
    deposited = play.deposit(address, source)
    (executed,) = named(deposited, "SwapExecuted")
    (egress,) = named(deposited, "SwapEgressScheduled")
    assert (executed["source_asset"], executed["destination_asset"]) == (source, target)
    assert egress["amount"] == executed["egress_amount"]
    blocks, _ = play.until(BROADCASTERS[target], "BroadcastSuccess")
    assert 2 + blocks == 4  # channel, deposit and swap, signature, success
    assert_nothing_waits(play)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_real_pools_pay_what_the_nodes_own_arithmetic_pays(play: Play, source: str, target: str) -> None:
    """The two runtimes judge each other: `core.amm` is what the development runtime swaps with."""
    address = play.channel(source, target)
    first, second = pool_of(play, source), pool_of(play, target)
    events = play.deposit(address, source)
    (executed,), (taken,) = named(events, "SwapExecuted"), named(events, "NetworkFeeTaken")
    dollars = first.swap("base", number(executed["deposit_amount"])).output
    assert number(executed["intermediate_amount"]) + number(taken["fee_amount"]) == dollars
    assert abs(number(taken["fee_amount"]) * 1000 - dollars) <= 500  # a thousandth, rounded to the nearest
    paid = second.swap("quote", number(executed["intermediate_amount"])).output
    assert paid == number(executed["egress_amount"])
    play.until(BROADCASTERS[target], "BroadcastSuccess")


def pool_of(play: Play, asset: str) -> RangePool:
    """Return the range orders of a pool, all over all prices, as the node's own arithmetic has them."""
    pool = play.value("LiquidityPools", "Pools", {"assets": {"zero": asset, "one": "Usdc"}})
    stored = pool["pool_state"]["range_orders"]
    price, liquidity = stored["current_sqrt_price"], stored["current_liquidity"]
    return RangePool.full_range((b"", 0), price, liquidity, stored["fee_hundredth_pips"])


def number(value: int | str) -> int:
    """Return an amount of an event: JSON has large ones in hex."""
    return int(value, 16) if isinstance(value, str) else value


def test_a_swaps_status_is_told_by_the_plain_commands(play: Play) -> None:
    """Read a swap by its channel's identity: `cfnode swap status`, and both versions of the service."""
    play.request("Btc", "Eth")
    (ready,) = named(play.block(), "SwapDepositAddressReady")
    opened = int(play.call("chain_getHeader")["number"], 16)
    channel = f"{opened}-Bitcoin-{ready['channel_id']}"
    (executed,) = named(play.deposit(address_text(ready), "Btc"), "SwapExecuted")
    play.until(ETHEREUM, "BroadcastSuccess")
    code, out, err = run("swap", "status", channel, "--network", "dev", "--node", play.node.url, "--json")
    assert code == 0, (out, err)
    status = json.loads(out)
    assert status["state"] == "COMPLETED"
    assert status["depositChannel"]["id"] == channel
    assert int(status["swapEgress"]["amount"]) == number(executed["egress_amount"])
    for version, state in (("v2/", "COMPLETED"), ("", "COMPLETE")):
        answer = httpx.get(f"{play.node.url}/{version}swaps/{status['swapId']}", timeout=60).json()
        assert answer["state"] == state
    assert_nothing_waits(play)


def test_a_receiver_that_refuses_its_transfer_is_reported_and_the_batch_succeeds(play: Play) -> None:
    """Report a transfer that its receiver refuses with address and amount; its batch still succeeds."""
    receiver = "0x" + RECEIVERS["Eth"][1].hex()
    play.call("dev_failReceiver", receiver, "Eth")
    (executed,) = named(play.deposit(play.channel("Btc", "Eth"), "Btc"), "SwapExecuted")
    _, failed = play.until("EthereumIngressEgress", "VaultTransferFailed")
    assert (failed["destination_address"], failed["amount"]) == (receiver, executed["egress_amount"])
    play.call("dev_failReceiver", receiver, "Eth", False)
    assert_nothing_waits(play)


def test_a_pool_gets_another_price_and_depth_as_in_the_development_runtime(play: Play) -> None:
    """Set price and depth of a pool that exists, keep what is not stated, and swap at the new price."""
    before = pool_of(play, "Eth")
    play.call("dev_setPool", "Eth", 2_000_000_000)
    moved = pool_of(play, "Eth")
    assert (moved.current_sqrt_price, moved.current_liquidity) == (
        sqrt_price_of_amounts(10**18, 2_000_000_000),
        before.current_liquidity,
    )
    play.call("dev_setPool", "Eth", None, 5_000_000_000_000)
    deep = pool_of(play, "Eth")
    assert deep.current_sqrt_price == moved.current_sqrt_price
    assert deep.current_liquidity == liquidity_for_quote(deep.current_sqrt_price, 5_000_000_000_000)
    (executed,) = named(play.deposit(play.channel("Eth", "Btc"), "Eth"), "SwapExecuted")
    assert 1_990_000_000 < number(executed["intermediate_amount"]) < 2_000_000_000
    assert_nothing_waits(play)


def test_equal_deposits_of_one_block_height_all_count(play: Play) -> None:
    """Swap three equal deposits of one block height: the runtime must not take them for one deposit."""
    address = play.channel("Eth", "Btc")
    amounts = [named(play.deposit(address, "Eth"), "SwapExecuted")[0]["deposit_amount"] for _ in range(3)]
    assert amounts == [hex(10**18)] * 3


def test_a_deposit_without_a_channel_is_refused_with_the_runtimes_reason(play: Play) -> None:
    """Refuse a deposit to an address without a channel with the runtime's own InvalidDepositAddress."""
    with pytest.raises(CallRefused, match="InvalidDepositAddress"):
        play.call("dev_deposit", "0x" + "77" * 20, "Eth", 10**18)


def test_funds_reach_an_account_each_time(play: Play) -> None:
    """Fund an account twice with the same amount: the second must not pass for a repeat of the first."""
    account = ss58.encode(b"\x5e" * 32)
    for _ in range(2):
        play.call("dev_fundAccount", account, 10**18)
    assert play.value("Flip", "Account", b"\x5e" * 32)["balance"] == 2 * 10**18


def test_a_failing_broadcast_is_aborted_and_the_next_one_succeeds(play: Play) -> None:
    """Abort one Bitcoin broadcast on request, and only that one: the next of the chain succeeds."""
    play.call("dev_abortBroadcast", "Bitcoin")
    play.deposit(play.channel("Eth", "Btc"), "Eth")
    _, aborted = play.until(BITCOIN, "BroadcastAborted")
    play.deposit(play.channel("Eth", "Btc"), "Eth")
    _, succeeded = play.until(BITCOIN, "BroadcastSuccess")
    assert succeeded["broadcast_id"] == aborted["broadcast_id"] + 1
    assert_nothing_waits(play)


def test_held_signatures_and_held_transactions_wait(play: Play) -> None:
    """Keep a ceremony pending while signatures are held, and a broadcast while those of its chain are."""
    play.call("dev_holdSignatures", True)
    play.deposit(play.channel("Eth", "Dot"), "Eth")
    play.block()
    assert play.count("PolkadotThresholdSigner", "PendingCeremonies") == 1
    play.call("dev_holdBroadcasts", "Polkadot", True)
    play.call("dev_holdSignatures", False)
    for _ in range(3):
        play.block()
    assert play.count("PolkadotBroadcaster", "AwaitingBroadcast") == 1
    play.call("dev_holdBroadcasts", "Polkadot", False)
    assert_nothing_waits(play)


def test_heights_follow_the_clock(play: Play) -> None:
    """Advance the height of Bitcoin by six blocks an hour, as the chain's clock goes."""
    before = play.value("BitcoinChainTracking", "CurrentChainState")["block_height"]
    play.call("dev_timeTravel", 3_600_000)
    for _ in range(3):
        play.block()
    assert play.value("BitcoinChainTracking", "CurrentChainState")["block_height"] == before + 6


def test_a_fork_in_a_ceremony_is_signed_on_both_sides(play: Play) -> None:
    """Sign a ceremony on both of two forks of one block: either of them may become final."""
    play.deposit(play.channel("Btc", "Eth"), "Btc")
    parent = play.call("chain_getBlockHash")
    sides = [play.call("dev_newBlock", parent), play.call("dev_newBlock", parent)]
    assert sides[0] != sides[1]
    for side in sides:
        assert named(play.events(side), "ThresholdSignatureSuccess")
    assert_nothing_waits(play)


def test_a_revert_brings_the_ceremony_back(play: Play) -> None:
    """Sign a ceremony again after a revert to a block before its signature."""
    play.deposit(play.channel("Eth", "Btc"), "Eth")
    snapshot = play.call("dev_snapshot")
    play.until(BITCOIN, "BroadcastSuccess")
    play.call("dev_revert", snapshot)
    blocks, _ = play.until(BITCOIN, "BroadcastSuccess")
    assert blocks == 2


def test_what_the_runtime_cannot_do_is_refused_with_the_reason(play: Play) -> None:
    """Refuse controls that only the development runtime has, and say in which runtime this chain runs."""
    for method, *params in (
        ("dev_nextEpoch",),
        ("dev_upgrade", "2.2.9"),
        ("dev_setOracle", "Btc", 1),
        ("dev_setBoost", "Btc", 1),
    ):
        with pytest.raises(CallRefused, match="this chain runs in the chain's own runtime: "):
            play.call(method, *params)


def test_the_council_is_the_engine(play: Play) -> None:
    """Let the engine alone pass governance calls, and return the runtime's error for one that fails."""
    play.call("dev_govern", "Swapping", "set_minimum_swap_amount", {"asset": "Eth", "amount": 7})
    assert play.value("Swapping", "MinimumSwapAmount", "Eth") == 7
    with pytest.raises(CallRefused, match="InvalidFeeAmount"):
        fields = {"base_asset": "Flip", "pair_asset": "Usdc", "fee_hundredth_pips": 10**7, "initial_price": 1}
        play.call("dev_govern", "LiquidityPools", "new_pool", fields)


def test_keys_rotate_and_the_new_ones_sign(play: Play) -> None:
    """Rotate the keys of all vaults to the next epoch; swaps of every pair succeed with the new keys."""
    old = {
        vault: play.value(vault, "CurrentVaultEpochAndState") for vault in ("EthereumVault", "BitcoinVault")
    }
    rotated = play.call("dev_rotate")
    assert rotated["epoch"] == old["EthereumVault"]["epoch_index"] + 1
    assert [call["chain"] for call in rotated["transactions"]] == ["Ethereum"]
    for vault in old:
        assert play.value(vault, "CurrentVaultEpochAndState")["epoch_index"] == rotated["epoch"]
    for source, target in PAIRS:
        play.deposit(play.channel(source, target), source)
        play.until(BROADCASTERS[target], "BroadcastSuccess")
    assert_nothing_waits(play)


def test_many_swaps_in_a_row_leave_nothing_behind(play: Play) -> None:
    """Execute every one of many swaps in a row, and leave no ceremony or broadcast pending."""
    done, swaps = 0, repeats(200, 12)
    for number in range(swaps):
        source, target = PAIRS[number % len(PAIRS)]
        done += len(named(play.deposit(play.channel(source, target), source), "SwapExecuted"))
    assert done == swaps
    assert_nothing_waits(play)


def test_a_kill_in_a_swap_changes_nothing(spec: Path, tmp_path: Path) -> None:
    """Complete a swap after SIGKILL in its middle: all that the engine knows is in the chain's state."""
    with playing(spec, tmp_path) as play:
        play.begin("Eth", "Btc")
        play.deposit(play.channel("Eth", "Btc"), "Eth")
        play.node.stop(signal.SIGKILL)
    with playing(spec, tmp_path, log_name="again.log") as play:
        blocks = play.until(BITCOIN, "BroadcastSuccess")[0]
        assert blocks <= 4  # the last blocks may have been lost with the process
        assert_nothing_waits(play)


def test_two_of_three_authorities_are_enough(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Reach the signing threshold with two authorities of three: the third one runs nowhere."""
    official: Path = request.getfixturevalue("berghain_spec")
    path = tmp_path / "three.json"
    engine_spec(official, path, "--dev-authorities=//Engine,//Charlie,//Elsewhere")
    with playing(path, tmp_path, "--dev-authorities=//Engine,//Charlie") as play:
        play.begin("Eth", "Btc")
        play.deposit(play.channel("Eth", "Btc"), "Eth")
        play.until(BITCOIN, "BroadcastSuccess")


def test_a_chain_with_other_keys_is_left_alone(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Leave a chain alone whose keys are not the engine's, and log that build-spec --engine makes one."""
    official: Path = request.getfixturevalue("berghain_spec")
    path = tmp_path / "other.json"
    arguments = [f"--chain={official}", f"--output={path}"]
    assert CliRunner().invoke(build_spec, arguments, catch_exceptions=False).exit_code == 0
    with playing(path, tmp_path) as play:
        play.block()
        assert "make it with build-spec --engine" in play.node.log
