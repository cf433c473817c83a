"""Which broadcast holds my funds? The failed calls that a chain has on offer, by who is to be paid.

The State Chain keeps a list of the failed calls of this epoch and of the last: all that can still be
recovered; what is in neither list has expired. So the calls are read from there, and a swap or an account is
turned into addresses: by events on the node, or, where the node no longer has them, by the swap service.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.addresses import AddressError, parse_address
from cfnode.core.ss58 import Ss58Error, decode
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.statuses import GetStatusV2, channel_of, swap_reference
from cfnode.sdk.errors import BackendError, TransportError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch, shown
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.errors import BeingSigned, NeedsArchive, NoSuchCall
from cfnode.sdk.recovery.node import chain_named, failed_calls, list_question
from cfnode.sdk.recovery.payees import Payees, payees_of_account, payees_of_channel, payees_of_swap
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.storage import hex_bytes, hex_number, storage_key

__all__ = ["FindCallsOf", "FindFailedCalls"]

MAX_CALLS = 2_000
"""The newest of an epoch that are looked at."""
_AT_ONCE = 50  # payloads asked for in one exchange


@dataclass(frozen=True)
class FindFailedCalls(Call[tuple[Payload, ...]]):
    """The payloads on offer on a chain, newest first; with `recipient` (20 bytes) only those that pay it.

    Raises BeingSigned where none pays it, but some still wait for their signature.
    """

    chain: str
    recipient: bytes | None = None

    def steps(self, session: Session) -> Steps[tuple[Payload, ...]]:
        chain = chain_named(self.chain)
        found, waiting = yield from _on_offer(session, chain)
        if self.recipient is None:
            return found
        return _of(found, {self.recipient}, waiting, chain)


@dataclass(frozen=True)
class FindCallsOf(Call[tuple[Payload, ...]]):
    """The payloads on offer on a chain that pay `owner`, newest first.

    `owner` is an address of the chain, a deposit channel's id, a swap's id, a transaction, or a State Chain
    account (`cF…`: a broker, or whoever asked for a payout). Events are read from `archive`, the address of
    an archive node, or else from the client's own node as far back as it keeps states. What is older, and
    transactions, the swap service is asked for.

    Raises NoSuchCall where there is no such channel or swap, BeingSigned where it may be one that waits for
    its signature, NeedsArchive where neither the node nor the swap service can tell.
    """

    chain: str
    owner: str | int
    archive: str | None = None

    def steps(self, session: Session) -> Steps[tuple[Payload, ...]]:
        chain, owner = chain_named(self.chain), swap_reference(self.owner)
        if recipient := _address(owner, chain):
            return (yield from FindFailedCalls(chain, recipient).steps(session))
        offered, waiting = yield from _on_offer(session, chain)
        if not offered:
            return _of(offered, (), waiting, chain)
        payees = yield from self._payees(session, chain, owner, offered)
        if not payees and not waiting:
            raise NoSuchCall(f"nothing of {owner} that failed is paid out on {chain}")
        return _of(offered, payees, waiting, chain)

    def _payees(
        self, session: Session, chain: str, owner: str, offered: tuple[Payload, ...]
    ) -> Steps[Payees]:
        url = self.archive or session.rpc_url
        if account := _account(owner):
            wanted = {each.transfer.recipient for each in offered}
            return (yield from payees_of_account(session, url, chain, account, wanted))
        try:
            if owner.isascii() and owner.isdigit():
                return (yield from payees_of_swap(session, url, chain, int(owner)))
            if channel := channel_of(owner):
                return (yield from payees_of_channel(session, url, chain, channel))
        except NeedsArchive as missing:
            if self.archive is not None:
                raise
            return (yield from _by_service(session, chain, owner, missing))
        return (yield from _by_service(session, chain, owner, None))


def _on_offer(session: Session, chain: str) -> Steps[tuple[tuple[Payload, ...], int]]:
    """The payloads on offer, newest first, and how many failed calls have none (yet).

    A call without one is being signed, for the first time or, from the list of the last epoch, anew.
    """
    url, method = session.rpc_url, f"cf_failed_call_{chain.lower()}"
    at = yield from rpc(session, url, "chain_getBlockHash", [])
    numbers, known_id = yield from _alive(session, chain, at)
    found: list[Payload] = []
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        documents = yield from rpc_batch(session, url, [(method, [number, at]) for number in some])
        found += [
            read_payload(chain, number, document, known_id)
            for number, document in zip(some, documents, strict=True)
            if isinstance(document, Mapping)
        ]
    return tuple(found), len(numbers) - len(found)


def _alive(session: Session, chain: str, at: str) -> Steps[tuple[list[int], int | None]]:
    """The failed calls of this epoch and the last one at a block, newest first, and the EVM chain's id."""
    url = session.rpc_url
    keys = (storage_key("Validator", "CurrentEpoch"), storage_key("Environment", f"{chain}ChainId"))
    stored = yield from rpc_batch(session, url, [("state_getStorage", [key, at]) for key in keys])
    epoch, known_id = hex_number(stored[0], url), hex_number(stored[1], url, 8) or None
    questions = [list_question(chain, each, at) for each in (epoch, epoch - 1)]
    lists = yield from rpc_batch(session, url, questions)
    failed = {number: first for each in lists for number, first in failed_calls(hex_bytes(each, url))}
    alive = (number for number, first in failed.items() if first + 1 >= epoch)
    return sorted(alive, reverse=True)[:MAX_CALLS], known_id


def _of(found: Iterable[Payload], payees: Collection[bytes], waiting: int, chain: str) -> tuple[Payload, ...]:
    """Those that pay one of the payees."""
    chosen = tuple(each for each in found if each.transfer.recipient in payees)
    if waiting and not chosen:
        raise BeingSigned(
            f"{waiting} failed calls on {chain} are being signed, and whom they pay is not known until then: "
            "ask again in a minute"
        )
    return chosen


def _by_service(session: Session, chain: str, owner: str, missing: NeedsArchive | None) -> Steps[Payees]:
    try:
        status = yield from GetStatusV2(owner).steps(session)
    except (BackendError, TransportError) as error:
        if missing is None:
            raise
        text = f"{missing.message}; the swap service {shown(session.backend_url)} does not help either"
        raise NeedsArchive(f"{text} ({error.message})") from None
    refund = status.fill_or_kill_params and status.fill_or_kill_params.refund_address
    pairs = ((status.dest_chain, status.dest_address), (status.src_chain, refund))
    found = {_address(text or "", chain) for where, text in pairs if where == chain}
    return {each for each in found if each is not None}


def _address(text: str, chain: str) -> bytes | None:
    """A 20-byte account of the chain from its text; None for any other text."""
    if not text.startswith(("0x", "T")):
        return None
    try:
        account: Any = parse_address(chain, text)[1]
    except AddressError:
        return None
    return account if isinstance(account, bytes) and len(account) == 20 else None


def _account(text: str) -> bytes | None:
    try:
        return decode(text)[1] if text.startswith("cF") else None
    except Ss58Error:
        return None
