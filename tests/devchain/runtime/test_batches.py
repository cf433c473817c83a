"""How much goes out in a block, what waits, and what is not worth sending."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core.vault_calls import NATIVE_TOKEN
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ASSET_TERMS
from cfnode.devchain.runtime.pallets.ingress_egress.egress import schedule_egress
from cfnode.devchain.runtime.pallets.ingress_egress.opening import open_channel
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from tests.devchain.runtime.broker import address_on, ccm, request
from tests.devchain.runtime.swapper import ETHER, USDC, Swapper

WALLET = address_on("Ethereum")[1]
BTC_EGRESS = 880


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def sent_in_this_block(broker: Swapper) -> list[int]:
    """Return the number of transfers of each batch of the block."""
    return [len(event["egress_ids"]) for event in broker.all_of("BatchBroadcastRequested")]


def test_an_evm_batch_has_up_to_fifty_transfers_and_the_rest_goes_in_the_next_block(broker: Swapper) -> None:
    """Send at most fifty transfers in an EVM batch and the rest in later blocks, none twice and none lost."""
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Ethereum"])
        for _ in range(101):
            schedule_egress(pallet, "Eth", ETHER, WALLET)
    sizes = []
    for _ in range(4):
        broker.blocks(1)
        sizes.append(sent_in_this_block(broker))
    assert sizes == [[50], [50], [1], []]


@pytest.mark.parametrize(("asset", "chain", "most"), [("Usdc", "Ethereum", 20), ("SolUsdc", "Solana", 5)])
def test_a_block_fetches_no_more_than_its_chain_allows(
    broker: Swapper, asset: str, chain: str, most: int
) -> None:
    """Fetch at most as many deposits in a block as the chain allows; the rest waits for the next one."""
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[chain])
        for _ in range(most + 1):
            address = open_channel(pallet, broker.account, asset, "Unrefundable", 0).address
            fetch = values.FetchOrTransferFetch(
                asset=asset, deposit_address=address, deposit_fetch_id=None, amount=1
            )
            queue = pallet.ScheduledEgressFetchOrTransfer
            queue.put([*queue.get(), fetch])
    for left in (1, 0):
        broker.blocks(1)
        assert sent_in_this_block(broker) == [0]
        assert len(broker.world.stored(f"{chain}IngressEgress", "ScheduledEgressFetchOrTransfer")) == left


def test_egress_of_a_disabled_asset_waits_with_and_without_a_message(broker: Swapper) -> None:
    """Hold back transfers and messages of a disabled asset, and send them once it is enabled."""
    content = values.CcmChannelMetadata(**ccm() | {"ccm_additional_data": "NotRequired"})
    message = values.CcmDepositMetadata(channel_metadata=content, source_chain="Bitcoin", source_address=None)
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Ethereum"])
        pallet.DisabledEgressAssets.put("Eth", ())
        for asset, amount in (("Eth", ETHER), ("Usdc", 1_000 * USDC)):
            schedule_egress(pallet, asset, amount, WALLET)
            schedule_egress(pallet, asset, amount, WALLET, message)
    broker.blocks(1)
    assert broker.event("BatchBroadcastRequested")["egress_ids"] == [("Ethereum", 3)]
    assert broker.event("CcmBroadcastRequested")["egress_id"] == ("Ethereum", 4)
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).DisabledEgressAssets.remove("Eth")
    broker.blocks(1)
    assert broker.event("BatchBroadcastRequested")["egress_ids"] == [("Ethereum", 1)]
    assert broker.event("CcmBroadcastRequested")["egress_id"] == ("Ethereum", 2)


@pytest.mark.parametrize(("net", "is_sent"), [(600, True), (599, False)])
def test_an_output_is_sent_from_the_dust_limit_on_and_never_made_up_for(
    broker: Swapper, net: int, is_sent: bool
) -> None:
    """An amount below the limit waits for no later batch: the fee is withheld, the rest is in no account."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).EgressDustLimit.put("Btc", 10**9)
    broker.deposit("Eth", "Btc", ETHER)
    broker.blocks(2)
    output = broker.event("SwapEgressIgnored")["amount"]
    withheld = broker.world.stored("AssetBalances", "WithheldAssets", "Btc")
    assert withheld == BTC_EGRESS
    assert broker.world.stored("BitcoinIngressEgress", "EgressIdCounter") == 0

    limit = output - BTC_EGRESS - net + 600  # as much above the limit as `net` is above 600
    other = Swapper()
    with other.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).EgressDustLimit.put("Btc", limit)
    other.deposit("Eth", "Btc", ETHER)
    other.blocks(2)
    assert bool(other.all_of("SwapEgressScheduled")) is is_sent
    assert bool(other.all_of("SwapEgressIgnored")) is not is_sent


def test_a_fee_larger_than_the_output_takes_all_of_it(broker: Swapper) -> None:
    """Withhold the whole output where the egress fee is larger: no account may go negative."""
    broker.deposit("Usdc", "Btc", 10 * USDC)
    with broker.arranging() as runtime:
        tracking = runtime.by_name["BitcoinChainTracking"]
        state = tracking.CurrentChainState.known()  # type: ignore[attr-defined]
        dear = values.BitcoinTrackedData(values.BitcoinFeeInfo(10**9))
        tracking.CurrentChainState.put(replace(state, tracked_data=dear))  # type: ignore[attr-defined]
    broker.blocks(2)
    (swapped,) = [event for event in broker.all_of("SwapExecuted") if event["output_asset"] == "Btc"]
    assert broker.event("SwapEgressIgnored")["amount"] == swapped["output_amount"] > 0
    withheld = broker.world.stored("AssetBalances", "WithheldAssets", "Btc")
    assert withheld == swapped["output_amount"]


def fetched(broker: Swapper, blocks: int) -> list[tuple[list[bytes], list[bytes]]]:
    """Return the tokens of each Ethereum transaction made next: of deployed contracts, and others."""
    batches = []
    for _ in range(blocks):
        broker.blocks(1)
        for sent in broker.all_of("TransactionBroadcastRequest"):
            _, call = broker.world.stored("EthereumBroadcaster", "PendingApiCalls", sent["broadcast_id"])
            lists = (call["call"][name] for name in ("fetch_deploy_params", "fetch_params"))
            deploys, calls = ([fetch["asset"] for fetch in fetches] for fetches in lists)
            batches.append((deploys, calls))
    return batches


@pytest.mark.parametrize(
    ("opened_for", "paid", "later"),
    [("Eth", "Usdc", []), ("Usdc", "Flip", ["Flip"]), ("Usdc", "Eth", ["Eth"])],
)
def test_the_first_fetch_deploys_the_contract_of_the_channels_own_asset(
    broker: Swapper, opened_for: str, paid: str, later: list[str]
) -> None:
    """Whatever comes first deploys the contract that the address belongs to."""
    token = {name: terms.token for name, terms in ASSET_TERMS.items()} | {"Eth": NATIVE_TOKEN}
    address = broker.opened(**request(opened_for, "Btc"))["deposit_address"]
    broker.pay(address, paid, {"Usdc": 100 * USDC, "Flip": 100 * ETHER, "Eth": ETHER}[paid])
    transactions = fetched(broker, 4)
    assert transactions[0] == ([token[opened_for]], [])
    assert transactions[1:] == [([], [token[asset]]) for asset in later]


def test_bitcoin_that_is_too_little_for_its_fee_is_no_swap(broker: Swapper) -> None:
    """Fail a Bitcoin deposit that only covers its fee; one satoshi more is swapped."""
    address = broker.opened(**request("Btc", "Eth"))["deposit_address"]
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).MinimumDeposit.put("Btc", 0)
    assert broker.pay(address, "Btc", 390) == [
        "BitcoinIngressEgress.DepositFetchesScheduled",
        "BitcoinIngressEgress.DepositFailed",
    ]
    assert broker.event("DepositFailed")["reason"] == "NotEnoughToPayFees"
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Btc") == 390
    assert broker.pay(address, "Btc", 391)[-1] == "BitcoinIngressEgress.DepositFinalised"
    assert broker.event("SwapRequested")["input_amount"] == 1
