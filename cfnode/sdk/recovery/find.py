"""Which broadcast holds my funds? The failed calls that a chain has on offer, by who is to be paid.

The State Chain keeps a list of the failed calls of this epoch and of the last: all that can still be
recovered; what is in neither list has expired. So the calls are read from there, and a swap or an account is
turned into addresses: by events on the node, or, where the node no longer has them, by the swap service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.addresses import AddressError, parse_address
from cfnode.core.scale import ScaleError, decode_compact
from cfnode.core.ss58 import Ss58Error, decode
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.statuses import GetStatusV2, channel_of, swap_reference
from cfnode.sdk.errors import BackendError, TransportError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch, shown
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.errors import NeedsArchive, NoSuchCall
from cfnode.sdk.recovery.node import chain_named, list_question
from cfnode.sdk.recovery.payees import Payees, payees_of_account, payees_of_channel, payees_of_swap
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.storage import hex_bytes, hex_number, storage_key

__all__ = ["FindCallsOf", "FindFailedCalls"]

MAX_CALLS = 2_000
_AT_ONCE = 50  # payloads asked for in one exchange


@dataclass(frozen=True)
class FindFailedCalls(Call[tuple[Payload, ...]]):
    """The payloads on offer on a chain, newest first; with `recipient` (20 bytes) only those that pay it."""

    chain: str
    recipient: bytes | None = None

    def steps(self, session: Session) -> Steps[tuple[Payload, ...]]:
        chain, url = chain_named(self.chain), session.rpc_url
        at = yield from rpc(session, url, "chain_getBlockHash", [])
        entry, chain_id = yield from rpc_batch(
            session,
            url,
            [
                ("state_getStorage", [storage_key("Validator", "CurrentEpoch"), at]),
                ("state_getStorage", [storage_key("Environment", f"{chain}ChainId"), at]),
            ],
        )
        epoch = hex_number(entry, url)
        listed = yield from rpc(session, url, *list_question(chain, epoch, at))
        known = hex_number(chain_id, url, 8) or None
        numbers = sorted(_numbers(hex_bytes(listed, url)), reverse=True)
        found: list[Payload] = []
        for start in range(0, len(numbers), _AT_ONCE):
            some = numbers[start : start + _AT_ONCE]
            method = f"cf_failed_call_{chain.lower()}"
            documents = yield from rpc_batch(session, url, [(method, [number, at]) for number in some])
            found += [
                read_payload(chain, number, document, known)
                for number, document in zip(some, documents, strict=True)
                if isinstance(document, Mapping)
            ]
        return tuple(each for each in found if self.recipient in (None, each.transfer.recipient))


@dataclass(frozen=True)
class FindCallsOf(Call[tuple[Payload, ...]]):
    """The payloads on offer on a chain that pay `owner`, newest first.

    `owner` is an address of the chain, a deposit channel's id, a swap's id, a transaction, or a State Chain
    account (`cF…`: a broker, or whoever asked for a payout). Events are read from `archive`, the address of
    an archive node, or else from the client's own node as far back as it keeps states. What is older, and
    transactions, the swap service is asked for.

    Raises NoSuchCall where there is no such channel or swap, NeedsArchive where neither the node nor the swap
    service can tell.
    """

    chain: str
    owner: str | int
    archive: str | None = None

    def steps(self, session: Session) -> Steps[tuple[Payload, ...]]:
        chain, owner = chain_named(self.chain), swap_reference(self.owner)
        if recipient := _address(owner, chain):
            return (yield from FindFailedCalls(chain, recipient).steps(session))
        offered = yield from FindFailedCalls(chain).steps(session)
        if not offered:
            return ()
        payees = yield from self._payees(session, chain, owner, offered)
        if not payees:
            raise NoSuchCall(f"nothing of {owner} is paid out on {chain}")
        return tuple(each for each in offered if each.transfer.recipient in payees)

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


def _numbers(entries: bytes) -> set[int]:
    """The broadcast ids of a `Vec<{broadcast_id: u32, original_epoch: u32}>`."""
    try:
        count, offset = decode_compact(entries, 0) if entries else (0, 0)
    except ScaleError:
        return set()
    end = min(offset + 8 * min(count, MAX_CALLS), len(entries))
    return {int.from_bytes(entries[start : start + 4], "little") for start in range(offset, end, 8)}
