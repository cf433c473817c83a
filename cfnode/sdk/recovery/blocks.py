"""Events in the blocks of a State Chain node, as far as it keeps their states.

Events are part of the state of a block. A node keeps the states of its last blocks (an official one 256, a
light one 128), an archive node keeps all. A counter in a block without a state reads as 0, so that a binary
search ends at the oldest block with a state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from cfnode.core.foreign import ForeignError, block_number
from cfnode.core.hashing import twox_64
from cfnode.core.scale import ScaleError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.exchange import Steps, origin_of, rpc, rpc_batch, rpc_outcomes
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.errors import NeedsArchive, NoSuchCall
from cfnode.sdk.recovery.storage import bad_answer, hex_bytes, hex_number, storage_key

__all__ = [
    "Counter",
    "Event",
    "best_block",
    "block_that_counted",
    "events_at",
    "events_of",
    "first_on_offer",
    "has_key_of_last_epoch",
    "metadata_of",
    "needs_archive",
]

_EVENTS = storage_key("System", "Events")
_DISCARDED = re.compile("discarded|not found|Unknown block", re.IGNORECASE)

Event = tuple[str, str, Mapping[str, Any]]
"""(pallet, name, fields)"""


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter in the State Chain's storage: its key, and the size of its number in bytes."""

    key: str
    width: int


_EPOCHS = Counter(storage_key("Validator", "CurrentEpoch"), 4)
_KEYS = storage_key("EvmThresholdSigner", "Keys")
MAX_KEY_EPOCHS = 30
"""Epochs whose keys are compared with the present one."""


def best_block(session: ClientSession, url: str) -> Steps[int]:
    """Return the number of the node's best block."""
    header = yield from rpc(session, url, "chain_getHeader", [])
    try:
        return block_number(header)
    except ForeignError:
        raise bad_answer(url, "chain_getHeader returned no block number") from None


def block_that_counted(session: ClientSession, url: str, counter: Counter, number: int) -> Steps[int]:
    """Return the first block with a state in which the counter had reached a number.

    Raises NoSuchCall if the counter never reached it.
    """
    too_early, block = 0, (yield from best_block(session, url))
    reached = yield from _counted(session, url, counter, block)
    if not 1 <= number <= reached:
        raise NoSuchCall(
            f"the State Chain's last number is {reached}" + (", the first 1" if number < 1 else "")
        )
    while block - too_early > 1:
        middle = (too_early + block) // 2
        if (yield from _counted(session, url, counter, middle)) < number:
            too_early = middle
        else:
            block = middle
    return block


def first_on_offer(session: ClientSession, url: str) -> Steps[int]:
    """Return the first block in which a call that the vault may take can have failed.

    It is the first of the previous epoch, or of the first epoch with the present key if that is earlier. If
    the node has pruned that block, the result is the first block with a state.
    """
    best = yield from best_block(session, url)
    epoch = yield from _counted(session, url, _EPOCHS, best)
    key_epoch = yield from _first_epoch_of_key(session, url, epoch)
    first_epoch = min(epoch - 1, key_epoch)
    return (yield from block_that_counted(session, url, _EPOCHS, first_epoch)) if first_epoch > 0 else 0


def has_key_of_last_epoch(session: ClientSession, url: str) -> Steps[bool]:
    """Return whether the present epoch has brought no new key.

    Then the vault takes calls that the State Chain has given up: those of failures two epochs ago and more.
    """
    best = yield from best_block(session, url)
    epoch = yield from _counted(session, url, _EPOCHS, best)
    return (yield from _first_epoch_of_key(session, url, epoch)) < epoch


def _first_epoch_of_key(session: ClientSession, url: str, epoch: int) -> Steps[int]:
    """Return the first of the epochs up to this one that have had its key; this one if that is unknown."""
    epochs = range(epoch, max(epoch - MAX_KEY_EPOCHS, 0), -1)
    at = yield from rpc(session, url, "chain_getBlockHash", [])
    indices = [number.to_bytes(4, "little") for number in epochs]
    keys = [_KEYS + (twox_64(index) + index).hex() for index in indices]
    entries = (
        (yield from rpc_outcomes(session, url, [("state_getStorage", [key, at]) for key in keys]))
        if keys
        else []
    )
    first = epoch
    for number, entry in zip(epochs, entries, strict=False):
        if not isinstance(entry, str) or entry != entries[0]:
            break
        first = number
    return first


def _counted(session: ClientSession, url: str, counter: Counter, block: int) -> Steps[int]:
    at = yield from rpc(session, url, "chain_getBlockHash", [block])
    if at is None:
        return 0
    (entry,) = yield from rpc_outcomes(session, url, [("state_getStorage", [counter.key, at])])
    if isinstance(entry, RpcCallError):
        _only_discarded(entry)
        return 0
    return hex_number(entry, url, counter.width)


def events_at(session: ClientSession, url: str, block: int) -> Steps[list[Event]]:
    """Return the events of a block; raise NeedsArchive if its state is pruned."""
    (groups,) = yield from events_of(session, url, [block])
    if groups is None:
        raise needs_archive(url, f"block {block}")
    return list(chain.from_iterable(groups))


def events_of(
    session: ClientSession, url: str, blocks: Sequence[int]
) -> Steps[list[list[list[Event]] | None]]:
    """Return the events of each block, grouped by extrinsic.

    The list ends with None at a block with a pruned state.
    """
    hashes = yield from rpc_batch(session, url, [("chain_getBlockHash", [number]) for number in blocks])
    calls = [("state_getStorage", [_EVENTS, at]) for at in hashes if isinstance(at, str)]
    calls += [("state_getRuntimeVersion", [call[1][1]]) for call in calls]
    answers = (yield from rpc_outcomes(session, url, calls)) if calls else []
    half = len(answers) // 2
    events: list[list[list[Event]] | None] = []
    for entry, version, (_, (_, at)) in zip(answers[:half], answers[half:], calls, strict=False):
        if isinstance(entry, RpcCallError) or isinstance(version, RpcCallError):
            _only_discarded(entry if isinstance(entry, RpcCallError) else version)
            return [*events, None]
        metadata = yield from metadata_of(session, url, version, at)
        events.append(_grouped(_decoded(metadata, hex_bytes(entry, url), url)))
    return events if len(events) == len(blocks) else [*events, None]


def metadata_of(session: ClientSession, url: str, version: Any, at: str) -> Steps[Metadata]:
    """Return the metadata that decodes a block's events; it is fetched once for each runtime."""
    spec = version.get("specVersion") if isinstance(version, Mapping) else None
    if not isinstance(spec, int):
        raise bad_answer(url, "state_getRuntimeVersion returned no specVersion")
    if (metadata := session.metadata.get((url, spec))) is not None:
        return metadata
    document = yield from rpc(session, url, "state_getMetadata", [at])
    try:
        metadata = decode_metadata(hex_bytes(document, url))
    except ScaleError as error:
        raise bad_answer(url, f"the answer of state_getMetadata is malformed: {error}") from None
    session.metadata[url, spec] = metadata
    return metadata


def _decoded(metadata: Metadata, data: bytes, url: str) -> list[dict[str, Any]]:
    try:
        return list(metadata.event_codec.decode(data)) if data else []
    except ScaleError as error:
        raise bad_answer(url, f"the events of a block cannot be read: {error}") from None


def _grouped(records: Iterable[Mapping[str, Any]]) -> list[list[Event]]:
    """Return the events of each extrinsic together, and each other event separately."""
    groups: dict[Any, list[Event]] = {}
    for number, record in enumerate(records):
        pallet, event = record["event"]
        if isinstance(event, tuple) and isinstance(event[1], Mapping):
            phase = record["phase"]
            key = phase if isinstance(phase, tuple) else number
            groups.setdefault(key, []).append((pallet, event[0], event[1]))
    return list(groups.values())


def _only_discarded(error: RpcCallError) -> None:
    """Raise any error other than that of a pruned state."""
    if not _DISCARDED.search(error.rpc_message):
        raise error


def needs_archive(url: str, what: str) -> NeedsArchive:
    """Return the error for a block that is older than the states that a node keeps."""
    return NeedsArchive(
        f"{what} is older than the states that {origin_of(url)} keeps: name an archive node of the State "
        "Chain"
    )
