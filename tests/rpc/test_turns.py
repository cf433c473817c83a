"""Turns in the rounds of the event loop: one in a round, and that of the client that has cost least."""

from __future__ import annotations

from itertools import pairwise

import pytest
import trio

from cfnode.flow.turns import GRACE_BYTES, STEP_BYTES, ClientTurn, Turns
from tests.support.waiting import LIMIT_S


async def steps(turn: ClientTurn, name: str, count: int, order: list[str], size: int = 0) -> None:
    """Take turns of a client, note each, and charge its size."""
    for _ in range(count):
        await turn.take()
        order.append(name)
        turn.charge(size)


async def rounds(until: trio.CancelScope, round_ends: list[int], order: list[str]) -> None:
    """Return the number of steps before each round of the loop."""
    while not until.cancel_called:
        round_ends.append(len(order))
        await trio.lowlevel.checkpoint()


async def test_one_client_goes_on_in_a_round() -> None:
    """Let one client take a step in a round of the loop."""
    turns, order, round_ends = Turns(), list[str](), list[int]()
    async with trio.open_nursery() as watch:
        watch.start_soon(rounds, watch.cancel_scope, round_ends, order)
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(steps, ClientTurn(turns), str(number), 5, order)
        watch.cancel_scope.cancel()
    assert len(order) == 100
    assert max(later - earlier for earlier, later in pairwise(round_ends)) == 1


async def test_a_client_that_asks_for_little_goes_before_those_that_ask_for_much() -> None:
    """Serve a client that asks for little before those that ask for much."""
    turns, order = Turns(), list[str]()
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(steps, ClientTurn(turns), f"large {number}", 10, order, 1_000_000)
        await trio.lowlevel.checkpoint()
        nursery.start_soon(steps, ClientTurn(turns), "small", 30, order, 0)
    last = max(place for place, name in enumerate(order) if name == "small")
    assert last <= 2 * 30 + 10, "at most every other turn was that of a large one"


async def test_who_comes_back_begins_a_little_below_the_cost_of_the_one_served_last() -> None:
    """Start a new or returning client a little below the present cost, not at zero.

    It would take all turns.
    """
    turns = Turns()
    idle, busy = ClientTurn(turns), ClientTurn(turns)
    for _ in range(10):
        await busy.take()
        busy.charge(1_000_000)
    assert turns.level == 9 * (1_000_000 + STEP_BYTES) - GRACE_BYTES
    idle.charge(0)
    assert idle.cost == turns.level + STEP_BYTES
    assert ClientTurn(turns).cost == turns.level


async def test_a_client_that_disconnects_while_it_waits_does_not_block_the_next_turn() -> None:
    """Pass the turn on when the client in line has left."""
    turns, order = Turns(), list[str]()
    with trio.move_on_after(0) as gone:
        await ClientTurn(turns).take()
    assert gone.cancelled_caught
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(steps, ClientTurn(turns), "leaves", 100, order)
            nursery.start_soon(steps, ClientTurn(turns), f"stays {number}", 1, order)
        await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    with trio.fail_after(LIMIT_S):
        await steps(ClientTurn(turns), "later", 3, order)
    assert order[-3:] == ["later"] * 3


@pytest.mark.parametrize("size", [0, 10])
async def test_without_others_a_turn_is_a_checkpoint(size: int) -> None:
    """Take a turn at once where no other client waits."""
    turn = ClientTurn(Turns())
    await steps(turn, "alone", 3, [], size)
    assert turn.cost == 3 * (STEP_BYTES + size)
