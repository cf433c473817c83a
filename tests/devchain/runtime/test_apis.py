"""What the runtime answers about accounts, limits, channels and vaults, compared with the state itself."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.addresses import NETWORKS, script_from_text, taproot
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.devchain.runtime.keys import bitcoin_public_key
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.flip import Flip
from tests.devchain.runtime.broker import Broker, request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC, Swapper
from tests.devchain.runtime.world import ALICE, World
from tests.support.devchain.api import ask

FLIP = 10**18


@pytest.fixture
def broker() -> Broker:
    """Return a broker on a new chain."""
    return Broker()


def test_an_account_that_does_not_exist_has_zeros() -> None:
    """Answer zeros, not an error, for an account that does not exist."""
    common = ask(World(), "cf_common_account_info", b"\x09" * 32, "Yes")
    assert common["flip_balance"] == common["bond"] == common["estimated_redeemable_balance"] == 0
    assert common["bound_redeem_address"] is None
    assert set(common["asset_balances"]["eth"].values()) == {0}


def test_a_redemption_of_everything_costs_no_tax_unless_some_is_bonded() -> None:
    """Charge the redemption tax only where some FLIP is bonded: redeeming everything costs none."""
    world = World()
    tax = ask(world, "cf_redemption_tax")
    common = ask(world, "cf_common_account_info", ALICE.account, "No")
    assert common["estimated_redeemable_balance"] == common["flip_balance"] > tax > 0
    with world.runtime.composition.on(journal := world.journal):
        world.runtime.composition.pallet(Flip).set_bond(ALICE.account, 10**18)
    world.state.apply(journal.changes())
    bonded = ask(world, "cf_common_account_info", ALICE.account, "No")
    assert bonded["estimated_redeemable_balance"] == common["flip_balance"] - 10**18 - tax


def test_a_broker_is_listed_with_its_earnings(broker: Broker) -> None:
    """List a broker with its role and earned fees, and all accounts where no role is asked for."""
    with broker.arranging() as runtime:
        runtime.pallet(AssetBalances).credit(broker.account, "Usdc", 5)
    (only,) = ask(broker.world, "cf_all_account_infos", ["Broker"])
    role, info = only["role"]
    assert (role, only["common_items"]["account_id"]) == ("Broker", broker.account)
    assert dict(info["earned_fees"])["Usdc"] == 5
    everyone = ask(broker.world, "cf_all_account_infos", None)
    assert len(everyone) == len(ask(broker.world, "cf_accounts"))


def test_the_fee_of_a_coin_is_returned_as_if_it_were_swapped_for() -> None:
    """Return the fee of a coin as the amount to swap for its gas, the network fee included."""
    world = World()
    # 50,000 and 70,000 gas at 2.1 gwei, with the network fee of 0.1 %: as a factor of nine decimals
    assert ask(world, "cf_ingress_fee", "Eth") == 50_000 * 2_100_000_000 * 1_001_001_001 // 10**9
    assert ask(world, "cf_egress_fee", "Eth") == 70_000 * 2_100_000_000 * 1_001_001_001 // 10**9
    assert (ask(world, "cf_ingress_fee", "Btc"), ask(world, "cf_egress_fee", "Btc")) == (390, 880)
    assert (ask(world, "cf_ingress_fee", "Dot"), ask(world, "cf_egress_fee", "Dot")) == (
        197_300_000,
        197_450_000,
    )
    assert ask(world, "cf_egress_fee", "Usdc") > 10**5


def test_every_asset_has_its_limits() -> None:
    """Return for every asset the minimum deposit, the dust limit, the maximum swap and the safety margin."""
    world = World()
    for asset in ASSETS.values():
        minimum = ask(world, "cf_min_deposit_amount", asset.name)
        assert minimum == world.stored(f"{asset.chain}IngressEgress", "MinimumDeposit", asset.name)
        assert ask(world, "cf_egress_dust_limit", asset.name) == (600 if asset.name == "Btc" else 1)
        assert ask(world, "cf_max_swap_amount", asset.name) is None
    margins = {name: ask(world, "cf_witness_safety_margin", name) for name in CHAINS}
    assert margins["Bitcoin"] == 2
    assert margins["Polkadot"] is None


def test_network_fees_name_a_rate_for_each_asset() -> None:
    """Return the rate of the network fee for each asset, regular and internal swaps apart."""
    fees = ask(World(), "cf_network_fees")
    regular, internal = fees["regular_network_fee"], fees["internal_swap_network_fee"]
    assert regular["standard_rate_and_minimum"] == {"rate": 1_000, "minimum": 500_000}
    assert internal["rates"]["btc"] == {"btc": 100}
    assert {rate for rates in regular["rates"].values() for rate in rates.values()} == {1_000}


def test_price_protection_is_there_where_the_oracle_has_a_price() -> None:
    """Return a price protection only between assets whose price the oracle has."""
    protection = ask(World(), "cf_default_oracle_price_protection")
    unknown = dict.fromkeys(("flip", "usdc", "wbtc", "cbbtc"))
    assert protection["eth"] == {"eth": 100, "usdt": 50} | unknown
    assert protection["btc"] == {"btc": 100}


def test_parameters_are_checked_as_a_channel_would() -> None:
    """Check DCA and refund parameters by the rules that hold when a channel is opened."""
    world = World()
    assert ask(world, "cf_validate_dca_params", 2, 2) == ("Ok", ())
    assert ask(world, "cf_validate_dca_params", 0, 2) == ("Err", ("Module", b"ZeroNumberOfChunksNotAllowed"))
    assert ask(world, "cf_validate_refund_params", "Eth", "Btc", 600, None) == ("Ok", ())
    too_long = ("Err", ("Module", b"RetryDurationTooHigh"))
    assert ask(world, "cf_validate_refund_params", "Eth", "Btc", 601, None) == too_long
    unknown = ("Err", ("Module", b"OraclePriceNotAvailable"))
    assert ask(world, "cf_validate_refund_params", "Flip", "Btc", 1, 50) == unknown


def test_a_private_channel_stands_among_the_vaults(broker: Broker) -> None:
    """List a broker's private Bitcoin channel among the vault addresses, derived from the vault's key."""
    assert broker.swapping("open_private_btc_channel") == "Ok"
    vaults = ask(broker.world, "cf_vault_addresses")
    channel = broker.world.stored("Swapping", "BrokerPrivateBtcChannels", broker.account)
    ((account, (variant, text)),) = vaults["bitcoin"]
    assert (account, variant) == (broker.account, "Btc")
    script = script_from_text(text.decode(), NETWORKS["Development"])
    assert script == taproot.deposit(bitcoin_public_key(), channel).script
    assert vaults["ethereum"] == ("Eth", broker.world.stored("Environment", "EthereumVaultAddress"))
    assert vaults["predicted_seconds_until_next_vault_rotation"] == 6 * (43_200 - broker.world.header.number)


def test_the_evm_key_is_returned_compressed() -> None:
    """Return the EVM key as 33 compressed bytes, the parity in the first."""
    key, since = ask(World(), "cf_eth_vault")
    stored = World().stored("EvmThresholdSigner", "Keys", 1)
    assert key[1:] == stored["pub_key_x"]
    assert key[0] == {"Odd": 3, "Even": 2}[stored["pub_key_y_parity"]]
    assert since == 0


SIMPLE = {
    "broker_commission": 10,
    "dca_parameters": None,
    "ccm_data": None,
    "exclude_fees": [],
    "additional_limit_orders": None,
    "is_internal": None,
}


def simulate(world: World, source: str, target: str, amount: int, **changes: Any) -> Any:
    """Return the answer to a simulated swap with a commission of 10 basis points, or with other terms."""
    terms = SIMPLE | changes
    return ask(world, "cf_pool_simulate_swap", source, target, amount, *terms.values())


@pytest.mark.parametrize(
    ("source", "target", "amount"),
    [("Eth", "Btc", ETHER), ("Usdc", "Eth", 5_000 * USDC), ("Btc", "ArbUsdc", BITCOIN // 10)],
)
def test_a_simulated_swap_has_the_output_of_the_real_one(source: str, target: str, amount: int) -> None:
    """Quote fees and amounts of a swap as the real one then has them."""
    swapper = Swapper()
    kind, quoted = simulate(swapper.world, source, target, amount)
    assert kind == "Ok"
    swapper.deposit(source, target, amount)
    finalised = swapper.event("DepositFinalised")
    assert finalised["ingress_fee"] == quoted["ingress_fee"]
    for _ in range(3):
        swapper.world.block()
        if swapper.all_of("SwapEgressScheduled"):
            break
    request_id = max(event["swap_request_id"] for event in swapper.all_of("SwapEgressScheduled"))
    (executed,) = [
        event for event in swapper.all_of("SwapExecuted") if event["swap_request_id"] == request_id
    ]
    (egress,) = swapper.all_of("SwapEgressScheduled")
    fees = executed["network_fee"], executed["broker_fee"]
    assert fees == (quoted["network_fee"], quoted["broker_fee"])
    assert executed["intermediate_amount"] == quoted["intermediary"]
    assert egress["egress_fee"][0] == pytest.approx(quoted["egress_fee"], rel=1e-2)
    assert egress["amount"] == pytest.approx(quoted["output"], rel=1e-6)


def test_a_message_to_a_chain_that_takes_none_leaves_the_fee_of_the_transfer_out() -> None:
    """Quote no egress fee for a message to a chain that takes none."""
    message = {"gas_budget": 100_000, "message_length": 100}
    assert simulate(World(), "Btc", "Eth", BITCOIN, ccm_data=message)[1]["egress_fee"] > 0
    kind, quoted = simulate(World(), "Eth", "Btc", ETHER, ccm_data=message)
    assert (kind, quoted["egress_fee"]) == ("Ok", 0)
    assert quoted["output"] == simulate(World(), "Eth", "Btc", ETHER)[1]["output"] + 880


def test_a_deposit_on_assethub_that_is_no_channels_is_quoted_without_a_fee() -> None:
    """Quote a deposit on AssetHub without a channel without an ingress fee."""
    _, quoted = simulate(World(), "HubDot", "Usdc", 10**12, exclude_fees=["IngressDepositChannel"])
    assert quoted["ingress_fee"] == 0


@pytest.mark.parametrize("commission", [10_001, 65_535])
def test_a_commission_above_all_of_the_amount_is_none(commission: int) -> None:
    """Ignore a commission above 100 %, as the official runtime does; one of 100 % leaves nothing."""
    without = simulate(World(), "Eth", "Btc", ETHER, broker_commission=0)
    assert simulate(World(), "Eth", "Btc", ETHER, broker_commission=commission) == without
    _, all_of_it = simulate(World(), "Eth", "Btc", ETHER, broker_commission=10_000)
    assert (all_of_it["intermediary"], all_of_it["output"]) == (0, 0)


@pytest.mark.parametrize(("source", "most"), [("Sol", 2**64 - 1), ("Btc", 2**64 - 1)])
def test_an_amount_that_the_sources_chain_cannot_hold_is_quoted_as_the_most_it_can(
    source: str, most: int
) -> None:
    """Quote an amount above what the source chain can hold as the largest that it can."""
    greatest = simulate(World(), source, "Usdc", most)
    assert simulate(World(), source, "Usdc", 2**128 - 1) == greatest


def test_chunks_move_the_price_less_and_pay_the_least_fee_once() -> None:
    """Quote a better price for a swap in chunks, and no fee that the caller excludes."""
    world = World()
    _, at_once = simulate(world, "Btc", "Eth", 50 * BITCOIN)
    in_chunks = {"number_of_chunks": 10, "chunk_interval": 2}
    _, chunked = simulate(world, "Btc", "Eth", 50 * BITCOIN, dca_parameters=in_chunks)
    assert chunked["output"] > at_once["output"]
    _, free = simulate(
        world, "Eth", "Usdc", ETHER, exclude_fees=["Network", "IngressDepositChannel", "Egress"]
    )
    assert (free["network_fee"], free["ingress_fee"], free["egress_fee"]) == (0, 0, 0)


def test_a_simulation_that_fails_names_the_leg() -> None:
    """Name the leg of a simulated swap that failed."""
    world = World()
    failed = "Simulated swap failed on the {} leg: swap leg failed."
    for source, target, amount, leg in [
        ("Wbtc", "Eth", 2**127, "input"),
        ("Dot", "Eth", 10**10, "input"),
        ("Eth", "Dot", ETHER, "output"),
        ("Usdc", "Dot", 1, "output"),
    ]:
        refused = ("Err", ("RawMessage", failed.format(leg).encode()))
        assert simulate(world, source, target, amount) == refused


def test_a_swap_is_listed_until_its_block() -> None:
    """List both legs of a scheduled swap with its block, until that block is made."""
    swapper = Swapper()
    swapper.deposit("Eth", "Btc", ETHER)
    ((leg, execute_at),) = [
        (leg, when)
        for leg, when in ask(swapper.world, "cf_scheduled_swaps", "Eth", "Usdc")
        if leg["remaining_chunks"] or leg["swap_id"]
    ][-1:]
    assert (leg["side"], leg["base_asset"], leg["quote_asset"]) == ("Sell", "Eth", "Usdc")
    ((bought, when),) = ask(swapper.world, "cf_scheduled_swaps", "Btc", "Usdc")
    assert (bought["side"], bought["source_asset"], bought["source_amount"]) == ("Buy", "Eth", leg["amount"])
    assert when == execute_at == swapper.world.header.number + 2
    swapper.blocks(2)
    assert ask(swapper.world, "cf_scheduled_swaps", "Btc", "Usdc") == []


# What operators watch, and what was seen


def watch(world: World, method: str, *arguments: Any) -> Any:
    """Return the answer of a method of the monitoring API."""
    return world.api(f"MonitoringRuntimeApi_{method}", *arguments)


def test_the_monitoring_data_equals_the_answers_of_its_parts(broker: Broker) -> None:
    """Return as monitoring data what the separate methods answer, field by field."""
    broker.opened(**request())
    world = broker.world
    data = watch(world, "cf_monitoring_data")
    parts = {
        "external_chains_height": "cf_external_chains_block_height",
        "epoch": "cf_epoch_state",
        "open_deposit_channels": "cf_open_deposit_channels_count",
        "fee_imbalance": "cf_fee_imbalance",
        "sol_aggkey": "cf_sol_aggkey",
        "activating_key_broadcast_ids": "cf_rotation_broadcast_ids",
        "pending_broadcasts": "cf_pending_broadcasts_count",
    }
    assert {name: data[name] for name in parts} == {name: watch(world, part) for name, part in parts.items()}
    assert data["open_deposit_channels"]["ethereum"] == 1
    assert data["epoch"]["rotation_phase"] == "Idle"
    assert data["authorities"]["authorities"] == len(world.stored("Validator", "CurrentAuthorities"))
    height = world.stored("BitcoinChainTracking", "CurrentChainState")["block_height"]
    assert data["external_chains_height"]["bitcoin"] == height


def test_an_auction_now_would_change_nothing() -> None:
    """Simulate an auction whose winners are today's authorities, with today's bond."""
    world = World()
    kind, (outcome, operators, new, bond) = watch(world, "cf_simulate_auction")
    asked = ask(world, "cf_auction_state")["min_active_bid"], watch(world, "cf_epoch_state")["min_active_bid"]
    assert asked == (outcome["bond"], outcome["bond"])
    authorities = world.stored("Validator", "CurrentAuthorities")
    assert (kind, outcome["winners"], operators, new) == ("Ok", authorities, [], [])
    assert outcome["bond"] == bond
    (info,) = watch(world, "cf_accounts_info", authorities[:1])
    assert (info["is_current_authority"], info["keyholder_epochs"]) == (True, [1])


def test_a_witnessed_deposit_is_listed_in_its_block_alone() -> None:
    """List a witnessed deposit in its block and chain alone, and refuse a chain without ingress events."""
    swapper = Swapper()
    channel = swapper.opened(**request())["deposit_address"]
    swapper.pay(channel, "Eth", ETHER)
    kind, events = ask(swapper.world, "cf_ingress_events", "Ethereum")
    assert (kind, events["vault_deposits"]) == ("Ok", [])
    (deposit,) = events["deposits"]
    assert (deposit["deposit_address"], deposit["amount"], deposit["asset"]) == (channel, ETHER, "Eth")
    assert deposit["deposit_details"][0] == "Ethereum"
    assert ask(swapper.world, "cf_ingress_events", "Bitcoin") == (
        "Ok",
        {"deposits": [], "vault_deposits": []},
    )
    swapper.world.block()
    assert ask(swapper.world, "cf_ingress_events", "Ethereum")[1]["deposits"] == []
    assert ask(swapper.world, "cf_ingress_events", "Solana")[0] == "Err"


def test_a_marked_deposit_is_listed_for_screeners(broker: Broker) -> None:
    """List a transaction that a broker marked for rejection among the screening events of its chain."""
    tx_id = b"\x11" * 32
    assert broker.submit("BitcoinIngressEgress", "mark_transaction_for_rejection", tx_id=tx_id) == "Ok"
    screened = ask(broker.world, "cf_transaction_screening_events")
    received = ("TransactionRejectionRequestReceived", {"account_id": broker.account, "tx_id": tx_id})
    assert screened == {f"{chain}_events": [] for chain in ("eth", "arb", "sol", "tron", "bsc")} | {
        "btc_events": [received]
    }


def test_there_are_no_loans_and_no_strategies(broker: Broker) -> None:
    """Answer without loans and strategies where there are none, and with a balance that was credited."""
    for method in ("cf_lending_pools", "cf_lending_pool_supply_balances", "cf_loan_accounts"):
        assert ask(broker.world, method, None) == []
    assert ask(broker.world, "cf_get_trading_strategies", None) == ask(broker.world, "cf_all_loans") == []
    with broker.arranging() as runtime:
        runtime.pallet(AssetBalances).credit(broker.account, "Usdc", 5)
    assert ask(broker.world, "cf_lp_total_balances", broker.account)["eth"]["usdc"] == 5
