"""chain_* and grandpa_* on a running node: blocks by hash and number, streams over forks and finality."""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58
from cfnode.core.grandpa import Justification
from cfnode.core.header import Header
from tests.rpc.conftest import Served

UNKNOWN = "0x" + "77" * 32


async def test_block_hashes_by_number(served_node: Served) -> None:
    """Return block hashes by number in each notation, and refuse others in the official words."""
    genesis = "0x" + served_node.node.chain.genesis_hash.hex()
    best = "0x" + served_node.node.chain.best.hash.hex()
    assert await served_node.call("chain_getBlockHash") == best
    assert await served_node.call("chain_getHead") == best
    assert await served_node.call("chain_getBlockHash", 0) == genesis
    assert await served_node.call("chain_getBlockHash", "0x1") == best
    assert await served_node.call("chain_getBlockHash", [0, "0x1", 2, 2**32 - 1]) == [
        genesis,
        best,
        None,
        None,
    ]
    for number, form in ((2**32, "Number"), (hex(2**32), "Hex")):
        assert await served_node.error("chain_getBlockHash", number) == {
            "code": 3001, "message": f"`{form}(4294967296)` > u32::MAX, the max block number is u32.",
        }  # fmt: skip
    assert await served_node.call("chain_getBlockHash", "1") == best
    for unread in ("", "0x", "one", -1, 1.5, [[0]], {}):
        assert await served_node.error("chain_getBlockHash", unread) == {
            "code": -32602,
            "message": "Invalid params",
            "data": "data did not match any variant of untagged enum ListOrValue",
        }
    assert (await served_node.error("chain_getBlockHash", [0] * 5000))["code"] == -32602


async def test_a_header_is_written_as_substrate_writes_it(served_node: Served) -> None:
    """Write a header as Substrate does, and None for an unknown block."""
    header = await served_node.call("chain_getHeader")
    assert list(header) == ["parentHash", "number", "stateRoot", "extrinsicsRoot", "digest"]
    assert header["number"] == "0x1"
    logs = header["digest"]["logs"]
    assert logs
    assert all(log.startswith("0x") for log in logs)
    mine: Header | None = served_node.node.chain.header(served_node.node.chain.best.hash)
    assert mine is not None
    assert header["stateRoot"] == "0x" + mine.state_root.hex()
    assert await served_node.call("chain_getHeader", UNKNOWN) is None
    genesis = await served_node.call("chain_getHeader", await served_node.call("chain_getBlockHash", 0))
    assert (genesis["number"], genesis["parentHash"]) == ("0x0", "0x" + "00" * 32)


async def test_a_block_has_its_extrinsics_and_justifications(served_node: Served) -> None:
    """Return a block with its extrinsics, and its justification where one is kept."""
    head = await served_node.call("dev_newBlock", {"finalize": True})
    signed_block = await served_node.call("chain_getBlock", head)
    assert signed_block["block"]["header"] == await served_node.call("chain_getHeader", head)
    assert signed_block["block"]["extrinsics"]
    engine, justification = signed_block["justifications"][0]
    assert bytes(engine) == b"FRNK"
    assert Justification.decode(bytes(justification)).commit.target_number == 2
    after = await served_node.call("dev_newBlock", {"finalize": True})
    following = await served_node.call("chain_getBlock", after)
    assert following["justifications"] is None
    for method in ("chain_getFinalizedHead", "chain_getFinalisedHead"):
        assert await served_node.call(method) == after
    assert await served_node.call("chain_getBlock", UNKNOWN) is None


async def test_new_heads_begin_with_the_present_one(served_node: Served) -> None:
    """Begin new heads with the present one, and end the subscription."""
    async with served_node.websocket() as ws:
        identity = (await ws.call("chain_subscribeNewHeads"))["result"]
        first = await ws.notification()
        assert (first["subscription"], first["result"]["number"]) == (identity, "0x1")
        await served_node.call("dev_newBlock")
        assert (await ws.notification())["result"] == await served_node.call("chain_getHeader")
        assert (await ws.call("chain_unsubscribeNewHeads", identity))["result"] is True


async def test_every_alias_of_a_subscription_works(served_node: Served) -> None:
    """Accept every alias of a subscription and of its end."""
    async with served_node.websocket() as ws:
        for name, ending in [
            ("subscribe_newHead", "unsubscribe_newHead"),
            ("chain_subscribeNewHead", "chain_unsubscribeNewHead"),
            ("chain_subscribeFinalisedHeads", "chain_unsubscribeFinalisedHeads"),
            ("chain_subscribeRuntimeVersion", "chain_unsubscribeRuntimeVersion"),
        ]:
            identity = (await ws.call(name))["result"]
            assert (await ws.notification())["subscription"] == identity
            assert (await ws.call(ending, identity))["result"] is True


async def test_a_fork_shows_in_all_heads_at_once_and_in_new_heads_when_it_wins(
    served_node: Served,
) -> None:
    """Send a fork's blocks to all heads at once, and to new heads only when it wins."""
    await served_node.call("dev_holdFinality")
    root = await served_node.call("chain_getHead")
    async with served_node.websocket() as ws:
        everything = (await ws.call("chain_subscribeAllHeads"))["result"]
        best = (await ws.call("chain_subscribeNewHeads"))["result"]
        state_roots: dict[str, list[str]] = {everything: [], best: []}

        async def read(count: int) -> None:
            for _ in range(count):
                message = await ws.notification()
                state_roots[message["subscription"]].append(message["result"]["stateRoot"])

        await read(2)
        main = await served_node.call("dev_newBlock")
        await read(2)
        fork = await served_node.call("dev_newBlock", {"parent": root})
        await read(1)
        assert await served_node.call("chain_getHead") == main
        winner = await served_node.call("dev_newBlock", {"parent": fork})
        await read(2)
        assert await served_node.call("chain_getHead") == winner
        assert await served_node.call("chain_getBlockHash", 2) == fork
        assert (len(state_roots[everything]), len(state_roots[best])) == (4, 3)


async def test_finalized_heads_come_one_by_one_in_order(served_node: Served) -> None:
    """Send finalized heads one by one, also when one step finalizes several."""
    await served_node.call("dev_holdFinality")
    async with served_node.websocket() as ws:
        await ws.call("chain_subscribeFinalizedHeads")
        assert (await ws.notification())["result"]["number"] == "0x0"
        for _ in range(3):
            await served_node.call("dev_newBlock")
        await served_node.call("dev_finalize")
        numbers = [(await ws.notification())["result"]["number"] for _ in range(4)]
        assert numbers == ["0x1", "0x2", "0x3", "0x4"]


async def test_only_the_first_of_a_period_and_set_changes_keep_their_justification(make_served: Any) -> None:
    """Keep the justifications of a period's first block and of set changes."""
    served = await make_served(pruning=2048)
    await served.call("dev_holdFinality")
    for _ in range(3):
        await served.call("dev_newBlock", {"finalize": True})
    changed = await served.call("dev_nextEpoch")
    await served.call("dev_finalize")
    numbers = {}
    best = int((await served.call("chain_getHeader"))["number"], 16)
    for number in range(1, best + 1):
        block = await served.call("chain_getBlock", await served.call("chain_getBlockHash", number))
        numbers[number] = block["justifications"]
    kept = [number for number, justifications in numbers.items() if justifications is not None]
    change = int((await served.call("chain_getHeader", changed))["number"], 16)
    assert kept[0] == 1
    assert kept[1:] == [block.number for block in served.node.store.set_changes(0, 9)]
    assert change in (kept[1], kept[1] + 1)


async def test_finality_is_proven_by_the_last_block_of_a_set_or_by_the_newest_final_one(
    served_node: Served,
) -> None:
    """Prove finality by the last block of a set, or by the newest final one."""
    await served_node.call("dev_holdFinality")
    assert await served_node.error("grandpa_proveFinality", 0) == {
        "code": 4,
        "message": "GRANDPA prove finality rpc failed: Block not covered by authority set changes",
    }
    await served_node.call("dev_nextEpoch")
    await served_node.call("dev_newBlock")
    target = await served_node.call("dev_finalize")
    (change,) = served_node.node.store.set_changes(0, 9)
    proof = bytes.fromhex((await served_node.call("grandpa_proveFinality", 1))[2:])
    assert proof[:32] == change.hash
    chain = served_node.node.chain
    chain_headers = [chain.header(chain.hash_at(number) or b"") for number in range(2, change.number + 1)]
    headers = b"".join(header.encode() for header in chain_headers if header is not None)
    assert proof.endswith(bytes([4 * len(chain_headers)]) + headers)
    proof = bytes.fromhex((await served_node.call("grandpa_proveFinality", change.number + 1))[2:])
    assert "0x" + proof[:32].hex() == target
    assert await served_node.error("grandpa_proveFinality", 99) == {
        "code": 4,
        "message": "GRANDPA prove finality rpc failed: Block not yet finalized",
    }


async def test_justifications_are_streamed(served_node: Served) -> None:
    """Stream justifications as they are made."""
    await served_node.call("dev_holdFinality")
    await served_node.call("dev_newBlock")
    async with served_node.websocket() as ws:
        await ws.call("grandpa_subscribeJustifications")
        target = await served_node.call("dev_finalize")
        encoded = bytes.fromhex((await ws.notification())["result"][2:])
        justification = Justification.decode(encoded)
        assert "0x" + justification.commit.target_hash.hex() == target


async def test_an_authority_returns_the_round_in_which_it_votes(served_node: Served) -> None:
    """Return the round in which the authority votes, with weights and missing voters."""
    await served_node.call("dev_holdFinality")
    state = await served_node.call("grandpa_roundState")
    voters = await served_node.node.chain.voters()
    keys = [ss58.encode(key) for key in sorted(key for key, _ in voters.authorities)]
    missing = {"currentWeight": 0, "missing": keys}
    total = len(keys)
    assert state == {
        "setId": 0,
        "best": {
            "round": 1,
            "totalWeight": total,
            "thresholdWeight": total - (total - 1) // 3,
            "prevotes": missing,
            "precommits": missing,
        },
        "background": [],
    }
    await served_node.call("dev_finalize")
    assert (await served_node.call("grandpa_roundState"))["best"]["round"] == 2
    await served_node.call("dev_nextEpoch")
    await served_node.call("dev_finalize")
    assert (await served_node.call("grandpa_roundState"))["setId"] == 1
