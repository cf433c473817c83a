"""A kept value is the one that the storage holds: under writes, rollbacks, forks and a full memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.hashing import blake2_128, twox_64, twox_128
from cfnode.core.scale import Codec
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Composition, DoubleMap, Map, OptionalMap, Pallet, Value
from cfnode.devchain.runtime.frame.kept import DECODED_ENTRY_BYTES, MAX_ENCODED_BYTES, KeptValues
from cfnode.devchain.runtime.frame.stored import Stored
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from cfnode.runtime.journal import Journal
from tests.runtime.memory_state import MemoryState

OWNERS = [bytes([index]) * 32 for index in range(4)]
FRESH = values.AccountInfo(nonce=0, consumers=0, providers=0, sufficients=0, data=())


class Chest(Pallet):
    """Items of every form."""

    index = 200
    crate = "test_chest"

    Number = Value[int]("u32", default=5)
    Account = Map[bytes, values.AccountInfo[int, tuple[()]]](
        "Blake2_128Concat", "AccountId32", "AccountInfo<u32, ()>"
    )
    Notes = OptionalMap[bytes, Sequence[tuple[int, bytes]]](
        "Blake2_128Concat", "AccountId32", "Vec<(u32, Bytes)>"
    )
    Debts = DoubleMap[int, bytes, int]("Twox64Concat", "u32", "Identity", "AccountId32", "u64")


def chest_of(kept: KeptValues) -> Composition:
    """Return a runtime with a chest that keeps decoded values in the given memory."""
    return Composition([System, Chest], [], RELEASES[DEFAULT_RELEASE], kept=kept)


class Chain:
    """Forks on one runtime. Each read is held against the bytes in the storage, decoded again."""

    def __init__(self, runtime: Composition) -> None:
        self.runtime, self.chest = runtime, runtime.pallet(Chest)
        self.forks = [Journal(MemoryState()), Journal(MemoryState())]
        self.now = 0

    @property
    def host(self) -> Journal:
        """The journal of the current fork."""
        return self.forks[self.now]

    def play(self, step: tuple[Any, ...]) -> None:
        """Play a step, then compare each read in a session of its own."""
        with self.runtime.on(self.host):
            getattr(self, f"on_{step[0]}")(*step[1:])
        with self.runtime.on(self.host):
            self.compare()

    def compare(self) -> None:
        """Assert that each read equals the decoded bytes of the storage."""
        chest = self.chest
        assert repr(chest.Number.get()) == repr(self.plain(chest.Number, 5))
        for owner in OWNERS:
            assert repr(chest.Account.get(owner)) == repr(self.plain(chest.Account, FRESH, owner))
            assert repr(chest.Notes.get(owner)) == repr(self.plain(chest.Notes, None, owner))
            assert repr(chest.Debts.get(7, owner)) == repr(self.plain(chest.Debts, 0, 7, owner))
        for owner, account in chest.Account.items():
            assert repr(account) == repr(self.plain(chest.Account, None, owner))

    def plain(self, item: Stored, default: object, *keys: Any) -> object:
        """Return the decoded value, without anything that the runtime keeps."""
        raw = self.host.get(self.key(item, *keys))
        return default if raw is None else codec_of(item).decode(raw)

    def key(self, item: Stored, *keys: Any) -> bytes:
        """Return the storage key of an item, computed here."""
        head = twox_128(b"Chest") + twox_128(item.name.encode())
        match keys:
            case (bytes(owner),):
                return head + blake2_128(owner) + owner
            case (int(number), bytes(owner)):
                encoded = number.to_bytes(4, "little")
                return head + twox_64(encoded) + encoded + owner
        return head

    def on_number(self, number: int) -> None:
        """Put the number."""
        self.chest.Number.put(number)

    def on_count(self, owner: bytes) -> None:
        """Increment the nonce of an account."""
        self.chest.Account.mutate(owner, lambda account: replace(account, nonce=account.nonce + 1))

    def on_note(self, owner: bytes, notes: Any) -> None:
        """Put the notes of an owner."""
        self.chest.Notes.put(owner, notes)

    def on_debt(self, owner: bytes, amount: int) -> None:
        """Put a debt."""
        self.chest.Debts.put(7, owner, amount)

    def on_remove(self, owner: bytes) -> None:
        """Take an account, and remove its notes and its debt."""
        taken = self.plain(self.chest.Account, FRESH, owner)
        assert self.chest.Account.take(owner) == taken
        self.chest.Notes.remove(owner)
        self.chest.Debts.remove(7, owner)

    def on_kill(self) -> None:
        """Remove the number."""
        self.chest.Number.kill()

    def on_clear(self) -> None:
        """Remove all accounts."""
        self.chest.Account.clear()

    def on_raw(self, owner: bytes, nonce: int) -> None:
        """Receive a write past the items, as set_storage makes it."""
        encoded = codec_of(self.chest.Account).encode(replace(FRESH, nonce=nonce))
        self.host.set(self.key(self.chest.Account, owner), encoded)

    def on_begin(self) -> None:
        """Begin a nested transaction."""
        self.host.begin()

    def on_commit(self) -> None:
        """Commit the innermost transaction, if there is one."""
        if self.host.depth:
            self.host.commit()

    def on_rollback(self) -> None:
        """Roll the innermost transaction back, if there is one."""
        if self.host.depth:
            self.host.rollback()

    def on_fork(self) -> None:
        """Go over to the other fork."""
        self.now = 1 - self.now


def codec_of(item: Stored) -> Codec:
    """Return the codec of an item."""
    return item.codec


owners = st.sampled_from(OWNERS)
notes = st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=3)), max_size=3)
steps = st.one_of(
    st.tuples(st.just("number"), st.integers(0, 6)),
    st.tuples(st.just("count"), owners),
    st.tuples(st.just("note"), owners, notes | notes.map(tuple)),
    st.tuples(st.just("debt"), owners, st.integers(0, 3)),
    st.tuples(st.just("remove"), owners),
    st.tuples(st.just("raw"), owners, st.integers(0, 3)),
    st.sampled_from([("kill",), ("clear",), ("begin",), ("begin",), ("commit",), ("rollback",), ("fork",)]),
)
RUNTIMES = {
    "keeps all": chest_of(KeptValues()),
    "keeps few": chest_of(KeptValues(3 * DECODED_ENTRY_BYTES)),
    "keeps none": chest_of(KeptValues(0)),
}


@pytest.mark.parametrize("name", RUNTIMES)
@given(played=st.lists(steps, max_size=30))
def test_a_read_gives_what_the_storage_holds(name: str, played: list[tuple[Any, ...]]) -> None:
    """Read what the storage holds after any steps, whether all values are kept, few or none."""
    chain = Chain(RUNTIMES[name])
    for step in played:
        chain.play(step)


def test_a_failed_call_leaves_the_value_before() -> None:
    """Restore a kept value with each rollback: a failed call must leave nothing behind."""
    runtime = chest_of(KeptValues())
    chest, host = runtime.pallet(Chest), Journal(MemoryState())
    with runtime.on(host):
        chest.Number.put(1)
        host.begin()
        chest.Number.put(2)
        host.begin()
        chest.Number.put(3)
        assert chest.Number.get() == 3
        host.rollback()
        assert chest.Number.get() == 2
        host.rollback()
        assert chest.Number.get() == 1


def decoder(calls: list[bytes]) -> Callable[[bytes], bytes]:
    """Return a decoder that records its calls."""

    def decode(data: bytes) -> bytes:
        calls.append(data)
        return data.upper()

    return decode


def test_a_value_is_decoded_once_for_its_bytes() -> None:
    """Decode a value once for its bytes, and again where they have changed."""
    kept, calls = KeptValues(), list[bytes]()
    reads = [kept.decoded(b"key", encoded, decoder(calls)) for encoded in (b"a", b"a", b"b", b"b", b"a")]
    assert reads == [b"A", b"A", b"B", b"B", b"A"]
    assert calls == [b"a", b"b", b"a"]


def test_a_full_memory_drops_what_came_first() -> None:
    """Drop the oldest value where the memory is full, and count its size."""
    kept, calls = KeptValues(2 * (DECODED_ENTRY_BYTES + 10)), list[bytes]()
    for key in (b"1", b"2", b"3", b"2", b"1"):
        assert kept.decoded(key, b"a", decoder(calls)) == b"A"
        assert kept.size == len(kept) * (DECODED_ENTRY_BYTES + 10)
    assert (len(calls), len(kept)) == (4, 2)


def test_a_very_large_value_is_not_kept() -> None:
    """Keep no value above the size limit: it would displace everything else."""
    kept, calls = KeptValues(), list[bytes]()
    kept.decoded(b"key", b"a", decoder(calls))
    for _ in range(2):
        assert (
            len(kept.decoded(b"key", bytes(MAX_ENCODED_BYTES + 1), decoder(calls))) == MAX_ENCODED_BYTES + 1
        )
    assert (len(calls), len(kept), kept.size) == (3, 0, 0)


def test_a_write_is_kept_as_it_would_be_read() -> None:
    """Only where a decoder could give nothing else: not for lists, which a writer may hold and change."""
    runtime = chest_of(KeptValues())
    chest = runtime.pallet(Chest)
    with runtime.on(Journal(MemoryState())):
        account = replace(FRESH, nonce=3)
        chest.Account.put(OWNERS[0], account)
        assert chest.Account.get(OWNERS[0]) is account
        held = [(1, b"one")]
        chest.Notes.put(OWNERS[0], held)
        held.append((2, b"two"))
        assert chest.Notes.get(OWNERS[0]) == [(1, b"one")]
        chest.Notes.put(OWNERS[0], ((1, b"one"),))
        assert chest.Notes.get(OWNERS[0]) == [(1, b"one")]


def test_the_keys_of_values_that_pass_a_test_are_found_after_each_change() -> None:
    """Find the keys of values that pass a test after each write, and test each value once."""
    runtime = chest_of(KeptValues())
    chest, calls = runtime.pallet(Chest), list[bytes]()

    def is_empty(notes: bytes) -> bool:
        calls.append(notes)
        return notes == b"\0"

    with runtime.on(Journal(MemoryState())):
        chest.Notes.put(OWNERS[0], [])
        chest.Notes.put(OWNERS[1], [(1, b"one")])
        for _ in range(2):
            assert list(chest.Notes.keys_where(is_empty)) == [OWNERS[0]]
        assert len(calls) == 2
        chest.Notes.put(OWNERS[1], [])
        chest.Notes.put(OWNERS[0], [(2, b"two")])
        assert list(chest.Notes.keys_where(is_empty)) == [OWNERS[1]]
        assert chest.Notes.get(OWNERS[0]) == [(2, b"two")]
