"""Who is paid by a swap, or by an account? What the events in a node's blocks say.

1. A deposit channel's id begins with its block: SwapDepositAddressReady stands there.
2. A swap's id is a number from a counter. In which block the counter reached it is found by halving; there
   stands SwapRequested.
3. Of an account, blocks are read backwards: channels that it opened as a broker, swaps that it earns from,
   payouts that it asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.blocks import (
    Counter,
    best_block,
    block_that_counted,
    events_at,
    events_of,
    needs_archive,
)
from cfnode.sdk.recovery.errors import NoSuchCall
from cfnode.sdk.recovery.storage import storage_key

__all__ = ["Payees", "payees_of_account", "payees_of_channel", "payees_of_swap"]

MAX_BLOCKS = 30_000
"""Read backwards at most: two epochs of a day, after which every failed call has expired."""
_AT_ONCE = 25
_REQUESTS = Counter(storage_key("Swapping", "SwapRequestIdCounter"), 8)
_ADDRESS_BYTES = 20

Payees = set[bytes]
"""20-byte accounts of the chain that is asked about."""


def payees_of_channel(session: Session, url: str, chain: str, channel: tuple[int, str, int]) -> Steps[Payees]:
    """Whom the swaps of a channel (block, source chain, number) pay: the receiver, or who gets refunds."""
    block, source, number = channel
    for pallet, name, fields in (yield from events_at(session, url, block)):
        if (
            (pallet, name) == ("Swapping", "SwapDepositAddressReady")
            and fields["channel_id"] == number
            and ASSETS[fields["source_asset"]].chain == source
        ):
            return set(_accounts(fields, chain))
    raise NoSuchCall(f"block {block} of the State Chain opened no channel {number} for {source}")


def payees_of_swap(session: Session, url: str, chain: str, swap: int) -> Steps[Payees]:
    """Whom a swap pays: the receiver, or who gets the refund."""
    try:
        block = yield from block_that_counted(session, url, _REQUESTS, swap)
    except NoSuchCall as error:
        raise NoSuchCall(f"there is no swap {swap}: {error.message}") from None
    for pallet, name, fields in (yield from events_at(session, url, block)):
        if (pallet, name) == ("Swapping", "SwapRequested") and fields["swap_request_id"] == swap:
            return set(_accounts(fields, chain))
    raise needs_archive(url, f"the block of swap {swap}")


def payees_of_account(
    session: Session, url: str, chain: str, account: bytes, wanted: Set[bytes]
) -> Steps[Payees]:
    """Those of the `wanted` accounts (20 bytes) that a State Chain account (32 bytes) has had paid."""
    found: Payees = set()
    newest = yield from best_block(session, url)
    for top in range(newest, max(newest - MAX_BLOCKS, 0), -_AT_ONCE):
        numbers = range(top, max(top - _AT_ONCE, 0), -1)
        for groups in (yield from events_of(session, url, numbers)):
            if groups is None:
                if found:
                    return found
                raise needs_archive(url, f"what {len(wanted)} failed calls on {chain} came from")
            for group in groups:
                if any(_mentions(fields, account) for _, _, fields in group):
                    found.update(
                        wanted & {each for _, _, fields in group for each in _accounts(fields, chain)}
                    )
        if found == wanted:
            break
    return found


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
