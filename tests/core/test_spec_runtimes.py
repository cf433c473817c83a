"""Other authorities in states of today's runtimes: each item in the shape that its own metadata gives it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.chainspec import ChainSpecError, RawGenesis
from cfnode.core.chainspec.authorities import (
    AUTHORITY_FUNDS,
    Rewritten,
    with_authorities,
)
from cfnode.core.chainspec.shapes import described, empty, fitted
from cfnode.core.scale import ScaleError, TypeRegistry
from cfnode.core.scale.metadata import Metadata, StorageEntry, decode_metadata
from cfnode.core.scale.metadata.tables import PlainKind
from cfnode.core.scale.types import Composite, Field, PortableType, Primitive, Sequence, Variant, Variants
from cfnode.core.state import LAST_SEEN_SLOT
from tests.conftest import shared
from tests.core.live_state import (
    ACCOUNTS,
    AUTHORITIES,
    BOND,
    EPOCH,
    NOW,
    NUMBER,
    STRANGER,
    account,
    live_state,
    spec_of,
)


@pytest.fixture(scope="module", params=["20203", "20209", "20300"])
def metadata(request: pytest.FixtureRequest) -> Metadata:
    """Return the metadata of 2.2.3, of 2.2.9 and of 2.3.0."""
    path = shared("vectors", "chainflip", f"metadata-v15-{request.param}.scale")
    return decode_metadata(path.read_bytes())


class Copied:
    """The copy of a live state."""

    def __init__(self, metadata: Metadata, **flags: bool) -> None:
        self.metadata = metadata
        spec, self.done = with_authorities(spec_of(live_state(metadata)), metadata, AUTHORITIES, **flags)
        assert isinstance(spec.genesis, RawGenesis)
        self.top = spec.genesis.top

    def value(self, pallet: str, item: str, *keys: object) -> Any:
        """Return a storage item's value in the copy."""
        entry = self.metadata.storage(pallet, item)
        return entry.decode(self.top.get(entry.key(*keys)))


def test_the_first_authority_governs_alone(metadata: Metadata) -> None:
    """Make the first authority the only member of the council."""
    copied = Copied(metadata)
    assert copied.value("Governance", "Members") == {"members": ACCOUNTS[:1], "threshold": 1}
    assert Rewritten("Governance.Members", 1, 1) in copied.done


def test_every_item_of_the_authorities_is_theirs_alone(metadata: Metadata) -> None:
    """Write every item of the authorities anew, in the shape of each runtime, and keep earlier epochs."""
    copied = Copied(metadata)
    keys = [{"aura": authority.aura, "grandpa": authority.grandpa} for authority in AUTHORITIES]
    assert copied.value("Aura", "Authorities") == copied.value("Session", "Validators") == ACCOUNTS
    assert copied.value("Grandpa", "Authorities") == [(authority.grandpa, 1) for authority in AUTHORITIES]
    assert copied.value("Session", "QueuedKeys") == list(zip(ACCOUNTS, keys, strict=True))
    assert copied.value("Session", "QueuedChanged") is False
    assert [copied.value("Session", "NextKeys", account) for account in ACCOUNTS] == keys
    assert copied.value("Session", "NextKeys", STRANGER) is None
    assert copied.value("Validator", "CurrentAuthorities") == ACCOUNTS
    assert copied.value("Validator", "HistoricalAuthorities", EPOCH) == ACCOUNTS
    assert copied.value("Validator", "HistoricalAuthorities", EPOCH - 1) == [STRANGER]
    assert copied.value("Validator", "HistoricalActiveEpochs", ACCOUNTS[0]) == [(EPOCH, BOND)]
    assert copied.value("Validator", "AuthorityIndex", EPOCH, ACCOUNTS[1]) == 1
    assert copied.value("Validator", "CurrentRotationPhase") == "Idle"


def test_existing_accounts_keep_everything_unrelated_to_authorities(metadata: Metadata) -> None:
    """Keep an existing account's nonce and counters, and correct the total issuance by the new funds."""
    copied = Copied(metadata)
    old, new = (copied.value("System", "Account", account) for account in ACCOUNTS)
    assert (old["nonce"], old["sufficients"], old["providers"], old["consumers"]) == (7, 1, 1, 1)
    assert new == account(metadata) | {"providers": 1, "consumers": 1}
    assert copied.value("Flip", "Account", ACCOUNTS[0]) == {"balance": AUTHORITY_FUNDS, "bond": 0}
    assert copied.value("Flip", "Account", ACCOUNTS[1]) == {"balance": AUTHORITY_FUNDS, "bond": 2}
    assert copied.value("Flip", "TotalIssuance") == 90_000_000 * 10**18 + 2 * AUTHORITY_FUNDS - 3


def test_blocks_and_slots_are_forgotten_and_the_time_stays(metadata: Metadata) -> None:
    """Reset block numbers and slots for the new chain, and keep the time."""
    copied = Copied(metadata)
    assert copied.value("System", "Number") == 0
    assert copied.value("System", "BlockHash", NUMBER - 1) == bytes(32)
    assert copied.value("Aura", "CurrentSlot") == copied.value("Validator", "CurrentEpochStartedAt") == 0
    assert copied.value("Emissions", "LastSupplyUpdateBlock") == 0
    assert LAST_SEEN_SLOT not in copied.top
    assert Rewritten("AuraSlotExtraction.LastSeenSlot", 1, 0) in copied.done
    assert copied.value("Timestamp", "Now") == NOW
    assert "Timestamp.Now" not in {item.item for item in copied.done}


def test_a_missed_slot_is_not_punished_and_other_offences_are(metadata: Metadata) -> None:
    """Drop the penalty for missed slots, and keep those for other offences."""
    copied = Copied(metadata)
    assert copied.value("Reputation", "Penalties", "MissedAuthorshipSlot") == {
        "reputation": 0,
        "suspension": 0,
    }
    assert copied.value("Reputation", "Penalties", "GrandpaEquivocation") == {
        "reputation": 9,
        "suspension": 8,
    }
    assert Rewritten("Reputation.Penalties", 1, 1) in copied.done


def test_the_time_goes_where_that_is_wanted(metadata: Metadata) -> None:
    """Reset the time where that is asked for."""
    copied = Copied(metadata, forget_time=True)
    assert copied.value("Timestamp", "Now") == 0
    assert Rewritten("Timestamp.Now", 1, 0) in copied.done


def test_the_key_of_the_last_slot_is_that_of_the_runtime() -> None:
    """twox_128("AuraSlotExtraction") and twox_128("LastSeenSlot"), by another implementation."""
    assert LAST_SEEN_SLOT.hex() == "ac56b214382d772914db46f9c4a772eda7d533d63f25202626db56d673717380"


# --- shapes that no runtime has today


def reshaped(
    metadata: Metadata, pallet: str, item: str, *rows: PortableType, default: bytes = b"\0"
) -> Metadata:
    """Return the metadata with another type, the last of `rows`, for one plain item."""

    def entry(storage_entry: StorageEntry) -> StorageEntry:
        kind = PlainKind(rows[-1].id)
        return (
            replace(storage_entry, kind=kind, default=default)
            if storage_entry.name == item
            else storage_entry
        )

    pallets = tuple(
        replace(
            pallet_metadata,
            storage=replace(
                pallet_metadata.storage, entries=tuple(map(entry, pallet_metadata.storage.entries))
            ),
        )
        if pallet_metadata.name == pallet and pallet_metadata.storage is not None
        else pallet_metadata
        for pallet_metadata in metadata.pallets
    )
    return replace(metadata, registry=TypeRegistry((*metadata.registry.types, *rows)), pallets=pallets)


def council(metadata: Metadata, *fields: Field) -> Metadata:
    """Return the metadata with a council of these fields."""
    return reshaped(
        metadata,
        "Governance",
        "Members",
        PortableType(9_998, ("BTreeSet",), (), Composite((Field(None, 9_999),))),
        PortableType(9_999, (), (), Sequence(account_type(metadata))),
        PortableType(10_001, ("Mood",), (), Variants((Variant("Calm", (), 0),))),
        PortableType(10_002, (), (), Primitive("u16")),
        PortableType(10_000, ("Council",), (), Composite(fields)),
        default=b"\0\0",
    )


def account_type(metadata: Metadata) -> int:
    """Return the id of the type of accounts."""
    return metadata.registry.find("AccountId32").id


def written_members(metadata: Metadata, before: bytes | None = None) -> Any:
    """Return the council that is written into a state, which may have had one before."""
    top = {b":code": b"code"}
    item = metadata.storage("Governance", "Members")
    if before is not None:
        top[item.prefix] = before
    spec, _ = with_authorities(spec_of(top), metadata, AUTHORITIES)
    assert isinstance(spec.genesis, RawGenesis)
    return item.decode(spec.genesis.top[item.prefix])


MEMBERS, THRESHOLD = Field("members", 9_998), Field("threshold", 10_002)


def test_the_council_of_older_runtimes_is_a_list(metadata: Metadata) -> None:
    """Write the council of older runtimes as a list of accounts."""
    older = reshaped(
        metadata, "Governance", "Members", PortableType(9_999, (), (), Sequence(account_type(metadata)))
    )
    assert written_members(older) == ACCOUNTS[:1]


def test_a_field_that_is_not_known_keeps_its_value_or_is_empty(metadata: Metadata) -> None:
    """Keep the value of a field that this program does not know."""
    newer = council(metadata, MEMBERS, THRESHOLD, Field("quorum", 10_002))
    expected = {"members": ACCOUNTS[:1], "threshold": 1}
    default = newer.storage("Governance", "Members").value.encode(expected | {"quorum": 9})
    assert written_members(newer, default) == expected | {"quorum": 9}


def test_the_error_for_an_item_of_an_unknown_type_describes_the_type(metadata: Metadata) -> None:
    """Describe the type of an item that this program cannot write, and name the missing field."""
    with pytest.raises(
        ChainSpecError,
        match=r"Governance\.Members has a shape that this program does not know, "
        r"Council \{members: BTreeSet\(Vec<AccountId32>\), mood: Mood \{Calm\}\}: .*no field threshold",
    ):
        written_members(council(metadata, MEMBERS, Field("mood", 10_001)))


def test_what_has_no_empty_value_is_refused_by_name() -> None:
    """Refuse by name a type that has no empty value, and a type that contains itself."""
    registry = TypeRegistry(
        (
            PortableType(0, ("Mood",), (), Variants((Variant("Calm", (), 0),))),
            PortableType(1, (), (), Primitive("u8")),
            PortableType(2, ("Pair",), (), Composite((Field("number", 1), Field("mood", 0)))),
            PortableType(3, ("Loop",), (), Composite((Field("number", 1), Field("next", 3)))),
        )
    )
    with pytest.raises(ScaleError, match=r"Mood \{Calm\} has no empty value"):
        fitted(registry, 2, {"number": 1})
    assert fitted(registry, 2, {"number": 1, "mood": "Calm"}) == {"number": 1, "mood": "Calm"}
    with pytest.raises(ScaleError, match="types inside each other"):
        empty(registry, 3)
    assert (
        described(registry, 3)
        == "Loop {number: u8, next: Loop {number: u8, next: Loop {number: u8, next: Loop}}}"
    )
