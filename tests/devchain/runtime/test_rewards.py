"""Fees as rewards: collected, paid to the authorities when an epoch ends, and FLIP sent to the gateway."""

from __future__ import annotations

import pytest

from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_authorities
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.flip import FLIP, REWARDS, Flip
from cfnode.devchain.runtime.pallets.swap_requests.requests import request_network_fee_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from tests.devchain.runtime.swapper import USDC, Swapper
from tests.devchain.runtime.world import BOB
from tests.support.devchain.broadcasts import until
from tests.support.devchain.market import Market
from tests.support.devchain.safe_mode import safe_mode

ESTIMATE = "CustomRuntimeApi_cf_reward_distribution_estimate"


@pytest.fixture
def three() -> Swapper:
    """Return a broker on a chain of three authorities."""
    return Swapper(config=DevGenesis(authorities=dev_authorities(3)))


def activate(broker: Swapper, epoch: int = 1) -> None:
    """Let governance begin with rewards in this epoch."""
    updates = [("SetFeeRewardsActivationEpoch", epoch)]
    assert broker.dev("as_governance", call=("Flip", ("update_pallet_config", {"updates": updates}))) == "Ok"


def reserve(broker: Swapper) -> int:
    """Return the reserve of rewards."""
    amount: int = broker.world.stored("Flip", "Reserve", REWARDS)
    return amount


def test_fees_are_kept_for_the_authorities_from_the_epoch_on_that_is_named(three: Swapper) -> None:
    """Burn fees before the named epoch; from then on keep them and the bought FLIP for the authorities."""
    activate(three, 2)
    issued = three.world.stored("Flip", "TotalIssuance")
    assert three.submit("Swapping", "open_private_btc_channel") == "Ok"
    burned = three.event("TransactionFeePaid")["actual_fee"]
    assert (three.world.stored("Flip", "TotalIssuance"), reserve(three)) == (issued - burned, 0)
    estimate = three.world.api(ESTIMATE)
    assert (estimate["total_rewards"], estimate["reward_pool"], estimate["authority_count"]) == (0, [], 3)

    activate(three)
    assert three.submit("Swapping", "close_private_btc_channel") == "Ok"
    kept = three.event("TransactionFeePaid")["actual_fee"]
    assert (three.world.stored("Flip", "TotalIssuance"), reserve(three)) == (issued - burned, kept)
    with three.arranging() as runtime:
        request_network_fee_swap(runtime.pallet(SwappingStorage), "Usdc", 1_000 * USDC)
    until(three, "SwapExecuted")
    bought = three.event("SwapExecuted")["output_amount"]
    assert three.world.stored("Flip", "FlipToDistribute") == bought > 0
    assert three.world.stored("Swapping", "FlipToBurn") == 0
    estimate = three.world.api(ESTIMATE)
    assert (estimate["total_rewards"], estimate["per_authority_share"]) == (
        kept + bought,
        (kept + bought) // 3,
    )
    assert [authority["reward"] for authority in estimate["reward_pool"]] == [(kept + bought) // 3] * 3


def test_the_end_of_an_epoch_pays_rewards_and_sends_the_debt_to_the_gateway(three: Swapper) -> None:
    """Pay each authority its share at the end of an epoch, and send the gateway what is owed to it."""
    activate(three)
    assert three.submit("Swapping", "open_private_btc_channel") == "Ok"
    fees, from_vault, owed = reserve(three), 1_000 * FLIP, 5_000 * FLIP
    with three.arranging() as runtime:
        runtime.pallet(Flip).collect(from_vault)
        runtime.pallet(SwappingStorage).record_gateway_liability(owed)
    authorities = three.world.stored("Validator", "CurrentAuthorities")
    before = [three.world.stored("Flip", "Account", authority)["balance"] for authority in authorities]
    outside, share = three.world.stored("Flip", "OffchainFunds"), (fees + from_vault) // 3
    assert three.dev("end_epoch") == "Ok"
    until(three, "NewEpoch")
    names = [
        name for name in three.world.names() if name.partition(".")[0] in ("Flip", "Swapping", "Validator")
    ]
    assert [name for name in names if "Swap" not in name.partition(".")[2]] == [
        "Flip.FlipDistributed",
        "Swapping.SentFlipToGateway",
        "Validator.NewEpoch",
    ]
    assert three.event("FlipDistributed") == {
        "amounts": [(authority, share) for authority in sorted(authorities)]
    }
    after = [three.world.stored("Flip", "Account", authority)["balance"] for authority in authorities]
    assert after == [balance + share for balance in before]
    assert reserve(three) == (fees + from_vault) % 3
    assert three.world.stored("Flip", "OffchainFunds") == outside - from_vault
    sent, fee = three.event("SentFlipToGateway"), three.world.stored("Swapping", "FlipToBeSentToGateway")
    assert sent["amount"] + fee == owed + from_vault
    assert 0 < fee == -three.world.stored("Flip", "FlipToDistribute")


@pytest.mark.parametrize("owed", [0, 50 * FLIP])
def test_too_little_stays_in_the_vault(three: Swapper, owed: int) -> None:
    """Keep in the vault what is too little to send to the gateway."""
    activate(three)
    with three.arranging() as runtime:
        runtime.pallet(SwappingStorage).record_gateway_liability(owed)
    assert three.dev("end_epoch") == "Ok"
    until(three, "NewEpoch")
    reason = three.event("FlipTransferToGatewaySkipped")["reason"]
    assert (reason == "Other") == bool(owed)
    assert owed or three.error_name(reason) == "EthereumIngressEgress.BelowEgressDustLimit"
    assert three.world.stored("Swapping", "FlipToBeSentToGateway") == owed


def test_a_provider_moves_flip_to_its_balance_on_the_chain() -> None:
    """Move a provider's FLIP to its account only with rewards active, funds and role, and no safe mode."""
    market = Market()

    def move(amount: int) -> str:
        return market.provide("transfer_flip_to_on_chain_balance", amount=amount).partition(".")[2]

    assert move(FLIP) == "FlipTransferToOnChainBalanceUnavailable"
    activate(market)
    assert (move(FLIP - 1), move(FLIP)) == ("BelowMinimumFunding", "InsufficientBalance")
    with market.arranging() as runtime:
        runtime.pallet(AssetBalances).FreeBalances.put(BOB.account, "Flip", 300 * FLIP)
    before = market.world.stored("Flip", "Account", BOB.account)["balance"]
    assert market.provide("transfer_flip_to_on_chain_balance", amount=200 * FLIP) == "Ok"
    fee, funded = market.event("TransactionFeePaid")["actual_fee"], market.event("Funded")
    assert (funded["source"], funded["funds_added"]) == ("FreeBalance", 200 * FLIP)
    moved = market.event("FlipTransferredToOnChainBalance")
    assert moved == {"account_id": BOB.account, "amount": 200 * FLIP}
    assert market.world.stored("Flip", "Account", BOB.account)["balance"] == before + 200 * FLIP - fee
    assert market.owned("Flip") == 100 * FLIP
    assert market.world.stored("Swapping", "FlipToBeSentToGateway") == 200 * FLIP
    assert market.submit("LiquidityProvider", "transfer_flip_to_on_chain_balance", amount=FLIP) == "BadOrigin"
    safe_mode(market, "liquidity_provider", "flip_to_on_chain_balance_enabled")
    assert move(FLIP) == "FlipTransferToOnChainBalanceDisabled"
