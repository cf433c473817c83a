"""dev_snapshot and dev_revert on a running node, and that equal calls give equal blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.devchain import snapshots
from cfnode.rpc.table.convert import to_hex
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS, refund_to
from tests.support.rpc.channels import open_channel
from tests.support.waiting import LIMIT_S

START = 1_767_225_600_000
"""Unix milliseconds: 2026 began."""
CHANNEL = (BTC, ETH, EVM_ADDRESS, 10, None, None, None, refund_to(BTC_ADDRESS))
ETHER = 10**18


async def sealed(served: Served, blocks: int, method: str, *params: Any) -> Any:
    """Return the result of a call whose transaction needs so many blocks, which are made when asked for."""
    results: list[Any] = []

    async def ask() -> None:
        results.append(await served.call(method, *params))

    async with trio.open_nursery() as nursery:
        with served.node.pool.arrivals() as arrivals:
            nursery.start_soon(ask)
            await anext(arrivals)
        for _ in range(blocks):
            await served.node.producer.control.new_block()  # type: ignore[union-attr]
    return results[0]


async def play(served: Served) -> list[str]:
    """Make a swap whose payout fails, and a rotation of keys; return the hashes of all blocks."""
    await served.call("dev_newBlock")
    await sealed(served, 1, "broker_registerAccount")
    channel = await sealed(served, 3, "broker_requestSwapDepositAddress", *CHANNEL)
    await served.call("dev_failReceiver", EVM_ADDRESS, ETH)
    await served.call("dev_timeTravel", 3_600_000)
    await served.call("dev_deposit", channel["address"], BTC, 10**7)
    for _ in range(6):
        await served.call("dev_newBlock")
    await served.call("dev_rotate")
    return await hashes(served)


async def hashes(served: Served) -> list[str]:
    """Return the hashes of the best chain from block 1 on."""
    numbers = range(1, served.node.chain.best.number + 1)
    block_hashes: list[str] = await served.call("chain_getBlockHash", list(numbers))
    return block_hashes


@pytest.mark.world
async def test_equal_calls_give_equal_blocks_on_two_nodes_and_after_a_revert(
    make_served: MakeServed, tmp_path: Path
) -> None:
    """Make equal blocks by equal calls, on two nodes and after a revert."""
    one = await make_served(start_time=START, base_path=tmp_path / "one")
    two = await make_served(start_time=START, base_path=tmp_path / "two")
    beginning = await one.call("dev_snapshot")
    first = await play(one)
    assert len(first) > 20
    assert await play(two) == first
    assert await one.call("dev_revert", beginning) == to_hex(one.node.chain.genesis_hash)
    assert await play(one) == first


async def test_a_chain_goes_back_behind_final_blocks_with_all_that_a_test_has_set(instant: Served) -> None:
    """Go back behind final blocks, with the pool, finality and signatures as they were."""
    node = instant.node
    address = await open_channel(instant)
    before, final = node.chain.best, node.chain.finalized
    waiting = await instant.signed_remark(nonce=5)  # of the future
    await instant.call("author_submitExtrinsic", to_hex(waiting))
    assert await instant.call("dev_snapshot") == "0x1"
    assert await instant.call("dev_snapshot") == "0x2"
    deposit = await instant.call("dev_deposit", address, ETH, ETHER)
    await instant.call("dev_holdFinality")
    await instant.call("dev_holdSignatures")
    later = await instant.call("dev_snapshot")
    with trio.fail_after(LIMIT_S):
        assert await instant.call("dev_revert", "0x2") == to_hex(before.hash)
    assert (node.chain.best, node.chain.finalized) == (before, final)
    assert node.pool.status.future == 1
    assert await instant.call("chain_getHeader", deposit) is None
    assert not node.producer.voter.is_held and node.producer.author.signs  # type: ignore[union-attr]
    for used in ("0x2", later, "0x77"):
        assert (await instant.error("dev_revert", used))["message"].startswith(f"snapshot {used} is unknown")
    assert "expected the number of a snapshot" in (await instant.error("dev_revert", "x"))["data"]
    again = await instant.call("dev_deposit", address, ETH, ETHER)
    assert node.chain.finalized.number >= before.number
    assert [event["name"] for event in await instant.call("dev_events", again)].count("DepositFinalised") == 1
    assert await instant.call("dev_revert", 1) == to_hex(before.hash)


async def test_clients_that_follow_learn_that_the_chain_went_back(instant: Served) -> None:
    """Notify every kind of follower that the chain went back."""
    await instant.call("dev_newBlock", None, None, True)
    before = instant.node.chain.best.number
    snapshot = await instant.call("dev_snapshot")
    async with instant.websocket() as client:
        heads = (await client.call("chain_subscribeNewHeads"))["result"]
        final = (await client.call("chain_subscribeFinalizedHeads"))["result"]
        follow = (await client.call("chainHead_v1_follow", False))["result"]
        waiting = to_hex(await instant.signed_remark(nonce=1))
        watch = (await client.call("author_submitAndWatchExtrinsic", waiting))["result"]
        await instant.call("dev_newBlock", None, None, True)
        await instant.call("dev_revert", snapshot)
        by_subscription: dict[str, list[Any]] = {heads: [], final: [], follow: [], watch: []}
        with trio.fail_after(LIMIT_S):
            while not (
                "dropped" in by_subscription[watch]
                and {"event": "stop"} in by_subscription[follow]
                and [int(header["number"], 16) for header in by_subscription[heads]]
                == [before, before + 1, before]
                and [int(header["number"], 16) for header in by_subscription[final]]
                == [before, before + 1, before]
            ):
                message = await client.notification()
                by_subscription[message["subscription"]].append(message["result"])
        assert by_subscription[follow][-1] == {"event": "stop"}


async def test_unfinalized_blocks_come_back_and_snapshots_are_bounded_and_leave_no_files(
    make_served: MakeServed, tmp_path: Path, monkeypatch: Any
) -> None:
    """Bring back unfinalized blocks and forks, bound the snapshots, and leave no files."""
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOTS", 2)
    served = await make_served(start_time=START)
    copies = tmp_path / "chains" / "dev" / "snapshots"
    for _ in range(4):
        await served.call("dev_newBlock")
    fork = await served.call("dev_newBlock", (await hashes(served))[2])
    await served.call("dev_snapshot")
    best, final, runtime = served.node.chain.best, served.node.chain.finalized, served.node.executor.pid
    assert (best.number, final.number, served.node.chain.leaves) == (4, 2, 2)
    later = [await served.call("dev_newBlock") for _ in range(5)]
    assert served.node.chain.finalized.number == 7
    assert await served.call("dev_revert", "0x1") == to_hex(best.hash)
    assert (served.node.chain.best, served.node.chain.finalized) == (best, final)
    assert served.node.chain.descends_from_finalized(bytes.fromhex(fork[2:]))
    assert [await served.call("dev_newBlock") for _ in range(5)] == later
    assert served.node.executor.pid == runtime
    await served.call("dev_snapshot")
    monkeypatch.setattr(type(served.node.network), "peer_count", 3)
    assert "3 nodes follow this chain" in (await served.error("dev_revert", "0x2"))["message"]
    monkeypatch.undo()
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOTS", 2)
    await served.call("dev_snapshot")
    assert "snapshots, the maximum" in (await served.error("dev_snapshot"))["message"]
    assert sorted(path.name for path in copies.iterdir()) == ["2", "3"]
    await served.call("dev_revert", "0x2")
    assert list(copies.iterdir()) == []
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOT_BYTES", 1)
    assert "would take more than" in (await served.error("dev_snapshot"))["message"]
    assert list(copies.iterdir()) == []
