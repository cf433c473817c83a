"""The index of a development chain's swaps: what it finds, what it forgets, what it looks back at."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from cfnode.core.block import BlockRef
from cfnode.devchain.config import DevConfig
from cfnode.devchain.swaps import index as swap_index
from cfnode.devchain.swaps.index import SwapIndex
from cfnode.node import restarts
from cfnode.swaps.record import Entry
from tests.node.live import channel, live_node, made, reach

ETHER = 10**18


async def test_a_deposit_is_found_by_all_its_names(tmp_path: Path) -> None:
    """Find a deposit by channel, transaction and swap request, and nothing under another number."""
    async with live_node(tmp_path, dev=DevConfig(seal="instant")) as node:
        await reach(node, 1)  # which pays the broker's account
        assert node.broker is not None
        await node.broker.register_account()
        opened = await node.broker.request_swap_deposit_address(channel())
        await made(node).control.witness_deposit(opened.address, "Eth", ETHER, b"\x07" * 32)
        await made(node).swaps.up_to_date()
        names = [event.name for event in made(node).swaps.find("channel", "Ethereum", opened.channel_id)]
        assert names == ["SwapDepositAddressReady", "SwapRequested", "DepositFinalised"]
        (event,) = made(node).swaps.find("transaction", b"\x07" * 32)
        assert (event.name, event.chain, event.block) == ("DepositFinalised", "Ethereum", node.chain.best)
        assert [event.name for event in made(node).swaps.find("request", 1)] == [
            "SwapRequested",
            "SwapScheduled",
            "DepositFinalised",
        ]
        assert made(node).swaps.find("request", 2) == []


async def test_an_index_that_begins_late_looks_back(tmp_path: Path) -> None:
    """Find events of blocks before the index began."""
    async with live_node(tmp_path, dev=DevConfig(seal="instant")) as node:
        await reach(node, 1)  # which pays the broker's account
        assert node.broker is not None
        await node.broker.register_account()
        opened = await node.broker.request_swap_deposit_address(channel())
        late = SwapIndex(node.chain)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(late.run)
            await late.up_to_date()
            assert late.find("channel", "Ethereum", opened.channel_id)
            nursery.cancel_scope.cancel()


async def test_an_error_in_the_index_costs_it_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Restart an index that failed, log the bug, and lose no block."""
    monkeypatch.setattr(restarts, "RESTART_PAUSE_S", 0.05)
    async with live_node(tmp_path, dev=DevConfig(seal="instant")) as node:
        await reach(node, 1)  # which pays the broker's account
        assert node.broker is not None
        read = made(node).swaps._read
        errors = [KeyError("a mistake")]

        async def failing(block: BlockRef) -> list[Entry]:
            if errors:
                raise errors.pop()
            return await read(block)

        monkeypatch.setattr(made(node).swaps, "_read", failing)
        await node.broker.register_account()
        opened = await node.broker.request_swap_deposit_address(channel())
        await made(node).swaps.up_to_date()
        assert made(node).swaps.find("channel", "Ethereum", opened.channel_id)
        assert "The index of swaps failed with a bug" in caplog.text


async def test_the_oldest_blocks_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the oldest blocks from the index once it is full."""
    monkeypatch.setattr(swap_index, "MAX_INDEX_ENTRIES", 6)
    async with live_node(tmp_path, dev=DevConfig(seal="instant")) as node:
        await reach(node, 1)  # which pays the broker's account
        assert node.broker is not None
        await node.broker.register_account()
        opened = [await node.broker.request_swap_deposit_address(channel()) for _ in range(5)]
        await made(node).swaps.up_to_date()
        known = [bool(made(node).swaps.find("channel", "Ethereum", channel.channel_id)) for channel in opened]
        assert known[0] is False
        assert known[-1] is True
