"""A broker's business: commissions, channels that end, refusals, swaps by way of the vault."""

from __future__ import annotations

import pytest

from cfnode.core import ss58
from tests.rpc.scenarios.books import GAS, GATEWAY, NETWORK, POOLS, USER
from tests.rpc.scenarios.happenings import (
    DONE,
    PAID,
    QUIET,
    REQUESTED,
    SENT,
    WITHDRAWN,
    batched,
    deposited,
    landed,
    signed,
    swapped,
    together,
)
from tests.rpc.scenarios.rules import (
    BTC_EGRESS,
    BTC_INGRESS,
    ETH_EGRESS,
    ETH_INGRESS,
    NO_FEE,
    USDC_EGRESS,
    NetworkFee,
)
from tests.rpc.scenarios.story import BITCOIN, ETHER, Story
from tests.sdk.anvil import require_eth_account
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS

SWAPPING = ETHER - ETH_INGRESS
BOND = 100 * 10**18
ENCODE = "broker_request_swap_parameter_encoding"
CREATE = "broker_request_account_creation_deposit_address"
ADVANCE = 10**16


async def test_an_affiliates_commission(story: Story) -> None:
    """Pay an affiliate its commission, and its withdrawal less the fee."""
    affiliate = await story.call("broker_register_affiliate", EVM_ADDRESS)
    story.name(ss58.decode(affiliate)[1], "affiliate")
    (await story.new_events()).check(["System.NewAccount", "Swapping.AffiliateRegistration", PAID])
    address = await story.open(affiliate_fees=[{"account": affiliate, "bps": 25}])
    await story.deposit(address, ETH, ETHER)
    await story.seal(4)
    (await story.new_events()).check(
        together(deposited("Ethereum"), batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(shares=2), SENT, batched("Bitcoin")),
        QUIET,
        landed("Bitcoin"),
    )
    swap = story.rules.swap("Eth", "Btc", SWAPPING, 10, 25)
    earned, fee = swap.shares[1], story.rules.convert("Usdc", "Eth", USDC_EGRESS)
    balances = await story.call("cf_free_balances", affiliate)
    assert int(balances["Ethereum"]["USDC"], 16) == earned
    paid = await story.call("broker_affiliate_withdrawal_request", affiliate)
    assert (int(paid["egress_amount"], 16), int(paid["egress_fee"], 16)) == (earned - fee, fee)
    assert paid["destination_address"].lower() == EVM_ADDRESS
    await story.seal(3)
    (await story.new_events()).check(
        together(WITHDRAWN, batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(legs=1, shares=0), DONE),
        QUIET,
    )
    gas = story.rules.swap("Usdc", "Eth", fee, fee=NetworkFee(minimum=0))
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            BTC_ADDRESS: {"Btc": swap.output - BTC_EGRESS},
            EVM_ADDRESS: {"Usdc": earned - fee},
            "broker": {"Usdc": swap.shares[0]},
            NETWORK: {"Usdc": swap.network + gas.network},
            GAS: {"Eth": ETH_INGRESS + gas.output, "Btc": BTC_EGRESS},
            POOLS: story.rules.moved,
        }
    )


async def test_a_channels_end(story: Story) -> None:
    """Refuse a deposit after a channel's end, and forget the channel a day later."""
    address = await story.open()
    await story.call("dev_timeTravel", 25 * 3600 * 1000)
    await story.seal(1)
    error = await story.error("dev_deposit", address, ETH, ETHER)
    assert 'name: "ChannelExpired"' in error["message"]
    (channel,) = (await story.call("cf_all_open_deposit_channels"))[0][2]["chain_accounts"]
    assert bytes(channel[0]["Eth"]).hex() == address.removeprefix("0x")
    (await story.new_events()).check(QUIET, ["System.ExtrinsicFailed"])
    await story.call("dev_timeTravel", 25 * 3600 * 1000)
    await story.seal(2)
    (await story.new_events()).check(QUIET, QUIET)
    assert (await story.call("cf_all_open_deposit_channels")) == []
    await story.closes({})


@pytest.mark.world
async def test_a_private_bitcoin_channel(story: Story) -> None:
    """Bond FLIP for a private Bitcoin channel, swap by it, and return the bond when it is closed."""
    opened = await story.call("broker_open_private_btc_channel")
    bonded, stored = "Flip.BondUpdated", story.stored()
    assert stored.value("Flip", "Account", story.broker)["bond"] == BOND
    emitted = await story.new_events()
    emitted.check([bonded, "Swapping.PrivateBrokerChannelOpened", PAID])
    assert emitted.one("BondUpdated") == {"account_id": story.broker, "new_bond": BOND}
    assert emitted.one("PrivateBrokerChannelOpened") == {"broker_id": story.broker, "channel_id": opened}
    again = await story.error("broker_open_private_btc_channel")
    assert 'name: "PrivateChannelExistsForBroker"' in again["message"]
    await swap_on_bitcoin(story)
    assert await story.call("broker_close_private_btc_channel") == opened
    emitted = await story.new_events()
    emitted.check([bonded, "Swapping.PrivateBrokerChannelClosed", PAID])
    assert emitted.one("BondUpdated")["new_bond"] == 0
    assert story.stored().value("Flip", "Account", story.broker)["bond"] == 0
    gone = await story.error("broker_close_private_btc_channel")
    assert 'name: "NoPrivateChannelExistsForBroker"' in gone["message"]
    (await story.new_events()).check()


async def swap_on_bitcoin(story: Story) -> None:
    """Pay the private channel's address, as a user; what the transaction carries says what for."""
    terms = {"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10}
    encoded = await story.call(ENCODE, BTC, ETH, EVM_ADDRESS, 10, terms)
    await story.call("dev_sendToVault", encoded, BITCOIN, BTC_ADDRESS)
    story.paid(BTC, BITCOIN)
    await story.seal(4)
    emitted = await story.new_events()
    emitted.check(
        [*REQUESTED, "BitcoinIngressEgress.DepositFinalised"],
        QUIET,
        together(swapped(), SENT, batched("Ethereum")),
        signed("Ethereum"),
        landed("Ethereum"),
    )
    finalised = emitted.one("DepositFinalised")
    assert (finalised["origin_type"], finalised["channel_id"]) == ("Vault", 1)  # the private channel's
    swap = story.rules.swap("Btc", "Eth", BITCOIN - BTC_INGRESS, 10)
    await story.closes(
        {
            USER: {"Btc": -BITCOIN},
            EVM_ADDRESS: {"Eth": swap.output - ETH_EGRESS},
            "broker": {"Usdc": swap.shares[0]},
            NETWORK: {"Usdc": swap.network},
            GAS: {"Btc": BTC_INGRESS, "Eth": ETH_EGRESS},
            POOLS: story.rules.moved,
        }
    )


@pytest.mark.world
async def test_a_swap_by_way_of_the_vault(story: Story) -> None:
    """Swap by way of the vault, without a channel and without an ingress fee."""
    refund = {"retry_duration": 10, "min_price": "0x0", "refund_address": EVM_ADDRESS}
    terms = {"chain": "Ethereum", "input_amount": hex(ETHER), "refund_parameters": refund}
    encoded = await story.call(ENCODE, ETH, BTC, BTC_ADDRESS, 10, terms)
    await story.call("dev_sendToVault", encoded)
    story.paid(ETH, ETHER)
    await story.seal(4)
    emitted = await story.new_events()
    emitted.check(
        [*REQUESTED, "EthereumIngressEgress.DepositFinalised"],
        QUIET,
        together(swapped(), SENT, batched("Bitcoin")),
        QUIET,
        landed("Bitcoin"),
    )
    finalised = emitted.one("DepositFinalised")
    assert (finalised["origin_type"], finalised["channel_id"], finalised["ingress_fee"]) == ("Vault", None, 0)
    transaction = emitted.one("SwapRequested")["origin"][1]["tx_id"][1]
    status = await story.get(f"/v2/swaps/0x{transaction.hex()}")
    assert status["state"] == "COMPLETED"
    swap = story.rules.swap("Eth", "Btc", ETHER, 10)
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            BTC_ADDRESS: {"Btc": swap.output - BTC_EGRESS},
            "broker": {"Usdc": swap.shares[0]},
            NETWORK: {"Usdc": swap.network},
            GAS: {"Btc": BTC_EGRESS},
            POOLS: story.rules.moved,
        }
    )


@pytest.mark.world
async def test_a_deposit_that_the_broker_refuses(story: Story) -> None:
    """Send a deposit that the broker refuses back to its sender, less the fees."""
    transaction = "0x" + "77" * 32
    address = await story.open()
    await story.call("broker_mark_transaction_for_rejection", {"Ethereum": transaction})
    assert await story.rejected_deposit(address, ETH, ETHER, transaction) == "TransactionRejectedByBroker"
    await story.seal(4)
    emitted = await story.new_events()
    pallet = "EthereumIngressEgress"
    emitted.check(
        [f"{pallet}.TransactionRejectionRequestReceived", PAID],
        [f"{pallet}.DepositFailed", *batched("Ethereum", "TransactionRejectedByBroker")],
        signed("Ethereum"),
        landed("Ethereum"),
        QUIET,
        QUIET,
    )
    assert emitted.one("DepositFailed")["reason"] == "TransactionRejectedByBroker"
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            EVM_ADDRESS: {"Eth": ETHER - ETH_INGRESS - ETH_EGRESS},
            GAS: {"Eth": ETH_INGRESS + ETH_EGRESS},
        }
    )


@pytest.mark.world
async def test_an_account_for_a_wallet_that_has_none(story: Story) -> None:
    """Create an account for a wallet that signs on Ethereum, and fund it by a swap into FLIP."""
    wallet = require_eth_account().Account.from_key(b"\x01" * 32)
    remark = "0x00005400" + EVM_ADDRESS.removeprefix("0x")  # System.remark of where a deposit may go back to
    data, bounds = await story.call("cf_encode_non_native_call", remark, 100, 0, {"Eth": "Eip712"})
    signature = wallet.sign_typed_data(full_message=data["Eip712"]).signature
    made = {
        "signature": "0x" + bytes(signature).hex(),
        "signer": wallet.address.lower(),
        "sig_type": "Eip712",
    }
    channel = await story.call(CREATE, {"Ethereum": made}, bounds, ETH, None, EVM_ADDRESS)
    story.name(ss58.decode(channel["requested_for"])[1], "newcomer")
    ready = ["EthereumIngressEgress.ChannelOpeningFeePaid", "Swapping.AccountCreationDepositAddressReady"]
    (await story.new_events()).check([*ready, PAID])
    await story.deposit(channel["address"], ETH, ETHER)
    await story.seal(2)
    fetched, *requested, finalised = deposited("Ethereum")
    created = ["System.NewAccount", "Funding.Funded", "AccountRoles.AccountRoleRegistered"]
    emitted = await story.new_events()
    emitted.check(
        together(
            fetched, created, requested, "AssetBalances.AccountCredited", finalised, batched("Ethereum")
        ),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(shares=0), "Funding.Funded", DONE),
    )
    spent = story.rules.convert("Eth", "Flip", ETHER, rate=0)  # a whole FLIP has as many decimals
    swap = story.rules.swap("Eth", "Flip", spent, fee=NO_FEE)
    assert [event["funds_added"] for event in emitted.of("Funded")] == [ADVANCE, swap.output - ADVANCE]
    account = await story.call("cf_account_info", channel["requested_for"])
    assert (account["role"], int(account["flip_balance"], 16)) == ("liquidity_provider", swap.output)
    assert account["refund_addresses"]["Ethereum"] == EVM_ADDRESS
    assert await story.call("system_accountNextIndex", channel["requested_for"]) == 1
    again = await story.error(CREATE, {"Ethereum": made}, bounds, ETH, None, EVM_ADDRESS)
    assert 'name: "AccountAlreadyExists"' in again["message"]
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            "newcomer": {"Eth": SWAPPING - spent},
            GATEWAY: {"Flip": swap.output},
            GAS: {"Eth": ETH_INGRESS},
            POOLS: story.rules.moved,
        }
    )
