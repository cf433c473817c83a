"""Watched keys in one piece of bytes: found again, in order, in little memory."""

from __future__ import annotations

import os
import random
import sys
from array import array

from cfnode.rpc.substrate.watched_keys import WatchedKeys


def test_each_key_is_found_at_its_first_place_and_no_other_is() -> None:
    """Find each key at its first place, and no other key."""
    chance = random.Random(7)
    keys = [chance.randbytes(chance.randrange(40)) for _ in range(500)]
    keys += chance.sample(keys, 50)
    watched = WatchedKeys(keys)
    assert list(watched) == keys
    assert (watched[7:300:9], watched[-1], watched[540:]) == (keys[7:300:9], keys[-1], keys[540:])
    assert [watched.place(key) for key in keys] == [keys.index(key) for key in keys]
    others = {chance.randbytes(12) for _ in range(500)} - set(keys)
    assert {watched.place(key) for key in others} == {None}
    assert list(WatchedKeys([])) == []
    assert WatchedKeys([]).place(b"") is None
    assert WatchedKeys([b""]).place(b"") == 0


def test_keys_of_one_hash_are_distinguished() -> None:
    """Distinguish keys of one hash by their bytes."""
    watched = WatchedKeys([b"first", b"second"])
    watched._hashes = array("q", [hash(b"second")] * 2)
    watched._places = array("Q", [0, 1])
    assert watched.place(b"second") == 1


def test_a_key_takes_little_more_than_its_bytes() -> None:
    """Take little more memory than the keys' own bytes."""
    watched = WatchedKeys([os.urandom(32) for _ in range(4096)])
    size = sum(sys.getsizeof(getattr(watched, name)) for name in WatchedKeys.__slots__)
    assert size < 4096 * (32 + 32)
