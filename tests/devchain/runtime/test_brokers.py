"""A broker's life: registering, affiliates, a private Bitcoin channel, withdrawing fees, leaving."""

from __future__ import annotations

import pytest

from cfnode.core.addresses import NETWORKS, script_from_text, taproot
from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.keys import bitcoin_public_key
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.trading import quote
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from tests.devchain.runtime.broker import Broker, address_on, request
from tests.devchain.runtime.world import ALICE, BOB, OLDEST, World
from tests.support.devchain.safe_mode import safe_mode

FLIP = 10**18
WALLET = bytes.fromhex("a56a6be23b6cf39d9448ff6e897c29c41c8fbdff")
OTHER_WALLET = b"\x01" * 20
USDC = 10**6
CHAINS = ("Ethereum", "Bitcoin")


@pytest.fixture
def broker() -> Broker:
    """Return a broker on a new chain."""
    return Broker()


def earn(broker: Broker, asset: str, amount: int, who: bytes | None = None) -> None:
    """Credit an amount to the broker, or to another account."""
    with broker.arranging() as runtime:
        runtime.pallet(AssetBalances).credit(who or broker.account, asset, amount)


# Registering and leaving


def test_registering_gives_the_role_and_says_so() -> None:
    """Register a broker's role, with its event and a consumer on the account."""
    world = World()
    assert world.api("CustomRuntimeApi_cf_account_role", ALICE.account) == "Unregistered"
    world.block(world.sign(world.call("Swapping", "register_as_broker")))
    assert world.names(1) == [
        "AccountRoles.AccountRoleRegistered",
        "TransactionPayment.TransactionFeePaid",
        "System.ExtrinsicSuccess",
    ]
    assert world.api("CustomRuntimeApi_cf_account_role", ALICE.account) == "Broker"
    assert world.stored("System", "Account", ALICE.account)["consumers"] == 1


def test_a_role_is_taken_once(broker: Broker) -> None:
    """Refuse a second registration, and any while safe mode disables it."""
    assert broker.swapping("register_as_broker") == "AccountRoles.AccountRoleAlreadyRegistered"
    safe_mode(broker, "swapping", "broker_registration_enabled")
    assert broker.submit("Swapping", "register_as_broker", pair=BOB) == "Swapping.BrokerRegistrationDisabled"


def test_a_broker_that_owns_nothing_may_leave_and_come_again(broker: Broker) -> None:
    """Let a broker without funds leave: its affiliates are removed, and it may register again."""
    assert broker.swapping("register_affiliate", withdrawal_address=WALLET) == "Ok"
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    assert broker.swapping("deregister_as_broker") == "Ok"
    killed = [fields["account"] for _, _, name, fields in broker.world.events() if name == "KilledAccount"]
    assert killed == [affiliate]
    assert broker.world.api("CustomRuntimeApi_cf_account_role", broker.account) == "Unregistered"
    assert broker.world.api("CustomRuntimeApi_cf_affiliate_details", broker.account, None) == []
    assert broker.swapping("deregister_as_broker") == "BadOrigin"
    assert broker.swapping("register_as_broker") == "Ok"


def test_a_broker_becomes_a_provider_and_a_broker_again_and_its_channels_stay(broker: Broker) -> None:
    """Keep open channels with their purpose and owner when an account changes its role."""

    def channels() -> list[tuple[str, bytes]]:
        """Return the purpose and the owner of each open channel."""
        with broker.arranging() as runtime:
            lookups = (runtime.pallet(INGRESS_EGRESS[chain]).DepositChannelLookup for chain in CHAINS)
            opened = [channel for lookup in lookups for _, channel in lookup.items()]
        return [
            (type(channel.action).__name__.removeprefix("ChannelAction"), channel.owner) for channel in opened
        ]

    def role() -> object:
        return broker.world.api("CustomRuntimeApi_cf_account_role", broker.account)

    assert broker.open(**request()) == "Ok"
    swap, provision = (("Swap", broker.account), ("LiquidityProvision", broker.account))
    assert channels() == [swap]
    assert broker.swapping("deregister_as_broker") == "Ok"
    assert broker.submit("LiquidityProvider", "register_lp_account") == "Ok"
    assert role() == "LiquidityProvider"
    assert broker.open(**request()) == "BadOrigin"
    address = {"address": address_on("Bitcoin")}
    assert broker.submit("LiquidityProvider", "register_liquidity_refund_address", **address) == "Ok"
    channel = {"asset": "Btc", "boost_fee": 0}
    assert broker.submit("LiquidityProvider", "request_liquidity_deposit_address", **channel) == "Ok"
    assert channels() == [swap, provision]
    assert broker.submit("LiquidityProvider", "deregister_lp_account") == "Ok"
    assert broker.swapping("register_as_broker") == "Ok"
    assert (role(), channels()) == ("Broker", [swap, provision])


def test_the_errors_of_a_broker_who_may_not_leave_come_in_the_chains_order(broker: Broker) -> None:
    """Check funds, private channel, affiliates and bond of a leaving broker in the chain's order."""
    assert broker.swapping("open_private_btc_channel") == "Ok"
    assert broker.swapping("register_affiliate", withdrawal_address=WALLET) == "Ok"
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    earn(broker, "Usdc", 1)
    earn(broker, "Usdc", 1, affiliate)
    assert broker.swapping("deregister_as_broker") == "AssetBalances.FundsRemaining"
    with broker.arranging() as runtime:
        runtime.pallet(AssetBalances).debit(broker.account, "Usdc", 1)
    assert broker.swapping("deregister_as_broker") == "Swapping.PrivateChannelExistsForBroker"
    assert broker.swapping("close_private_btc_channel") == "Ok"
    assert broker.swapping("deregister_as_broker") == "Swapping.AffiliateEarnedFeesNotWithdrawn"
    with broker.arranging() as runtime:
        runtime.pallet(AssetBalances).debit(affiliate, "Usdc", 1)
        runtime.pallet(Flip).set_bond(broker.account, 1)
    assert broker.swapping("deregister_as_broker") == "Flip.AccountBonded"


def test_none_of_a_brokers_calls_is_for_others(broker: Broker) -> None:
    """Refuse each call of brokers from an account without the role."""
    calls: list[tuple[str, dict[str, object]]] = [
        ("deregister_as_broker", {}),
        ("withdraw", {"asset": "Usdc", "destination_address": ("Eth", WALLET)}),
        ("open_private_btc_channel", {}),
        ("close_private_btc_channel", {}),
        ("register_affiliate", {"withdrawal_address": WALLET}),
        ("deregister_affiliate", {"affiliate_account_id": bytes(32)}),
        ("affiliate_withdrawal_request", {"affiliate_account_id": bytes(32)}),
        ("set_vault_swap_minimum_broker_fee", {"minimum_fee_bps": 1}),
        ("bind_broker_fee_withdrawal_address", {"address": WALLET}),
    ]
    for name, arguments in calls:
        assert broker.submit("Swapping", name, pair=BOB, **arguments) == "BadOrigin", name


# Private Bitcoin channels


def test_a_private_channel_bonds_a_hundred_flip(broker: Broker) -> None:
    """Bond 100 FLIP for a private channel, release them when it closes, and never use a channel id again."""
    assert broker.swapping("open_private_btc_channel") == "Ok"
    assert broker.world.names(1)[:2] == ["Flip.BondUpdated", "Swapping.PrivateBrokerChannelOpened"]
    assert broker.event("PrivateBrokerChannelOpened") == {"broker_id": broker.account, "channel_id": 1}
    assert broker.event("BondUpdated") == {"account_id": broker.account, "new_bond": 100 * FLIP}
    assert broker.swapping("open_private_btc_channel") == "Swapping.PrivateChannelExistsForBroker"
    assert broker.swapping("close_private_btc_channel") == "Ok"
    assert broker.event("PrivateBrokerChannelClosed") == {"broker_id": broker.account, "channel_id": 1}
    assert broker.world.stored("Flip", "Account", broker.account)["bond"] == 0
    assert broker.swapping("close_private_btc_channel") == "Swapping.NoPrivateChannelExistsForBroker"
    assert broker.swapping("open_private_btc_channel") == "Ok"
    assert broker.event("PrivateBrokerChannelOpened")["channel_id"] == 2


def test_a_poor_broker_gets_no_private_channel(broker: Broker) -> None:
    """Refuse a private channel where the transaction's fee leaves less than the bond."""
    with broker.arranging() as runtime:
        flip = runtime.pallet(Flip)
        flip.burn(broker.account, flip.balance(broker.account) - 100 * FLIP)
    # The fee for asking has taken the balance below the bond.
    assert broker.swapping("open_private_btc_channel") == "Swapping.InsufficientFunds"


def test_the_private_channels_address_is_that_of_its_id(broker: Broker) -> None:
    """Derive the address of the private channel from its id, and report it with the bond."""
    assert broker.swapping("open_private_btc_channel") == "Ok"
    info = broker.world.api("CustomRuntimeApi_cf_broker_info", broker.account)
    assert info["btc_vault_deposit_address"] == taproot.deposit(bitcoin_public_key(), 1).script
    assert info["bond"] == 100 * FLIP


# Affiliates


def test_an_affiliate_is_an_account_derived_from_its_broker(broker: Broker) -> None:
    """Derive an affiliate's account from its broker and short id, and list it."""
    assert broker.swapping("register_affiliate", withdrawal_address=WALLET) == "Ok"
    assert broker.world.names(1)[:2] == ["System.NewAccount", "Swapping.AffiliateRegistration"]
    event = broker.event("AffiliateRegistration")
    assert event["affiliate_id"] == blake2_256(b"chainflip/affiliate" + broker.account + b"\x00")
    assert (event["short_id"], event["withdrawal_address"]) == (0, WALLET)
    details = {"short_id": 0, "withdrawal_address": WALLET}
    answer = broker.world.api("CustomRuntimeApi_cf_affiliate_details", broker.account, None)
    assert answer == [(event["affiliate_id"], details)]


def test_short_ids_that_became_free_are_given_again(broker: Broker) -> None:
    """Give a freed short id to the next affiliate, and remove the account of the old one."""
    ids = []
    for _ in range(3):
        assert broker.swapping("register_affiliate", withdrawal_address=WALLET) == "Ok"
        ids.append(broker.event("AffiliateRegistration")["affiliate_id"])
    assert broker.swapping("deregister_affiliate", affiliate_account_id=ids[1]) == "Ok"
    assert broker.event("AffiliateDeregistration") == {
        "broker_id": broker.account,
        "short_id": 1,
        "affiliate_account_id": ids[1],
    }
    names = broker.world.names(1)
    assert names.index("System.KilledAccount") < names.index("Swapping.AffiliateDeregistration")
    assert not broker.world.stored("System", "Account", ids[1])["providers"]
    assert broker.swapping("register_affiliate", withdrawal_address=OTHER_WALLET) == "Ok"
    assert broker.event("AffiliateRegistration")["short_id"] == 1


def test_there_are_256_short_ids(broker: Broker) -> None:
    """Refuse the 257th affiliate: a short id is one byte."""
    with broker.arranging() as runtime:
        mapping = runtime.pallet(SwappingStorage).AffiliateIdMapping
        for short_id in range(256):
            mapping.put(broker.account, short_id, bytes(32))
    outcome = broker.swapping("register_affiliate", withdrawal_address=WALLET)
    assert outcome == "Swapping.AffiliateShortIdOutOfBounds"


def test_an_affiliate_withdraws_to_its_own_address(broker: Broker) -> None:
    """Send an affiliate's fees to its own address, and remove it only once it has none."""
    for name in ("affiliate_withdrawal_request", "deregister_affiliate"):
        outcome = broker.swapping(name, affiliate_account_id=BOB.account)
        assert outcome == "Swapping.AffiliateNotRegisteredForBroker"
    assert broker.swapping("register_affiliate", withdrawal_address=WALLET) == "Ok"
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    earn(broker, "Usdc", 50 * USDC, affiliate)
    known = {"affiliate_account_id": affiliate}
    assert broker.swapping("deregister_affiliate", **known) == "Swapping.AffiliateEarnedFeesNotWithdrawn"
    assert broker.swapping("affiliate_withdrawal_request", **known) == "Ok"
    event = broker.event("WithdrawalRequested")
    assert (event["account_id"], event["destination_address"]) == (affiliate, ("Eth", WALLET))
    assert broker.swapping("deregister_affiliate", **known) == "Ok"


# Settings


def test_the_minimum_fee_for_vault_swaps_is_capped(broker: Broker) -> None:
    """Limit the minimum fee for vault swaps to 10 %."""
    name = "set_vault_swap_minimum_broker_fee"
    assert broker.swapping(name, minimum_fee_bps=1_001) == "Swapping.BrokerCommissionBpsTooHigh"
    assert broker.swapping(name, minimum_fee_bps=1_000) == "Ok"
    assert broker.event("VaultSwapMinimumBrokerFeeSet") == {
        "broker_id": broker.account,
        "minimum_fee_bps": 1_000,
    }
    assert broker.world.stored("Swapping", "VaultSwapMinimumBrokerFee", broker.account) == 1_000


def test_a_withdrawal_address_is_bound_once_and_binds_ethereum_only(broker: Broker) -> None:
    """Bind the withdrawal address once; it restricts withdrawals on Ethereum only."""
    assert broker.swapping("bind_broker_fee_withdrawal_address", address=WALLET) == "Ok"
    assert broker.event("BoundBrokerWithdrawalAddress") == {"broker": broker.account, "address": WALLET}
    again = broker.swapping("bind_broker_fee_withdrawal_address", address=OTHER_WALLET)
    assert again == "Swapping.BrokerAlreadyBound"
    earn(broker, "Usdc", 100 * USDC)
    earn(broker, "ArbUsdc", 100 * USDC)
    elsewhere = broker.swapping("withdraw", asset="Usdc", destination_address=("Eth", OTHER_WALLET))
    assert elsewhere == "AssetBalances.DestinationNotAllowed"
    arbitrum = broker.swapping("withdraw", asset="ArbUsdc", destination_address=("Arb", OTHER_WALLET))
    assert arbitrum == "Ok"
    assert broker.swapping("withdraw", asset="Usdc", destination_address=("Eth", WALLET)) == "Ok"


# Withdrawing


def hold_transfers(broker: Broker, chain: str, asset: str) -> None:
    """Let transfers of an asset stay in their queue."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS[chain]).DisabledEgressAssets.put(asset, ())


def test_a_withdrawal_sends_everything_and_swaps_the_fee_into_gas(broker: Broker) -> None:
    """Withdraw the whole balance, and swap the egress fee for the gas that it pays."""
    hold_transfers(broker, "Ethereum", "Usdc")
    earn(broker, "Usdc", 100 * USDC)
    assert broker.swapping("withdraw", asset="Usdc", destination_address=("Eth", WALLET)) == "Ok"
    assert broker.world.names(1) == [
        "AssetBalances.AccountDebited",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "Swapping.WithdrawalRequested",
        "TransactionPayment.TransactionFeePaid",
        "System.ExtrinsicSuccess",
    ]
    # 90,000 gas at 2.1 gwei, ETH at the price that 20 USDC get, and the network fee of 0.1 % on top.
    in_wei = 90_000 * 2_100_000_000
    with broker.arranging() as runtime:
        bought = quote(runtime.pallet(PoolsStorage), "Usdc", "Eth", 20 * USDC)
    in_usdc = -(-in_wei * 20 * USDC // bought)
    fee = in_usdc * 1_000_000 // 999_000
    assert broker.event("WithdrawalRequested") == {
        "account_id": broker.account,
        "egress_id": ("Ethereum", 1),
        "egress_asset": "Usdc",
        "egress_amount": 100 * USDC - fee,
        "egress_fee": fee,
        "destination_address": ("Eth", WALLET),
    }
    assert broker.event("SwapRequested")["request_type"] == "IngressEgressFee"
    scheduled = broker.event("SwapScheduled")
    assert (scheduled["input_amount"], scheduled["swap_type"]) == (fee, "IngressEgressFee")
    assert scheduled["execute_at"] == broker.world.header.number + 2
    ((swap_id, swap),) = broker.world.stored("Swapping", "ScheduledSwaps")
    assert (swap_id, swap["from"], swap["to"]) == (1, "Usdc", "Eth")
    assert broker.world.api("CustomRuntimeApi_cf_free_balances", broker.account)["eth"]["usdc"] == 0
    assert broker.world.stored("EthereumIngressEgress", "ScheduledEgressFetchOrTransfer") == [
        (
            "Transfer",
            {
                "egress_id": ("Ethereum", 1),
                "asset": "Usdc",
                "destination_address": WALLET,
                "amount": 100 * USDC - fee,
            },
        )
    ]


@pytest.mark.parametrize(
    ("asset", "fee"),
    [
        ("Eth", 70_000 * 2_100_000_000),
        ("ArbEth", 80_000 * 20_000_000),
        ("Btc", 80 + 290 + 2 * 255),
        ("Sol", 14_000),
        ("HubDot", 197_450_000),
        ("Trx", 6_168_000),
    ],
)
def test_the_fee_in_the_chains_own_coin_is_withheld_from_the_amount(
    broker: Broker, asset: str, fee: int
) -> None:
    """Withhold the egress fee from an amount of the chain's own coin."""
    amount, chain = 10**17, {"Eth": "Ethereum", "ArbEth": "Arbitrum", "Btc": "Bitcoin", "Sol": "Solana"}
    earn(broker, asset, amount)
    to = address_on(chain.get(asset, {"HubDot": "Assethub", "Trx": "Tron"}.get(asset, "")))
    assert broker.swapping("withdraw", asset=asset, destination_address=to) == "Ok"
    event = broker.event("WithdrawalRequested")
    assert (event["egress_amount"], event["egress_fee"]) == (amount - fee, fee)
    assert broker.world.stored("AssetBalances", "WithheldAssets", asset) == fee


def test_bitcoin_is_sent_to_the_script_of_the_address(broker: Broker) -> None:
    """Queue a Bitcoin withdrawal with the script of its address."""
    earn(broker, "Btc", 10**8)
    hold_transfers(broker, "Bitcoin", "Btc")
    to = address_on("Bitcoin")
    assert broker.swapping("withdraw", asset="Btc", destination_address=to) == "Ok"
    ((_, transfer),) = broker.world.stored("BitcoinIngressEgress", "ScheduledEgressFetchOrTransfer")
    script = script_from_text(to[1].decode(), NETWORKS["Development"])
    assert transfer["destination_address"] == script


@pytest.mark.parametrize(
    ("config", "bound", "wrong_address"),
    [
        (None, "Swapping.NoFundsAvailable", "Swapping.IncompatibleAssetAndAddress"),
        (
            OLDEST,
            "Swapping.BrokerBoundWithdrawalAddressRestrictionViolated",
            "Swapping.WithdrawalsDisabled",
        ),
    ],
    ids=["default", "2.2.3"],
)
def test_a_withdrawal_is_refused_in_the_chains_order(
    config: DevGenesis | None, bound: str, wrong_address: str
) -> None:
    """Check a withdrawal in each release's order of errors."""
    broker = Broker(config=config)
    to_ethereum = ("Eth", WALLET)
    withdraw = {"asset": "Usdc", "destination_address": to_ethereum}
    assert broker.swapping("withdraw", **withdraw) == "Swapping.NoFundsAvailable"
    wrong = broker.swapping("withdraw", asset="Btc", destination_address=to_ethereum)
    assert wrong == "Swapping.IncompatibleAssetAndAddress"
    broken = broker.swapping("withdraw", asset="Btc", destination_address=("Btc", b"nowhere"))
    assert broken == "Swapping.InvalidDestinationAddress"
    broker.swapping("bind_broker_fee_withdrawal_address", address=OTHER_WALLET)
    assert broker.swapping("withdraw", **withdraw) == bound, "funds are looked at after the binding in 2.2"
    safe_mode(broker, "swapping", "withdrawals_enabled")
    assert broker.swapping("withdraw", **withdraw) == "Swapping.WithdrawalsDisabled"
    to_wrong_chain = {"asset": "Btc", "destination_address": to_ethereum}
    assert broker.swapping("withdraw", **to_wrong_chain) == wrong_address
    stranger = "BadOrigin" if config is None else "Swapping.WithdrawalsDisabled"
    assert broker.submit("Swapping", "withdraw", pair=BOB, **withdraw) == stranger


def test_safe_mode_stops_an_affiliates_withdrawal(broker: Broker) -> None:
    """Refuse an affiliate's withdrawal while safe mode disables withdrawals."""
    broker.swapping("register_affiliate", withdrawal_address=WALLET)
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    safe_mode(broker, "swapping", "withdrawals_enabled")
    asked = broker.swapping("affiliate_withdrawal_request", affiliate_account_id=affiliate)
    assert asked == "Swapping.WithdrawalsDisabled"


def test_safe_mode_does_not_stop_an_affiliates_withdrawal_in_2_2() -> None:
    """Allow an affiliate's withdrawal in 2.2 even while safe mode disables withdrawals."""
    broker = Broker(config=OLDEST)
    broker.swapping("register_affiliate", withdrawal_address=WALLET)
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    earn(broker, "Usdc", 100 * USDC, affiliate)
    safe_mode(broker, "swapping", "withdrawals_enabled")
    assert broker.swapping("affiliate_withdrawal_request", affiliate_account_id=affiliate) == "Ok"
    assert broker.event("WithdrawalRequested")["account_id"] == affiliate


def test_too_little_to_send_stays_where_it_is(broker: Broker) -> None:
    """Refuse a withdrawal below the dust limit, and leave the balance and the counters as they are."""
    earn(broker, "Usdc", 1_000)
    outcome = broker.swapping("withdraw", asset="Usdc", destination_address=("Eth", WALLET))
    assert outcome == "EthereumIngressEgress.BelowEgressDustLimit"
    assert broker.world.api("CustomRuntimeApi_cf_free_balances", broker.account)["eth"]["usdc"] == 1_000
    assert broker.world.stored("EthereumIngressEgress", "EgressIdCounter") == 0
    assert broker.world.stored("Swapping", "ScheduledSwaps") == []
