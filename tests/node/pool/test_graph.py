"""The order and the exclusions of the pool's transactions."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.node.pool.errors import AlreadyImported, CycleDetected, PoolError, TooLowPriority
from cfnode.node.pool.graph import TransactionGraph
from cfnode.node.pool.transaction import Limit, PoolTransaction

PLENTY = Limit(1000, 1_000_000)


def tx(
    name: str,
    provides: str = "",
    requires: str = "",
    priority: int = 1,
    valid_till: int = 64,
    size: int = 10,
) -> PoolTransaction:
    """Return a transaction of the pool."""
    tags = [tuple(tag.encode() for tag in words.split()) for words in (requires, provides or name)]
    return PoolTransaction(name.encode(), bytes(size), priority, tags[0], tags[1], valid_till)


def names(graph: TransactionGraph) -> str:
    """Return the names of ready transactions, in their order."""
    return " ".join(transaction.hash.decode() for transaction in graph.ready())


def filled(*transactions: PoolTransaction) -> TransactionGraph:
    """Return a graph with these transactions."""
    graph = TransactionGraph()
    for transaction in transactions:
        graph.insert(transaction)
    return graph


def test_ready_ones_are_offered_by_priority_then_life_then_age() -> None:
    """Offer ready transactions by priority, then by remaining life, then by age."""
    graph = filled(
        tx("old"), tx("young"), tx("dying", valid_till=5), tx("rich", priority=9), tx("poor", priority=0)
    )
    assert names(graph) == "rich dying old young poor"


def test_a_transaction_with_high_priority_comes_after_those_that_it_requires() -> None:
    """Offer a transaction after those that it requires, whatever its priority."""
    graph = filled(tx("a0"), tx("a1", requires="a0", priority=50), tx("b0", priority=5))
    assert names(graph) == "b0 a0 a1"


def test_a_transaction_waits_in_the_future_until_its_tag_is_there() -> None:
    """Hold a transaction in the future until its tag is provided, and promote the whole chain then."""
    graph = TransactionGraph()
    assert graph.insert(tx("a2", requires="a1")).future
    assert graph.insert(tx("a1", requires="a0")).future
    assert (graph.ready_count, graph.future_count) == (0, 2)
    outcome = graph.insert(tx("a0"))
    assert outcome.promoted == [b"a1", b"a2"]
    assert names(graph) == "a0 a1 a2"
    assert (graph.future_count, graph.future_bytes) == (0, 0)


def test_a_transaction_is_inserted_only_once() -> None:
    """Insert a transaction once only."""
    graph = filled(tx("a0"), tx("f1", requires="f0"))
    for name in ("a0", "f1"):
        with pytest.raises(AlreadyImported):
            graph.insert(tx(name))


@pytest.mark.parametrize("priority", [1, 2])
def test_a_rival_needs_more_than_the_priority_of_the_old_one(priority: int) -> None:
    """Refuse a rival with no more than the old one's priority."""
    graph = filled(tx("old", provides="n0", priority=2))
    with pytest.raises(TooLowPriority) as refused:
        graph.insert(tx("new", provides="n0", priority=priority))
    assert (refused.value.old, refused.value.new) == (2, priority)
    assert str(refused.value) == f"TooLowPriority {{ old: 2, new: {priority} }}"
    assert names(graph) == "old"


def test_a_rival_with_higher_priority_replaces_and_the_dependent_stays() -> None:
    """Replace by a higher priority; what depends on the tag stays."""
    graph = filled(tx("old", provides="n0"), tx("next", provides="n1", requires="n0"))
    outcome = graph.insert(tx("new", provides="n0", priority=2))
    assert outcome.removed == [b"old"]
    assert names(graph) == "new next"


def test_a_rival_that_provides_fewer_tags_removes_the_dependents() -> None:
    """Remove the dependents with a transaction whose replacement lacks their tag."""
    graph = filled(tx("old", provides="n0 extra"), tx("next", provides="n1", requires="extra"))
    assert graph.insert(tx("new", provides="n0", priority=2)).removed == [b"old", b"next"]
    assert names(graph) == "new"


def test_replacing_two_needs_more_than_both_together() -> None:
    """Require more than the sum of both priorities to replace two."""
    graph = filled(tx("x", priority=3), tx("y", priority=3))
    with pytest.raises(TooLowPriority) as refused:
        graph.insert(tx("both", provides="x y", priority=6))
    assert refused.value.old == 6
    assert sorted(graph.insert(tx("both", provides="x y", priority=7)).removed) == [b"x", b"y"]


def test_a_promoted_transaction_may_not_replace_the_one_that_freed_it() -> None:
    """Refuse a transaction that a promoted one would replace: the two would never end."""
    graph = filled(tx("greedy", provides="n0", requires="go", priority=9))
    with pytest.raises(CycleDetected):
        graph.insert(tx("opener", provides="n0 go", priority=1))
    assert names(graph) == ""


def test_removing_a_transaction_removes_its_dependents() -> None:
    """Remove the dependents of a removed transaction."""
    graph = filled(tx("a0"), tx("a1", requires="a0"), tx("a2", requires="a1"), tx("b0"))
    assert [gone.hash for gone in graph.remove([b"a1"])] == [b"a1", b"a2"]
    assert names(graph) == "a0 b0"


def test_a_block_prunes_what_it_provides_and_all_before_it_and_promotes_the_next() -> None:
    """Prune what a block provides and what comes before it, and promote what waited for it."""
    graph = filled(tx("a0"), tx("a1", requires="a0"), tx("a3", requires="a2"), tx("b0"))
    outcome = graph.prune([b"a1", b"a2"])
    assert sorted(pruned.hash for pruned in outcome.pruned) == [b"a0", b"a1"]
    assert outcome.promoted == [b"a3"]
    assert names(graph) == "b0 a3"


def test_tags_of_the_last_two_blocks_still_count_as_provided() -> None:
    """Count the tags of the last two blocks as provided, and no older ones."""
    graph = TransactionGraph()
    graph.prune([b"a0"])
    graph.prune([])
    assert not graph.insert(tx("a1", requires="a0")).future
    graph.prune([])
    assert graph.insert(tx("other", requires="a0")).future


def test_over_the_limit_the_lowest_priority_and_newest_is_removed_with_its_dependents() -> None:
    """Remove the lowest priority and the newest over the limit, with its dependents."""
    graph = filled(
        tx("rich", priority=5), tx("old"), tx("young"), tx("follower", requires="young", priority=99)
    )
    assert graph.enforce_limits(Limit(3, 1000), PLENTY) == [b"young", b"follower"]
    assert names(graph) == "rich old"
    assert graph.enforce_limits(Limit(3, 10), PLENTY) == [b"old"]


def test_a_full_pool_looks_at_few_others_for_each_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under load each transaction would else cost a look at the thousands that wait."""
    count, newcomers, looks = 2_000, [tx(f"new-{number}") for number in range(100)], 0
    graph = filled(*(tx(f"old-{number}") for number in range(count)))
    priority = PoolTransaction.priority

    def look(transaction: PoolTransaction) -> int:
        nonlocal looks
        looks += 1
        return priority.__get__(transaction)  # type: ignore[attr-defined, no-any-return]

    monkeypatch.setattr(PoolTransaction, "priority", property(look))
    for newcomer in newcomers:
        graph.insert(newcomer)
        assert graph.enforce_limits(Limit(count, 1_000_000), PLENTY) == [newcomer.hash]
    assert looks <= 10 * len(newcomers)


def test_a_newcomer_costs_no_copy_of_what_recent_blocks_provided() -> None:
    """Insert without a copy of the tags of recent blocks: a flood would cost memory otherwise."""
    graph = TransactionGraph()
    graph.prune([f"tag {number}".encode() for number in range(50_000)])
    transaction = tx("new", requires="before")
    tracemalloc.start()
    try:
        graph.insert(transaction)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_over_the_future_limit_the_oldest_goes() -> None:
    """Remove the oldest future transaction over the limit."""
    graph = filled(tx("f1", requires="f0"), tx("g1", requires="g0"))
    assert graph.enforce_limits(PLENTY, Limit(1, 1000)) == [b"f1"]
    assert graph.futures() == [tx("g1", requires="g0")]


def test_a_later_validation_replaces_only_at_the_same_position() -> None:
    """Update a transaction only where its position stays."""
    graph = filled(tx("a0"))
    assert graph.refresh(tx("a0", valid_till=99))
    assert next(graph.ready()).valid_till == 99
    assert not graph.refresh(tx("a0", priority=2))
    assert not graph.refresh(tx("unknown"))


tags = st.lists(st.sampled_from("abcdef"), max_size=2, unique=True)
transactions = st.builds(
    lambda number, requires, provides, priority: PoolTransaction(
        number.to_bytes(2, "big"),
        bytes(3),
        priority,
        tuple(tag.encode() for tag in requires),
        tuple(tag.encode() for tag in provides) or (number.to_bytes(2, "big"),),
        64,
    ),
    st.integers(0, 65535),
    tags,
    tags,
    st.integers(0, 5),
)
steps = st.lists(
    st.one_of(
        transactions.map(lambda transaction: ("insert", transaction)),
        tags.map(lambda tags: ("prune", [tag.encode() for tag in tags])),
        st.integers(0, 8).map(lambda count: ("limit", count)),
        st.integers(0, 8).map(lambda index: ("remove", index)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_in_any_sequence_each_ready_transaction_is_offered_once_and_after_its_requirements(
    story: list[tuple[str, object]],
) -> None:
    """Offer each ready transaction once and after its requirements, in any sequence of steps."""
    graph = TransactionGraph()
    for step, value in story:
        if step == "insert":
            with contextlib.suppress(PoolError):
                graph.insert(value)  # type: ignore[arg-type]
        elif step == "prune":
            graph.prune(value)  # type: ignore[arg-type]
        elif step == "limit":
            worst = min(
                graph._ready.values(),
                key=lambda entry: (entry.transaction.priority, -entry.order),
                default=None,
            )
            is_full = graph.ready_count > value  # type: ignore[operator]
            removed = graph.enforce_limits(Limit(value, 1000), Limit(value, 1000))  # type: ignore[arg-type]
            assert not is_full or (worst is not None and removed[0] == worst.transaction.hash)
        else:
            waiting = [*graph.ready(), *graph.futures()]
            graph.remove([waiting[value].hash] if value < len(waiting) else [])  # type: ignore
        check(graph, in_order=all(step != "prune" for step, _ in story))


def check(graph: TransactionGraph, in_order: bool) -> None:
    """Assert the graph's counts, unique tags and, where asked for, its order."""
    ready = list(graph.ready())
    assert len({transaction.hash for transaction in ready}) == len(ready) == graph.ready_count
    assert sum(len(transaction.data) for transaction in ready) == graph.ready_bytes
    assert sum(len(transaction.data) for transaction in graph.futures()) == graph.future_bytes
    provided = [tag for transaction in ready for tag in transaction.provides]
    assert len(provided) == len(set(provided))
    provided_tags: set[bytes] = set()
    for transaction in ready:
        assert not in_order or set(transaction.requires) <= provided_tags
        provided_tags |= set(transaction.provides)
