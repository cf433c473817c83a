"""A bounded dict drops its oldest entries."""

from __future__ import annotations

from cfnode.core.bounded import BoundedDict


def test_the_oldest_entry_is_dropped_when_the_capacity_is_exceeded() -> None:
    """Drop the oldest entry when one more than the capacity is put in."""
    kept = BoundedDict[str, int](2)
    kept["a"], kept["b"], kept["c"] = 1, 2, 3
    assert list(kept.items()) == [("b", 2), ("c", 3)]


def test_setting_an_entry_again_keeps_its_age_and_put_last_renews_it() -> None:
    """Keep an entry's age when it is set again; put_last makes it the youngest."""
    kept = BoundedDict[str, int](2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    assert list(kept) == ["a", "b"]
    kept.put_last("a", 4)
    assert list(kept.items()) == [("b", 2), ("a", 4)]


def test_setdefault_drops_the_oldest_entry_too() -> None:
    """Drop the oldest entry on setdefault as on assignment: no way of writing may exceed the capacity."""
    kept = BoundedDict[str, int](1)
    assert kept.setdefault("a", 1) == 1
    assert kept.setdefault("b", 2) == 2
    assert list(kept) == ["b"]
