"""broker_* and dev_* on a running node: the account registered, channels opened, funds, forks and time."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.node.config import RpcConfig
from tests.rpc.clients import Http
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS, REFUND, refund_to

SOL_ADDRESS = "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC"
DOT_ADDRESS = "0x" + "2a" * 32


async def test_a_broker_registers_once(instant: Served) -> None:
    """Register the account as a broker once; a second time the pallet refuses it by name."""
    tx_hash = await instant.call("broker_registerAccount")
    assert len(tx_hash) == 66
    error = await instant.error("broker_register_account")
    assert error["code"] == -32024
    assert error["message"].startswith("KnownModuleError { pallet: ")


async def test_an_unregistered_account_cannot_open_a_channel(instant: Served) -> None:
    """Refuse a channel to an unregistered account, and say which call to make first."""
    error = await instant.error(
        "broker_request_swap_deposit_address", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    advice = "this account is not registered as a broker: call broker_register_account first"
    assert error == {"code": -32024, "message": "DispatchError(BadOrigin)", "data": advice}


async def test_a_deposit_channel_by_position(instant: Served) -> None:
    """Open a channel by position, and answer with the official members and the block that has it."""
    await instant.call("broker_registerAccount")
    channel = await instant.call(
        "broker_requestSwapDepositAddress", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    assert list(channel) == [
        "address",
        "issued_block",
        "channel_id",
        "source_chain_expiry_block",
        "channel_opening_fee",
        "refund_parameters",
    ]
    assert len(channel["address"]) == 42
    assert (type(channel["channel_id"]), type(channel["source_chain_expiry_block"])) == (int, int)
    assert channel["channel_opening_fee"].startswith("0x")
    assert channel["refund_parameters"] == REFUND | {
        "refund_ccm_metadata": None,
        "max_oracle_price_slippage": None,
    }
    block = await instant.call("chain_getBlockHash", channel["issued_block"])
    assert len((await instant.call("chain_getBlock", block))["block"]["extrinsics"]) >= 2


@pytest.mark.world
async def test_a_hundred_requests_at_once_are_all_answered_each_with_a_channel_of_its_own(
    make_served: MakeServed,
) -> None:
    """Answer a hundred requests at once, each with a channel and a nonce of its own."""
    served = await make_served(seal="instant", rpc=RpcConfig(max_connections=200))
    await served.call("broker_registerAccount")
    assert served.node.broker is not None
    account = ss58.encode(served.node.broker.account, 2112)
    before = await served.call("system_accountNextIndex", account)
    channels: list[int] = []

    async def request() -> None:
        async with Http(served.port) as http:
            params = [ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND]
            answer = await http.call("broker_requestSwapDepositAddress", *params)
        assert "result" in answer, answer
        channels.append(answer["result"]["channel_id"])

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(request)
    assert len(set(channels)) == 100
    assert await served.call("system_accountNextIndex", account) == before + 100


SOURCES = [
    (ETH, EVM_ADDRESS),
    ({"chain": "Arbitrum", "asset": "USDC"}, EVM_ADDRESS),
    (BTC, BTC_ADDRESS),
    ({"chain": "Solana", "asset": "SOL"}, SOL_ADDRESS),
    ({"chain": "Assethub", "asset": "DOT"}, DOT_ADDRESS),
    ({"chain": "Tron", "asset": "TRX"}, "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"),
]


async def test_a_channel_from_each_source_chain_by_name(instant: Served) -> None:
    """Open a channel from each source chain by named parameters, in both spellings."""
    await instant.call("broker_registerAccount")
    for source, refund_address in SOURCES:
        params = {
            "sourceAsset": source,
            "destination_asset": {"chain": "Ethereum", "asset": "USDC"},
            "destination_address": EVM_ADDRESS,
            "broker_commission": 10,
            "refund_parameters": refund_to(refund_address),
        }
        method = "broker_request_swap_deposit_address"
        answer = await instant.http.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert "result" in answer.json(), (source, answer.json())
        assert answer.json()["result"]["refund_parameters"]["refund_address"] == refund_address


async def test_everything_a_channel_can_have(instant: Served) -> None:
    """Open a channel with message, boost, affiliate, oracle protection and chunks."""
    await instant.call("broker_registerAccount")
    affiliate = ss58.encode(Keypair.from_suri("//Affiliate", "sr25519").public)
    ccm = {"message": "0x7c1d0f07", "gas_budget": 100_000, "ccm_additional_data": "0x"}
    channel = await instant.call(
        "broker_request_swap_deposit_address",
        BTC,
        ETH,
        EVM_ADDRESS,
        50,
        ccm,
        30,
        [{"account": affiliate, "bps": 10}],
        refund_to(BTC_ADDRESS) | {"max_oracle_price_slippage": 200},
        {"number_of_chunks": 2, "chunk_interval": 2},
    )
    assert channel["refund_parameters"]["max_oracle_price_slippage"] == 200
    assert channel["address"].startswith("bcrt1")


BAD: list[tuple[list[Any], int, str]] = [
    (["ETHER", BTC, BTC_ADDRESS, 10], -32602, "Expected a valid asset specifier"),
    (
        [ETH, BTC, BTC_ADDRESS, 70_000],
        -32602,
        "invalid value: integer `70000`, expected u16 at",
    ),
    ([ETH, BTC, BTC_ADDRESS, 10], -32602, "No more params"),
    (
        [ETH, BTC, BTC_ADDRESS, 10, None, None, None, refund_to("zz")],
        -32020,
        "Invalid hex",
    ),
    (
        [ETH, {"chain": "Solana", "asset": "SOL"}, "nonsense", 10, None, None, None, REFUND],
        -32020,
        "Invalid hex",
    ),
    (
        [ETH, BTC, BTC_ADDRESS, 10, {"message": "00" * 15_001}, None, None, REFUND],
        -32602,
        "expected 15000 bytes",
    ),
]


async def test_bad_parameters_are_named_before_anything_is_signed(instant: Served) -> None:
    """Name a bad parameter before anything is signed: no fee is paid for it."""
    before = instant.node.chain.best
    for params, code, text in BAD:
        error = await instant.error("broker_request_swap_deposit_address", *params)
        assert error["code"] == code
        assert text in f"{error['message']} {error.get('data', '')}"
    assert instant.node.chain.best == before


async def test_a_refusal_of_the_chain_has_the_chains_text(instant: Served) -> None:
    """Pass on the chain's own text of a refusal."""
    await instant.call("broker_registerAccount")
    error = await instant.error(
        "broker_request_swap_deposit_address", ETH, BTC, BTC_ADDRESS, 2_000, None, None, None, REFUND
    )
    assert error["code"] == -32024
    assert 'pallet: "Swapping", name: "BrokerCommissionBpsTooHigh"' in error["message"]
    error = await instant.error("broker_withdraw_fees", ETH, EVM_ADDRESS)
    assert error["code"] == -32024
    assert (
        'name: "NoFundsAvailable", error: "The withdrawal is not possible because not enough funds '
        in error["message"]
    )
    assert (await instant.error("broker_close_private_btc_channel"))["code"] == -32024


async def test_a_private_bitcoin_channel_opens_and_closes(instant: Served) -> None:
    """Open and close a private Bitcoin channel under one number."""
    await instant.call("broker_registerAccount")
    channel = await instant.call("broker_openPrivateBtcChannel")
    assert isinstance(channel, int)
    assert await instant.call("broker_closePrivateBtcChannel") == channel


# The development chain's own methods


async def test_accounts_are_funded(served_node: Served) -> None:
    """Fund a new account, which can then pay for its first transaction."""
    account = Keypair.from_suri("//Newcomer", "sr25519")
    block = await served_node.call("dev_fundAccount", ss58.encode(account.public), hex(5 * 10**18))
    assert block == await served_node.call("chain_getHead")
    extrinsic = await served_node.signed_remark(0, account)
    await served_node.call("author_submitExtrinsic", "0x" + extrinsic.hex())


async def test_a_block_is_authored_without_its_invalid_transactions_and_lists_them(
    served_node: Served,
) -> None:
    """Author a block without its invalid transactions, and list them in the error."""
    bad = "0x" + (await served_node.signed_remark(nonce=9)).hex()
    error = await served_node.error("dev_newBlock", {"transactions": [bad]})
    assert error["code"] == -32000
    assert len(error["data"]) == 1
    assert await served_node.call("chain_getHead") in error["message"]


async def test_wrong_requests_for_a_block_are_named(served_node: Served) -> None:
    """Name the wrong member of a request for a block, and an unknown parent."""
    assert (await served_node.error("dev_newBlock", {"parents": 1}))["data"].startswith(
        "parent: unknown member 'parents'"
    )
    assert (await served_node.error("dev_newBlock", {"finalize": 1}))["code"] == -32602
    unknown = await served_node.error("dev_newBlock", {"parent": "0x" + "77" * 32})
    assert (unknown["code"], "is unknown" in unknown["message"]) == (-32000, True)


async def test_finality_is_held_and_released(served_node: Served) -> None:
    """Hold finality while blocks go on, and release it."""
    await served_node.call("dev_holdFinality")
    for _ in range(4):
        await served_node.call("dev_newBlock")
    assert served_node.node.chain.finalized.number == 0
    await served_node.call("dev_holdFinality", False)
    assert served_node.node.chain.finalized.number == 3


async def test_time_jumps_forward(served_node: Served) -> None:
    """Jump forward in time, but not beyond what a block can state."""
    before = await served_node.call("dev_timeTravel", 0)
    after = await served_node.call("dev_timeTravel", 3_600_000)
    assert after - before == 3_600_000
    await served_node.call("dev_newBlock")
    too_far = await served_node.error("dev_timeTravel", 10**13)
    assert too_far["code"] == -32000
