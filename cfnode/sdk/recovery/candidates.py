"""Search for the failed calls of an owner: an address, channel, swap, transaction or account.

The State Chain lists the calls on offer. An address is first compared with the receivers. For any other owner
the payouts of the swap are searched, in this order: in the events of the node's last blocks, at the swap
service, in the events of an archive node. A call matches a payout by broadcast or nonce if they are known,
and always by asset, amount and receiver: two swaps may pay one address. `fates.py` decides what became of
each payout, and which call makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from cfnode.sdk.calls import Call
from cfnode.sdk.errors import BackendError, SdkError, TransportError
from cfnode.sdk.exchange import Steps, origin_of, rpc
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.batch_logs import calls_for_batch
from cfnode.sdk.recovery.blocks import has_key_of_last_epoch
from cfnode.sdk.recovery.contracts import already_sent, unused
from cfnode.sdk.recovery.errors import NeedsArchive, NoSuchCall
from cfnode.sdk.recovery.fates import Fates
from cfnode.sdk.recovery.offered import Offer, being_signed, being_signed_again, on_offer
from cfnode.sdk.recovery.offered_call import CHAINS, chain_named
from cfnode.sdk.recovery.open_channels import payments_of_open_channel
from cfnode.sdk.recovery.owner import Account, Address, Batch, Channel, Owner, Swap, Transaction, read_owner
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.payments import Finding, Payment, fits, paying
from cfnode.sdk.recovery.search import MAX_RECENT, EventSearch, Progress, blocks_to_read
from cfnode.sdk.recovery.services import find_by_service, services
from cfnode.sdk.recovery.stored import MAX_UNSENT, pending_numbers, stored_calls, stored_numbers
from cfnode.swaps.journey import JourneyState

__all__ = ["Candidates", "FindCallsOf", "FindCallsOfBatch", "FindCandidates"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The matching calls, newest first, and the searched sources in order."""

    calls: tuple[Payload, ...]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class FindCandidates(Call[Candidates]):
    """Find the failed calls that belong to `owner`.

    `owner` is an address (of the receiver, or one deposited to), a deposit channel's id, a swap's id, a
    transaction (of the deposit, or of the batch that failed) or a State Chain account (`cF…`: a broker, or an
    account that requested a payout). Without `chain` all chains are searched. `archive` is an archive node of
    the State Chain. With `evm_url`, a node of the EVM chain, calls already paid are left out. `progress` is
    called with each part of a search.

    Raises ValidationError for a malformed owner, before any exchange; NoSuchCall if nothing of the owner has
    failed, with the reason; BeingSigned, Expired and AlreadySent if a payout has failed, and no call is left;
    NeedsArchive if no source knows the owner.
    """

    owner: str | int
    chain: str | None = None
    archive: str | None = None
    evm_url: str | None = None
    progress: Callable[[Progress], None] | None = None

    def steps(self, session: ClientSession) -> Steps[Candidates]:
        """Search all chains, or one, for the failed calls of an owner."""
        owner = read_owner(self.owner)
        chains = tuple(CHAINS.values()) if self.chain is None else (chain_named(self.chain),)
        search = _Search(session, owner, chains, self.archive, self.evm_url, self.progress)
        return (yield from search.steps())


@dataclass(frozen=True)
class FindCallsOfBatch(Call[Candidates]):
    """Find the calls of a broadcast, by its number, that the State Chain does not offer by this number.

    These are the failed calls for the transfers of a batch, an aborted batch itself, and a call that the
    State Chain has given up, if the vault still has the key that signed it. `progress` is called with each
    part of a search.
    """

    chain: str
    broadcast_id: int
    archive: str | None = None
    evm_url: str | None = None
    progress: Callable[[Progress], None] | None = None

    def steps(self, session: ClientSession) -> Steps[Candidates]:
        """Search one chain for the failed calls of a batch."""
        chain = chain_named(self.chain)
        owner = Batch(f"{chain} broadcast {self.broadcast_id}", chain, self.broadcast_id)
        search = _Search(session, owner, (chain,), self.archive, self.evm_url, self.progress)
        return (yield from search.steps())


@dataclass(frozen=True)
class FindCallsOf(Call[tuple[Payload, ...]]):
    """Find the calls of `FindCandidates` on one chain."""

    chain: str
    owner: str | int
    archive: str | None = None

    def steps(self, session: ClientSession) -> Steps[tuple[Payload, ...]]:
        """Search for the failed calls of an owner, without what else the search has read."""
        return (yield from FindCandidates(self.owner, self.chain, self.archive).steps(session)).calls


class _Search:
    """One search through the sources."""

    def __init__(
        self,
        session: ClientSession,
        owner: Owner,
        chains: tuple[str, ...],
        archive: str | None,
        evm_url: str | None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.session = session
        self.owner = owner
        self.chains = chains
        self.archive = archive
        self.evm_url = evm_url
        self.progress = progress
        self.offers: list[Offer] = []
        self.fates = Fates(session, owner.text, self.offers, evm_url)
        self.asked: list[str] = []

    @property
    def calls(self) -> tuple[Payload, ...]:
        """The calls on offer of all searched chains."""
        return tuple(call for offer in self.offers for call in offer.calls)

    def steps(self) -> Steps[Candidates]:
        for chain in self.chains:
            self.offers.append((yield from on_offer(self.session, chain)))
        calls = (yield from self._paid_to_owner()) or (yield from self._of_receipt())
        if not calls:
            finding = yield from self._finding()
            if not finding.payments and self._may_wait():
                raise being_signed(self.offers)
            if not finding.payments and isinstance(self.owner, Address):
                raise NoSuchCall((yield from self._about_address(self.owner, finding.reason)))
            calls = yield from self.fates.calls(finding)
        if isinstance(self.owner, Batch):
            calls = tuple(call.whole for call in calls)
        return Candidates((yield from self._unpaid(calls)), tuple(self.asked))

    def _paid_to_owner(self) -> Steps[tuple[Payload, ...]]:
        """Return the calls that pay the owner's address, or the unsent batch that the owner names.

        Calls for an address may also be in unsent batches.
        """
        owner = self.owner
        if isinstance(owner, Batch):
            batches = yield from self.fates.unsent(owner.chain)
            return tuple(batch for batch in batches if batch.broadcast_id == owner.broadcast_id)
        if not isinstance(owner, Address):
            return ()
        chains = [chain for chain in self.chains if owner.may_be_paid_on(chain)]
        calls = [call for call in self.calls if call.chain in chains]
        to_owner = [call for call in calls if call.transfer.recipient == owner.raw]
        payloads = yield from self.fates.signed_now(to_owner)
        for chain in chains:
            payment = Payment(chain, recipient=owner.raw)
            batches = yield from self.fates.unsent(chain)
            payloads += [payload for batch in batches if (payload := paying(payment, batch)) is not None]
        payloads += yield from self._given_up(owner, chains)
        if to_owner and not payloads:
            raise being_signed_again(to_owner)
        return tuple(payloads)

    def _given_up(self, owner: Address, chains: Sequence[str]) -> Steps[list[Payload]]:
        """Return the calls that pay an address, and that the State Chain has given up and the vault takes.

        There are none if the present epoch has brought a new key.
        """
        url = self.archive or self.session.rpc_url
        if not chains or not (yield from has_key_of_last_epoch(self.session, self.session.rpc_url)):
            return []
        limit = yield from blocks_to_read(self.session, url)
        search = EventSearch(self.session, url, owner, self.offers, limit)
        calls = yield from self._read(search, f"the events of {origin_of(url)}", search.given_up)
        payments = [Payment(chain, recipient=owner.raw) for chain in chains]
        paid = [
            call
            for payment in payments
            for candidate in calls
            if (call := paying(payment, candidate)) is not None
        ]
        return (yield from self.fates.signed_now(paid))

    def _of_receipt(self) -> Steps[tuple[Payload, ...]]:
        """Return the calls for transfers that failed in a transaction of the EVM chain."""
        if self.evm_url is None or not isinstance(self.owner, Transaction) or self.owner.hash is None:
            return ()
        self.asked.append(f"the transaction at {origin_of(self.evm_url)}")
        return (yield from calls_for_batch(self.session, self.evm_url, self.owner.hash, self.calls))

    def _finding(self) -> Steps[Finding]:
        """Return the answer of the first source that knows the owner; raise NeedsArchive without one."""
        recent = EventSearch(self.session, self.session.rpc_url, self.owner, self.offers, MAX_RECENT)
        try:
            finding = yield from self._read(recent, f"the events of {origin_of(recent.url)}", recent.steps)
        except NoSuchCall:
            if (batch := (yield from self._as_batch())) is None:
                raise
            return batch
        findings = [finding] if finding.is_known else []
        if not finding.is_known or (not _is_answer(finding) and not isinstance(self.owner, Address)):
            finding = yield from self._elsewhere()
            findings += [finding] if finding.is_known else []
        if not _is_answer(finding) and (self.archive is not None or not recent.is_cut):
            url = self.archive or recent.url
            limit = yield from blocks_to_read(self.session, url)
            older = EventSearch(self.session, url, self.owner, self.offers, limit)
            name = f"the events of {'the archive node ' if self.archive else ''}{origin_of(url)}"
            finding = yield from self._read(older, name, older.steps)
            findings += [finding] if finding.is_known else []
        if findings:
            return next((answer for answer in findings if _is_answer(answer)), findings[-1])
        if self._may_wait():
            raise being_signed(self.offers)
        raise (yield from self._unknown())

    def _read(self, search: EventSearch, name: str, read: Callable[[], Steps[T]]) -> Steps[T]:
        """Return what a search of events reads.

        `asked` gets the search's name, with the blocks that it read.
        """
        self.asked.append(name)
        search.progress = self.progress
        try:
            return (yield from read())
        except TransportError as error:
            if search.span:
                error.message = f"{error.message}; the search had read {search.span}"
                error.args = (error.message,)
            raise
        finally:
            self.asked[-1] = f"{name} ({search.span})" if search.span else name

    def _may_wait(self) -> bool:
        """Return whether a call that pays the owner may be one of those without a signature."""
        return isinstance(self.owner, Account | Address) and any(
            offer.waiting
            for offer in self.offers
            if isinstance(self.owner, Account) or self.owner.may_be_paid_on(offer.chain)
        )

    def _as_batch(self) -> Steps[Finding | None]:
        """Return the failures of the batch with the owner's number, if no swap has that number."""
        if not isinstance(self.owner, Swap):
            return None
        for chain in self.chains:
            owner = Batch(f"{chain} broadcast {self.owner.text}", chain, self.owner.number)
            try:
                finding = yield from EventSearch(
                    self.session, self.session.rpc_url, owner, self.offers, MAX_RECENT
                ).steps()
            except NoSuchCall:
                continue
            if finding.payments:
                self.asked.append(f"the events of the batch {owner.text}")
                return finding
        return None

    def _elsewhere(self) -> Steps[Finding]:
        """Return the answer of another source: the swap service, or the chain's stored channels."""
        if isinstance(self.owner, Address):
            return (yield from self._by_open_channel(self.owner))
        if isinstance(self.owner, Channel | Swap | Transaction):
            return (yield from self._by_services())
        return Finding(is_known=False)

    def _by_open_channel(self, owner: Address) -> Steps[Finding]:
        """Return the payments to the receiver of a channel that the chain still stores."""
        self.asked.append(f"the open channels of {origin_of(self.session.rpc_url)}")
        payments = yield from payments_of_open_channel(self.session, self.session.rpc_url, owner)
        fitting = tuple(payment for payment in payments if any(fits(payment, call) for call in self.calls))
        fitting += tuple((yield from self._unsent(payments)))
        if not payments or fitting:
            return Finding(fitting, is_known=bool(fitting), is_whole=False)
        return Finding(
            reason=f"no call on offer pays the receiver of the channel of {owner.text}: no failure of "
            "its payouts is known in this epoch or the last one, or one has not arrived yet; calls for "
            "earlier failures have expired",
            is_whole=False,
        )

    def _unsent(self, payments: Iterable[Payment]) -> Steps[list[Payment]]:
        """Return the payments with the unsent batches that make them."""
        unsent = list[Payment]()
        for payment in payments:
            if payment.chain not in self.chains:
                continue
            for batch in (yield from self.fates.unsent(payment.chain)):
                if paying(payment, batch) is not None:
                    number = batch.broadcast_id
                    unsent.append(
                        replace(payment, broadcast_id=number, state=JourneyState.ABORTED, is_batch=True)
                    )
        return unsent

    def _by_services(self) -> Steps[Finding]:
        for url in (yield from services(self.session)):
            name = f"the swap service {origin_of(url)}"
            try:
                finding = yield from find_by_service(self.session, url, self.owner.text)
            except (BackendError, TransportError) as error:
                self.asked.append(f"{name} (no help: {error.message})")
                continue
            self.asked.append(name)
            if finding.is_known:
                return finding
        return Finding(is_known=False)

    def _unknown(self) -> Steps[SdkError]:
        sources = ", then ".join(self.asked)
        if isinstance(self.owner, Address):
            text = (
                f"no call on offer pays {self.owner.text}, and no deposit there has that address (searched: "
                f"{sources}). Calls for failures before the last epoch have expired. If it is the address of "
                "an older deposit, name an archive node of the State Chain (--archive)"
            )
            return NoSuchCall((yield from self._about_address(self.owner, text)))
        hint = ""
        if isinstance(self.owner, Transaction) and self.evm_url is None:
            hint = ", or for a transaction of the payout's chain a node of that chain (--eth-rpc)"
        return NeedsArchive(
            f"no source knows {self.owner.text} (searched: {sources}); name an archive node of the State "
            f"Chain{hint}"
        )

    def _about_address(self, owner: Address, text: str) -> Steps[str]:
        """Return why no call pays an address, with what pays it later and what was not searched."""
        at = yield from rpc(self.session, self.session.rpc_url, "chain_getBlockHash", [])
        underway, unread = list[str](), list[str]()
        for chain in (chain for chain in self.chains if owner.may_be_paid_on(chain)):
            if (yield from stored_numbers(self.session, chain, at)) is None:
                unread.append(chain)
            numbers = sorted((yield from pending_numbers(self.session, chain, at)))[:MAX_UNSENT]
            calls = yield from stored_calls(self.session, chain, numbers, at)
            payment = Payment(chain, recipient=owner.raw)
            paid = [number for number, (call, _) in calls.items() if paying(payment, call) is not None]
            underway += [f"{chain} broadcast {number}" for number in paid]
        if underway:
            text = f"a payout to {owner.text} is on its way ({', '.join(underway)}); {text}"
        if unread:
            text += (
                f". A batch on {' or '.join(unread)} that was aborted, and signed again without being sent, "
                "was not searched, as the node does not list its stored calls: use another node (--node), "
                "or search by the swap"
            )
        return text

    def _unpaid(self, calls: tuple[Payload, ...]) -> Steps[tuple[Payload, ...]]:
        """Return the calls that the EVM chain has not executed yet; raise AlreadySent if it has all."""
        if self.evm_url is None or all(call.chain == "Tron" for call in calls):
            return calls
        unpaid = yield from unused(self.session, self.evm_url, calls)
        if calls and not unpaid:
            raise already_sent(calls)
        return unpaid


def _is_answer(finding: Finding) -> bool:
    """Return whether a finding is conclusive.

    It names failed payouts, or its source knows the whole history.
    """
    return finding.is_known and (bool(finding.payments) or finding.is_whole)
