"""dev_* on a running node: deposits, pools, receivers, broadcasts and epochs by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.rpc.table.convert import account as account_text
from cfnode.swaps.checksums import checksum_text
from tests.rpc.conftest import Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS, REFUND
from tests.support.rpc.channels import events_of, open_channel

ETHER = 10**18


async def test_a_deposit_becomes_a_swap(instant: Served) -> None:
    """Turn a deposit by hand into a swap, with the transaction's hash in its details."""
    address = await open_channel(instant)
    block = await instant.call("dev_deposit", address, ETH, ETHER, "0x" + "77" * 32)
    finalised = next(
        fields for _, name, fields in await events_of(instant, block) if name == "DepositFinalised"
    )
    assert (finalised["amount"], finalised["asset"]) == (ETHER, "Eth")
    assert finalised["deposit_details"] == {"tx_hashes": [b"\x77" * 32]}
    assert finalised["action"] == ("Swap", {"swap_request_id": 1})


async def test_the_events_of_a_block_are_returned_as_json(instant: Served) -> None:
    """Return a block's events as JSON, and refuse an unknown block."""
    address = await open_channel(instant)
    block = await instant.call("dev_deposit", address, ETH, ETHER)
    events = await instant.call("dev_events", block)
    assert events == await instant.call("dev_events")
    expected = await events_of(instant, block)
    assert [(event["pallet"], event["name"]) for event in events] == [event[:2] for event in expected]
    finalised = next(event["fields"] for event in events if event["name"] == "DepositFinalised")
    assert finalised["deposit_address"] == address.lower()
    assert (finalised["amount"], finalised["asset"]) == (hex(ETHER), "Eth")
    assert finalised["action"] == ["Swap", {"swap_request_id": 1}]
    unknown = await instant.error("dev_events", "0x" + "77" * 32)
    assert "Header was not found" in unknown["message"]


async def test_a_deposit_is_boosted_before_it_is_final(instant: Served) -> None:
    """Boost a deposit that is announced before it is final, and credit the boosters after it."""
    await instant.call("broker_registerAccount")
    refund = REFUND | {"refund_address": BTC_ADDRESS}
    channel = await instant.call(
        "broker_requestSwapDepositAddress", BTC, ETH, EVM_ADDRESS, 10, None, 30, None, refund
    )
    await instant.call("dev_setBoost", BTC, 10**9)
    block_hash = await instant.call("dev_announceDeposit", channel["address"], BTC, 10**8)
    boosted = next(
        fields for _, name, fields in await events_of(instant, block_hash) if name == "DepositBoosted"
    )
    assert (boosted["boost_fee"], boosted["max_boost_fee_bps"]) == ([("BoostPool", 50_000)], 30)
    final = await instant.call("dev_deposit", channel["address"], BTC, 10**8)
    (finalised,) = [fields for _, name, fields in await events_of(instant, final) if "Finalised" in name]
    assert finalised["action"][0] == "BoostersCredited"


async def test_an_announcement_without_an_open_channel_of_its_asset_is_an_error(instant: Served) -> None:
    """Refuse an announcement without an open channel of its asset, before a block is made for it."""
    before = instant.node.chain.best.number
    none = await instant.error("dev_announceDeposit", EVM_ADDRESS, "Eth", ETHER)
    assert (none["code"], none["message"]) == (
        -32000,
        f"Deposit rejected: no deposit channel of Ethereum is open at {checksum_text(EVM_ADDRESS)}; "
        "open one with broker_request_swap_deposit_address (`cfnode swap request`)",
    )
    address = await open_channel(instant)
    opened = instant.node.chain.best.number
    other = await instant.error("dev_announceDeposit", address, "Usdc", ETHER)
    assert other["message"] == (
        f"Deposit rejected: the deposit channel at {checksum_text(address)} is for ETH, not for USDC"
    )
    assert (opened > before, instant.node.chain.best.number) == (True, opened), "refused before a block"
    assert "Did you mean" in (await instant.error("dev_announceDeposit", address, "Eht", 1))["data"]


async def test_a_deposit_that_the_chain_refuses_is_an_error(instant: Served) -> None:
    """Report the chain's refusal of a deposit, with the block that has it."""
    before = instant.node.chain.best.number
    error = await instant.error("dev_deposit", EVM_ADDRESS, "arbitrum.eth", ETHER)
    assert (error["code"], error["message"].startswith("Deposit rejected: InvalidDepositAddress: The")) == (
        *(-32000, True),
    )
    assert error["data"]["reason"] == "InvalidDepositAddress"
    names = [name for _, name, _ in await events_of(instant, error["data"]["block"])]
    assert ("DepositFailed" in names, instant.node.chain.best.number) == (True, before + 1)
    address = await open_channel(instant)
    small = await instant.error("dev_deposit", address, "eth", 1)
    assert (
        small["message"]
        == "Deposit rejected: BelowMinimumDeposit: the amount is below the chain's minimum; give more"
    )


async def test_assets_and_chains_are_written_in_any_case(instant: Served) -> None:
    """Read assets and chains in any case in dev_* methods alone."""
    address = await open_channel(instant)
    for asset in ("Eth", "ETHEREUM/eth", ETH):
        await instant.call("dev_deposit", address, asset, ETHER)
    await instant.call("dev_setOracle", "bitcoin/btc", hex(10**12))
    await instant.call("dev_holdBroadcasts", "ETHEREUM")
    unknown = await instant.error("dev_deposit", address, "ethr", ETHER)
    assert (unknown["code"], "Did you mean" in unknown["data"]) == (-32602, True), unknown
    assert (await instant.error("cf_pool_price", "Eth", "Btc"))["code"] == -32602


SOL = {"chain": "Solana", "asset": "SOL"}
SOL_ADDRESS = "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC"
VAULT_SWAPS: list[tuple[Any, dict[str, Any]]] = [
    (ETH, {"chain": "Ethereum", "input_amount": hex(ETHER), "refund_parameters": REFUND}),
    (
        SOL,
        {
            "chain": "Solana",
            "from": SOL_ADDRESS,
            "seed": "0x" + "01" * 32,
            "input_amount": hex(10**9),
            "refund_parameters": REFUND | {"refund_address": SOL_ADDRESS},
        },
    ),
    (BTC, {"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10}),
]


@pytest.mark.parametrize(("source", "extra"), VAULT_SWAPS)
async def test_what_the_encoding_gives_can_be_sent(
    instant: Served, source: dict[str, str], extra: dict[str, Any]
) -> None:
    """Send a vault swap by what its encoding gave, and refuse one that no vault would notice."""
    await instant.call("broker_registerAccount")
    await instant.call("broker_openPrivateBtcChannel")
    usdc = {"chain": "Arbitrum", "asset": "USDC"}
    asked = (source, usdc, EVM_ADDRESS, 10, extra)
    details = await instant.call("broker_requestSwapParameterEncoding", *asked)
    if source == BTC:
        block = await instant.call("dev_sendToVault", details, 10**8, BTC_ADDRESS)
    else:
        block = await instant.call("dev_sendToVault", details)
    (requested,) = [fields for _, name, fields in await events_of(instant, block) if name == "SwapRequested"]
    assert (requested["origin"][0], requested["output_asset"]) == ("Vault", "ArbUsdc")
    elsewhere = details | {"to": EVM_ADDRESS} if source == ETH else details | {"deposit_address": "x"}
    if source != SOL:
        assert "NotNoticed" in (await instant.error("dev_sendToVault", elsewhere, 10**8))["message"]


async def test_amounts_are_any_integer_that_the_chain_can_hold(instant: Served) -> None:
    """Accept any integer that the chain can hold as an amount."""
    account = account_text(b"\x07" * 32)
    for amount in (5 * ETHER, hex(5 * ETHER), 2**70):
        await instant.call("dev_fundAccount", account, amount)
    for wrong in (2**128, -1, "100", 1.5, True):
        assert (await instant.error("dev_fundAccount", account, wrong))["code"] == -32602
    balance = (await instant.call("cf_account_info", account))["flip_balance"]
    assert int(balance, 16) == 10 * ETHER + 2**70


async def test_a_pools_price_and_depth_are_set(instant: Served) -> None:
    """Set a pool's price and depth."""
    await instant.call("dev_setPool", ETH, 4_000_000_000)
    usdc = {"chain": "Ethereum", "asset": "USDC"}
    price = await instant.call("cf_pool_price_v2", ETH, usdc)
    root = int(price["range_order"], 16)
    assert root * root * ETHER >> 192 in (3_999_999_999, 4_000_000_000)
    error = await instant.error("dev_setPool", usdc, 1)
    assert "InvalidPool" in error["message"]


async def test_an_address_of_another_chain_is_refused(instant: Served) -> None:
    """Refuse an address of another chain."""
    assert (await instant.error("dev_deposit", "nonsense", ETH, 1))["code"] == -32020
    assert "WrongChain" in (await instant.error("dev_deposit", "nonsense", BTC, 1))["message"]
    error = await instant.error("dev_failReceiver", BTC_ADDRESS, BTC)
    assert "WrongChain" in error["message"]
    await instant.call("dev_failReceiver", EVM_ADDRESS, ETH)
    await instant.call("dev_failReceiver", EVM_ADDRESS, ETH, False)
    await instant.call("dev_abortBroadcast", "Bitcoin")


@pytest.mark.parametrize(
    ("method", "more"), [("dev_deposit", [1]), ("dev_announceDeposit", [1]), ("dev_failReceiver", [])]
)
async def test_an_address_with_a_wrong_checksum_is_refused(
    method: str, more: list[Any], instant: Served
) -> None:
    """All that only these methods take is checked as on the command line."""
    good = checksum_text(EVM_ADDRESS)
    wrong = good.replace("F", "f", 1)
    error = await instant.error(method, wrong, ETH, *more)
    assert error["code"] == -32000
    assert f"the checksum of {wrong} is wrong" in error["message"]
    assert f"{good} if the letters are right" in error["message"]


async def broadcaster_says(served: Served, block: str) -> list[str]:
    """Return the events of Ethereum's broadcaster in a block."""
    return [name for pallet, name, _ in await events_of(served, block) if pallet == "EthereumBroadcaster"]


async def test_a_transaction_is_held_back_until_its_time_is_over(instant: Served) -> None:
    """Hold a transaction back until the chain takes it as lost, and release it."""
    address = await open_channel(instant)
    await instant.call("dev_holdBroadcasts", "Ethereum")
    await instant.call("dev_holdSignatures")
    await instant.call("dev_deposit", address, ETH, ETHER)
    assert await broadcaster_says(instant, await instant.call("dev_newBlock")) == []
    assert (await instant.call("cf_monitoring_pending_broadcasts"))["ethereum"] == 1
    refused = await instant.error("dev_failBroadcast", "Ethereum")
    assert "NobodyAsked" in refused["message"]
    await instant.call("dev_holdSignatures", False)
    block = await instant.call("dev_newBlock")
    assert await broadcaster_says(instant, block) == ["TransactionBroadcastRequest"]

    await instant.call("dev_timeTravel", 21 * 14_000)
    await instant.call("dev_newBlock")  # in which the chain's height is seen
    block = await instant.call("dev_newBlock")
    assert await broadcaster_says(instant, block) == ["BroadcastTimeout", "BroadcastAborted"]
    assert (await instant.call("cf_monitoring_pending_broadcasts"))["ethereum"] == 0
    block = await instant.call("dev_holdBroadcasts", "Ethereum", False)
    assert "BroadcastSuccess" in await broadcaster_says(instant, block)


async def test_an_authority_that_was_asked_fails(instant: Served) -> None:
    """Fail the authority that was asked to send."""
    await instant.call("dev_holdBroadcasts", "Ethereum")
    await instant.call("dev_deposit", await open_channel(instant), ETH, ETHER)
    await instant.call("dev_newBlock")
    block = await instant.call("dev_failBroadcast", "Ethereum", 1)
    assert await broadcaster_says(instant, block) == ["BroadcastAborted"]


@pytest.mark.parametrize("seal", ["instant", "manual"])
async def test_an_epoch_begins_at_once(make_served: Any, seal: str) -> None:
    """Begin an epoch at once."""
    served = await make_served(seal=seal)
    before = await served.call("cf_current_epoch")
    block = await served.call("dev_nextEpoch")
    assert await served.call("cf_current_epoch", block) == before + 1


@pytest.mark.parametrize("seal", ["instant", "manual"])
async def test_a_rotation_gives_the_vaults_new_keys(make_served: Any, seal: str) -> None:
    """Rotate the vaults' keys, and return each chain's transaction for it."""
    served = await make_served(seal=seal)
    before, _ = await served.call("cf_eth_vault")
    addresses = await served.call("cf_get_vault_addresses")
    rotation = await served.call("dev_rotate")
    transactions = rotation.pop("transactions")
    assert rotation["epoch"] == await served.call("cf_current_epoch", rotation["block"]) == 2
    assert (await events_of(served, rotation["block"]))[0] == ("Validator", "NewEpoch", 2)
    key, _ = await served.call("cf_eth_vault")
    assert key != before
    changed = await served.call("cf_get_vault_addresses")
    assert {name for name in changed if changed[name] != addresses[name]} >= {
        "bitcoin_vault",
        "solana_sol_vault",
    }
    assert [(transaction["chain"], transaction["broadcast_id"]) for transaction in transactions] == [
        ("Ethereum", 1),
        ("Arbitrum", 1),
        ("Tron", 1),
        ("Bsc", 1),
    ]
    manager = await served.call("cf_eth_key_manager_address")
    assert (transactions[0]["contract"], transactions[0]["data"][:10]) == (f"0x{manager}", "0xc1c4a159")
    assert transactions[0]["data"][10 + 3 * 64 :] == f"{key[2:]}{int(key[:2]) - 2:064x}"
    await served.call("dev_finalize", rotation["block"])  # with the votes of the new set
    assert (await served.call("grandpa_roundState"))["setId"] == 1
    await served.call("dev_holdSignatures")
    assert "signatures are held" in (await served.error("dev_rotate"))["message"]


async def test_a_rotation_that_waits_for_a_transaction_leaves_its_chain_out(instant: Served) -> None:
    """Leave a chain out of a rotation while one of its transactions is pending."""
    address = await open_channel(instant)
    await instant.call("dev_holdBroadcasts", "Ethereum")
    await instant.call("dev_deposit", address, ETH, ETHER)
    rotation = await instant.call("dev_rotate")
    assert [transaction["chain"] for transaction in rotation["transactions"]] == ["Arbitrum", "Tron", "Bsc"]
    await instant.call("dev_govern", "Environment", "update_safe_mode", {"update": "CodeRed"})
    refused = await instant.error("dev_rotate")
    assert (refused["code"], "RotationsDisabled" in refused["message"]) == (-32024, True)


async def test_the_oracle_reports_the_price_that_was_set(instant: Served) -> None:
    """Report the oracle's price that was set."""
    assert await instant.call("cf_oracle_prices") == []
    block = await instant.call("dev_setOracle", "Btc", 86_500 * 10**6)
    (price,) = await instant.call("cf_oracle_prices", ["Btc", "Usd"])
    number = int((await instant.call("chain_getHeader", block))["number"], 16)
    assert price.pop("updated_at_oracle_timestamp") > 10**9
    assert price == {
        "price": hex(865 << 128),
        "updated_at_statechain_block": number,
        "base_asset": "Btc",
        "quote_asset": "Usd",
        "price_status": "UpToDate",
    }
    assert (await instant.error("dev_setOracle", "Usd", 1))["code"] == -32602
