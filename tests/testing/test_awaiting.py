"""Awaited events of a scripted chain: each once, in the order of blocks, none passed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cfnode.core.scale.metadata import Metadata
from cfnode.testing.awaiting import MAX_SEARCHED_BLOCKS, Cursor, advance_to, begin, revert, snapshot
from cfnode.testing.dev_calls import Event
from cfnode.testing.errors import NotReached
from tests.sdk.scripted import NODE, Script, session

NAMES = ("Paid", "Swapped")
BLOCKS = st.lists(st.lists(st.sampled_from(NAMES), max_size=4), max_size=8)


class Chain(Script):
    """A chain whose later blocks have known events; a block's hash is the number of its fork and its own."""

    def __init__(self, blocks: list[list[str]], later: list[list[str]]) -> None:
        super().__init__()
        self.blocks, self.later, self.fork = [[], *blocks], list(later), 0
        self.forks = [0] * len(self.blocks)
        self.session = session()
        known = SimpleNamespace(pallets=[SimpleNamespace(name="Swapping")], event_names=lambda pallet: NAMES)
        self.session.metadata[NODE, 1] = cast("Metadata", known)

    @property
    def best(self) -> int:
        """The number of the best block."""
        return len(self.blocks) - 1

    def add(self) -> str:
        """Add the next known block; return its hash."""
        self.blocks.append(self.later.pop(0) if self.later else [])
        self.forks.append(self.fork)
        return self.hash(self.best)

    def hash(self, number: int) -> str:
        """Return the hash of a block."""
        return f"0x{self.forks[number]:02x}{number:062x}"

    def restore(self, number: int) -> str:
        """Remove the blocks above this one; return its hash."""
        self.fork += 1
        del self.blocks[number + 1 :], self.forks[number + 1 :]
        return self.hash(number)

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request["id"], "result": self._result(**request)}

    def _result(self, method: str, params: list[Any], **_: Any) -> Any:
        match method:
            case "chain_getHeader":
                return {"number": hex(self.best)}
            case "chain_getBlockHash":
                return self.hash(params[0] if params else self.best)
            case "dev_newBlock":
                return self.add()
            case "dev_events":
                names = self.blocks[int(params[0][4:], 16)]
                return [
                    {"pallet": "Swapping", "name": name, "fields": place} for place, name in enumerate(names)
                ]
            case "state_getRuntimeVersion":
                return {"specVersion": 1}
            case "dev_snapshot":
                return hex(self.best)
            case "dev_revert":
                return self.restore(int(params[0], 16))
        raise AssertionError(method)

    def awaited(self, cursor: Cursor, name: str, blocks: int = 10) -> tuple[int, int] | None:
        """Return block and index of the next event; None if it does not occur."""
        try:
            event: Event = self.run(advance_to(cursor, "Swapping", name, blocks), self.session)
        except NotReached:
            return None
        assert event["name"] == name
        return int(event["block"][4:], 16), event["fields"]


@given(BLOCKS, BLOCKS, st.lists(st.sampled_from(NAMES), max_size=12))
@example([["Paid", "Swapped", "Paid"]], [], ["Swapped", "Paid", "Paid", "Paid"])
def test_each_event_is_returned_once_and_none_is_passed_over(
    blocks: list[list[str]], later: list[list[str]], names: list[str]
) -> None:
    """Return each event once, the earliest that was not returned, and pass over none."""
    chain, cursor = Chain(blocks, later), Cursor()
    start, returned = chain.best, set[tuple[int, int]]()
    for name in names:
        place = chain.awaited(cursor, name)
        left = {
            (number, index)
            for number in range(start, chain.best + 1)
            for index, event in enumerate(chain.blocks[number])
            if event == name and (number, index) not in returned
        }
        assert place == min(left, default=None)
        if place is not None:
            returned.add(place)
            start = place[0]


@given(BLOCKS, BLOCKS, st.sampled_from(NAMES))
def test_nothing_before_the_beginning_is_returned(
    blocks: list[list[str]], later: list[list[str]], name: str
) -> None:
    """Return no event of a block before the cursor began."""
    chain, cursor = Chain(blocks, later), Cursor()
    chain.run(begin(cursor), chain.session)
    first = chain.best + 1
    place = chain.awaited(cursor, name)
    assert place is None or place[0] >= first
    assert (place is None) == all(name not in block for block in chain.blocks[first:])


def test_a_revert_restores_the_place_and_what_follows_is_awaited_anew() -> None:
    """Restore the place with a revert, and await anew what follows."""
    chain, cursor = Chain([["Paid"]], [["Paid"], ["Paid"]]), Cursor()
    assert chain.awaited(cursor, "Paid") == (1, 0)
    number = chain.run(snapshot(cursor), chain.session)
    assert [chain.awaited(cursor, "Paid") for _ in range(2)] == [(2, 0), (3, 0)]
    chain.later = [["Swapped", "Paid"]]
    chain.run(revert(cursor, number), chain.session)
    assert chain.awaited(cursor, "Paid") == (2, 1)


@pytest.mark.parametrize("blocks_after", [0, 1, 5])
def test_after_another_clients_revert_the_search_goes_on_at_the_cursors_height(blocks_after: int) -> None:
    """Go on at the cursor's height after another client's revert."""
    chain, cursor = Chain([["Paid"], [], ["Paid"]], []), Cursor()
    assert chain.awaited(cursor, "Paid") == (3, 0)
    chain.restore(1)
    chain.later = [["Swapped"], ["Paid"], ["Paid"], [], [], []]
    for _ in range(blocks_after):
        chain.add()
    assert chain.awaited(cursor, "Paid") == (3, 0)


def test_a_search_begins_not_further_back_than_the_node_keeps_states() -> None:
    """Search no further back than the node keeps states."""
    chain, cursor = Chain([["Paid"]], [["Swapped"]]), Cursor()
    assert chain.awaited(cursor, "Paid") == (1, 0)
    for _ in range(MAX_SEARCHED_BLOCKS + 1):
        chain.add()
    asked = len(chain.requests)
    assert chain.awaited(cursor, "Swapped", blocks=0) == (2, 0)
    chain.add()
    assert chain.awaited(cursor, "Paid", blocks=0) is None
    searched = {
        request["params"][0] for request in chain.requests[asked:] if request["method"] == "dev_events"
    }
    assert chain.hash(1) not in searched
