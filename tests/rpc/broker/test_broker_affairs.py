"""Affiliates, bindings, minimum fee, rejections and views of a broker, on a running development node."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.hashing import blake2_256
from cfnode.rpc.cf.updates import block_update
from tests.rpc.conftest import Served

ETH = {"chain": "Ethereum", "asset": "ETH"}
BTC = {"chain": "Bitcoin", "asset": "BTC"}
PAYEE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BTC_ADDRESS = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
SOLANA = "DRpbCBMxVnDK7maPM5tGv6MvB3v1sRMC86PZ8okm21hy"
REFUND = {"retry_duration": 10, "refund_address": PAYEE, "min_price": "0x0"}


@pytest.fixture
async def broker(instant: Served) -> Served:
    """Return a node whose account is a broker."""
    await instant.call("broker_register_account")
    return instant


def own_account(served: Served) -> bytes:
    """Return the broker's account."""
    assert served.node.broker is not None
    return served.node.broker.account


async def test_an_affiliate_is_registered_listed_and_ended(broker: Served) -> None:
    """Register an affiliate under an account derived from the broker's, list it, and end it."""
    affiliate = await broker.call("broker_registerAffiliate", PAYEE)
    derived = blake2_256(b"chainflip/affiliate" + own_account(broker) + b"\x00")
    assert affiliate == ss58.encode(derived, 2112)
    listed = [[affiliate, {"short_id": 0, "withdrawal_address": PAYEE}]]
    assert await broker.call("broker_get_affiliates") == listed
    assert await broker.call("broker_getAffiliates", affiliate) == listed
    assert await broker.call("cf_get_affiliates", ss58.encode(own_account(broker), 2112)) == listed
    await broker.call("broker_open_private_btc_channel")
    members = list(await broker.call("cf_account_info", ss58.encode(own_account(broker), 2112)))
    assert members.index("affiliates") == members.index("btc_vault_deposit_address") - 1
    ended = await broker.call("broker_deregister_affiliate", affiliate)
    assert ended == {"account_id": affiliate, "short_id": 0}
    assert await broker.call("broker_get_affiliates") == []


async def test_an_affiliate_that_earned_nothing_has_nothing_to_withdraw(broker: Served) -> None:
    """Refuse a withdrawal for an affiliate that has earned nothing."""
    affiliate = await broker.call("broker_register_affiliate", PAYEE)
    error = await broker.error("broker_affiliate_withdrawal_request", affiliate)
    assert error["code"] == -32024
    assert 'name: "NoFundsAvailable"' in error["message"]


async def test_an_affiliate_of_another_broker_cannot_be_deregistered(broker: Served) -> None:
    """Refuse to deregister an affiliate of another broker."""
    error = await broker.error("broker_deregister_affiliate", ss58.encode(b"\x07" * 32, 2112))
    assert 'name: "AffiliateNotRegisteredForBroker"' in error["message"]


async def test_fees_are_bound_to_an_address_once(broker: Served) -> None:
    """Bind fees to an address once: a thief of the key could redirect them otherwise."""
    assert len(await broker.call("broker_bind_fee_withdrawal_address", PAYEE)) == 66
    error = await broker.error("broker_bindFeeWithdrawalAddress", PAYEE)
    assert 'name: "BrokerAlreadyBound"' in error["message"]


async def test_the_minimum_fee_of_vault_swaps_has_a_cap(broker: Served) -> None:
    """Refuse a minimum fee of vault swaps over the cap."""
    assert len(await broker.call("broker_set_vault_swap_minimum_broker_fee", 10)) == 66
    error = await broker.error("broker_setVaultSwapMinimumBrokerFee", 1001)
    assert 'name: "BrokerCommissionBpsTooHigh"' in error["message"]


async def test_a_vault_swap_from_ethereum_is_a_call_of_the_vault(broker: Served) -> None:
    """Encode a vault swap from Ethereum as a call of the vault with the broker's terms."""
    extra = {"chain": "Ethereum", "input_amount": "0xde0b6b3a7640000", "refund_parameters": REFUND}
    call = await broker.call("broker_requestSwapParameterEncoding", ETH, BTC, BTC_ADDRESS, 10, extra)
    vaults = await broker.call("broker_getVaultAddresses")
    assert list(call) == ["chain", "calldata", "value", "to"]
    assert (call["chain"], call["value"]) == ("Ethereum", "0xde0b6b3a7640000")
    assert list(bytes.fromhex(call["to"][2:])) == vaults["ethereum"]["Eth"]
    terms = await broker.call("broker_EncodeCfParameters", ETH, BTC, BTC_ADDRESS, 10, REFUND)
    assert terms[2:] in call["calldata"]
    account = ss58.encode(own_account(broker), 2112)
    same = await broker.call("cf_request_swap_parameter_encoding", account, ETH, BTC, BTC_ADDRESS, 10, extra)
    assert same == call


async def test_a_vault_swap_from_bitcoin_reads_back(broker: Served) -> None:
    """Encode a vault swap from Bitcoin for the private channel, and read it back; without one say so."""
    extra = {"chain": "Bitcoin", "min_output_amount": 5, "retry_duration": 10}
    asked = [BTC, ETH, PAYEE, 10, extra]
    assert await broker.error("broker_request_swap_parameter_encoding", *asked) == {
        "code": -32021,
        "message": "DispatchError: NoPrivateChannelExistsForBroker",
    }
    await broker.call("broker_open_private_btc_channel")
    swap = await broker.call("broker_request_swap_parameter_encoding", *asked)
    assert list(swap) == ["chain", "nulldata_payload", "deposit_address"]
    ((_, address),) = (await broker.call("cf_get_vault_addresses"))["bitcoin"]
    assert bytes(address["Btc"]).decode() == swap["deposit_address"]
    read = await broker.call("broker_DecodeVaultSwapParameter", swap)
    assert read == {
        "source_asset": BTC,
        "destination_asset": ETH,
        "destination_address": PAYEE,
        "broker_commission": 10,
        "extra_parameters": {
            "chain": "Bitcoin",
            "min_output_amount": "0x5",
            "retry_duration": 10,
            "max_oracle_price_slippage": 255,
        },
        "channel_metadata": None,
        "boost_fee": 0,
        "affiliate_fees": [],
        "dca_parameters": {"number_of_chunks": 1, "chunk_interval": 2},
    }


async def test_a_malformed_address_is_an_error_without_details(broker: Served) -> None:
    """Answer a malformed address with the official node's error, which has no details."""
    extra = {"chain": "Bitcoin", "min_output_amount": 5, "retry_duration": 10}
    error = await broker.error("broker_request_swap_parameter_encoding", BTC, ETH, "0x12", 10, extra)
    assert error == {"code": -32603, "message": "Internal error while processing request."}


async def test_open_channels_are_listed_for_all_and_for_the_broker(broker: Served) -> None:
    """List open channels for all brokers and for the own one, in each method's form."""
    assert await broker.call("broker_get_open_deposit_channels", "All") == {"chain_accounts": []}
    channel = await broker.call(
        "broker_request_swap_deposit_address", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    numbers = list(bytes.fromhex(channel["address"][2:]))
    listed = {"chain_accounts": [[{"Eth": numbers}, ETH]]}
    for choice in ("All", "Mine"):
        assert await broker.call("broker_getOpenDepositChannels", choice) == listed
    assert await broker.call("cf_controlled_deposit_addresses") == {"Ethereum": [channel["address"]]}
    assert await broker.call("cf_controlled_deposit_addresses", "Bitcoin") == {}
    account = ss58.encode(own_account(broker), 2112)
    assert await broker.call("broker_all_open_deposit_channels") == [[account, "Swap", listed]]


async def test_the_addresses_that_hold_funds_are_named_and_explained(broker: Served) -> None:
    """Name and explain each address that holds funds, with the time of its next change."""
    await broker.call("broker_open_private_btc_channel")
    raw = await broker.call("broker_get_vault_addresses")
    vaults = await broker.call("cf_controlled_vault_addresses")
    names = {chain: [entry["name"] for entry in entries] for chain, entries in vaults.items()}
    account = ss58.encode(own_account(broker), 2112)
    assert names == {
        "Arbitrum": ["arbitrum_vault_contract"],
        "Ethereum": ["ethereum_vault_contract"],
        "Solana": [
            *("solana_sol_vault", "solana_usdc_vault", "solana_usdt_vault"),
            "solana_sol_vault_swap_account",
        ],
        "Bitcoin": ["bitcoin_vault", f"bitcoin_vault_swap_address_for_broker_{account}"],
        "Tron": ["tron_vault_contract"],
        "Bsc": ["bsc_vault_contract"],
    }
    (contract,) = vaults["Ethereum"]
    assert contract["address"] == "0x" + bytes(raw["ethereum"]["Eth"]).hex()
    assert (contract["rotation_policy"], contract["next_predicted_rotation"]) == ("Never", None)
    ((_, own),) = raw["bitcoin"]
    assert vaults["Bitcoin"][1]["address"] == bytes(own["Btc"]).decode()
    terms = {"input_amount": 10**9, "from": SOLANA, "seed": "0x" + "5e" * 32}
    terms |= {"chain": "Solana", "refund_parameters": REFUND | {"refund_address": SOLANA}}
    sol = {"chain": "Solana", "asset": "SOL"}
    swap = await broker.call("broker_request_swap_parameter_encoding", sol, ETH, PAYEE, 10, terms)
    assert vaults["Solana"][-1]["address"] in [account["pubkey"] for account in swap["accounts"]]
    (mine,) = (await broker.call("cf_controlled_vault_addresses", "Bitcoin", True)).values()
    assert [set(entry) for entry in mine] == [{"name", "address", "next_predicted_rotation"}] * 2
    header = broker.node.chain.header(broker.node.chain.best.hash)
    assert header is not None
    now = block_update(header, header.hash)["timestamp"]
    change = datetime.strptime(mine[0]["next_predicted_rotation"], "%Y-%m-%d %H:%M:%S UTC")
    left = change.replace(tzinfo=UTC).timestamp() - now
    assert left == raw["predicted_seconds_until_next_vault_rotation"] > 0
    assert await broker.call("cf_controlled_vault_addresses", "Polkadot") == {}


async def test_the_brokers_account_shows_its_role(broker: Served) -> None:
    """Return the broker's role and fees, and an unknown account as unregistered."""
    account = ss58.encode(own_account(broker), 2112)
    info = await broker.call("cf_account_info", account)
    assert (info["account_id"], info["role"]) == (account, "broker")
    assert info["earned_fees"]["Ethereum"]["USDC"] == "0x0"
    assert "affiliates" not in info
    broker_infos = await broker.call("cf_all_account_infos", ["Broker"])
    assert broker_infos == [info]
    unknown = await broker.call("cf_account_info", ss58.encode(b"\x05" * 32, 2112))
    assert (unknown["role"], unknown["flip_balance"]) == ("unregistered", "0x0")


async def test_a_deposit_is_marked_for_rejection(broker: Served) -> None:
    """Accept the mark of a deposit for rejection."""
    deposit = {"Bitcoin": "0x" + "11" * 32}
    assert await broker.call("broker_MarkTransactionForRejection", deposit) is None


BAD: list[tuple[str, list[Any], str]] = [
    (
        "broker_register_affiliate",
        ["0x11"],
        "invalid length 2, expected a (both 0x-prefixed",
    ),
    ("broker_mark_transaction_for_rejection", [{"Doge": "0x"}], "unknown variant `Doge`, expected one of"),
    (
        "broker_mark_transaction_for_rejection",
        [{"Solana": ["x"]}],
        "invalid length 1, expected a tuple of size 2 at line 1 column 16",
    ),
    ("broker_get_open_deposit_channels", ["Some"], "unknown variant `Some`, expected `All` or `Mine` at"),
    (
        "broker_set_vault_swap_minimum_broker_fee",
        [70_000],
        "invalid value: integer `70000`",
    ),
    (
        "broker_request_swap_parameter_encoding",
        [ETH, BTC, "x", 1, {"chain": "Doge"}],
        "unknown variant `Doge`, expected one of `Bitcoin`",
    ),
]


async def test_a_wrong_parameter_is_refused_with_the_reason(instant: Served) -> None:
    """Refuse a wrong parameter with the official reason."""
    for method, params, text in BAD:
        error = await instant.error(method, *params)
        assert (error["code"], error["message"]) == (-32602, "Invalid params"), method
        assert error["data"].startswith(text), (method, error)
