"""Channels for accounts that do not exist yet: who signed, what it costs, and what the first deposit does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.assets import ASSETS
from cfnode.core.scale.metadata import Metadata
from cfnode.devchain.runtime.config import FLIP
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import ETHER, Swapper
from tests.devchain.runtime.wallet import EthereumWallet, SolanaWallet, to_be_signed
from tests.devchain.runtime.world import BOB

ADVANCE = FLIP // 100
WALLETS = [(EthereumWallet(), "Eip712"), (EthereumWallet(), "PersonalSign"), (SolanaWallet(), "Domain")]
WALLET = EthereumWallet()


def encoded(metadata: Metadata, address: Any) -> bytes:
    """Return an address of a foreign chain in the chain's encoding."""
    (type_id,) = (row.id for row in metadata.registry.types if row.path[-1:] == ("EncodedAddress",))
    return metadata.registry.codec(type_id).encode(address)


class Opener(Swapper):
    """A broker who opens accounts for others."""

    def wanted(
        self, wallet: Any = WALLET, asset: str = "Eth", form: str = "Eip712", nonce: int = 0, **changes: Any
    ) -> dict[str, Any]:
        """Return the arguments of a request that is right, with changes that are not signed."""
        back = address_on(ASSETS[asset].chain)
        remark = ("System", ("remark", {"remark": encoded(self.world.metadata, back)}))
        call = to_be_signed(self.world, remark, nonce)
        usual = {
            "signature_data": wallet.sign(call, form),
            "transaction_metadata": dict(call.extrinsic["transaction_metadata"]),
            "asset": asset,
            "boost_fee": 0,
            "refund_address": back,
        }
        return usual | changes

    def ask(self, **arguments: Any) -> str:
        """Request an account creation channel; return the outcome."""
        return self.swapping("request_account_creation_deposit_address", **arguments)

    def ready(self, *args: Any, **changes: Any) -> Any:
        """Open an account creation channel; return its event."""
        assert self.ask(**self.wanted(*args, **changes)) == "Ok"
        return self.event("AccountCreationDepositAddressReady")

    def flip(self, account: bytes) -> int:
        """Return the FLIP of an account."""
        balance: int = self.world.stored("Flip", "Account", account)["balance"]
        return balance


@pytest.fixture
def opener() -> Opener:
    """Return a broker on a new chain."""
    return Opener()


@pytest.mark.parametrize(("wallet", "form"), WALLETS)
def test_a_deposit_creates_and_funds_the_account(opener: Opener, wallet: Any, form: str) -> None:
    """Create, fund and register the account at the first deposit, and repay the advance from its swap."""
    ready = opener.ready(wallet, "Eth", form)
    assert (ready["requested_by"], ready["requested_for"]) == (opener.account, wallet.account)
    assert (ready["channel_id"], ready["boost_fee"], ready["asset"]) == (1, 0, "Eth")
    assert ready["refund_address"] == address_on("Ethereum")
    assert not opener.world.stored("System", "Account", wallet.account)["providers"]

    assert opener.pay(ready["deposit_address"], "Eth", ETHER)[:8] == [
        "EthereumIngressEgress.DepositFetchesScheduled",
        "System.NewAccount",
        "Funding.Funded",
        "AccountRoles.AccountRoleRegistered",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "AssetBalances.AccountCredited",
        "EthereumIngressEgress.DepositFinalised",
    ]
    assert opener.event("Funded")["source"] == ("InitialFunding", {"channel_id": 1, "asset": "Eth"})
    assert opener.flip(wallet.account) == ADVANCE
    stored = opener.world.stored
    assert stored("AccountRoles", "AccountRoles", wallet.account) == "LiquidityProvider"
    assert opener.world.api("AccountNonceApi_account_nonce", wallet.account) == 1
    refund = stored("AssetBalances", "RefundAddresses", wallet.account, "Ethereum")
    assert refund[1] == bytes.fromhex("a56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF")
    asked, done = opener.event("SwapRequested"), opener.event("DepositFinalised")
    assert (asked["output_asset"], asked["broker_fees"]) == ("Flip", [])
    assert (asked["price_limits_and_expiry"], asked["dca_parameters"]) == (None, None)
    terms = {"account_id": wallet.account, "flip_to_subtract_from_swap_output": ADVANCE}
    action = ("CreditFlipAndTransferToGateway", terms)
    assert asked["request_type"] == ("RegularNoNetworkFee", {"output_action": action})
    owned = ETHER - done["ingress_fee"] - asked["input_amount"]
    assert opener.balance(wallet.account, "Eth") == owned
    assert done["action"] == ("LiquidityProvision", {"lp_account": wallet.account})

    opener.blocks(2)
    swapped = opener.event("SwapExecuted")
    assert (swapped["network_fee"], swapped["broker_fee"]) == (0, 0)
    assert opener.event("SwapRequestCompleted")["reason"] == "Executed"
    bought = swapped["output_amount"]
    assert bought == pytest.approx(FLIP, rel=0.01)
    assert opener.flip(wallet.account) == bought
    assert opener.event("Funded") == {
        "account_id": wallet.account,
        "source": ("Swap", {"swap_request_id": asked["swap_request_id"]}),
        "funds_added": bought - ADVANCE,
        "total_balance": bought,
    }
    assert stored("Swapping", "FlipToBeSentToGateway") == bought


def test_a_deposit_of_flip_needs_no_swap(opener: Opener) -> None:
    """Fund the account from a deposit of FLIP itself: no swap is needed."""
    ready = opener.ready(asset="Flip")
    happened = opener.pay(ready["deposit_address"], "Flip", 10 * FLIP)
    assert "Swapping.SwapRequested" not in happened[happened.index("Funding.Funded") :]
    fee = opener.event("DepositFinalised")["ingress_fee"]
    assert opener.flip(WALLET.account) == opener.world.stored("Swapping", "FlipToBeSentToGateway") == FLIP
    assert opener.balance(WALLET.account, "Flip") == 9 * FLIP - fee


def paid_in_satoshi(opener: Opener, amount: int) -> int:
    """Pay so much into a channel that takes it; what is swapped of it."""
    ready = opener.ready(asset="Btc")
    with opener.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).MinimumDeposit.put("Btc", 1)
    opener.pay(ready["deposit_address"], "Btc", amount)
    swapped: int = opener.event("SwapRequested")["input_amount"]
    assert swapped == amount - opener.event("DepositFinalised")["ingress_fee"]
    assert opener.balance(WALLET.account, "Btc") == 0
    opener.blocks(2)
    return swapped


def test_an_amount_below_the_minimum_funding_is_swapped_whole(opener: Opener) -> None:
    """Swap a deposit whole to FLIP where it is worth less than the minimum funding."""
    assert paid_in_satoshi(opener, 700) == 310
    bought = opener.event("SwapExecuted")["output_amount"]
    assert ADVANCE < bought == opener.flip(WALLET.account) < FLIP


def test_an_advance_that_the_swap_does_not_earn_is_the_networks_loss(opener: Opener) -> None:
    """Burn the difference where the swap earns less than the advance: the network bears the loss."""
    assert paid_in_satoshi(opener, 392) == 2
    bought = opener.event("SwapExecuted")["output_amount"]
    assert 0 < bought < ADVANCE == opener.flip(WALLET.account)
    assert opener.world.stored("Swapping", "FlipToBurn") == bought - ADVANCE
    assert opener.world.stored("Swapping", "FlipToBeSentToGateway") == ADVANCE


def test_the_second_deposit_only_counts(opener: Opener) -> None:
    """Credit a second deposit without a second swap to FLIP."""
    ready = opener.ready()
    opener.pay(ready["deposit_address"], "Eth", ETHER)
    before = opener.balance(WALLET.account, "Eth")
    assert opener.pay(ready["deposit_address"], "Eth", ETHER)[:3] == [
        "EthereumIngressEgress.DepositFetchesScheduled",
        "AssetBalances.AccountCredited",
        "EthereumIngressEgress.DepositFinalised",
    ]
    fee = opener.event("DepositFinalised")["ingress_fee"]
    assert opener.balance(WALLET.account, "Eth") == before + ETHER - fee


def test_an_account_that_came_into_being_meanwhile_is_left_as_it_is(opener: Opener) -> None:
    """Credit the deposit and leave role and FLIP as they are where the account was created meanwhile."""
    ready = opener.ready()
    assert opener.dev("fund_account", account_id=WALLET.account, amount=5 * FLIP) == "Ok"
    opener.pay(ready["deposit_address"], "Eth", ETHER)
    assert opener.flip(WALLET.account) == 5 * FLIP
    assert opener.world.stored("AccountRoles", "AccountRoles", WALLET.account) == "Unregistered"
    fee = opener.event("DepositFinalised")["ingress_fee"]
    assert opener.balance(WALLET.account, "Eth") == ETHER - fee


REFUSED = [
    ({"signature_data": EthereumWallet(b"\x09" * 32)}, "InvalidUserSignatureData"),
    ({"transaction_metadata": {"nonce": 0, "expiry_block": 101}}, "InvalidUserSignatureData"),
    ({"transaction_metadata": {"nonce": 1, "expiry_block": 100}}, "InvalidTransactionMetadata"),
    ({"transaction_metadata": {"nonce": 0, "expiry_block": 2}}, "InvalidTransactionMetadata"),
    ({"refund_address": address_on("Arbitrum")}, "IncompatibleAssetAndAddress"),
    ({"refund_address": ("Btc", b"nonsense")}, "IncompatibleAssetAndAddress"),
    ({"refund_address": ("Eth", bytes(20))}, "InvalidUserSignatureData"),
]


@pytest.mark.parametrize(("changes", "error"), REFUSED)
def test_a_request_that_is_refused_opens_nothing(opener: Opener, changes: Any, error: str) -> None:
    """Refuse a faulty request without a channel or a fee: a broker would pay for nothing."""
    if isinstance(wallet := changes.get("signature_data"), EthereumWallet):
        forged = opener.wanted()["signature_data"]
        changes = {"signature_data": (forged[0], forged[1] | {"signer": wallet.signer})}
    with opener.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).ChannelOpeningFee.put(FLIP)
    assert opener.ask(**opener.wanted(**changes)) == f"Swapping.{error}"
    assert opener.world.stored("EthereumIngressEgress", "ChannelIdCounter") == 0
    assert "EthereumIngressEgress.ChannelOpeningFeePaid" not in opener.world.names()


def test_the_opening_fee_is_the_brokers_and_is_in_the_event(opener: Opener) -> None:
    """Charge the opening fee to the broker and name it in the event."""
    with opener.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).ChannelOpeningFee.put(2 * FLIP)
    before = opener.flip(opener.account)
    assert opener.ready()["channel_opening_fee"] == 2 * FLIP
    assert before - opener.flip(opener.account) - 2 * FLIP < FLIP // 10


def test_of_two_faults_the_first_is_the_error(opener: Opener) -> None:
    """Return the first error, in the order of the official runtime, where several arguments are wrong."""
    assert opener.dev("fund_account", account_id=WALLET.account, amount=5 * FLIP) == "Ok"
    wrong = {
        "refund_address": address_on("Arbitrum"),
        "transaction_metadata": {"nonce": 5, "expiry_block": 0},
    }
    assert opener.ask(**opener.wanted(**wrong)) == "Swapping.AccountAlreadyExists"
    other = EthereumWallet(b"\x05" * 32)
    assert opener.ask(**opener.wanted(other, **wrong)) == "Swapping.IncompatibleAssetAndAddress"
    assert (
        opener.submit("Swapping", "request_account_creation_deposit_address", BOB, **opener.wanted(other))
        == "BadOrigin"
    )
    with opener.arranging() as runtime:
        modes = runtime.pallet(EnvironmentStorage).RuntimeSafeMode
        off = replace(modes.get().swapping, deposit_enabled=False)
        modes.put(replace(modes.get(), swapping=off))
    assert (
        opener.submit("Swapping", "request_account_creation_deposit_address", BOB, **opener.wanted(other))
        == "Swapping.LiquidityDepositDisabled"
    )


def test_one_signature_creates_one_account(opener: Opener) -> None:
    """It may open many channels, but once the account is there it is worth nothing."""
    first, second = opener.ready(), opener.ready()
    assert first["deposit_address"] != second["deposit_address"]
    opener.pay(first["deposit_address"], "Eth", ETHER)
    assert opener.ask(**opener.wanted()) == "Swapping.AccountAlreadyExists"
    opener.pay(second["deposit_address"], "Eth", ETHER)
    assert "SwapRequested" not in [name for _, _, name, _ in opener.world.events()]
