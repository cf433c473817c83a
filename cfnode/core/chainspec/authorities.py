"""How does a chain whose authorities are strangers become one that we can author ourselves?

A copy of its raw specification gets other authorities: every storage item that names them is written anew, as
the metadata of the chain's own runtime describes it. Items that this runtime does not have are left out.
The rest of the state, and so what the chain does, stays as it is. In the state of a later block than genesis,
what tells of the chain's own blocks and time goes too, so that another chain can begin there.

FRAME pallets Aura, Grandpa and Session; Chainflip's Validator, AccountRoles, Funding, Flip and Governance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.model import ChainSpec, RawGenesis
from cfnode.core.scale import NotInMetadataError, ScaleError, encode_compact
from cfnode.core.scale.metadata import Metadata, StorageItem
from cfnode.core.state import GRANDPA_AUTHORITIES

__all__ = ["FUNDS", "Rewritten", "SpecAuthority", "with_authorities"]

FUNDS = 10_000 * 10**18
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
    """A storage item that was written anew: how many entries it lost and how many it got."""

    item: str
    removed: int
    written: int


def with_authorities(
    spec: ChainSpec, metadata: Metadata, authorities: Iterable[SpecAuthority]
) -> tuple[ChainSpec, list[Rewritten]]:
    """The chain with these authorities, under a name of its own, and the items that were written.

    Raises ChainSpecError where the genesis is not raw, or where the runtime's items have another shape.
    """
    chosen = tuple(authorities)
    if not isinstance(spec.genesis, RawGenesis):
        raise ChainSpecError(spec.id, "genesis", "holds no state: a raw chain specification is needed")
    if not chosen:
        raise ChainSpecError(spec.id, "authorities", "are none: a chain needs at least one")
    top = dict(spec.genesis.top)
    done = [_write_grandpa_key(top, chosen)]
    try:
        for name, changes in _items(_Present(metadata, top), chosen):
            done.append(_rewrite(top, metadata.storage(*name), changes))
    except ScaleError as error:
        raise ChainSpecError(spec.id, "genesis", f"has authorities of an unknown shape: {error}") from error
    genesis = RawGenesis(top, spec.genesis.children)
    return _renamed(replace(spec, genesis=genesis)), done


def _renamed(spec: ChainSpec) -> ChainSpec:
    """Another chain, which must never be taken for, or meet, the one it comes from."""
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
    votes = b"".join(one.grandpa + (1).to_bytes(8, "little") for one in authorities)
    top[GRANDPA_AUTHORITIES] = b"\x01" + encode_compact(len(authorities)) + votes
    return Rewritten(":grandpa_authorities", removed, 1)


@dataclass(frozen=True, slots=True)
class _Change:
    """What an item is to hold; `keep`: entries under other keys stay."""

    rows: _Rows
    keep: bool = False


class _Present:
    """What the state says now, by the metadata."""

    def __init__(self, metadata: Metadata, top: Mapping[bytes, bytes]) -> None:
        self._metadata, self._top = metadata, top

    def has(self, pallet: str, item: str) -> bool:
        """Whether the runtime has this item."""
        try:
            self._metadata.storage(pallet, item)
        except NotInMetadataError:
            return False
        return True

    def value(self, pallet: str, item: str) -> Any:
        """The value of a plain item, its default where it is absent."""
        found = self._metadata.storage(pallet, item)
        return found.decode(self._top.get(found.prefix))

    def takes(self, pallet: str, item: str, value: Any) -> bool:
        """Whether the item can hold this value."""
        try:
            self._metadata.storage(pallet, item).value.encode(value)
        except ScaleError:
            return False
        return True

    def default(self, pallet: str, item: str) -> Any:
        """What stands for an absent entry."""
        return self._metadata.storage(pallet, item).decode(None)


def _items(
    present: _Present, authorities: tuple[SpecAuthority, ...]
) -> Iterator[tuple[tuple[str, str], _Change]]:
    """The items that this runtime has, in the order of their pallets, with what they are to hold."""
    for part in (_beginning, _consensus, _session, _validators, _accounts):
        for name, change in part(present, authorities):
            if present.has(*name):
                yield name, change


_Part = Iterator[tuple[tuple[str, str], _Change]]


_OF_ONE_CHAIN = (
    ("System", "Number", "ParentHash", "BlockHash", "Digest", "Events", "EventCount", "EventTopics"),
    ("Timestamp", "Now"),
    ("Aura", "CurrentSlot"),
)


def _beginning(present: _Present, _authorities: tuple[SpecAuthority, ...]) -> _Part:
    """The state of a later block can begin a chain once it has forgotten its own blocks and its time."""
    if not present.has("System", "Number") or not present.value("System", "Number"):
        return
    for pallet, *items in _OF_ONE_CHAIN:
        for item in items:
            yield (pallet, item), _Change({})


def _consensus(_present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    yield ("Aura", "Authorities"), _Change({(): [one.aura for one in authorities]})
    yield ("Grandpa", "Authorities"), _Change({(): [(one.grandpa, 1) for one in authorities]})
    yield ("Grandpa", "CurrentSetId"), _Change({(): 0})
    for pending in ("PendingChange", "NextForced", "Stalled", "GrandpaVoteDelegations", "GrandpaDelegators"):
        yield ("Grandpa", pending), _Change({})


def _session(_present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    keys = {one.aura: {"aura": one.aura, "grandpa": one.grandpa} for one in authorities}
    owners: dict[tuple[Any, ...], bytes] = {}
    for one in authorities:
        owners[((b"aura", one.aura),)] = owners[((b"gran", one.grandpa),)] = one.aura
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
    accounts = [one.aura for one in authorities]
    yield ("Validator", "CurrentAuthorities"), _Change({(): accounts})
    yield ("Validator", "HistoricalAuthorities"), _Change({(epoch,): accounts}, keep=True)
    yield (
        ("Validator", "AuthorityIndex"),
        _Change({(epoch, account): index for index, account in enumerate(accounts)}),
    )
    if present.has("Validator", "HistoricalActiveEpochs"):
        active: list[Any] = [epoch]
        if not present.takes("Validator", "HistoricalActiveEpochs", active):
            active = [(epoch, present.value("Validator", "Bond"))]  # runtimes from 2.0 on keep the bond too
        yield ("Validator", "HistoricalActiveEpochs"), _Change({(account,): active for account in accounts})


def _accounts(present: _Present, authorities: tuple[SpecAuthority, ...]) -> _Part:
    accounts = [one.aura for one in authorities]
    if present.has("System", "Account"):
        account = present.default("System", "Account") | {"providers": 1, "consumers": 1}
        yield ("System", "Account"), _Change({(one,): account for one in accounts}, keep=True)
    if present.has("Flip", "Account") and present.has("Flip", "TotalIssuance"):
        funded = present.default("Flip", "Account") | {"balance": FUNDS}
        yield ("Flip", "Account"), _Change({(one,): funded for one in accounts}, keep=True)
        issued = present.value("Flip", "TotalIssuance") + FUNDS * len(accounts)
        yield ("Flip", "TotalIssuance"), _Change({(): issued})
    yield (
        ("AccountRoles", "AccountRoles"),
        _Change({(one,): "Validator" for one in accounts}, keep=True),
    )
    yield ("Governance", "Members"), _Change({(): accounts[:1]})


def _rewrite(top: dict[bytes, bytes], item: StorageItem, change: _Change) -> Rewritten:
    rows = {item.key(*keys): item.value.encode(value) for keys, value in change.rows.items()}
    gone = [key for key in top if key.startswith(item.prefix) and (key in rows or not change.keep)]
    for key in gone:
        del top[key]
    top.update(rows)
    return Rewritten(f"{item.pallet}.{item.entry.name}", len(gone), len(rows))
