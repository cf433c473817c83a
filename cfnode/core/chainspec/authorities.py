"""Copies of a raw chain specification with authorities whose keys we have.

The authorities of a copy can be replaced, so that we author its blocks: every storage item that names them is
rewritten, in the type that the metadata of the chain's own runtime gives it (`shapes`). Items that this
runtime does not have are left out. The rest of the state, and so the behaviour of the chain, is unchanged. In
the state of a later block than genesis, the items that count the chain's own blocks and slots are removed
too, so that another chain can begin there. The time of the last block stays unless the caller wants it
removed: the copy's first block has to be later.

FRAME pallets Aura, Grandpa and Session; Chainflip's Validator, AccountRoles, Flip and Governance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.model import ChainSpec, RawGenesis
from cfnode.core.chainspec.shapes import described, fitted
from cfnode.core.scale import NotInMetadataError, ScaleError, encode_compact
from cfnode.core.scale.metadata import Metadata, StorageItem
from cfnode.core.state import GRANDPA_AUTHORITIES, LAST_SEEN_SLOT

__all__ = ["AUTHORITY_FUNDS", "Rewritten", "SpecAuthority", "with_authorities"]

AUTHORITY_FUNDS = 10_000 * 10**18
"""FLIP atoms of each authority's account."""

_Rows = Mapping[tuple[Any, ...], Any]
"""Map keys to value; a plain item has the key ()."""


@dataclass(frozen=True, slots=True)
class SpecAuthority:
    """An authority: its sr25519 key, which is its account too, and its ed25519 key."""

    aura: bytes
    grandpa: bytes


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewritten storage item: the numbers of its old and of its new entries."""

    item: str
    removed: int
    written: int


def with_authorities(
    spec: ChainSpec, metadata: Metadata, authorities: Iterable[SpecAuthority], *, forget_time: bool = False
) -> tuple[ChainSpec, list[Rewritten]]:
    """Return the chain with these authorities, under a name of its own, and the items that were written.

    `forget_time`: remove the time of the state's last block, so that the copy may begin before it. Raises
    ChainSpecError where the genesis is not raw, or where one of the runtime's items has an unknown shape.
    """
    chosen = tuple(authorities)
    if not isinstance(spec.genesis, RawGenesis):
        raise ChainSpecError(spec.id, "genesis", "holds no state: a raw chain specification is needed")
    if not chosen:
        raise ChainSpecError(spec.id, "authorities", "are missing: a chain needs at least one")
    top = dict(spec.genesis.top)
    rewritten = [_write_grandpa_key(top, chosen), _remove_last_seen_slot(top)]
    present = _Present(metadata, top)
    try:
        for name, changes in _items(present, chosen):
            rewritten.append(_rewrite(top, metadata, metadata.storage(*name), changes))
        if forget_time and present.has("Timestamp", "Now"):
            rewritten.append(_rewrite(top, metadata, metadata.storage("Timestamp", "Now"), _Change({})))
    except ScaleError as error:
        raise ChainSpecError(spec.id, "genesis", str(error)) from error
    genesis = RawGenesis(top, spec.genesis.children)
    return _renamed(replace(spec, genesis=genesis)), rewritten


def _renamed(spec: ChainSpec) -> ChainSpec:
    """Return another chain, which must never be confused with, or connect to, the original one."""
    return replace(
        spec,
        name=f"{spec.name} (development)",
        id=f"{spec.id}-dev",
        chain_type="Development",
        boot_nodes=(),
        telemetry_endpoints=(),
        protocol_id=f"{spec.protocol_id}-dev" if spec.protocol_id else None,
        fork_blocks=(),
        bad_blocks=(),
    )


def _write_grandpa_key(top: dict[bytes, bytes], authorities: tuple[SpecAuthority, ...]) -> Rewritten:
    removed = int(GRANDPA_AUTHORITIES in top)
    votes = b"".join(authority.grandpa + (1).to_bytes(8, "little") for authority in authorities)
    top[GRANDPA_AUTHORITIES] = b"\x01" + encode_compact(len(authorities)) + votes
    return Rewritten(":grandpa_authorities", removed, 1)


def _remove_last_seen_slot(top: dict[bytes, bytes]) -> Rewritten:
    removed = int(top.pop(LAST_SEEN_SLOT, None) is not None)
    return Rewritten("AuraSlotExtraction.LastSeenSlot", removed, 0)


@dataclass(frozen=True, slots=True)
class _Change:
    """The new content of an item; `keep`: entries under other keys stay.

    A value of `_AnyOf` stands for several, of which each runtime takes one.
    """

    rows: _Rows
    keep: bool = False


@dataclass(frozen=True, slots=True)
class _AnyOf:
    """Alternative values of an item, in the types of several runtimes, newest first."""

    shapes: tuple[Any, ...]


class _Present:
    """The state before the change, decoded by the metadata."""

    def __init__(self, metadata: Metadata, top: Mapping[bytes, bytes]) -> None:
        self._metadata, self._top = metadata, top

    def has(self, pallet: str, item: str) -> bool:
        """Return whether the runtime has this item."""
        try:
            self._metadata.storage(pallet, item)
        except NotInMetadataError:
            return False
        return True

    def value(self, pallet: str, item: str, *keys: Any) -> Any:
        """Return the value of an item, or of an entry of a map; its default if it is absent.

        Raises ScaleError if the value has an unknown shape.
        """
        storage_item = self._metadata.storage(pallet, item)
        try:
            return storage_item.decode(self._top.get(storage_item.key(*keys)))
        except ScaleError as error:
            raise _unknown_shape(self._metadata, storage_item, error) from error

    def takes(self, pallet: str, item: str, keys: tuple[Any, ...], value: Any) -> bool:
        """Return whether the runtime has an entry with these keys and this value."""
        try:
            storage_item = self._metadata.storage(pallet, item)
            return bool(storage_item.key(*keys) and storage_item.value.encode(value))
        except ScaleError:
            return False

    def balance(self, account: bytes) -> int:
        """Return the FLIP atoms of an account."""
        value = self.value("Flip", "Account", account)
        return value.get("balance", 0) if isinstance(value, dict) else 0


def _items(
    present: _Present, authorities: tuple[SpecAuthority, ...]
) -> Iterator[tuple[tuple[str, str], _Change]]:
    """Yield the items that this runtime has, in the order of their pallets, with their new content."""
    for pallet_items in (_beginning, _consensus, _session, _validators, _accounts, _penalties):
        for name, change in pallet_items(present, authorities):
            if present.has(*name):
                yield name, change


_Part = Iterator[tuple[tuple[str, str], _Change]]


_OF_ONE_CHAIN = (
    ("System", "Number", "ParentHash", "BlockHash", "Digest", "Events", "EventCount", "EventTopics"),
    ("Aura", "CurrentSlot"),
    ("Validator", "CurrentEpochStartedAt"),
    ("Emissions", "LastSupplyUpdateBlock"),  # subtracted from the block's number, and that wraps around
    ("LiquidityProvider", "StatsLastUpdatedAt"),
)


def _beginning(present: _Present, _authorities: tuple[SpecAuthority, ...]) -> _Part:
    """Yield the removal of the chain's own blocks and slots, so that a later state can begin a chain."""
    if not present.has("System", "Number") or not present.value("System", "Number"):
        return
    for pallet, *items in _OF_ONE_CHAIN:
        for item in items:
            yield (pallet, item), _Change({})


def _consensus(_present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    yield ("Aura", "Authorities"), _Change({(): [authority.aura for authority in authorities]})
    yield ("Grandpa", "Authorities"), _Change({(): [(authority.grandpa, 1) for authority in authorities]})
    yield ("Grandpa", "CurrentSetId"), _Change({(): 0})
    for pending in ("PendingChange", "NextForced", "Stalled", "GrandpaVoteDelegations", "GrandpaDelegators"):
        yield ("Grandpa", pending), _Change({})


def _session(_present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    keys = {
        authority.aura: {"aura": authority.aura, "grandpa": authority.grandpa} for authority in authorities
    }
    owners: dict[tuple[Any, ...], bytes] = {}
    for authority in authorities:
        owners[((b"aura", authority.aura),)] = owners[((b"gran", authority.grandpa),)] = authority.aura
    yield ("Session", "Validators"), _Change({(): list(keys)})
    yield ("Session", "QueuedKeys"), _Change({(): list(keys.items())})
    yield ("Session", "QueuedChanged"), _Change({})
    yield ("Session", "DisabledValidators"), _Change({})
    yield ("Session", "NextKeys"), _Change({(account,): pair for account, pair in keys.items()})
    yield ("Session", "KeyOwner"), _Change(owners)


def _validators(present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    if not present.has("Validator", "CurrentEpoch"):
        return
    epoch = present.value("Validator", "CurrentEpoch")
    accounts = [authority.aura for authority in authorities]
    yield ("Validator", "CurrentAuthorities"), _Change({(): accounts})
    yield ("Validator", "HistoricalAuthorities"), _Change({(epoch,): accounts}, keep=True)
    yield (
        ("Validator", "AuthorityIndex"),
        _Change({(epoch, account): index for index, account in enumerate(accounts)}),
    )
    bond = present.value("Validator", "Bond") if present.has("Validator", "Bond") else 0
    active = _AnyOf(([(epoch, bond)], [epoch]))  # runtimes from 2.0 on keep the bond too
    yield ("Validator", "HistoricalActiveEpochs"), _Change({(account,): active for account in accounts})
    yield ("Validator", "CurrentRotationPhase"), _Change({})  # the next authorities are not ours


def _accounts(present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    accounts = [authority.aura for authority in authorities]
    references = {"providers": 1, "consumers": 1}
    yield ("System", "Account"), _Change({(account_id,): references for account_id in accounts}, keep=True)
    if present.has("Flip", "Account") and present.has("Flip", "TotalIssuance"):
        balances = sum(present.balance(account_id) for account_id in set(accounts))
        issued = present.value("Flip", "TotalIssuance") + AUTHORITY_FUNDS * len(set(accounts)) - balances
        yield ("Flip", "TotalIssuance"), _Change({(): issued})
        yield (
            ("Flip", "Account"),
            _Change({(account_id,): {"balance": AUTHORITY_FUNDS} for account_id in accounts}, keep=True),
        )
    yield (
        ("AccountRoles", "AccountRoles"),
        _Change({(account_id,): "Validator" for account_id in accounts}, keep=True),
    )
    first = accounts[:1]
    council = _AnyOf(({"members": first, "threshold": 1}, first))  # a list of members before 2.0
    yield ("Governance", "Members"), _Change({(): council})


def _penalties(present: _Present, _authorities: tuple[SpecAuthority, ...]) -> _Part:
    """Yield penalties of zero for missed slots.

    A development chain leaves slots out by design, and the list of suspensions makes each one dearer.
    """
    offence, penalty = ("MissedAuthorshipSlot",), {"reputation": 0, "suspension": 0}
    if present.takes("Reputation", "Penalties", offence, penalty):
        yield ("Reputation", "Penalties"), _Change({offence: penalty}, keep=True)


def _rewrite(top: dict[bytes, bytes], metadata: Metadata, item: StorageItem, change: _Change) -> Rewritten:
    try:
        rows = dict(_rows(top, metadata, item, change))
    except ScaleError as error:
        raise _unknown_shape(metadata, item, error) from error
    removed = [key for key in top if key.startswith(item.prefix) and (key in rows or not change.keep)]
    for key in removed:
        del top[key]
    top.update(rows)
    return Rewritten(f"{item.pallet}.{item.entry.name}", len(removed), len(rows))


def _unknown_shape(metadata: Metadata, item: StorageItem, error: ScaleError) -> ScaleError:
    shape = described(metadata.registry, item.value.type_id)
    name = f"{item.pallet}.{item.entry.name}"
    return ScaleError(f"{name} has a shape that this program does not know, {shape}: {error}")


def _rows(
    top: Mapping[bytes, bytes], metadata: Metadata, item: StorageItem, change: _Change
) -> Iterator[tuple[bytes, bytes]]:
    """Yield storage keys and values; raise ScaleError if the item's key or value is of another type."""
    for keys, value in change.rows.items():
        if len(keys) != len(item.keys):
            raise ScaleError(f"its key has {len(item.keys)} parts, not {len(keys)}")
        key = item.key(*keys)
        shapes = value.shapes if isinstance(value, _AnyOf) else (value,)
        yield key, _encoded(metadata, item, shapes, item.decode(top.get(key)))


def _encoded(metadata: Metadata, item: StorageItem, shapes: tuple[Any, ...], present: Any) -> bytes:
    """Return the encoding of the first of the values that fits the item's type; raise ScaleError."""
    faults: list[str] = []
    for shape in shapes:
        try:
            return item.value.encode(fitted(metadata.registry, item.value.type_id, shape, present))
        except ScaleError as error:
            faults.append(str(error))
    raise ScaleError("; ".join(faults))
