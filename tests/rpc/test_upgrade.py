"""A live upgrade of the development chain: each block is answered by the runtime that it has."""

from __future__ import annotations

import pytest

from cfnode.core.hashing import twox_64, twox_128
from tests.rpc.conftest import MakeServed, Served, first_block
from tests.rpc.samples import BTC, ETH
from tests.rpc.sane import BTC_ADDRESS

BNB = {"chain": "Bsc", "asset": "BNB"}
REFUND = {"retry_duration": 10, "refund_address": "0x" + "5e" * 20, "min_price": "0x0"}
TRON = bytes([7])
MULTIPLE = "0x" + (twox_128(b"AssetBalances") + twox_128(b"RefundFeeMultiple") + twox_64(TRON) + TRON).hex()


@pytest.fixture
async def instant(make_served: MakeServed) -> Served:
    """Return a chain of 2.2.3 that seals a block as soon as a transaction is ready; the first is there."""
    return await first_block(await make_served(seal="instant", runtime="2.2.3"))


@pytest.mark.world
async def test_blocks_before_and_after_an_upgrade_are_answered_by_their_own_runtimes(
    instant: Served,
) -> None:
    """Answer blocks before and after an upgrade by their own runtimes, and refuse an older release."""
    async with instant.websocket() as client:
        await client.call("state_subscribeRuntimeVersion")
        assert (await client.notification())["result"]["specVersion"] == 20_203
        last = await instant.call("dev_upgrade", "2.2.9")
        assert (await client.notification())["result"]["specVersion"] == 20_209
    first = await instant.call("dev_newBlock")

    number = int((await instant.call("chain_getHeader", last))["number"], 16)
    parent = await instant.call("chain_getBlockHash", number - 1)
    versions = [await instant.call("state_getRuntimeVersion", at) for at in (parent, last, first)]
    assert [version["specVersion"] for version in versions] == [20_203, 20_209, 20_209]
    name = b"RefundFeeMultiple".hex()
    metadata = [await instant.call("state_getMetadata", at) for at in (parent, last, first)]
    assert [name in encoded for encoded in metadata] == [False, True, True]
    assert (
        await instant.node.chain.runtime_executing(bytes.fromhex(last[2:]))
    ).version.spec_version == 20_203
    assert "CodeUpdated" in [event["name"] for event in await instant.call("dev_events", last)]
    assert [await instant.call("state_getStorage", MULTIPLE, at) for at in (last, first)] == [
        None,
        "0x0f000000",
    ]
    assert await instant.call("cf_swap_rate_v2", ETH, BTC, hex(10**18), None, parent)

    before = await instant.error(
        "author_submitExtrinsic", "0x" + (await instant.signed_remark(spec_version=20_203)).hex()
    )
    assert before["code"] == 1010
    assert await instant.call("author_submitExtrinsic", "0x" + (await instant.signed_remark()).hex())
    assert await instant.call("broker_registerAccount")
    again = await instant.error("dev_upgrade", "2.2.9")
    assert (again["code"], "SpecVersionNeedsToIncrease" in again["message"]) == (-32024, True)
    assert (await instant.error("dev_upgrade", "2.2.8"))["code"] == -32602


@pytest.mark.world
async def test_a_broker_goes_on_across_an_upgrade_to_2_3_and_swaps_on_bsc(instant: Served) -> None:
    """Keep a broker working across an upgrade to 2.3, and swap on the chain that it brings."""
    await instant.call("broker_registerAccount")
    before = (await instant.call("chain_getHeader"))["number"]
    old = await instant.call("chain_getBlockHash", int(before, 16))
    await instant.call("dev_upgrade", "2.3.0")
    await instant.call("dev_newBlock")
    pools = [await instant.call("cf_available_pools", at) for at in (old, None)]
    assert [BNB in [pool["base"] for pool in pools_of_block] for pools_of_block in pools] == [False, True]

    channel = await instant.call(
        "broker_requestSwapDepositAddress", BNB, BTC, BTC_ADDRESS, 10, None, 0, None, REFUND
    )
    block = await instant.call("dev_deposit", channel["address"], BNB, hex(3 * 10**18))
    events = {(event["pallet"], event["name"]) for event in await instant.call("dev_events", block)}
    assert ("BscIngressEgress", "DepositFinalised") in events
    assert ("Swapping", "SwapRequested") in events
    quote = await instant.call("cf_swap_rate_v3", BNB, BTC, hex(10**18), 0, None, None, None, None, None)
    assert int(quote["output"], 16) > 0
