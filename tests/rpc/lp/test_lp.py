"""lp_* on a running node: the account, its deposits, withdrawals, transfers, swaps, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.node.signing import submission
from cfnode.rpc.methods import LP
from cfnode.rpc.table.rows import Table
from cfnode.store.keystore import Keystore
from tests.conftest import shared
from tests.rpc.conftest import ALICE, MakeServed, Served, all_final, first_block
from tests.support.rpc.assets import BTC, BTC_ADDRESS, DOLLAR, ETH, ETHER, EVM_ADDRESS, REFUND, USDC
from tests.support.rpc.channels import events_of
from tests.support.rpc.lp_refusals import REFUSED
from tests.support.rpc.official import recorded, shape
from tests.support.rpc.providers import Provider, best, free, funded, provider_on

NOT_REGISTERED = "this account is not registered as a liquidity provider: call lp_register_account first"


@pytest.fixture
async def served(make_served: MakeServed) -> Served:
    """Return a node with the keys of a liquidity provider and a broker."""
    return await provider_on(make_served)


async def test_the_methods_are_listed_with_the_key_alone_or_beside_a_broker(make_served: MakeServed) -> None:
    """List the official lp_* methods with a provider's key, with or without a broker's."""
    official = {name for name in shared("methods.txt").read_text().split() if name.startswith("lp_")}
    assert set(Table(LP).names) | {"lp_total_balances"} == official
    assert len(official) == 21
    alone = await make_served(broker=False, provider=True)
    listed = set((await alone.call("rpc_methods"))["methods"])
    assert official <= listed
    assert "broker_register_account" not in listed


async def test_without_a_key_the_reason_is_the_data_of_the_error(make_served: MakeServed) -> None:
    """Answer without a key that the method does not exist, and how to insert the key."""
    served = await make_served()
    listed = (await served.call("rpc_methods"))["methods"]
    assert [name for name in listed if name.startswith("lp_")] == ["lp_total_balances"]
    for method in ("lp_register_account", "lp_asset_balances", "lp_unsubscribe_order_fills"):
        error = await served.error(method)
        assert (error["code"], error["message"]) == (-32601, "Method not found")
        assert error["data"].startswith(
            "this node has no liquidity provider key. Insert one (cfnode key insert"
        )
        assert "--key-type lqpr" in error["data"]
        assert error["data"].endswith("or start the node with --dev-lp //Bob")


async def test_with_two_keys_the_methods_are_off(make_served: MakeServed, tmp_path: Path) -> None:
    """Turn the methods off with two keys: one of them must be chosen by hand."""
    Keystore(tmp_path / "chains" / "dev" / "keystore").insert("lqpr", "//Other")
    served = await make_served(provider=True)
    error = await served.error("lp_register_account")
    assert error["data"] == "this node has 2 liquidity provider keys: remove all but one and start it again"


async def test_the_first_block_registers_the_named_provider_and_the_named_broker(
    make_served: MakeServed,
) -> None:
    """Register the named provider and the named broker in the first block."""
    options = {"broker_suri": "//Alice", "provider_suri": "//Bob"}
    served = await first_block(await make_served(broker=False, seal="instant", **options))
    for suri, role in (("//Alice", "broker"), ("//Bob", "liquidity_provider")):
        account = ss58.encode(Keypair.from_suri(suri).account, 2112)
        assert (await served.call("cf_account_info", account))["role"] == role
    await served.call("lp_register_liquidity_refund_address", "Ethereum", EVM_ADDRESS)


async def test_a_provider_registers_once(served: Served) -> None:
    """Register the account once, and say so to one that is not registered."""
    assert await served.error("lp_withdraw_asset", 1, ETH, EVM_ADDRESS, "InBlock") == {
        "code": -32024,
        "message": "DispatchError(BadOrigin)",
        "data": NOT_REGISTERED,
    }
    assert len(await served.call("lp_register_account")) == 66
    error = await served.error("lp_register_account")
    assert error["code"] == -32024
    assert error["message"].startswith('KnownModuleError { pallet: "AccountRoles"')


async def test_a_deposit_needs_a_refund_address(served: Served) -> None:
    """Demand a refund address before a deposit: money that fails has to go back somewhere."""
    await served.call("lp_register_account")
    error = await served.error("lp_request_liquidity_deposit_address_v2", ETH)
    assert (error["code"], "NoLiquidityRefundAddressRegistered" in error["message"]) == (-32024, True)


async def test_a_deposit_from_its_channel_to_the_balance(served: Served) -> None:
    """Credit a deposit, and answer with the block that has the channel."""
    await funded(served, (ETH, ETHER))
    assert await free(served, ETH) > 0.99 * ETHER
    opened = await served.call("lp_request_liquidity_deposit_address_v2", BTC, 10)
    assert list(opened) == ["block_number", "block_hash", "tx_index", "response"]
    assert opened["response"]["deposit_address"].startswith("bcrt1")
    block = await served.call("chain_getBlock", opened["block_hash"])
    assert int(block["block"]["header"]["number"], 16) == opened["block_number"]
    assert opened["tx_index"] < len(block["block"]["extrinsics"])
    example = recorded("lp_request_liquidity_deposit_address_v2.response.json")
    assert list(opened["response"]) == list(example)
    assert type(opened["response"]["deposit_chain_expiry_block"]) is int


async def test_the_first_form_waits_for_finality_or_not_at_all(served: Served) -> None:
    """Wait for finality or not at all in the first form of the method, and refuse InBlock."""
    await funded(served, (ETH, ETHER))
    method = "lp_request_liquidity_deposit_address"
    done = await served.call(method, ETH)
    assert list(done) == ["tx_details"]
    assert list(done["tx_details"]["response"]) == ["deposit_address", "deposit_chain_expiry_block"]
    assert shape(await served.call(method, ETH, "Finalized", 0)) == shape(done)
    sent = await served.call(method, ETH, "NoWait")
    assert shape(sent) == shape(recorded("lp_wait_result.tx_hash.json"))
    assert await served.error(method, ETH, "InBlock") == {
        "code": -32020,
        "message": "InBlock waiting is not allowed for this method. "
        "Use request_liquidity_deposit_address_v2 instead.",
    }


async def test_a_withdrawal_responds_with_its_egress(served: Served) -> None:
    """Answer a withdrawal with its egress, and take the amount from the balance."""
    await funded(served, (ETH, 2 * ETHER))
    before = await free(served, ETH)
    done = await served.call("lp_withdraw_asset", hex(ETHER), ETH, EVM_ADDRESS, "InBlock")
    assert done["tx_details"]["response"] == ["Ethereum", 1]
    assert await free(served, ETH) == before - ETHER
    final = await served.call("lp_withdraw_asset", 10**17, ETH, EVM_ADDRESS)
    assert final["tx_details"]["response"] == ["Ethereum", 2]
    sent = await served.call("lp_withdraw_asset", 10**17, ETH, EVM_ADDRESS, "NoWait")
    assert list(sent) == ["tx_hash"]


async def test_a_transfer_to_another_provider(served: Served) -> None:
    """Transfer to a provider that has a refund address, and refuse any other account."""
    await funded(served, (ETH, 2 * ETHER))
    before = await free(served, ETH)
    alice = ss58.encode(ALICE.account, 2112)
    error = await served.error("lp_transfer_asset", ETHER, ETH, alice)
    assert (error["code"], "DestinationAccountNotLiquidityProvider" in error["message"]) == (-32024, True)
    other = Provider(served)
    await other.submit("LiquidityProvider", "register_lp_account")
    error = await served.error("lp_transfer_asset", ETHER, ETH, alice)
    assert "NoLiquidityRefundAddressRegistered" in error["message"]
    address = ("Eth", bytes.fromhex(EVM_ADDRESS[2:]))
    await other.submit("LiquidityProvider", "register_liquidity_refund_address", address=address)
    assert len(await served.call("lp_transfer_asset", ETHER, ETH, alice)) == 66
    assert await free(served, ETH) == before - ETHER
    assert int((await served.call("cf_free_balances", alice))["Ethereum"]["ETH"], 16) == ETHER


async def test_a_swap_of_what_the_account_owns(served: Served) -> None:
    """Swap what the account owns, at once or in chunks."""
    await funded(served, (ETH, 2 * ETHER))
    limits = {"min_price": "0x0", "max_oracle_price_slippage": None}
    done = await served.call("lp_schedule_swap", ETHER, ETH, USDC, 5, limits, None, "InBlock")
    assert shape(done["tx_details"]["response"]) == shape(recorded("lp_schedule_swap.response.json"))
    before = await free(served, USDC)
    for _ in range(4):
        await served.call("dev_newBlock")
    assert await free(served, USDC) > before + 1_000 * DOLLAR
    chunks = {"number_of_chunks": 2, "chunk_interval": 2}
    parts = await served.call("lp_schedule_swap", 10**17, ETH, USDC, 5, limits, chunks)
    assert parts["tx_details"]["response"]["swap_request_id"] == 2


async def test_a_redemption_is_requested(served: Served) -> None:
    """Request a redemption, and refuse a second one while it is pending."""
    await funded(served, (ETH, ETHER))
    assert len(await served.call("lp_request_redemption", EVM_ADDRESS, hex(10 * ETHER), None)) == 66
    assert "RedemptionRequested" in [name for _, name, _ in await events_of(served, await best(served))]
    error = await served.error("lp_request_redemption", EVM_ADDRESS)
    assert (error["code"], "PendingRedemption" in error["message"]) == (-32024, True)


async def test_free_balances_are_those_of_the_finalized_block(served: Served) -> None:
    """Return the free balances of the finalized block."""
    await funded(served, (ETH, ETHER))
    final = await all_final(served)
    assert served.node.provider is not None
    account = ss58.encode(served.node.provider.account, 2112)
    assert await served.call("lp_free_balances") == await served.call("cf_free_balances", account, final)
    assert await served.call("lp_asset_balances") == await served.call("lp_free_balances")
    assert set(recorded("lp_total_balances.json")) - set(await served.call("lp_free_balances")) <= {
        "Polkadot"
    }


async def test_open_swap_channels_are_those_of_brokers(served: Served) -> None:
    """List the swap channels that brokers have opened, at the block that is asked for."""
    await funded(served, (ETH, ETHER))
    await served.call("broker_register_account")
    terms = (EVM_ADDRESS, 10, None, None, None)
    sent = REFUND | {"refund_address": BTC_ADDRESS}
    by_bitcoin = await served.call("broker_request_swap_deposit_address", BTC, ETH, *terms, sent)
    by_ethereum = await served.call("broker_request_swap_deposit_address", USDC, ETH, *terms, REFUND)
    channels = await served.call("lp_get_open_swap_channels", await best(served))
    assert list(channels) == ["ethereum", "bitcoin", "polkadot", "arbitrum", "solana"]
    assert channels["bitcoin"] == [
        {"deposit_address": by_bitcoin["address"], "source_asset": BTC, "destination_asset": ETH}
    ]
    assert channels["ethereum"] == [
        {"deposit_address": by_ethereum["address"], "source_asset": USDC, "destination_asset": ETH}
    ]
    assert shape(channels["ethereum"][0]) == shape(recorded("lp_get_open_swap_channels.channel.json"))
    genesis = await served.call("chain_getBlockHash", 0)
    assert await served.call("lp_get_open_swap_channels", genesis) == {chain: [] for chain in channels}


async def test_calls_beyond_the_queue_are_refused_as_those_of_a_broker(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse calls beyond the queue, for a provider as for a broker."""
    monkeypatch.setattr(submission, "MAX_WAITING_CALLS", 0)
    busy = {"code": -32009, "message": "Server is busy, try again later"}
    for method in ("lp_register_account", "broker_register_account"):
        error = await served.error(method)
        assert error == busy | {"data": "0 calls wait to be signed: try again later"}, method


async def test_what_is_wrong_is_named(served: Served) -> None:
    """Name what is wrong with a call."""
    await funded(served, (ETH, ETHER))
    for method, params, code, words in REFUSED:
        error = await served.error(method, *params)
        assert error["code"] == code, (method, params, error)
        assert words in f"{error['message']} {error.get('data')}", (method, params, error)
