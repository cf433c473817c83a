"""In random lives a recovery finds exactly the calls that the vaults would take, of all that were signed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cfnode.sdk.recovery import (
    BeingSigned,
    Expired,
    FindCandidates,
    NoSuchCall,
    Payload,
    address_text,
)
from tests.support.sdk.lives import CHAINS, LifeNode, PayoutsOfLife, Vaults

Paid = tuple[str, bytes, int]
"""Chain, receiver and amount: no two payouts of a life have the same."""


def payouts(life: PayoutsOfLife) -> Iterator[tuple[int, Paid]]:
    """The swaps of a life, and what each of their payouts pays on an EVM chain."""
    receivers: dict[int, dict[str, bytes]] = {}
    for block in life.history:
        for event in block.events:
            fields = event.fields
            if event.name == "SwapRequested":
                receivers[fields["swap_request_id"]] = dict(_addresses(fields))
            elif event.name in ("SwapEgressScheduled", "RefundEgressScheduled"):
                (chain, _), number = fields["egress_id"], fields["swap_request_id"]
                for receiver in receivers.get(number, {}).values():
                    yield number, (chain, receiver, fields["amount"])


def _addresses(value: object) -> Iterator[tuple[str, bytes]]:
    """Every 20-byte address in the value of an event that may be a receiver's."""
    match value:
        case (str(variant), bytes() as account) if len(account) == 20:
            yield f"{variant}{account.hex()}", account
        case dict():
            for name, each in value.items():
                yield from () if name == "deposit_address" else _addresses(each)
        case list() | tuple():
            for each in value:
                yield from _addresses(each)


def pays(payload: Payload, wanted: Paid) -> bool:
    transfers = payload.transfers or (payload.transfer,)
    return any((payload.chain, each.recipient, each.amount) == wanted for each in transfers)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_found_is_what_the_vaults_would_take(seed: int) -> None:
    """Where each epoch has a key of its own, as on the main net, the receivers lead to the same calls.

    An epoch without a new key leaves calls that the chain has given up, and the vault takes: only a swap's
    events lead to these.
    """
    life = PayoutsOfLife(seed, rotates_always=seed % 2 == 0)
    for _ in range(3):
        for _ in range(8):
            life.step()
        node, vaults = LifeNode(life), Vaults(life)
        wanted: dict[str, set[tuple[str, int]]] = {}
        for number, paid in payouts(life):
            if paid[0] in CHAINS:
                calls = {(each.chain, each.nonce) for each in vaults.open() if pays(each, paid)}
                names = [str(number), *([address_text(paid[0], paid[1])] if life.rotates_always else [])]
                for name in names:
                    wanted.setdefault(name, set()).update(calls)
        for owner, calls in wanted.items():
            assert found_for(node, owner) == calls, (seed, owner)


def found_for(node: LifeNode, owner: str) -> set[tuple[str, int]]:
    """Chain and nonce of the calls that a recovery finds; each reason without one is an expected one."""
    try:
        calls = node.run(FindCandidates(owner), node.session()).calls
    except (NoSuchCall, Expired, BeingSigned):
        return set()
    assert calls
    return {(each.chain, each.nonce) for each in calls}
