"""Who is paid by a swap, or by an account? What the events in a node's blocks say.

Events lie in the state of a block. A node keeps the states of its last blocks (an official one 256, a light
one 128), an archive node all of them.

1. A deposit channel's id begins with its block: SwapDepositAddressReady stands there.
2. A swap's id is a number from a counter. In which block the counter reached it is found by halving; there
   stands SwapRequested.
3. Of an account, blocks are read backwards: channels that it opened as a broker, swaps that it earns from,
   payouts that it asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain as chained
from typing import Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale import ScaleError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.sdk.errors import BadAnswer, RpcCallError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch, rpc_outcomes, shown
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.errors import NeedsArchive, NoSuchCall
from cfnode.sdk.recovery.node import hex_bytes, hex_number, storage_key

__all__ = ["Payees", "payees_of_account", "payees_of_channel", "payees_of_swap"]

MAX_BLOCKS = 30_000
"""Read backwards at most: two epochs of a day, after which every failed call has expired."""
_AT_ONCE = 25
_EVENTS = storage_key("System", "Events")
_REQUESTS = storage_key("Swapping", "SwapRequestIdCounter")
_DISCARDED = re.compile("discarded|not found|Unknown block", re.IGNORECASE)
_ADDRESS_BYTES = 20

Event = tuple[str, str, Mapping[str, Any]]
"""(pallet, name, fields)"""

Payees = set[bytes]
"""20-byte accounts of the chain that is asked about."""


def payees_of_channel(session: Session, url: str, chain: str, channel: tuple[int, str, int]) -> Steps[Payees]:
    """Whom the swaps of a channel (block, source chain, number) pay: the receiver, or who gets refunds."""
    block, source, number = channel
    for pallet, name, fields in chained.from_iterable((yield from _events_at(session, url, block))):
        if (
            (pallet, name) == ("Swapping", "SwapDepositAddressReady")
            and fields["channel_id"] == number
            and ASSETS[fields["source_asset"]].chain == source
        ):
            return set(_accounts(fields, chain))
    raise NoSuchCall(f"block {block} of the State Chain opened no channel {number} for {source}")


def payees_of_swap(session: Session, url: str, chain: str, swap: int) -> Steps[Payees]:
    """Whom a swap pays: the receiver, or who gets the refund."""
    newest = yield from _best(session, url)
    count = yield from _requests_until(session, url, newest)
    if count is None or count < swap:
        raise NoSuchCall(f"there is no swap {swap}: the State Chain has had {count or 0}")
    block = yield from _block_of(session, url, swap, newest)
    for pallet, name, fields in chained.from_iterable((yield from _events_at(session, url, block))):
        if (pallet, name) == ("Swapping", "SwapRequested") and fields["swap_request_id"] == swap:
            return set(_accounts(fields, chain))
    raise _needs_archive(url, f"the block of swap {swap}")


def payees_of_account(
    session: Session, url: str, chain: str, account: bytes, wanted: Collection[bytes]
) -> Steps[Payees]:
    """Those of the `wanted` accounts (20 bytes) that a State Chain account (32 bytes) has had paid."""
    found: Payees = set()
    newest = yield from _best(session, url)
    for top in range(newest, max(newest - MAX_BLOCKS, 0), -_AT_ONCE):
        numbers = range(top, max(top - _AT_ONCE, 0), -1)
        for groups in (yield from _events_of(session, url, numbers)):
            if groups is None:
                if found:
                    return found
                raise _needs_archive(url, f"what {len(wanted)} failed calls on {chain} came from")
            for group in groups:
                if any(_mentions(fields, account) for _, _, fields in group):
                    found |= {payee for _, _, fields in group for payee in _accounts(fields, chain)}
        found &= set(wanted)
        if len(found) == len(set(wanted)):
            break
    return found


# Blocks and their events


def _best(session: Session, url: str) -> Steps[int]:
    header = yield from rpc(session, url, "chain_getHeader", [])
    try:
        return int(header["number"], 16)
    except (TypeError, KeyError, ValueError):
        raise _bad(url, "chain_getHeader gave no block number") from None


def _block_of(session: Session, url: str, swap: int, newest: int) -> Steps[int]:
    """The first block with a state in which the swap had been requested; `newest` is one."""
    too_early, block = 0, newest
    while block - too_early > 1:
        middle = (too_early + block) // 2
        count = yield from _requests_until(session, url, middle)
        if count is None or count < swap:
            too_early = middle
        else:
            block = middle
    return block


def _requests_until(session: Session, url: str, block: int) -> Steps[int | None]:
    """How many swaps had been requested; None where the state is gone."""
    at = yield from rpc(session, url, "chain_getBlockHash", [block])
    if at is None:
        return None
    (entry,) = yield from rpc_outcomes(session, url, [("state_getStorage", [_REQUESTS, at])])
    if isinstance(entry, RpcCallError):
        _only_discarded(entry)
        return None
    return hex_number(entry, url, 8)


def _events_at(session: Session, url: str, block: int) -> Steps[list[list[Event]]]:
    (groups,) = yield from _events_of(session, url, [block])
    if groups is None:
        raise _needs_archive(url, f"block {block}")
    return groups


def _events_of(session: Session, url: str, blocks: Sequence[int]) -> Steps[list[list[list[Event]] | None]]:
    """The events of each block, those of one extrinsic together; None where the state is gone."""
    hashes = yield from rpc_batch(session, url, [("chain_getBlockHash", [number]) for number in blocks])
    calls = [("state_getStorage", [_EVENTS, at]) for at in hashes if isinstance(at, str)]
    calls += [("state_getRuntimeVersion", [call[1][1]]) for call in calls]
    answers = (yield from rpc_outcomes(session, url, calls)) if calls else []
    half = len(answers) // 2
    found: list[list[list[Event]] | None] = []
    for entry, version, (_, (_, at)) in zip(answers[:half], answers[half:], calls, strict=False):
        if isinstance(entry, RpcCallError) or isinstance(version, RpcCallError):
            _only_discarded(entry if isinstance(entry, RpcCallError) else version)
            return [*found, None]
        metadata = yield from _metadata(session, url, version, at)
        found.append(_grouped(_decoded(metadata, hex_bytes(entry, url), url)))
    return found if len(found) == len(blocks) else [*found, None]


def _metadata(session: Session, url: str, version: Any, at: str) -> Steps[Metadata]:
    """The types of a block's events; asked for once for each runtime."""
    spec = version.get("specVersion") if isinstance(version, Mapping) else None
    if not isinstance(spec, int):
        raise _bad(url, "state_getRuntimeVersion gave no specVersion")
    if (known := session.metadata.get((url, spec))) is not None:
        return known
    document = yield from rpc(session, url, "state_getMetadata", [at])
    try:
        found = decode_metadata(hex_bytes(document, url))
    except ScaleError as error:
        raise _bad(url, f"state_getMetadata cannot be read: {error}") from None
    session.metadata[url, spec] = found
    return found


def _decoded(metadata: Metadata, data: bytes, url: str) -> list[dict[str, Any]]:
    try:
        return list(metadata.event_codec.decode(data)) if data else []
    except ScaleError as error:
        raise _bad(url, f"the events of a block cannot be read: {error}") from None


def _grouped(records: Iterable[Mapping[str, Any]]) -> list[list[Event]]:
    """The events of each extrinsic, and each other event by itself."""
    groups: dict[Any, list[Event]] = {}
    for number, record in enumerate(records):
        pallet, event = record["event"]
        if isinstance(event, tuple) and isinstance(event[1], Mapping):
            phase = record["phase"]
            key = phase if isinstance(phase, tuple) else number
            groups.setdefault(key, []).append((pallet, event[0], event[1]))
    return list(groups.values())


def _accounts(value: Any, chain: str) -> Iterator[bytes]:
    """Every address of the chain in the value of an event: the chain's variant, and 20 bytes."""
    match value:
        case (variant, bytes() as account) if variant == CHAINS[chain].address:
            if len(account) == _ADDRESS_BYTES:
                yield account
    for item in _parts(value):
        yield from _accounts(item, chain)


def _mentions(value: Any, account: bytes) -> bool:
    return value == account or any(_mentions(item, account) for item in _parts(value))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _only_discarded(error: RpcCallError) -> None:
    """Any other error than that the state is gone is raised."""
    if not _DISCARDED.search(error.rpc_message):
        raise error


def _needs_archive(url: str, what: str) -> NeedsArchive:
    return NeedsArchive(
        f"{what} is older than the states that {shown(url)} keeps: name an archive node of the State Chain"
    )


def _bad(url: str, text: str) -> BadAnswer:
    return BadAnswer(f"{text} ({shown(url)})", url=shown(url), sent=True, retryable=False)
