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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.model import ChainSpec, RawGenesis
from cfnode.core.chainspec.rewriting import AnyOf, ItemContent, Part, Present, Rewritten, rewrite
from cfnode.core.scale import ScaleError, encode_compact
from cfnode.core.scale.metadata import Metadata
from cfnode.core.state import GRANDPA_AUTHORITIES, LAST_SEEN_SLOT

__all__ = ["AUTHORITY_FUNDS", "Rewritten", "SpecAuthority", "with_authorities"]

AUTHORITY_FUNDS = 10_000 * 10**18
"""FLIP atoms of each authority's account."""


@dataclass(frozen=True, slots=True)
class SpecAuthority:
    """An authority: its sr25519 key, which is its account too, and its ed25519 key."""

    aura: bytes
    grandpa: bytes


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
    present = Present(metadata, top)
    try:
        for name, changes in _items(present, chosen):
            rewritten.append(rewrite(top, metadata, metadata.storage(*name), changes))
        if forget_time and present.has("Timestamp", "Now"):
            rewritten.append(rewrite(top, metadata, metadata.storage("Timestamp", "Now"), ItemContent({})))
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


def _items(
    present: Present, authorities: tuple[SpecAuthority, ...]
) -> Iterator[tuple[tuple[str, str], ItemContent]]:
    """Yield the items that this runtime has, in the order of their pallets, with their new content."""
    for pallet_items in (_beginning, _consensus, _session, _validators, _accounts, _penalties):
        for name, change in pallet_items(present, authorities):
            if present.has(*name):
                yield name, change


_OF_ONE_CHAIN = (
    ("System", "Number", "ParentHash", "BlockHash", "Digest", "Events", "EventCount", "EventTopics"),
    ("Aura", "CurrentSlot"),
    ("Validator", "CurrentEpochStartedAt"),
    ("Emissions", "LastSupplyUpdateBlock"),  # subtracted from the block's number, and that wraps around
    ("LiquidityProvider", "StatsLastUpdatedAt"),
)


def _beginning(present: Present, _authorities: tuple[SpecAuthority, ...]) -> Part:
    """Yield the removal of the chain's own blocks and slots, so that a later state can begin a chain."""
    if not present.has("System", "Number") or not present.value("System", "Number"):
        return
    for pallet, *items in _OF_ONE_CHAIN:
        for item in items:
            yield (pallet, item), ItemContent({})


def _consensus(_present: Present, authorities: tuple[SpecAuthority, ...]) -> Part:
    yield ("Aura", "Authorities"), ItemContent({(): [authority.aura for authority in authorities]})
    yield ("Grandpa", "Authorities"), ItemContent({(): [(authority.grandpa, 1) for authority in authorities]})
    yield ("Grandpa", "CurrentSetId"), ItemContent({(): 0})
    for pending in ("PendingChange", "NextForced", "Stalled", "GrandpaVoteDelegations", "GrandpaDelegators"):
        yield ("Grandpa", pending), ItemContent({})


def _session(_present: Present, authorities: tuple[SpecAuthority, ...]) -> Part:
    keys = {
        authority.aura: {"aura": authority.aura, "grandpa": authority.grandpa} for authority in authorities
    }
    owners: dict[tuple[Any, ...], bytes] = {}
    for authority in authorities:
        owners[((b"aura", authority.aura),)] = owners[((b"gran", authority.grandpa),)] = authority.aura
    yield ("Session", "Validators"), ItemContent({(): list(keys)})
    yield ("Session", "QueuedKeys"), ItemContent({(): list(keys.items())})
    yield ("Session", "QueuedChanged"), ItemContent({})
    yield ("Session", "DisabledValidators"), ItemContent({})
    yield ("Session", "NextKeys"), ItemContent({(account,): pair for account, pair in keys.items()})
    yield ("Session", "KeyOwner"), ItemContent(owners)


def _validators(present: Present, authorities: tuple[SpecAuthority, ...]) -> Part:
    if not present.has("Validator", "CurrentEpoch"):
        return
    epoch = present.value("Validator", "CurrentEpoch")
    accounts = [authority.aura for authority in authorities]
    yield ("Validator", "CurrentAuthorities"), ItemContent({(): accounts})
    yield ("Validator", "HistoricalAuthorities"), ItemContent({(epoch,): accounts}, keep=True)
    yield (
        ("Validator", "AuthorityIndex"),
        ItemContent({(epoch, account): index for index, account in enumerate(accounts)}),
    )
    bond = present.value("Validator", "Bond") if present.has("Validator", "Bond") else 0
    active = AnyOf(([(epoch, bond)], [epoch]))  # runtimes from 2.0 on keep the bond too
    yield ("Validator", "HistoricalActiveEpochs"), ItemContent({(account,): active for account in accounts})
    yield ("Validator", "CurrentRotationPhase"), ItemContent({})  # the next authorities are not ours


def _accounts(present: Present, authorities: tuple[SpecAuthority, ...]) -> Part:
    accounts = [authority.aura for authority in authorities]
    references = {"providers": 1, "consumers": 1}
    yield (
        ("System", "Account"),
        ItemContent({(account_id,): references for account_id in accounts}, keep=True),
    )
    if present.has("Flip", "Account") and present.has("Flip", "TotalIssuance"):
        balances = sum(present.balance(account_id) for account_id in set(accounts))
        issued = present.value("Flip", "TotalIssuance") + AUTHORITY_FUNDS * len(set(accounts)) - balances
        yield ("Flip", "TotalIssuance"), ItemContent({(): issued})
        yield (
            ("Flip", "Account"),
            ItemContent({(account_id,): {"balance": AUTHORITY_FUNDS} for account_id in accounts}, keep=True),
        )
    yield (
        ("AccountRoles", "AccountRoles"),
        ItemContent({(account_id,): "Validator" for account_id in accounts}, keep=True),
    )
    first = accounts[:1]
    council = AnyOf(({"members": first, "threshold": 1}, first))  # a list of members before 2.0
    yield ("Governance", "Members"), ItemContent({(): council})


def _penalties(present: Present, _authorities: tuple[SpecAuthority, ...]) -> Part:
    """Yield penalties of zero for missed slots.

    A development chain leaves slots out by design, and the list of suspensions makes each one dearer.
    """
    offence, penalty = ("MissedAuthorshipSlot",), {"reputation": 0, "suspension": 0}
    if present.takes("Reputation", "Penalties", offence, penalty):
        yield ("Reputation", "Penalties"), ItemContent({offence: penalty}, keep=True)
