"""A failed call on offer: its payload, the key that signed it, and when it expires.

A call of epoch E is on offer in E and, signed again by the next key, in E + 1; it expires when E + 2 begins.
In some blocks the node has no payload, because the call is being signed. The pallet's list of failed calls
distinguishes these cases. Everything is read at one block. No method of a node returns the calls on BSC, so
these are read from the chain's storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cfnode.core.foreign import ForeignError, block_number
from cfnode.core.hashing import twox_64
from cfnode.core.scale import ScaleError, decode_compact
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.channels import chain_time
from cfnode.sdk.errors import SdkError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch, rpc_outcomes
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.blocks import Counter, block_that_counted, events_at
from cfnode.sdk.recovery.errors import BadPayload, BeingSigned, Expired, IsBatch, KeyRotated, NoSuchCall
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.storage import hex_bytes, hex_number, storage_key
from cfnode.sdk.recovery.stored import aborted_numbers, pending_numbers, stored_calls
from cfnode.swaps.events import Name
from cfnode.swaps.fate import Evidence, Fate, fate
from cfnode.swaps.journey import JourneyState
from cfnode.swaps.timing import STATE_CHAIN_MS

__all__ = [
    "CHAINS",
    "FailedCall",
    "FetchFailedCall",
    "FetchKeys",
    "chain_named",
    "check_key",
    "failed_calls",
    "list_question",
    "payloads_of",
]

CHAINS = {"ethereum": "Ethereum", "arbitrum": "Arbitrum", "bsc": "Bsc", "tron": "Tron"}
"""The chains whose failed calls the State Chain lists, by the names of the command line."""
_WITHOUT_METHOD = ("Bsc",)
"""Chains whose calls no method of a node returns."""

_MAX_ENTRIES = 100_000
_LAST_MS = 253_402_300_799_000
"""The last second that a date has, in the year 9999."""
_KEY_EPOCHS = (-2, -1, 1)
"""Epochs, relative to the current one, whose keys may have signed a payload on offer."""
_KEY_EPOCHS_UNLISTED = (*range(-30, 0), 1)
"""Epochs, relative to the current one, whose keys may have signed a payload that is in no list.

An old status has such a payload for ever.
"""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A payload on offer, with the keys and epochs that check it and its deadline.

    `aggregate_key` is 33 bytes compressed, `key_manager` 20. `original_epoch` is None if the node does not
    return it. `earlier_keys` are read only if the current key has not signed; None if the node does not
    return them. `block` is the State Chain's at `read_at_ms`, Unix ms; `epoch_blocks` the length of an epoch.
    `is_on_its_way`: an authority is to send the call, too, as governance may have it do.
    `is_own_clock`: times are chain time, that of a development chain.
    """

    payload: Payload
    aggregate_key: bytes
    key_manager: bytes
    epoch: int
    original_epoch: int | None
    epoch_ends_at_block: int | None
    block: int | None = None
    read_at_ms: int = 0
    epoch_blocks: int = 0
    earlier_keys: tuple[bytes, ...] | None = None
    is_on_its_way: bool = False
    is_own_clock: bool = False

    @property
    def last_block(self) -> int | None:
        """The State Chain's block at which the call expires, approximately."""
        if self.epoch_ends_at_block is None or not self.payload.is_offered:
            return self.epoch_ends_at_block  # a call that is in no list is not signed again
        if self.last_epoch is None:
            return None
        return self.epoch_ends_at_block + self.epoch_blocks * max(self.last_epoch - self.epoch, 0)

    @property
    def deadline_ms(self) -> int | None:
        """The time at which the call expires, approximately, Unix ms; None if it is unknown."""
        if self.block is None or self.last_block is None:
            return None
        deadline = self.read_at_ms + (self.last_block - self.block) * STATE_CHAIN_MS
        return deadline if 0 <= deadline <= _LAST_MS else None

    @property
    def is_altered(self) -> bool:
        """Whether certainly no key of the State Chain, of this epoch or another one, has made the signature.

        A call that failed in this epoch can only be signed by this epoch's key.
        """
        if self.is_signed_by_current_key or self.earlier_keys is None:
            return False
        if not self.earlier_keys:
            return self.original_epoch == self.epoch
        return not any(self.payload.is_signed_by(key, self.key_manager) for key in self.earlier_keys)

    @property
    def last_epoch(self) -> int | None:
        """The epoch after which the call expires; no call can have failed in an epoch to come."""
        return None if self.original_epoch is None else min(self.original_epoch, self.epoch) + 1

    @property
    def is_signed_by_current_key(self) -> bool:
        """Whether the State Chain's current key has signed."""
        return self.payload.is_signed_by(self.aggregate_key, self.key_manager)


@dataclass(frozen=True)
class FetchFailedCall(Call[FailedCall]):
    """Fetch the failed call of a broadcast; `chain` is a name of `CHAINS`, in any case.

    Raises NoSuchCall, Expired or BeingSigned if the call is not on offer.
    """

    chain: str
    broadcast_id: int

    def steps(self, session: ClientSession) -> Steps[FailedCall]:
        """Read payload, keys and expiry of a failed call at the best block."""
        chain, url = chain_named(self.chain), session.rpc_url
        at = yield from rpc(session, url, "chain_getBlockHash", [])
        answers = yield from rpc_batch(session, url, _questions(chain, at))
        vault, key_manager, chain_id, *entries = answers
        epoch, started, duration, counter = (hex_number(entry, url) for entry in entries)
        lists = yield from rpc_batch(
            session, url, [list_question(chain, list_epoch, at) for list_epoch in (epoch, epoch - 1)]
        )
        listed = [dict(failed_calls(hex_bytes(entry, url))).get(self.broadcast_id) for entry in lists]
        numbers = [] if listed[0] is None and chain in _WITHOUT_METHOD else [self.broadcast_id]
        known_id = hex_number(chain_id, url, 8) or None
        payload = (yield from payloads_of(session, chain, numbers, known_id, at)).get(self.broadcast_id)
        if payload is None:
            raise (yield from _nothing(session, chain, self.broadcast_id, at, counter, epoch, listed))
        ends = started + duration if duration else None
        failed = FailedCall(
            payload,
            _key(vault),
            _manager(key_manager, chain, url),
            epoch,
            listed[0],
            ends,
            (yield from _height(session, at)),
            (yield from chain_time(session, session.options.timeout, at)),
            duration,
            is_own_clock=session.network.is_one_server,
            is_on_its_way=self.broadcast_id in (yield from pending_numbers(session, chain, at)),
        )
        if failed.is_signed_by_current_key:
            return failed
        return replace(failed, earlier_keys=(yield from _earlier_keys(session, epoch, at)))


@dataclass(frozen=True)
class FetchKeys(Call[FailedCall]):
    """Fetch the keys that check a signed call which the State Chain does not list."""

    payload: Payload

    def steps(self, session: ClientSession) -> Steps[FailedCall]:
        """Read keys and expiry for a known payload at the best block."""
        chain, url = self.payload.chain, session.rpc_url
        at = yield from rpc(session, url, "chain_getBlockHash", [])
        answers = yield from rpc_batch(session, url, _questions(chain, at))
        vault, key_manager, _, epoch, started, duration, _ = answers
        blocks = hex_number(duration, url)
        failed = FailedCall(
            self.payload,
            _key(vault),
            _manager(key_manager, chain, url),
            hex_number(epoch, url),
            None,
            hex_number(started, url) + blocks if blocks else None,
            (yield from _height(session, at)),
            (yield from chain_time(session, session.options.timeout, at)),
            blocks,
            is_own_clock=session.network.is_one_server,
            is_on_its_way=self.payload.broadcast_id in (yield from pending_numbers(session, chain, at)),
        )
        if failed.is_signed_by_current_key:
            return failed
        earlier = yield from _earlier_keys(session, failed.epoch, at, _KEY_EPOCHS_UNLISTED)
        return replace(failed, earlier_keys=earlier)


def check_key(failed: FailedCall) -> None:
    """Check that the State Chain's current key has signed; raise BadPayload or KeyRotated."""
    if failed.is_signed_by_current_key:
        return
    if failed.is_altered:
        raise BadPayload(
            "no recent key of the State Chain has made the payload's signature: the payload was altered, or "
            "the node is not trustworthy; use another node"
        )
    if not failed.payload.is_offered:
        raise KeyRotated(
            "key rotated: the call is signed by another key than the State Chain's current one, so the vault "
            "takes it only until it has the new key; after that Chainflip has to sign it again"
        )
    raise KeyRotated(
        "key rotated: the payload is not signed by the State Chain's current key; it is being signed again, "
        "so try again in a minute"
    )


def chain_named(text: str) -> str:
    """Return a chain with recoverable calls, in any case; raise NoSuchCall for another chain."""
    chain = CHAINS.get(text.lower())
    if chain is None:
        raise NoSuchCall(f"failed calls exist on {', '.join(CHAINS.values())}, not on {text!r}")
    return chain


def payloads_of(
    session: ClientSession, chain: str, numbers: Sequence[int], known_id: int | None, at: str
) -> Steps[dict[int, Payload]]:
    """Return the signed calls of broadcasts that are in the list of the block's epoch.

    `known_id` is the chain's id, for Tron, whose payloads have none.
    """
    if chain in _WITHOUT_METHOD:
        stored = yield from stored_calls(session, chain, numbers, at)
        return {number: payload for number, (payload, _) in stored.items()}
    method = f"cf_failed_call_{chain.lower()}"
    questions = [(method, [number, at]) for number in numbers]
    documents = (yield from rpc_batch(session, session.rpc_url, questions)) if questions else []
    return {
        number: read_payload(chain, number, document, known_id)
        for number, document in zip(numbers, documents, strict=True)
        if isinstance(document, Mapping)
    }


def _questions(chain: str, at: str) -> list[tuple[str, list[Any]]]:
    """Return the requests for the values with which a call is checked."""

    def read(pallet: str, item: str) -> tuple[str, list[Any]]:
        return "state_getStorage", [storage_key(pallet, item), at]

    return [
        ("cf_eth_vault", [at]),
        read("Environment", f"{chain}KeyManagerAddress"),
        read("Environment", f"{chain}ChainId"),
        read("Validator", "CurrentEpoch"),
        read("Validator", "CurrentEpochStartedAt"),
        read("Validator", "EpochDuration"),
        read(f"{chain}Broadcaster", "BroadcastIdCounter"),
    ]


def list_question(chain: str, epoch: int, at: str) -> tuple[str, list[Any]]:
    """Return the request for an epoch's list of failed calls."""
    key = max(epoch, 0).to_bytes(4, "little")
    prefix = storage_key(f"{chain}IngressEgress", "FailedForeignChainCalls")
    return "state_getStorage", [prefix + (twox_64(key) + key).hex(), at]


def failed_calls(entries: bytes) -> Iterator[tuple[int, int]]:
    """Yield (broadcast id, epoch of the failure) of each entry of an epoch's list: `Vec<{u32, u32}>`."""
    try:
        count, offset = decode_compact(entries, 0) if entries else (0, 0)
    except ScaleError:
        return
    for start in range(offset, min(offset + 8 * min(count, _MAX_ENTRIES), len(entries) - 7), 8):
        number, epoch = (int.from_bytes(entries[at : at + 4], "little") for at in (start, start + 4))
        yield number, epoch


def _nothing(
    session: ClientSession,
    chain: str,
    broadcast_id: int,
    at: str,
    counter: int,
    epoch: int,
    listed: list[int | None],
) -> Steps[Exception]:
    """Return the error that explains why there is no payload."""
    name = f"{chain} broadcast {broadcast_id}"
    is_listed = any(first is not None and first + 1 >= epoch for first in listed)
    state = None if listed == [None, None] else JourneyState.FAILED
    evidence = Evidence(chain, state, is_listed=is_listed)
    match fate(evidence):
        case Fate.UNSIGNED:
            return BeingSigned(
                f"{name} has failed, and its payload is being signed"
                f"{' again after an epoch change' if listed[0] is None else ''}: try again in a minute"
            )
        case Fate.EXPIRED:
            return Expired(
                f"the call of {name} is not on offer any more: it has expired, as calls do two epochs after "
                "the failure, and is not signed anew"
            )
    if broadcast_id > counter or broadcast_id < 1:
        return NoSuchCall(
            f"no such failed call: {chain} has had {counter} broadcasts, none is number {broadcast_id}"
        )
    if broadcast_id in (yield from aborted_numbers(session, chain, at)):
        return IsBatch(f"{name} was aborted, and no call for one of its payouts has this number")
    origin = yield from _origin(session, chain, broadcast_id)
    if origin == Name.BATCH:
        return IsBatch(
            f"no such failed call: {name} is a batch of transfers; one that fails gets a number of its own, "
            "which its receiver, its channel or its swap leads to"
        )
    expired = f"{name} has no payload: it has expired, as payloads do two epochs after the failure"
    if origin == Name.TRANSFER_REJECTED:
        return Expired(expired)
    if origin:
        return Expired(f"{expired}, or it never failed")
    return Expired(
        f"{name} has no payload, and the node has pruned the block that requested it: the payload has "
        "expired (two epochs after the failure), the broadcast never failed, or it is a batch of transfers. "
        "To find the call of a batch, name its swap, its receiver or its transaction: cfnode recover "
        "--for …, with --archive URL for a pruned block"
    )


def _height(session: ClientSession, at: str) -> Steps[int | None]:
    """Return the number of a block; None if the node does not return it."""
    header: Any
    (header,) = yield from rpc_outcomes(session, session.rpc_url, [("chain_getHeader", [at])])
    try:
        return block_number(header)
    except ForeignError:
        return None


def _earlier_keys(
    session: ClientSession, epoch: int, at: str, around: Sequence[int] = _KEY_EPOCHS
) -> Steps[tuple[bytes, ...] | None]:
    """Return the aggregate keys of the epochs around the current one, compressed.

    Returns None if the node does not return them.
    """
    prefix = storage_key("EvmThresholdSigner", "Keys")
    indices = [max(epoch + offset, 0).to_bytes(4, "little") for offset in around]
    questions = [("state_getStorage", [prefix + (twox_64(index) + index).hex(), at]) for index in indices]
    try:
        entries = yield from rpc_batch(session, session.rpc_url, questions)
        keys = [hex_bytes(entry, session.rpc_url) for entry in entries]
    except SdkError:
        return None
    # x, and the parity as an enum whose first variant is odd
    return tuple(bytes([3 - (key[32] & 1)]) + key[:32] for key in keys if len(key) == 33)


def _origin(session: ClientSession, chain: str, broadcast_id: int) -> Steps[str]:
    """Return the event that requested a broadcast.

    The result is "" if the node has pruned its block or there is none.
    """
    url, counter = session.rpc_url, Counter(storage_key(f"{chain}Broadcaster", "BroadcastIdCounter"), 4)
    try:
        block = yield from block_that_counted(session, url, counter, broadcast_id)
        events = yield from events_at(session, url, block)
    except SdkError:
        return ""
    for pallet, name, fields in events:
        if pallet == f"{chain}IngressEgress" and fields.get("broadcast_id") == broadcast_id:
            return name
    return ""


def _key(vault: Any) -> bytes:
    try:
        return bytes.fromhex(str(vault[0]).removeprefix("0x"))
    except (TypeError, ValueError, KeyError, IndexError):
        raise BadPayload("the node returned no aggregate key (cf_eth_vault)") from None


def _manager(entry: Any, chain: str, url: str) -> bytes:
    manager = hex_bytes(entry, url)
    if len(manager) != 20:
        raise BadPayload(f"the node returned no key manager of {chain}")
    return manager
