"""A swap's life on a running development node, as the guide plays it: events in order, the money counted.

Each scenario is also told to a transcript (`scenarios/`): every answer and every event, whole. The tests say
why an amount is what it is; the transcript that nothing else has changed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from cfnode.rpc.convert import account as account_text
from tests.rpc.conftest import MakeServed, Served, first_block
from tests.rpc.test_broker import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS
from tests.rpc.test_dev import events_of
from tests.rpc.transcript import Transcript

ETHER, BITCOIN = 10**18, 10**8
ETH_INGRESS = 50_000 * 2_100_000_000
USDC = {"chain": "Ethereum", "asset": "USDC"}
BEGINNING = 1_700_000_000_000
"""The chain's clock starts at the same time in each run, so that heights and expiries are the same."""
IMPOSSIBLE = hex(2**200)
NOISE = ("System", "Timestamp", "TransactionPayment", "EvmThresholdSigner", "Flip", "LiquidityPools")
NOISY = ("ChainStateUpdated", "AccountCredited", "TransactionFeeDeficitRecorded", "DepositFetchesScheduled")

Said = list[tuple[str, Any]]


class Story:
    """A broker on a node, and what the chain has said since it was last asked."""

    def __init__(self, served: Served, transcript: Transcript) -> None:
        self.served = served
        self.told = served.node.chain.best.number
        self.transcript = transcript

    async def call(self, method: str, *params: Any) -> Any:
        """The result of a call, kept in the transcript."""
        answer = await self.served.call(method, *params)
        self.transcript.answered(method, list(params), answer)
        return answer

    async def error(self, method: str, *params: Any) -> Any:
        """The error of a call, kept in the transcript."""
        error = await self.served.error(method, *params)
        self.transcript.answered(method, list(params), error)
        return error

    async def open(self, source: Any = ETH, target: Any = BTC, **changes: Any) -> str:
        """A deposit channel's address; what opening it said is heard."""
        to_bitcoin = target == BTC
        request = {
            "source_asset": source,
            "destination_asset": target,
            "destination_address": BTC_ADDRESS if to_bitcoin else EVM_ADDRESS,
            "broker_commission": 10,
            "refund_parameters": {
                "retry_duration": 10,
                "min_price": changes.pop("min_price", "0x0"),
                "refund_address": BTC_ADDRESS if source == BTC else EVM_ADDRESS,
            },
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "broker_request_swap_deposit_address"}
        answer = (await self.served.http.post(message | {"params": request | changes})).json()
        assert "result" in answer, answer
        self.transcript.answered(message["method"], request | changes, answer["result"])
        await self.said()
        address: str = answer["result"]["address"]
        return address

    async def deposit(self, address: str, asset: Any, amount: int) -> None:
        await self.served.call("dev_deposit", address, asset, amount)

    async def seal(self, count: int) -> None:
        for _ in range(count):
            await self.served.call("dev_newBlock")

    async def said(self) -> Said:
        """The events since the last time, without the chain's housekeeping."""
        chain, found = self.served.node.chain, list[tuple[str, Any]]()
        for number in range(self.told + 1, chain.best.number + 1):
            block = chain.hash_at(number)
            assert block is not None
            for pallet, name, fields in await events_of(self.served, f"0x{block.hex()}"):
                if pallet not in NOISE and name not in NOISY:
                    found.append((f"{pallet}.{name}", fields))
        self.told = chain.best.number
        self.transcript.heard(found)
        return found

    async def look(self) -> None:
        """What everybody sees at the end."""
        broker = self.served.node.broker
        assert broker is not None
        for method, *params in (
            ("cf_account_info", account_text(broker.account)),
            ("cf_all_open_deposit_channels",),
            ("broker_all_open_deposit_channels",),
            ("cf_scheduled_swaps", BTC, USDC),
            ("cf_scheduled_swaps", ETH, USDC),
            ("cf_pool_price_v2", ETH, USDC),
            ("cf_boost_pools_depth",),
        ):
            await self.call(str(method), *params)

    async def earned(self, account: str) -> int:
        """USDC of an account."""
        balances = await self.call("cf_free_balances", account)
        return int(balances["Ethereum"]["USDC"], 16)


@pytest.fixture
async def story(make_served: MakeServed, request: pytest.FixtureRequest) -> AsyncIterator[Story]:
    served = await first_block(await make_served(seal="instant", start_time=BEGINNING))
    await served.call("broker_register_account")
    transcript = Transcript(request.node.name)
    told = Story(served, transcript)
    yield told
    await told.said()
    await told.look()
    transcript.compare()


def names(said: Said) -> list[str]:
    return [name for name, _ in said]


def of(said: Said, name: str) -> list[Any]:
    return [fields for each, fields in said if each.partition(".")[2] == name]


def one(said: Said, name: str) -> Any:
    (fields,) = of(said, name)
    return fields


async def test_a_regular_swap(story: Story) -> None:
    address = await story.open()
    await story.deposit(address, ETH, ETHER)
    scheduled = await story.call("cf_scheduled_swaps", ETH, {"chain": "Ethereum", "asset": "USDC"})
    assert (scheduled[0]["swap_id"], int(scheduled[0]["amount"], 16)) == (1, ETHER - ETH_INGRESS)
    await story.seal(4)
    said = await story.said()
    assert names(said) == [
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "EthereumIngressEgress.DepositFinalised",
        "EthereumIngressEgress.BatchBroadcastRequested",
        "EthereumBroadcaster.TransactionBroadcastRequest",
        "EthereumBroadcaster.BroadcastSuccess",
        "Swapping.SwapExecuted",
        "Swapping.SwapEgressScheduled",
        "Swapping.SwapRequestCompleted",
        "BitcoinIngressEgress.BatchBroadcastRequested",
        "BitcoinBroadcaster.BroadcastSuccess",
    ]
    executed, sent = one(said, "SwapExecuted"), one(said, "SwapEgressScheduled")
    assert one(said, "DepositFinalised")["ingress_fee"] == ETH_INGRESS
    assert executed["input_amount"] == ETHER - ETH_INGRESS
    assert sent["amount"] + sent["egress_fee"][0] == executed["output_amount"]
    gross = executed["intermediate_amount"] + executed["network_fee"] + executed["broker_fee"]
    assert executed["network_fee"] == -(-(gross * 2 - 1_000) // 2_000)  # 0.1 %, halves down
    assert len(of(said, "BroadcastSuccess")) == 2


async def test_a_boosted_bitcoin_swap(story: Story) -> None:
    await story.call("dev_setBoost", BTC, 5 * BITCOIN)
    address = await story.open(BTC, ETH, boost_fee=30)
    transaction = "0x" + "5a" * 32
    await story.call("dev_announceDeposit", address, BTC, BITCOIN, transaction)
    said = await story.said()
    assert names(said) == [
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "BitcoinIngressEgress.DepositBoosted",
    ]
    boosted = one(said, "DepositBoosted")
    fee = sum(taken for _, taken in boosted["boost_fee"])
    assert fee == BITCOIN * 5 // 10_000
    assert one(said, "SwapRequested")["input_amount"] == BITCOIN - fee - boosted["ingress_fee"]
    await story.call("dev_deposit", address, BTC, BITCOIN, transaction)
    kind, credited = one(await story.said(), "DepositFinalised")["action"]
    assert kind == "BoostersCredited"
    assert credited["prewitnessed_deposit_id"] == boosted["prewitnessed_deposit_id"]
    await story.seal(4)
    assert "EthereumBroadcaster.BroadcastSuccess" in names(await story.said())


async def test_a_price_that_is_not_met_is_refunded(story: Story) -> None:
    address = await story.open(min_price=IMPOSSIBLE)
    await story.deposit(address, ETH, ETHER)
    await story.seal(14)
    said = await story.said()
    rescheduled = of(said, "SwapRescheduled")
    assert {each["reason"] for each in rescheduled} == {"MinPriceViolation"}
    assert len(rescheduled) == 2
    assert "Swapping.SwapExecuted" not in names(said)[: names(said).index("Swapping.SwapAborted")]
    sent = one(said, "RefundEgressScheduled")
    assert sent["amount"] + sent["egress_fee"][0] + sent["refund_fee"] == ETHER - ETH_INGRESS
    assert of(said, "SwapRequestCompleted")[0]["reason"] == "Expired"
    assert one(said, "SwapAborted") == {"swap_id": 1, "reason": "MinPriceViolation"}


async def test_chunks_to_the_end(story: Story) -> None:
    address = await story.open(dca_parameters={"number_of_chunks": 3, "chunk_interval": 4})
    await story.deposit(address, ETH, 10 * ETHER)
    await story.seal(10)
    said = await story.said()
    executed = of(said, "SwapExecuted")
    assert len(executed) == 3
    assert sum(each["input_amount"] for each in executed) == 10 * ETHER - ETH_INGRESS
    sent = one(said, "SwapEgressScheduled")
    assert sent["amount"] + sent["egress_fee"][0] == sum(each["output_amount"] for each in executed)
    assert one(said, "SwapRequestCompleted")["reason"] == "Executed"


async def test_chunks_that_stop(story: Story) -> None:
    least = 10**8 * 2**128 // (40 * ETHER)  # a bitcoin for at most 40 ether
    chunks = {"number_of_chunks": 4, "chunk_interval": 2}
    address = await story.open(dca_parameters=chunks, min_price=hex(least))
    await story.deposit(address, ETH, 4 * ETHER)
    await story.seal(2)
    assert len(of(await story.said(), "SwapExecuted")) == 1
    await story.call("dev_setPool", ETH, 1_000 * 10**6)
    await story.seal(15)
    said = await story.said()
    assert [name for name in names(said) if name.endswith(("EgressScheduled", "RequestCompleted"))][:3] == [
        "Swapping.RefundEgressScheduled",
        "Swapping.SwapEgressScheduled",
        "Swapping.SwapRequestCompleted",
    ]
    refund = one(said, "RefundEgressScheduled")
    chunk = (4 * ETHER - ETH_INGRESS) // 4
    left = 4 * ETHER - ETH_INGRESS - chunk
    assert refund["amount"] + refund["egress_fee"][0] + refund["refund_fee"] == left
    assert of(said, "SwapRequestCompleted")[0]["reason"] == "Expired"


async def test_a_message_to_a_contract(story: Story) -> None:
    message = {"message": "0x68656c6c6f", "gas_budget": "0x186a0", "ccm_additional_data": "0x"}
    address = await story.open(BTC, ETH, channel_metadata=message)
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(4)
    said = await story.said()
    assert one(said, "CcmBroadcastRequested")["egress_id"] == one(said, "SwapEgressScheduled")["egress_id"]
    sent = one(said, "TransactionBroadcastRequest")["transaction_payload"]
    assert b"hello" in sent["data"]
    assert sent["gas_limit"] == 100_000 + 90_000 + 5
    assert names(said)[-1] == "EthereumBroadcaster.BroadcastSuccess"


async def test_a_message_that_nobody_could_send(story: Story) -> None:
    message = {"message": "0x68656c6c6f", "gas_budget": "0x186a0", "ccm_additional_data": "0x"}
    address = await story.open(BTC, ETH, channel_metadata=message)
    await story.call("dev_abortBroadcast", "Ethereum")
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(4)
    said = await story.said()
    assert names(said)[-2:] == [
        "EthereumIngressEgress.CcmBroadcastFailed",
        "EthereumBroadcaster.BroadcastAborted",
    ]
    broadcast = one(said, "CcmBroadcastFailed")["broadcast_id"]
    call = await story.call("cf_failed_call_ethereum", broadcast)
    assert "68656c6c6f" in call["data"]


async def test_an_affiliate_is_paid_and_withdraws(story: Story) -> None:
    affiliate = await story.call("broker_register_affiliate", EVM_ADDRESS)
    address = await story.open(affiliate_fees=[{"account": affiliate, "bps": 25}])
    await story.deposit(address, ETH, ETHER)
    await story.seal(2)
    executed = one(await story.said(), "SwapExecuted")
    earned = await story.earned(affiliate)
    after_network = executed["intermediate_amount"] + executed["broker_fee"]
    assert earned == (after_network * 25 * 2 + 9_999) // 20_000
    paid = await story.call("broker_affiliate_withdrawal_request", affiliate)
    assert int(paid["egress_amount"], 16) + int(paid["egress_fee"], 16) == earned
    assert paid["destination_address"].lower() == EVM_ADDRESS
    assert await story.earned(affiliate) == 0
    await story.seal(3)
    said = await story.said()
    assert one(said, "WithdrawalRequested")["egress_amount"] == int(paid["egress_amount"], 16)
    assert "EthereumBroadcaster.BroadcastSuccess" in names(said)


async def test_a_channel_expires(story: Story) -> None:
    address = await story.open()
    await story.call("dev_timeTravel", 25 * 3600 * 1000)
    await story.seal(1)
    error = await story.error("dev_deposit", address, ETH, ETHER)
    assert 'name: "ChannelExpired"' in error["message"]
    assert "Swapping.SwapRequested" not in names(await story.said())


CONTRACT_CHAINS = {"Ethereum": ("Eth", "Usdc"), "Arbitrum": ("ArbEth", "ArbUsdc")}


async def failed_transfer(story: Story, chain: str, symbol: str) -> tuple[Said, str]:
    """A swap whose receiver fails: what was said up to the fallback, and the method that offers it."""
    asset = {"chain": chain, "asset": symbol}
    await story.call("dev_failReceiver", EVM_ADDRESS, asset)
    address = await story.open(BTC, asset)
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(5)
    return await story.said(), f"cf_failed_call_{chain.lower()}"


@pytest.mark.parametrize("chain", CONTRACT_CHAINS)
async def test_a_transfer_that_fails_is_offered_for_two_epochs(story: Story, chain: str) -> None:
    said, offer = await failed_transfer(story, chain, "ETH")
    tail = names(said)[names(said).index(f"{chain}Broadcaster.BroadcastSuccess") :]
    assert tail == [
        f"{chain}Broadcaster.BroadcastSuccess",
        f"{chain}IngressEgress.TransferFallbackRequested",
        f"{chain}Broadcaster.CallResigned",
    ]
    fallback = one(said, "TransferFallbackRequested")
    assert fallback["asset"] == CONTRACT_CHAINS[chain][0]
    assert fallback["amount"] == of(said, "SwapEgressScheduled")[-1]["amount"]
    first = await story.call(offer, fallback["broadcast_id"])
    assert int(first["data"][-64:], 16) == fallback["amount"]
    await story.call("dev_nextEpoch")
    await story.seal(2)
    second = await story.call(offer, fallback["broadcast_id"])
    assert {name for name in first if first[name] != second[name]} == {"data"}
    # The nonce and the transfer (asset, receiver, amount) stay; only the signature is another.
    assert second["data"][:8] == first["data"][:8]
    assert second["data"][-192:] == first["data"][-192:]
    await story.call("dev_nextEpoch")
    await story.seal(1)
    assert await story.call(offer, fallback["broadcast_id"]) is None
    assert f"{chain}IngressEgress.FailedForeignChainCallExpired" in names(await story.said())


@pytest.mark.parametrize("chain", CONTRACT_CHAINS)
async def test_a_token_that_its_contract_refuses_the_receiver(story: Story, chain: str) -> None:
    said, offer = await failed_transfer(story, chain, "USDC")
    fallback, name = one(said, "TransferFallbackRequested"), CONTRACT_CHAINS[chain][1]
    sent = next(each for each in of(said, "SwapEgressScheduled") if each["asset"] == name)
    assert (fallback["asset"], fallback["amount"]) == (name, sent["amount"])
    call = await story.call(offer, fallback["broadcast_id"])
    assert int(call["data"][-64:], 16) == sent["amount"]


@pytest.mark.parametrize(("symbol", "has_fallback"), [("TRX", False), ("USDT", True)])
async def test_a_transfer_that_fails_on_tron(story: Story, symbol: str, has_fallback: bool) -> None:
    wallet, asset = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", {"chain": "Tron", "asset": symbol}
    await story.call("dev_failReceiver", wallet, asset)
    address = await story.open(BTC, asset, destination_address=wallet)
    await story.deposit(address, BTC, BITCOIN)
    await story.seal(5)
    said = await story.said()
    assert len(of(said, "TransferFallbackRequested")) == has_fallback
    assert "TronBroadcaster.BroadcastSuccess" in names(said)


async def test_a_private_bitcoin_channel_is_opened_and_closed(story: Story) -> None:
    assert story.served.node.broker is not None
    opened = await story.call("broker_open_private_btc_channel")
    again = await story.error("broker_open_private_btc_channel")
    assert 'name: "PrivateChannelExistsForBroker"' in again["message"]
    assert await story.call("broker_close_private_btc_channel") == opened
    gone = await story.error("broker_close_private_btc_channel")
    assert 'name: "NoPrivateChannelExistsForBroker"' in gone["message"]
    assert names(await story.said()) == [
        "Swapping.PrivateBrokerChannelOpened",
        "Swapping.PrivateBrokerChannelClosed",
    ]
