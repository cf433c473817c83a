"""A pallet is declared once; storage, events, errors and dispatch follow from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.core.hashing import twox_64, twox_128
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    Composition,
    Cost,
    DispatchError,
    ErrorSet,
    EventSet,
    Map,
    OptionalDoubleMap,
    OptionalValue,
    Origin,
    Pallet,
    PalletStorage,
    Value,
    call,
    event,
    part,
)
from cfnode.devchain.runtime.frame.expressions import TypeLanguageError, describe, parse, parse_variant
from cfnode.devchain.runtime.frame.table import TypeTable
from cfnode.devchain.runtime.frame.types import COMMON, enum, struct
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from tests.devchain.runtime.memory import MemoryHost

ALICE, BOB = b"A" * 32, b"B" * 32


class Purse(Pallet):
    """Coins of accounts."""

    index = 200
    crate = "test_purse"
    names = {"Owner": "AccountId32"}

    Coins = Map("Twox64Concat", "Owner", "u128")
    Limit = Value("u128", default=1_000)
    Patron = OptionalValue("Owner")
    Debts = OptionalDoubleMap("Identity", "Owner", "Twox64Concat", "Owner", "u64")

    class Event(EventSet):
        """Events of a purse."""

        Earned = event(0, who="Owner", amount="u128")
        Robbed = event(3, "Owner")
        Closed = event(4)

    class Error(ErrorSet):
        """Two errors with one text."""

        TooRich = "The purse is full."
        TooPoor = "The purse is full."

    @call(2, Cost(1_000), amount="Compact<u128>", from_="Owner")
    def earn(self, origin: Origin, amount: int, from_: bytes) -> None:
        """Put coins into the purse."""
        who = origin.ensure_signed()
        total = self.Coins.mutate(who, lambda coins: coins + amount)
        self.deposit(self.Event.Earned, who=who, amount=amount)
        self.ensure(total <= self.Limit.get(), self.Error.TooRich)


class SafeStorage(PalletStorage):
    """Storage of a safe."""

    Gold = Map("Identity", "Owner", "u64")
    Doors = Value("u8", default=2)

    class Event(EventSet):
        """Event of a safe."""

        Opened = event(0, who="Owner")

    class Error(ErrorSet):
        """Error of a safe."""

        Locked = "The safe is locked."


class SafeKeeping:
    """A call on that."""

    def __init__(self, safe: SafeStorage) -> None:
        self.safe = safe

    @call(7, who="Owner")
    def open(self, origin: Origin, who: bytes) -> None:
        """Open the safe for an account that has gold in it."""
        self.safe.ensure(self.safe.Gold.get(who), self.safe.Error.Locked)
        self.safe.deposit(self.safe.Event.Opened, who=who)


class Safe(Pallet):
    """A pallet of parts."""

    index = 201
    crate = "test_safe"
    names = {"Owner": "AccountId32"}

    storage = part(SafeStorage)
    keeping = part(SafeKeeping, storage)

    Key = OptionalValue("Owner")

    @call(3, amount="u64")
    def fill(self, origin: Origin, amount: int) -> None:
        """Put gold into the safe."""
        self.storage.Gold.put(origin.ensure_signed(), amount)


@pytest.fixture
def runtime() -> Iterator[Composition]:
    """Yield a runtime of two pallets in its first block."""
    composition = Composition([System, Purse, Safe], [], RELEASES[DEFAULT_RELEASE])
    with composition.on(MemoryHost()):
        composition.pallet(System).begin_block(1, bytes(32), values.Digest([]))
        yield composition


def test_an_absent_value_reads_as_its_default_and_an_optional_one_as_none(runtime: Composition) -> None:
    """Read an absent value as its default and an absent optional one as none."""
    purse = runtime.pallet(Purse)
    assert (purse.Limit.get(), purse.Patron.get(), purse.Coins.get(ALICE)) == (1_000, None, 0)
    assert purse.Limit.default_bytes == (1_000).to_bytes(16, "little")


def test_storage_keys_are_those_of_frame(runtime: Composition) -> None:
    """Place values under FRAME's own keys: other clients compute these."""
    runtime.pallet(Purse).Coins.put(ALICE, 7)
    key = twox_128(b"Purse") + twox_128(b"Coins") + twox_64(ALICE) + ALICE
    assert runtime.host.get(key) == (7).to_bytes(16, "little")


def test_maps_are_walked_in_storage_order_and_by_first_key(runtime: Composition) -> None:
    """Walk a map in the order of its keys in storage, whole or below its first key."""
    purse = runtime.pallet(Purse)
    for who, coins in ((ALICE, 1), (BOB, 2)):
        purse.Coins.put(who, coins)
    assert sorted(purse.Coins.items()) == [(ALICE, 1), (BOB, 2)]
    assert [who for who, _ in purse.Coins.items()] == sorted((ALICE, BOB), key=twox_64)
    purse.Debts.put(ALICE, BOB, 5)
    purse.Debts.put(BOB, ALICE, 6)
    assert list(purse.Debts.items(ALICE)) == [(BOB, 5)]
    assert list(purse.Debts.all()) == [(ALICE, BOB, 5), (BOB, ALICE, 6)]
    assert (purse.Debts.clear(BOB), purse.Debts.get(BOB, ALICE)) == (1, None)


def test_a_call_is_decoded_dispatched_and_leaves_its_event(runtime: Composition) -> None:
    """Decode and dispatch a call, with its value written and its event recorded."""
    encoded = bytes([200, 2]) + bytes([40]) + BOB
    value = runtime.call_codec.decode(encoded)
    assert value == ("Purse", ("earn", {"amount": 10, "from": BOB}))
    runtime.dispatch(value, Origin.signed(ALICE))
    assert runtime.pallet(Purse).Coins.get(ALICE) == 10
    assert runtime.pallet(System).Events.get() == [
        values.EventRecord(
            phase="Initialization", event=("Purse", ("Earned", {"who": ALICE, "amount": 10})), topics=[]
        )
    ]


def test_a_failed_call_undoes_its_writes_and_its_events(runtime: Composition) -> None:
    """Undo the writes and the events of a failed call."""
    value = ("Purse", ("earn", {"amount": 1_001, "from": BOB}))
    with pytest.raises(DispatchError, match="The purse is full") as failure:
        runtime.dispatch(value, Origin.signed(ALICE))
    assert failure.value.value == ("Module", {"index": 200, "error": b"\0\0\0\0"})
    assert runtime.pallet(Purse).Coins.get(ALICE) == 0
    assert runtime.pallet(System).Events.get() == []


def test_a_pallet_has_the_items_and_calls_of_its_parts_before_its_own(runtime: Composition) -> None:
    """Give a pallet the items and calls of its parts before its own, under its own prefix."""
    safe = runtime.pallet(Safe)
    assert list(safe.stored()) == ["Gold", "Doors", "Key"]
    assert safe.stored()["Gold"] is safe.storage.Gold is runtime.pallet(SafeStorage).Gold
    assert safe.storage.Doors.prefix == twox_128(b"Safe") + twox_128(b"Doors")
    assert {name: (call.index, call.docs) for name, call in safe.calls.items()} == {
        "open": (7, ("Open the safe for an account that has gold in it.",)),
        "fill": (3, ("Put gold into the safe.",)),
    }
    assert safe.keeping.safe is safe.storage


def test_a_call_is_dispatched_to_the_part_that_declares_it(runtime: Composition) -> None:
    """Dispatch a call to the part that declares it, with the pallet's index in its errors."""
    opening = runtime.call_codec.decode(bytes([201, 7]) + ALICE)
    with pytest.raises(DispatchError, match="The safe is locked") as failure:
        runtime.dispatch(opening, Origin.signed(BOB))
    assert failure.value.value == ("Module", {"index": 201, "error": b"\0\0\0\0"})
    runtime.dispatch(("Safe", ("fill", {"amount": 3})), Origin.signed(ALICE))
    runtime.dispatch(opening, Origin.signed(BOB))
    (record,) = runtime.pallet(System).Events.get()
    assert record.event == ("Safe", ("Opened", {"who": ALICE}))


def test_what_takes_no_part_in_a_runtime_is_named(runtime: Composition) -> None:
    """Name a part that this runtime does not have."""
    with pytest.raises(KeyError, match="this runtime has no TypeTable"):
        runtime.pallet(TypeTable)


def test_errors_with_the_same_text_stay_two_errors() -> None:
    """Keep two errors apart that have one text: their numbers go into the metadata."""
    assert [(error.name, error.value) for error in Purse.Error] == [("TooRich", 0), ("TooPoor", 1)]


def test_a_call_for_signers_refuses_others(runtime: Composition) -> None:
    """Refuse a call for signed origins from any other origin."""
    with pytest.raises(DispatchError, match="BadOrigin"):
        runtime.dispatch(("Purse", ("earn", {"amount": 1, "from": BOB})), Origin())


def test_accounts_come_and_go_with_their_references(runtime: Composition) -> None:
    """Keep an account while a consumer refers to it, and emit an event when it comes and goes."""
    system = runtime.pallet(System)
    system.inc_providers(ALICE)
    system.inc_consumers(ALICE)
    with pytest.raises(DispatchError, match="ConsumerRemaining"):
        system.dec_providers(ALICE)
    system.dec_consumers(ALICE)
    system.dec_providers(ALICE)
    assert not system.exists(ALICE)
    names = [record.event[1][0] for record in system.Events.get()]
    assert names == ["NewAccount", "KilledAccount"]


@pytest.mark.parametrize(
    "text", ["u8", "Vec<(AccountId32, u128)>", "[u8; 32]", "BTreeMap<H160, Option<[u16; 2]>>", "()"]
)
def test_an_expression_reads_back_as_it_was_written(text: str) -> None:
    """Describe a parsed type expression with the text that it was written in."""
    assert describe(parse(text)) == text


@pytest.mark.parametrize("text", ["", "Vec<", "Vec<u8", "(u8", "[u8]", "u8 u8", "5", "Vec<u8>>", "u8;"])
def test_a_malformed_expression_is_refused(text: str) -> None:
    """Refuse a malformed type expression."""
    with pytest.raises(TypeLanguageError):
        parse(text)


def test_variants_have_no_unnamed_or_named_fields() -> None:
    """Parse variants without fields, with unnamed and with named ones."""
    assert parse_variant("Max") == ("Max", ())
    assert parse_variant("Exact(u8)") == ("Exact", ((None, parse("u8")),))
    assert parse_variant("A{b: c::D<u8>}") == ("A", (("b", parse("c::D<u8>")),))


def test_an_unknown_type_is_named_with_the_expression_that_asks_for_it() -> None:
    """Name an unknown type with the expression that asks for it."""
    with pytest.raises(TypeLanguageError, match=r"'Vec<Nonsense>'.*'Nonsense'"):
        TypeTable(COMMON).id("Vec<Nonsense>")


def test_generic_and_recursive_types_have_one_row_for_each_use() -> None:
    """Give a generic or recursive type one row for each use, so that the table ends."""
    struct("test::Pair<A, B>", left="A", right="B", name="test::Pair")
    enum("test::Tree<T>", "Leaf(T)", "Node(Vec<test::Tree<T>>)", name="test::Tree")
    table = TypeTable(COMMON)
    assert table.id("test::Pair<u8, Bytes>") == table.id("test::Pair<u8, Vec<u8>>")
    tree = table.id("test::Tree<u8>")
    codec = table.registry.codec(tree)
    value = ("Node", [("Leaf", 1), ("Node", [])])
    assert codec.decode(codec.encode(value)) == value


def test_one_name_may_not_mean_two_types() -> None:
    """Refuse a second declaration of a type's name."""
    struct("test::Twice", "u8")
    with pytest.raises(TypeLanguageError, match="declared twice"):
        struct("test::other::Twice", "u8")
