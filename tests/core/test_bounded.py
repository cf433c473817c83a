"""A bounded dict removes its oldest entries, and knows which those are."""

from __future__ import annotations

from cfnode.core.bounded import BoundedDict


def test_an_entry_beyond_the_capacity_removes_the_oldest() -> None:
    known = BoundedDict[str, int](2)
    for number, name in enumerate("abc"):
        known[name] = number
    assert dict(known) == {"b": 1, "c": 2}


def test_an_entry_that_is_written_again_is_the_newest() -> None:
    known = BoundedDict[str, int](2)
    known["a"] = known["b"] = 1
    known["a"] = 2
    known["c"] = 3
    assert dict(known) == {"a": 2, "c": 3}


def test_an_entry_that_is_used_is_the_newest_and_one_that_is_read_is_not() -> None:
    known = BoundedDict[str, int](2)
    known["a"], known["b"] = 1, 2
    assert (known.use("a"), known["b"], known.use("missing")) == (1, 2, None)
    known["c"] = 3
    assert list(known) == ["a", "c"]


def test_setdefault_and_update_keep_to_the_capacity() -> None:
    known = BoundedDict[int, int](3)
    known.setdefault(0, 0)
    known.update({number: number for number in range(1, 6)})
    assert list(known) == [3, 4, 5]
