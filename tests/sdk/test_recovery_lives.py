"""In random lives a recovery finds exactly the calls that the vaults would take, of all that were signed.

Each call that the chain ever signed is held against a model of its vault, which knows the key and the used
nonces: it is found by the swap, the receiver and its own number if the vault takes it, and else by none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cfnode.core.vault_calls import TransferParams
from cfnode.devchain.swaps.index import SwapIndex
from cfnode.sdk import SwapStatus
from cfnode.sdk.models.payout import FailedPayout
from cfnode.sdk.recovery import (
    AlreadySent,
    BeingSigned,
    Expired,
    FetchFailedCall,
    FindCallsOfBatch,
    FindCandidates,
    IsBatch,
    NoSuchCall,
    Payload,
    address_text,
    check_key,
)
from cfnode.sdk.recovery.errors import KeyRotated
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.statuses import status
from cfnode.swaps.fate import Fate
from tests.lengths import repeats
from tests.support.sdk.lives import CHAINS, LifeNode, PayoutsOfLife, Vaults
from tests.support.swaps.rooms import development_record, entries_of

Paid = tuple[str, bytes, int]
"""Chain, receiver and amount: no two payouts of a life have the same."""
SEEDS = range(repeats(40, 0)) or (1, 10)
WITH_ALL = (1, 10)
"""Seeds of lives that together have all of WANTED."""
WANTED = (
    *("BroadcastAborted", "BroadcastTimeout", "BroadcastRetryScheduled", "BroadcastSuccess", "CallResigned"),
    *("CcmBroadcastFailed", "CcmEgressInvalid", "TransferFallbackRequested", "NewEpoch", "Rebalance"),
    *("FailedForeignChainCallResigned", "FailedForeignChainCallExpired", "PrivateBrokerChannelOpened"),
)


def payouts(life: PayoutsOfLife) -> Iterator[tuple[int, Paid]]:
    """Yield the swaps of a life, and what each of their payouts pays on an EVM chain."""
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
    """Yield every 20-byte address in the value of an event that may be a receiver's."""
    match value:
        case (str(variant), bytes() as account) if len(account) == 20:
            yield f"{variant}{account.hex()}", account
        case dict():
            for name, member in value.items():
                yield from () if name == "deposit_address" else _addresses(member)
        case list() | tuple():
            for member in value:
                yield from _addresses(member)


def transfers(payload: Payload) -> tuple[TransferParams, ...]:
    """Return all transfers of a payload."""
    return payload.transfers or (payload.transfer,)


def pays(payload: Payload, wanted: Paid) -> bool:
    """Return whether a payload pays a receiver an amount on a chain."""
    return any(
        (payload.chain, transfer.recipient, transfer.amount) == wanted for transfer in transfers(payload)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_found_is_what_the_vaults_would_take(seed: int) -> None:
    """The swap, the receiver and the number lead to the same calls.

    An epoch without a new key, as on a development chain, leaves calls that the chain has given up, and the
    vault takes: these, too.
    """
    life = PayoutsOfLife(seed, rotates_always=seed % 2 == 0)
    for _ in range(3):
        for _ in range(8):
            life.step()
        node, vaults = LifeNode(life), Vaults(life)
        _by_owners(life, node, vaults)
        _by_numbers(node, vaults)
        if life.rotates_always:
            _by_statuses(life, vaults)


def _by_owners(life: PayoutsOfLife, node: LifeNode, vaults: Vaults) -> None:
    wanted: dict[str, set[tuple[str, int]]] = {}
    again = {(call.chain, call.nonce) for call in vaults.sent_again()}
    for number, paid in payouts(life):
        if paid[0] in CHAINS:
            calls = {(call.chain, call.nonce) for call in vaults.open() if pays(call, paid)}
            for name in (str(number), address_text(paid[0], paid[1])):
                wanted.setdefault(name, set()).update(calls)
    for owner, calls in wanted.items():
        assert found_for(node, owner) - again == calls, (life.seed, owner)


def found_for(node: LifeNode, owner: str) -> set[tuple[str, int]]:
    """Return chain and nonce of the calls that a recovery finds; it has only expected reasons for none."""
    try:
        calls = node.run(FindCandidates(owner), node.session()).calls
    except (NoSuchCall, Expired, BeingSigned):
        return set()
    assert calls
    return {(call.chain, call.nonce) for call in calls}


def _by_numbers(node: LifeNode, vaults: Vaults) -> None:
    """Check that each signed call is found by its number if the vault takes it; and no other one."""
    data = {call.data for call in (*vaults.open(), *vaults.sent_again())}
    for chain, number in {(call.chain, call.broadcast_id) for call in vaults.signed}:
        own = {call.nonce for call in vaults.open() if (call.chain, call.broadcast_id) == (chain, number)}
        calls = found_by_number(node, chain, number)
        assert {call.data for call in calls} <= data, (node.life.seed, chain, number)
        assert own <= {call.nonce for call in calls}, (node.life.seed, chain, number)


def found_by_number(node: LifeNode, chain: str, number: int) -> tuple[Payload, ...]:
    """Return the calls to which `cfnode recover CHAIN NUMBER` leads."""
    on = node.session()
    try:
        failed = node.run(FetchFailedCall(chain, number), on)
        check_key(failed)
    except (BeingSigned, KeyRotated, AlreadySent):
        return ()
    except (Expired, IsBatch):
        try:
            return node.run(FindCallsOfBatch(chain, number), on).calls
        except (NoSuchCall, Expired, BeingSigned):
            return ()
    return (failed.payload,)


def _by_statuses(life: PayoutsOfLife, vaults: Vaults) -> None:
    """Check that a status says that a payout is lost or was made only if no vault takes a call for it.

    It hands out no call with the signature of an earlier key, and none that an authority is to send.
    """
    index: Any = SwapIndex(None)  # type: ignore[arg-type]  # it is given its blocks
    for block in vaults.history:
        index.receive(*entries_of(block))
    record = development_record(life.world, index)
    for number, paid in payouts(life):
        try:
            document = status(record, str(number))
        except RequestRefusal:
            continue
        _has_no_useless_call(document, vaults)
        failed = SwapStatus.from_json(document).failed_payout
        is_taken = any(pays(call, paid) for call in vaults.open())
        if is_taken:
            assert failed is not None, (life.seed, number)
        if failed is not None and _is_of(failed, paid):
            assert not is_taken or (failed.fate and failed.fate.may_have_call), (life.seed, number, failed)
            assert failed.fate not in (Fate.PAID, Fate.ON_ITS_WAY), (life.seed, number, failed)


def _has_no_useless_call(document: dict[str, Any], vaults: Vaults) -> None:
    for member in ("swapEgress", "refundEgress"):
        payload = document.get(member, {}).get("transactionPayload")
        calls = [call for call in vaults.signed if payload and call.data.hex() == payload["data"][2:]]
        assert all(vaults.has_key(call) for call in calls), (document, calls)
        assert not any(vaults.is_on_its_way(call) for call in calls), (document, calls)


def _is_of(failed: FailedPayout, paid: Paid) -> bool:
    chain, receiver, amount = paid
    is_receiver = failed.recipient.lower() == address_text(chain, receiver).lower()
    return (failed.chain, failed.amount) == (chain, amount) and is_receiver


def test_the_lives_have_what_may_happen_to_a_payout() -> None:
    """Play lives in which each wanted event occurs, so that the test above covers it."""
    happened = set[str]()
    for seed in WITH_ALL:
        life = PayoutsOfLife(seed, rotates_always=seed % 2 == 0)
        for _ in range(24):
            life.step()
        happened |= {event.name for block in Vaults(life).history for event in block.events}
    assert [happening for happening in WANTED if happening not in happened] == []
