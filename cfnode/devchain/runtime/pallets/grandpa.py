"""GRANDPA authorities, their set id and scheduled changes.

Grandpa (14): weighted voters and their set id. A change is announced in the header's digest and takes effect
when that very block is final (delay 0); the set id goes up by one (Polkadot spec, "GRANDPA", authority set
changes).
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.engines import GRANDPA
from cfnode.core.scale import encode_compact
from cfnode.core.state import GRANDPA_AUTHORITIES
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    ErrorSet,
    EventSet,
    Map,
    OptionalMap,
    OptionalValue,
    Pallet,
    Value,
    constant,
    event,
)

from .system import System

SCHEDULED_CHANGE = b"\x01"
KEPT_SESSIONS = 8


class Grandpa(Pallet):
    """Finality voters."""

    index = 14
    crate = "pallet_grandpa"

    State = Value[values.StoredState[int]]("StoredState<u32>")
    PendingChange = OptionalValue[values.StoredPendingChange[int]]("StoredPendingChange<u32>")
    NextForced = OptionalValue[int]("u32")
    Stalled = OptionalValue[tuple[int, int]]("(u32, u32)")
    CurrentSetId = Value[int]("u64")
    SetIdSession = OptionalMap[int, int]("Twox64Concat", "u64", "u32")
    Authorities = Value[Sequence[tuple[bytes, int]]]("WeakBoundedVec<(grandpa::Public, u64)>")
    GrandpaVoteDelegations = OptionalMap[bytes, bytes]("Identity", "grandpa::Public", "grandpa::Public")
    GrandpaDelegators = Map[bytes, Sequence[bytes]](
        "Identity", "grandpa::Public", "BoundedVec<grandpa::Public>"
    )

    class Event(EventSet):
        """Events of authority sets."""

        NewAuthorities = event(0, authority_set="Vec<(grandpa::Public, u64)>")
        Paused = event(1)
        Resumed = event(2)
        GrandpaVoteDelegated = event(3, delegator="grandpa::Public", delegate="grandpa::Public")
        GrandpaVoteDelegationRemoved = event(4, delegator="grandpa::Public")

    class Error(ErrorSet):
        """Errors of scheduled changes."""

        PauseFailed = (
            "Attempt to signal GRANDPA pause when the authority set isn't live (either paused or "
            "already pending pause)."
        )
        ResumeFailed = (
            "Attempt to signal GRANDPA resume when the authority set isn't paused (either live or "
            "already pending resume)."
        )
        ChangePending = "Attempt to signal GRANDPA change with one already pending."
        TooSoon = "Cannot signal forced change so soon after last."
        InvalidKeyOwnershipProof = (
            "A key ownership proof provided as part of an equivocation report is invalid."
        )
        InvalidEquivocationProof = (
            "An equivocation proof provided as part of an equivocation report is invalid."
        )
        DuplicateOffenceReport = "A given equivocation report is valid but already previously reported."
        SelfDelegation = "Cannot delegate to self."
        DelegateIsDelegator = "The delegate already has a delegation of its own (no chaining)."
        DelegatorIsDelegate = "The delegator is already a delegate for other keys (no chaining)."
        TooManyDelegators = "The delegate has reached the maximum number of delegators."
        DelegationAlreadyExists = "The delegator already has an active delegation."
        DelegationNotFound = "No delegation exists for this delegator."

    class Constant(ConstantSet):
        """Bounds of authorities and sessions."""

        MaxAuthorities = constant("u32", 150)
        MaxNominators = constant("u32", 0)
        MaxSetIdSessionEntries = constant("u64", KEPT_SESSIONS)
        MaxDelegatorsPerGrandpaAuthority = constant("u32", 5)

    def genesis(self, config: DevGenesis) -> None:
        """Store the first authority set, also under the key that warp sync reads."""
        voters = [(authority.grandpa, authority.weight) for authority in config.authorities]
        self.Authorities.put(voters)
        self.SetIdSession.put(0, 0)
        encoded = encode_compact(len(voters)) + b"".join(
            key + weight.to_bytes(8, "little") for key, weight in voters
        )
        # Where warp sync looks for the first set, on the main net too: version 1, then the list.
        self.runtime.host.set(GRANDPA_AUTHORITIES, b"\x01" + encoded)

    def rotate(self, number: int, session: int) -> None:
        """Schedule the change to the next set, which has the same voters, for this block."""
        self.PendingChange.put(
            values.StoredPendingChange(
                scheduled_at=number, delay=0, next_authorities=self.Authorities.get(), forced=None
            )
        )
        set_id = self.CurrentSetId.mutate(lambda set_id: set_id + 1)
        self.SetIdSession.put(set_id, session)
        if set_id >= KEPT_SESSIONS:
            self.SetIdSession.remove(set_id - KEPT_SESSIONS)

    def keep(self, session: int) -> None:
        """Let a session have the voters of the previous one."""
        self.SetIdSession.put(self.CurrentSetId.get(), session)

    def on_finalize(self, number: int) -> None:
        """Announce a scheduled change in the digest, and enact it after its delay."""
        pending_change = self.PendingChange.get()
        if pending_change is None:
            return
        if number == pending_change.scheduled_at:
            self._announce(pending_change.next_authorities, pending_change.delay)
        if number == pending_change.scheduled_at + pending_change.delay:
            self.Authorities.put(pending_change.next_authorities)
            self.deposit(self.Event.NewAuthorities, authority_set=pending_change.next_authorities)
            self.PendingChange.kill()

    def _announce(self, voters: Sequence[tuple[bytes, int]], delay: int) -> None:
        codec = self.codec("(Vec<(grandpa::Public, u64)>, u32)")
        log = SCHEDULED_CHANGE + codec.encode((voters, delay))
        self.other(System).log(values.DigestItemConsensus((GRANDPA, log)))
