"""What transactions cost: the figures that the chain's own runtime has taken."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.extrinsic import Era
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.changed_weights import WEIGHTS
from cfnode.devchain.runtime.config import FLIP, DevGenesis
from cfnode.devchain.runtime.frame.weights import MAX_BLOCK_PS
from cfnode.devchain.runtime.measured_weights import CALL_WEIGHTS
from cfnode.devchain.runtime.pallets.dev import Dev
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from cfnode.devchain.runtime.runtime import pallets_of
from tests.devchain.runtime.world import ALICE, World, bare_extrinsic, body_of

EXTENSIONS = 420_728_000, 15_693
"""Weight of all extensions of a mortal transaction, in picoseconds and bytes of proof."""
BASE, READ, WRITE = 108_157_000, 8_000_000, 50_000_000
REGISTER = 26_291_000 + 2 * READ + WRITE, 4_653
"""Weight of registering as broker in 2.3.0."""


@pytest.fixture
def world() -> World:
    """Return a new chain."""
    return World()


def paid(world: World) -> dict[str, Any]:
    """Return the fields of the only fee event of the block."""
    (fields,) = [fields for _, _, name, fields in world.events() if name == "TransactionFeePaid"]
    assert isinstance(fields, dict)
    return fields


@pytest.mark.parametrize(
    ("release", "weight", "fee"),
    [
        ("2.2.3", (26_693_000, 0), 5_555_888_000_000),
        ("2.2.9", (26_657_000 + 2 * READ + WRITE, 4_620), 6_215_528_000_000),
        ("2.3.0", REGISTER, 6_211_868_000_000),
    ],
)
def test_registering_as_broker_costs_the_fee_of_the_release(
    release: str, weight: tuple[int, int], fee: int
) -> None:
    """The official runtime 2.2.9 took 6,215,528,000,000; the others' fees follow from their weights."""
    world = World(DevGenesis(release=release))
    signed = world.sign(world.call("Swapping", "register_as_broker"))
    assert len(signed) == 108
    info = world.api("TransactionPaymentApi_query_info", body_of(signed), len(signed))
    assert info == {
        "weight": {"ref_time": weight[0] + EXTENSIONS[0], "proof_size": weight[1] + EXTENSIONS[1]},
        "class": "Normal",
        "partial_fee": fee,
    }
    assert fee == (BASE + weight[0] + EXTENSIONS[0]) * 10_000 + 108 * 1_000_000
    world.block(signed)
    assert paid(world) == {"who": ALICE.account, "actual_fee": fee, "tip": 0}


@pytest.mark.parametrize(
    ("release", "weight", "fee"),
    [
        ("2.2.3", (78_008_000, 0), 6_069_152_000_000),
        ("2.2.9", (77_500_000 + 12 * READ + 4 * WRITE, 5_176), 9_024_072_000_000),
        ("2.3.0", (78_354_000 + 12 * READ + 4 * WRITE, 5_277), 9_032_612_000_000),
    ],
)
def test_a_deposit_channel_costs_the_fee_of_the_release(
    release: str, weight: tuple[int, int], fee: int
) -> None:
    """The official runtime 2.2.9 took 9,024,072,000,000 for 222 bytes."""
    cost = WEIGHTS[release]["pallet_cf_swapping"]["request_swap_deposit_address_with_affiliates"].cost({})
    assert (cost.weight, cost.proof) == weight
    assert (BASE + cost.weight + EXTENSIONS[0]) * 10_000 + 222 * 1_000_000 == fee


def test_an_immortal_transaction_weighs_a_little_less(world: World) -> None:
    """Weigh an immortal transaction a little less: it looks up no block hash."""
    call = world.call("System", "remark", remark=b"")
    mortal, immortal = (
        world.api("TransactionPaymentApi_query_info", body_of(signed), 200)["weight"]["ref_time"]
        for signed in (world.sign(call), world.sign(call, era=Era()))
    )
    assert (mortal, mortal - immortal) == (2_119_000 + EXTENSIONS[0], 98_000)


def test_a_call_by_itself_has_no_extensions(world: World) -> None:
    """Weigh a call by itself without the extensions that a signed one has."""
    call = ("Swapping", "register_as_broker")
    info = world.api("TransactionPaymentCallApi_query_call_info", call, 108)
    assert info["weight"] == {"ref_time": REGISTER[0], "proof_size": REGISTER[1]}
    assert info["partial_fee"] == (BASE + REGISTER[0]) * 10_000 + 108 * 1_000_000
    parts = world.api("TransactionPaymentCallApi_query_call_fee_details", call, 108)["inclusion_fee"]
    assert parts["adjusted_weight_fee"] == REGISTER[0] * 10_000


def test_weight_beyond_a_block_costs_no_more_than_a_block(world: World) -> None:
    """Limit the fee for a weight to that of a full block."""
    weight = {"ref_time": 2**64 - 1, "proof_size": 7}
    assert world.api("TransactionPaymentApi_query_weight_to_fee", weight) == MAX_BLOCK_PS * 10_000
    assert world.api("TransactionPaymentCallApi_query_weight_to_fee", weight) == MAX_BLOCK_PS * 10_000


def test_the_weight_in_events_includes_the_base_of_an_extrinsic(world: World) -> None:
    """Report weights in events with the base weight of an extrinsic, for inherents and signed ones."""
    world.block(world.sign(world.call("System", "remark_with_event", remark=b"12345")))
    inherent, signed = [fields for _, _, name, fields in world.events() if name == "ExtrinsicSuccess"]
    assert inherent["dispatch_info"] == {
        "weight": {"ref_time": 11_000_000 + 2 * READ + WRITE + BASE, "proof_size": 0},
        "class": "Mandatory",
        "pays_fee": "Yes",
    }
    assert signed["dispatch_info"]["weight"] == {
        "ref_time": 8_097_000 + 5 * 1_455 + EXTENSIONS[0] + BASE,
        "proof_size": EXTENSIONS[1],
    }


def test_a_tip_is_paid_and_is_in_the_event(world: World) -> None:
    """Charge a tip on top of the fee and name it in the event."""
    call = world.call("System", "remark", remark=b"")
    plain = world.api("TransactionPaymentApi_query_info", body_of(world.sign(call)), 110)["partial_fee"]
    before = world.stored("Flip", "Account", ALICE.account)["balance"]
    signed = world.sign(call, tip=7)
    world.block(signed)
    fee = plain + (len(signed) - 110) * 1_000_000 + 7
    assert paid(world) == {"who": ALICE.account, "actual_fee": fee, "tip": 7}
    assert world.stored("Flip", "Account", ALICE.account)["balance"] == before - fee


def test_calls_that_hold_calls_weigh_them_too_and_are_normal_if_one_of_them_is(world: World) -> None:
    """Weigh a batch with its calls, and rank it as normal if one of them is."""
    runtime = world.runtime.composition
    remark, operational = ("System", ("remark", {"remark": b""})), ("System", ("set_code", {"code": b""}))

    def cost(*calls: Any) -> Any:
        return runtime.cost(("Environment", ("batch", {"calls": list(calls)})))

    both = cost(remark, operational)
    one_item = 1_585_480
    assert both.weight == 7_779_098 + 2 * one_item + 2_119_000 + 87_586_619_000 + READ + 2 * WRITE
    assert (both.dispatch_class, both.proof) == ("Normal", 1_485)
    assert cost(operational).dispatch_class == "Operational"


@pytest.mark.parametrize("release", RELEASES)
def test_every_call_of_the_chain_has_its_measured_weight(release: str) -> None:
    """Weigh every call of every release by a measured figure; the default release has no other figures."""
    kinds = pallets_of(RELEASES[release])
    declared = {(kind.crate, name) for kind in kinds if kind is not Dev for name in kind.calls}
    weights = WEIGHTS[release]
    measured = {(crate, name) for crate, calls in weights.items() for name in calls}
    assert declared <= measured
    assert release != DEFAULT_RELEASE or declared == measured


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_changes_what_a_call_weighs_and_not_what_it_grows_with(release: str) -> None:
    """Keep for each release what a call's weight grows with: only the figures differ."""
    for crate, calls in WEIGHTS[release].items():
        for name, weight in calls.items():
            measured = CALL_WEIGHTS[crate][name]
            assert (weight.of, weight.dispatch_class) == (measured.of, measured.dispatch_class)
            assert (weight.each is None, weight.follows_nested) == (
                measured.each is None,
                measured.follows_nested,
            )


def order(world: World, asset: str, amount: int = 0) -> Any:
    """Return the encoded call that sets a limit order."""
    return world.call(
        "LiquidityPools",
        "set_limit_order",
        base_asset=asset,
        quote_asset="Usdc",
        side="Buy",
        id=1,
        option_tick=None,
        sell_amount=amount,
        dispatch_at=None,
        close_order_at=None,
    )


def test_order_calls_want_one_flip_in_escrow_and_their_fee_may_grow_within_a_block(world: World) -> None:
    """Charge an account's order calls within a block more and more, as governance set, pool by pool."""
    scaling = ("SetFeeScalingRate", ("DelayedExponential", {"threshold": 1, "exponent": 2}))
    change = ("Flip", ("update_pallet_config", {"updates": [scaling]}))
    world.block(bare_extrinsic(world.call("Dev", "as_governance", call=change)))
    before = world.stored("Flip", "Account", ALICE.account)["balance"]
    calls = [order(world, asset) for asset in ("Eth", "Eth", "Eth", "Eth", "Btc")]
    world.block(*(world.sign(call, nonce=at) for at, call in enumerate(calls)))
    fees = [fields["actual_fee"] for _, _, name, fields in world.events() if name == "TransactionFeePaid"]
    assert len(set(fees)) == 1, "the event has the fee of one call"
    burned = before - world.stored("Flip", "Account", ALICE.account)["balance"]
    assert burned == fees[0] * (1 + 1 + 4 + 9 + 1)


def test_an_account_with_less_than_one_flip_makes_no_order_call(world: World) -> None:
    """Refuse an order call from an account with less than one FLIP, while others cost only their fee."""
    poor = Keypair.from_suri("//Poor")
    world.block(bare_extrinsic(world.call("Dev", "fund_account", account_id=poor.account, amount=FLIP)))
    call = order(world, "Eth")
    assert world.validate(world.sign(call, poor))[0] == "Ok"
    assert world.block(world.sign(world.call("System", "remark", remark=b""), poor)) == [("Ok", ("Ok", ()))]
    assert world.validate(world.sign(call, poor)) == ("Err", ("Invalid", "Payment"))
