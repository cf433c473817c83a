"""Blocks of a development chain are made, executed again, and refused where they are wrong."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core import keys
from cfnode.core.extrinsic import Era
from cfnode.core.header import DigestKind, Header
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime import signatures
from cfnode.devchain.runtime.config import FLIP, DevGenesis
from cfnode.devchain.runtime.genesis import dev_authorities
from cfnode.devchain.runtime.pallets.funding_storage import FundingStorage
from cfnode.runtime.calls import RuntimeTrap, UnknownFunction
from tests.devchain.runtime.world import ALICE, BOB, FIRST_SLOT, World, bare_extrinsic, body_of


@cache
def shared() -> World:
    """Return a chain for the examples of properties, none of which changes it."""
    return World()


STRANGER = Keypair.from_suri("//Nobody")
BASE, PRICE, LENGTH_PRICE = 108_157_000, 10_000, 1_000_000
EXTENSIONS, EACH_IN_A_BATCH = 420_728_000, 1_585_480


@pytest.fixture
def world() -> World:
    """Return a new chain."""
    return World()


def test_a_signed_remark_is_done_paid_for_and_executes_again_to_the_same_root(world: World) -> None:
    """Execute a signed remark, charge its fee to the unit, and reach the same root when executed again."""
    before = world.stored("Flip", "Account", ALICE.account)["balance"]
    remark = world.sign(world.call("System", "remark_with_event", remark=b"hello"))
    assert world.block(remark) == [("Ok", ("Ok", ()))]
    assert world.names(1) == [
        "System.Remarked",
        "TransactionPayment.TransactionFeePaid",
        "System.ExtrinsicSuccess",
    ]
    weight = 8_097_000 + len(b"hello") * 1_455 + EXTENSIONS
    fee = (BASE + weight) * PRICE + len(remark) * LENGTH_PRICE
    assert world.stored("Flip", "Account", ALICE.account)["balance"] == before - fee
    assert world.stored("Flip", "TotalIssuance") == 90_000_000 * FLIP - fee
    assert world.stored("System", "Account", ALICE.account)["nonce"] == 1
    assert world.stored("Timestamp", "Now") == (FIRST_SLOT + 1) * 6_000


def test_fees_are_estimated_before_they_are_paid(world: World) -> None:
    """Estimate the fee that is then charged, in total and in its parts."""
    remark = world.sign(world.call("System", "remark", remark=b"hello"))
    info = world.api("TransactionPaymentApi_query_info", body_of(remark), len(remark))
    details = world.api("TransactionPaymentApi_query_fee_details", body_of(remark), len(remark))
    world.block(remark)
    paid = next(fields for _, _, name, fields in world.events() if name == "TransactionFeePaid")
    assert info["partial_fee"] == paid["actual_fee"] == sum(details["inclusion_fee"].values())
    assert details["inclusion_fee"]["len_fee"] == len(remark) * LENGTH_PRICE


def test_a_failed_call_stays_in_the_block_costs_its_fee_and_counts_the_nonce(world: World) -> None:
    """Keep a failed call in its block: it pays its fee and uses its nonce, and changes nothing else."""
    forbidden = world.sign(world.call("System", "set_storage", items=[(b"key", b"value")]))
    assert world.block(forbidden) == [("Ok", ("Err", "BadOrigin"))]
    assert world.names(1) == ["TransactionPayment.TransactionFeePaid", "System.ExtrinsicFailed"]
    assert world.stored("System", "Account", ALICE.account)["nonce"] == 1
    assert world.state.get(b"key") is None


def test_the_events_of_a_block_are_counted_without_those_of_a_failed_call(world: World) -> None:
    """Count the events of a block without those that a failed call had deposited before it failed."""
    remark = ("System", ("remark_with_event", {"remark": b"1"}))
    root_only: Any = ("System", ("kill_storage", {"keys": []}))
    done = world.call("Environment", "batch", calls=[remark, remark])
    failed = world.call("Environment", "batch", calls=[remark, root_only])
    world.block(world.sign(done, nonce=0), world.sign(failed, nonce=1))
    assert world.names().count("System.Remarked") == 2
    count = len(world.events())
    assert world.stored("System", "EventCount") == count > 5
    world.block()
    assert world.stored("System", "EventCount") == len(world.events()) < count


@pytest.mark.parametrize("scheme", ["ed25519", "ecdsa"])
def test_accounts_of_other_schemes_sign_too(world: World, scheme: Any) -> None:
    """Accept signatures of accounts of other schemes, and refuse them with one bit changed."""
    pair = Keypair.from_suri("//Edward", scheme)
    funding = world.call("Dev", "fund_account", account_id=pair.account, amount=5 * FLIP)
    world.block(bare_extrinsic(funding))
    assert world.names(1) == ["System.NewAccount", "Funding.Funded", "System.ExtrinsicSuccess"]
    signed = world.sign(world.call("System", "remark", remark=b"hi"), pair)
    assert world.block(signed) == [("Ok", ("Ok", ()))]
    forged = signed[:60] + bytes([signed[60] ^ 1]) + signed[61:]
    assert world.validate(forged)[0] == "Err"


def _invalid(kind: str) -> tuple[str, Any]:
    return "Err", ("Invalid", kind)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("another genesis", {"genesis_hash": b"\1" * 32}, "BadProof"),
    ("another spec version", {"spec_version": 20_204}, "BadProof"),
    ("another transaction version", {"transaction_version": 12}, "BadProof"),
    ("the hash of another branch", {"era_hash": b"\1" * 32}, "BadProof"),
    ("a used nonce", {"nonce": 0}, "Stale"),
    ("a nonce too far", {"nonce": 3}, "Future"),
]


@pytest.mark.parametrize(("what", "options", "reason"), WRONG, ids=[case[0] for case in WRONG])
def test_an_extrinsic_signed_for_other_data_does_not_enter_a_block(
    world: World, what: str, options: dict[str, Any], reason: str
) -> None:
    """Refuse an extrinsic signed for another chain, version, branch or nonce; it leaves the block usable."""
    call = world.call("System", "remark", remark=b"")
    world.block(world.sign(call))
    journal = world.journal
    world.begin(journal)
    assert world.apply(journal, world.sign(call, **options)) == _invalid(reason)
    assert world.apply(journal, world.sign(call)) == ("Ok", ("Ok", ()))


def test_a_signature_is_verified_once_for_pool_and_blocks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verify a signature once for pool and block, and again for other contents under that signature."""
    verified = list[bytes]()

    def verify(scheme: Any, public: bytes, message: bytes, signature: bytes) -> bool:
        verified.append(signature)
        return keys.verify(scheme, public, message, signature)

    monkeypatch.setattr(signatures, "verify", verify)
    remark = world.sign(world.call("System", "remark", remark=b"once"))
    assert world.validate(remark)[0] == "Ok"
    assert world.block(remark) == [("Ok", ("Ok", ()))]  # built, and executed again
    assert len(verified) == 1
    forged = bytearray(remark)
    forged[-1] ^= 1  # another remark under the same signature
    assert world.validate(bytes(forged)) == ("Err", ("Invalid", "BadProof"))
    assert len(verified) == 2


def test_the_pool_lets_future_nonces_wait_for_the_one_before(world: World) -> None:
    """Make a future nonce require the one before it, and rank by tip."""
    call = world.call("System", "remark", remark=b"")
    kind, valid = world.validate(world.sign(call, nonce=2))
    assert (kind, valid["provides"]) == ("Ok", [ALICE.account + (2).to_bytes(4, "little")])
    assert valid["requires"] == [ALICE.account + (1).to_bytes(4, "little")]
    assert (valid["longevity"], valid["propagate"]) == (63, True)
    assert world.validate(world.sign(call, nonce=0))[1]["requires"] == []
    immortal = world.validate(world.sign(call, era=Era()))
    assert immortal[1]["longevity"] == 2**64 - 2
    tipped = world.validate(world.sign(call, tip=10))
    assert tipped[1]["priority"] == 11 * world.validate(world.sign(call))[1]["priority"]


def test_an_unfunded_account_cannot_pay(world: World) -> None:
    """Refuse an account without funds: the author would work for no fee."""
    signed = world.sign(world.call("System", "remark", remark=b""), STRANGER)
    assert world.validate(signed) == _invalid("Payment")


def test_an_expired_era_is_distinguished_from_a_bad_signature(world: World) -> None:
    """Answer AncientBirthBlock where the hash of an era's first block is gone, else BadProof."""
    call = world.call("System", "remark", remark=b"")
    early = world.sign(call, era=Era.mortal(4, 0), era_hash=world.genesis_hash)
    assert world.validate(early)[0] == "Ok"
    for _ in range(4):
        world.block()
    assert world.validate(early) == _invalid("BadProof")
    world.state.storage[b""].pop(world.metadata.storage_key("System", "BlockHash", 2))
    late = world.sign(call, era=Era.mortal(8, 2), era_hash=world.hashes[2])
    assert world.validate(late) == _invalid("AncientBirthBlock")


def test_bytes_that_are_no_extrinsic_trap_with_words(world: World) -> None:
    """Trap on bytes that are no extrinsic, with a message that says so."""
    with pytest.raises(RuntimeTrap, match="cannot be decoded"):
        world.validate(b"\x08\x84\xff")


def test_bare_calls_come_only_from_the_author(world: World) -> None:
    """Accept bare calls from the author alone, and never propagate them."""
    funding = bare_extrinsic(world.call("Dev", "fund_account", account_id=BOB.account, amount=FLIP))
    assert world.validate(funding, "External") == _invalid("Call")
    assert world.validate(funding, "Local")[1]["propagate"] is False
    remark = bare_extrinsic(world.call("System", "remark", remark=b""))
    assert world.validate(remark, "Local") == ("Err", ("Unknown", "NoUnsignedValidator"))
    inherent = bare_extrinsic(world.call("Timestamp", "set", now=1))
    assert world.validate(inherent, "Local") == _invalid("MandatoryValidation")


def test_too_little_funding_is_refused_with_the_amount_that_would_do(world: World) -> None:
    """Refuse to fund an account with less than the minimum, and name the amount that suffices."""
    little = bare_extrinsic(world.call("Dev", "fund_account", account_id=STRANGER.account, amount=FLIP - 1))
    [(_, (kind, error))] = world.block(little)
    assert (kind, error[0]) == ("Err", "Module")
    assert "at least 1 FLIP; 5 FLIP are recommended" in world.metadata.error(250, error[1]["error"])[2]


def test_missing_accounts_are_funded_by_the_inherent_once(world: World) -> None:
    """Fund a missing account by the author's inherent data once, and not again in the next block."""
    amount = 1_000 * FLIP
    listed = b"\x04" + STRANGER.account + amount.to_bytes(16, "little")
    world.block(extra=[(b"devfund0", listed)])
    assert world.names(1) == ["System.NewAccount", "Funding.Funded", "System.ExtrinsicSuccess"]
    assert world.stored("AccountRoles", "AccountRoles", STRANGER.account) == "Unregistered"
    assert world.stored("Flip", "Account", STRANGER.account) == {"balance": amount, "bond": 0}
    world.block(extra=[(b"devfund0", listed)])
    assert len(world.bodies[-1]) == 1
    assert world.stored("Flip", "Account", STRANGER.account)["balance"] == amount


def test_governance_is_played_by_the_author(world: World) -> None:
    """Let the author act as governance; an account that signs the call is refused."""
    red = ("Environment", ("update_safe_mode", {"update": "CodeRed"}))
    world.block(bare_extrinsic(world.call("Dev", "as_governance", call=red)))
    assert world.stored("Environment", "RuntimeSafeMode")["swapping"]["withdrawals_enabled"] is False
    signed = world.sign(world.metadata.call_codec.encode(red))
    assert world.block(signed) == [("Ok", ("Err", "BadOrigin"))]


def test_a_batch_is_done_as_a_whole_or_not_at_all(world: World) -> None:
    """Apply all calls of a batch or none, and refuse a batch within a batch."""
    remark = ("System", ("remark_with_event", {"remark": b"1"}))
    batch = world.sign(world.call("Environment", "batch", calls=[remark, remark]))
    assert world.block(batch) == [("Ok", ("Ok", ()))]
    assert world.names(1)[:3] == ["System.Remarked", "System.Remarked", "Environment.BatchCompleted"]
    root_only: Any = ("System", ("kill_storage", {"keys": []}))
    world.block(world.sign(world.call("Environment", "batch", calls=[remark, root_only])))
    assert world.names(1) == ["TransactionPayment.TransactionFeePaid", "System.ExtrinsicFailed"]
    nested = ("Environment", ("batch", {"calls": [remark]}))
    world.block(world.sign(world.call("Environment", "batch", calls=[nested])))
    assert "System.ExtrinsicFailed" in world.names(1)


def test_an_epoch_ends_with_a_scheduled_change_in_the_header() -> None:
    """Put a scheduled change of authorities into the header at the end of an epoch, and count the sets."""
    world = World(DevGenesis(authorities=dev_authorities(3, (1, 2, 3)), epoch_blocks=3))
    for _ in range(2):
        world.block()
        assert [item.kind for item in world.header.digest] == [DigestKind.PRE_RUNTIME]
    world.block()
    change = world.header.digest[1]
    assert (change.kind, change.engine) == (DigestKind.CONSENSUS, b"FRNK")
    voters = b"".join(
        dev_authority.grandpa + dev_authority.weight.to_bytes(8, "little")
        for dev_authority in dev_authorities(3, (1, 2, 3))
    )
    assert change.data == b"\x01" + b"\x0c" + voters + bytes(4)
    assert world.api("GrandpaApi_current_set_id") == 1
    assert world.stored("Validator", "CurrentEpoch") == 2
    assert world.names()[:2] == ["Validator.NewEpoch", "Session.NewSession"]
    assert "Grandpa.NewAuthorities" in world.names()
    assert world.stored("Session", "CurrentIndex") == 1
    for _ in range(3):
        world.block()
    assert world.api("GrandpaApi_current_set_id") == 2
    assert world.stored("Validator", "LastExpiredEpoch") == 1


def test_an_epoch_can_end_early(world: World) -> None:
    """End an epoch early on request, with the block after the call."""
    world.block(bare_extrinsic(world.call("Dev", "end_epoch")))
    assert world.stored("Validator", "CurrentEpoch") == 1
    world.block()
    assert world.stored("Validator", "CurrentEpoch") == 2


def _wrong_block(world: World, **changes: Any) -> None:
    journal = world.journal
    world.begin(journal)
    body = world.inherents(journal, FIRST_SLOT + 1, [])
    for extrinsic in body:
        world.apply(journal, extrinsic)
    header = Header.decode(world.runtime.call("BlockBuilder_finalize_block", b"", journal))
    extrinsics = changes.pop("body", body)
    world.execute(replace(header, **changes), extrinsics)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state_root": bytes(32)}, "state_root"),
        ({"extrinsics_root": bytes(32)}, "extrinsics_root"),
        ({"number": 2}, "block 2 does not follow block 0"),
        ({"body": []}, "Timestamp must be updated once"),
        ({"digest": ()}, "digest|extrinsics_root|state_root"),
    ],
)
def test_a_block_that_contradicts_its_header_traps(world: World, changes: dict[str, Any], words: str) -> None:
    """Trap on a block whose body, number or roots contradict its header."""
    with pytest.raises(RuntimeTrap, match=words):
        _wrong_block(world, **changes)


def test_inherents_come_first_and_once(world: World) -> None:
    """Trap on inherents that follow other extrinsics or come twice."""
    journal = world.journal
    header = world.begin(journal)
    body = world.inherents(journal, FIRST_SLOT + 1, [])
    remark = world.sign(world.call("System", "remark", remark=b""))
    with pytest.raises(RuntimeTrap, match="follows other extrinsics"):
        world.execute(header, [remark, *body])
    with pytest.raises(RuntimeTrap, match="only once"):
        world.execute(header, [*body, *body])


def test_a_slot_neither_repeats_nor_disagrees_with_the_time(world: World) -> None:
    """Refuse a slot that repeats, and a timestamp that does not match its slot."""
    world.block()
    with pytest.raises(RuntimeTrap, match="Slot must increase"):
        world.begin(world.journal, slot=FIRST_SLOT + 1)
    journal = world.journal
    world.begin(journal)
    with pytest.raises(RuntimeTrap, match="must match"):
        world.apply(journal, world.inherents(journal, FIRST_SLOT + 9, [])[0])


def test_another_nodes_inherents_are_compared_with_our_clock(world: World) -> None:
    """Refuse inherents whose time is more than 30 seconds ahead of this node's clock."""
    world.block()
    body = world.bodies[-1]
    encoded = world.header.encode() + bytes([len(body) << 2]) + b"".join(body)
    method = world.metadata.api_method("BlockBuilder_check_inherents")
    data_codec = dict(method.inputs)["data"]
    now = (FIRST_SLOT + 1) * 6_000
    for clock, okay in ((now, True), (now - 29_000, True), (now - 31_000, False)):
        data = data_codec.encode({"data": [(b"timstap0", clock.to_bytes(8, "little"))]})
        output = world.runtime.call("BlockBuilder_check_inherents", encoded + data, world.journal)
        assert method.decode(output)["okay"] is okay


def test_an_unknown_function_and_wrong_arguments_are_named(world: World) -> None:
    """Name an unknown function, the argument that cannot be decoded, and bytes that follow the arguments."""
    with pytest.raises(UnknownFunction, match="Core_nonsense"):
        world.runtime.call("Core_nonsense", b"", world.journal)
    with pytest.raises(RuntimeTrap, match="AccountNonceApi_account_nonce: argument 'account'"):
        world.runtime.call("AccountNonceApi_account_nonce", b"\1", world.journal)
    with pytest.raises(RuntimeTrap, match="1 bytes follow"):
        world.runtime.call("Core_version", b"\1", world.journal)


def test_validation_leaves_no_trace(world: World) -> None:
    """Leave the state as it is after validation: its writes would change the root."""
    journal = world.journal
    remark = world.sign(world.call("System", "remark", remark=b""))
    method = world.metadata.api_method("TaggedTransactionQueue_validate_transaction")
    args = method.encode_args("External", body_of(remark), world.header.hash)
    world.runtime.call("TaggedTransactionQueue_validate_transaction", args, journal)
    assert journal.root(1) == world.state.root


def test_calls_nested_as_deep_as_bytes_allow_are_refused(world: World) -> None:
    """Refuse calls nested as deep as the bytes allow, before the decoder exhausts the stack."""
    call = world.call("System", "remark", remark=b"")
    for _ in range(200):
        call = bytes([2, 11, 4]) + call
    signed = world.sign(call)
    with pytest.raises(RuntimeTrap, match="cannot be decoded"):
        world.validate(signed)


@given(
    function=st.deferred(lambda: st.sampled_from(sorted(shared().runtime.functions))),
    args=st.binary(max_size=200),
)
@settings(max_examples=150, deadline=None)
def test_no_bytes_make_an_entry_point_raise_anything_but_a_trap(function: str, args: bytes) -> None:
    """Raise nothing but a trap from any entry point, whatever the bytes."""
    with contextlib.suppress(RuntimeTrap):
        shared().runtime.call(function, args, shared().journal)


@given(place=st.integers(min_value=0), flip=st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_no_changed_extrinsic_raises_anything_but_a_trap_or_gets_into_a_block(place: int, flip: int) -> None:
    """Keep an extrinsic with one changed byte out of a block, by an error or a trap alone."""
    remark = ("System", ("remark", {"remark": b"1"}))
    world = shared()
    valid = world.sign(world.call("Environment", "batch", calls=[remark, remark]))
    at = place % len(valid)
    changed = valid[:at] + bytes([valid[at] ^ flip]) + valid[at + 1 :]
    journal = world.journal
    world.begin(journal)
    with contextlib.suppress(RuntimeTrap):
        assert world.apply(journal, changed)[0] == "Err"


def test_a_batch_of_more_than_ten_calls_is_no_extrinsic(world: World) -> None:
    """Decode a batch of ten calls and no more: the limit is part of the call's type."""
    remark = ("System", ("remark", {"remark": b""}))
    ten, eleven = (world.call("Environment", "batch", calls=[remark] * count) for count in (10, 11))
    assert world.validate(world.sign(ten))[0] == "Ok"
    with pytest.raises(RuntimeTrap, match="a batch holds up to 10 calls, not 11"):
        world.validate(world.sign(eleven))


def test_a_batch_costs_the_sum_of_its_calls(world: World) -> None:
    """Weigh a batch as the sum of its calls and a fixed part for each."""

    def weight(call: Any) -> int:
        info = world.api("TransactionPaymentCallApi_query_call_info", call, 0)
        return int(info["weight"]["ref_time"])

    remark = ("System", ("remark", {"remark": b""}))
    empty, full = (("Environment", ("batch", {"calls": calls})) for calls in ([], [remark, remark]))
    assert weight(full) == weight(empty) + 2 * (weight(remark) + EACH_IN_A_BATCH)


def test_removing_an_absent_value_writes_nothing(world: World) -> None:
    """Hooks of every block take what waits for it, mostly nothing: that must not touch the trie."""
    journal, runtime = world.journal, world.runtime.composition
    with runtime.on(journal):
        funding = runtime.pallet(FundingStorage)
        funding.RedemptionTax.kill()
        for _ in range(2):
            assert funding.PendingRedemptions.take(b"\x01" * 32) is None
            funding.PendingRedemptions.remove(b"\x01" * 32)
            funding.RedemptionTax.kill()
        written = journal.changes().storage[b""]
        assert list(written.values()) == [None]
        funding.RedemptionTax.put(1)
        funding.RedemptionTax.kill()
        assert funding.RedemptionTax.get() == 0
