"""The budget of bytes over all clients: who is evicted, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cfnode.flow.byte_budget import ByteBudget


def test_the_holder_with_most_is_evicted_until_the_total_is_within_the_limit() -> None:
    """Evict the holder of most bytes until the total is within the limit, even if another one adds last."""
    gone: list[str] = []

    def evict(holder: str) -> None:
        gone.append(holder)
        budget.forget(holder)

    budget = ByteBudget[str](100, evict)
    for holder, size in (("light", 10), ("heavy", 50), ("heavier", 40)):
        budget.add(holder, size)
    assert (gone, budget.total) == ([], 100)
    budget.add("light", 60)
    assert (gone, budget.total) == (["light"], 90), "light has most now"
    budget.add("heavy", -50)
    budget.add("another", 70)
    assert (gone, budget.total, budget.held_by("heavy")) == (["light", "another"], 40, 0)


def test_a_holder_whose_tasks_have_yet_to_end_is_evicted_once_for_each_addition() -> None:
    """Evict a holder once for each addition while its tasks still end, and none for a decrease."""
    gone: list[str] = []
    budget = ByteBudget[str](100, gone.append)
    budget.add("heavy", 90)
    budget.add("light", 20)
    assert (gone, budget.total) == (["heavy"], 110)
    budget.add("light", -10)
    assert gone == ["heavy"], "a decrease evicts no holder"


def test_room_is_made_for_who_would_have_fewer_bytes_than_another() -> None:
    """Make room only for a holder that would then have fewer bytes than the one it displaces."""
    gone: list[str] = []
    budget = ByteBudget[str](100, gone.append)
    assert budget.make_room("first", 100)
    assert not budget.make_room("first", 101), "there is no other holder"
    budget.add("greedy", 80)
    assert not budget.make_room("greedy", 30)
    assert not budget.make_room("modest", 80), "it would have as much"
    assert (budget.make_room("modest", 20), gone) == (True, [])
    assert (budget.make_room("modest", 30), gone) == (True, ["greedy"])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-200, 200)), max_size=30))
def test_the_total_is_the_sum_and_never_above_the_limit(steps: list[tuple[str, int]]) -> None:
    """Keep the total at the sum of what is held, and never above the limit."""
    held: dict[str, int] = {}

    def evict(holder: str) -> None:
        del held[holder]
        budget.forget(holder)

    budget = ByteBudget[str](300, evict)
    for holder, wanted in steps:
        size = max(wanted, -held.get(holder, 0))
        held[holder] = held.get(holder, 0) + size
        budget.add(holder, size)
        assert budget.total == sum(held.values()) <= 300
        assert all(budget.held_by(peer) == size for peer, size in held.items())
