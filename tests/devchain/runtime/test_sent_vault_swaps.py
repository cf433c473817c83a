"""Vault swaps to the end: what the encoding gave is sent to the vault, and each unit of it is counted."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.addresses import NETWORKS, address_to_text, script_to_text
from cfnode.core.addresses.solana import program_address
from cfnode.core.amm import price_of, sqrt_price_of_amounts
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.keys import solana_environment
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER
from tests.devchain.runtime.broker import address_on, ccm, refund, request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC, Swapper
from tests.devchain.runtime.world import BOB
from tests.support.devchain.vault_swaps import BITCOIN as TERMS
from tests.support.devchain.vault_swaps import TRANSACTION, encoded, evm, opened, send, transaction

SENDER = ("Eth", b"\x5e" * 20)
REFUND_SCRIPT = ("P2WPKH", bytes.fromhex("0875a0e4d6aa05d5e56615a0c240a7f0eb5cd6d0")[:20])
BTC_INGRESS = 390
SWAPPED = [
    "Swapping.SwapRequested",
    "Swapping.SwapScheduled",
]


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def solana(amount: int, **changes: Any) -> tuple[str, Any]:
    """Return the source parameters of a vault swap from Solana."""
    return "Solana", {
        "from": address_on("Solana"),
        "seed": b"\x01" * 32,
        "input_amount": amount,
        "refund_parameters": refund("Solana", **changes),
        "from_token_account": None,
    }


def test_ether_sent_to_the_vault_is_swapped_without_an_ingress_fee(broker: Swapper) -> None:
    """Swap ether sent to the vault without an ingress fee, with the broker and terms of its calldata."""
    assert send(broker, transaction(broker, evm("Ethereum", ETHER), "Eth", "Btc")) == "Ok"
    assert broker.happened() == [*SWAPPED, "EthereumIngressEgress.DepositFinalised"]
    finalised, requested = broker.event("DepositFinalised"), broker.event("SwapRequested")
    assert finalised == {
        "deposit_address": None,
        "asset": "Eth",
        "amount": ETHER,
        "block_height": finalised["block_height"],
        "deposit_details": {"tx_hashes": [TRANSACTION]},
        "ingress_fee": 0,
        "max_boost_fee_bps": 0,
        "action": ("Swap", {"swap_request_id": 1}),
        "channel_id": None,
        "origin_type": "Vault",
    }
    assert requested["input_amount"] == ETHER
    assert requested["origin"] == (
        "Vault",
        {"tx_id": ("Evm", TRANSACTION), "broker_id": broker.account},
    )
    assert requested["broker_fees"] == [{"account": broker.account, "bps": 10}]
    assert requested["dca_parameters"] is None
    kind, expiry = requested["price_limits_and_expiry"]["expiry_behaviour"]
    assert (kind, expiry["retry_duration"]) == ("RefundIfExpires", 100)
    assert expiry["refund_address"] == ("ExternalAddress", address_on("Ethereum"))
    _, done = broker.blocks(2)
    assert done[-3:] == [
        "Swapping.SwapEgressScheduled",
        "Swapping.SwapRequestCompleted",
        "BitcoinIngressEgress.BatchBroadcastRequested",
    ]
    executed = broker.event("SwapExecuted")
    gross = executed["intermediate_amount"] + executed["network_fee"] + executed["broker_fee"]
    assert executed["broker_fee"] == round((gross - executed["network_fee"]) / 1000)
    assert broker.balance(broker.account) == executed["broker_fee"]


def test_a_token_is_swapped_as_the_call_says_with_chunks_and_affiliates(broker: Swapper) -> None:
    """Swap a token in the chunks and with the affiliates that its calldata names."""
    assert broker.swapping("register_affiliate", withdrawal_address=b"\x01" * 20) == "Ok"
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    details = transaction(
        broker,
        evm("Arbitrum", 300 * USDC),
        "ArbUsdc",
        "Eth",
        affiliate_fees=[{"account": affiliate, "bps": 20}],
        dca_parameters={"number_of_chunks": 3, "chunk_interval": 2},
        boost_fee=7,
    )
    assert send(broker, details, amount=300 * USDC) == "Ok"
    requested, finalised = broker.event("SwapRequested"), broker.event("DepositFinalised")
    assert (requested["input_asset"], requested["input_amount"]) == ("ArbUsdc", 300 * USDC)
    assert (finalised["ingress_fee"], finalised["max_boost_fee_bps"]) == (0, 7)
    assert requested["broker_fees"] == [
        {"account": broker.account, "bps": 10},
        {"account": affiliate, "bps": 20},
    ]
    assert requested["dca_parameters"] == {"number_of_chunks": 3, "chunk_interval": 2}
    assert broker.event("SwapScheduled")["input_amount"] == 100 * USDC
    broker.blocks(6)
    assert broker.event("SwapRequestCompleted")["reason"] == "Executed"
    assert broker.balance(affiliate) > 0


def test_a_message_travels_with_the_sender(broker: Swapper) -> None:
    """Send a message on with its sender's address, which the receiver may check."""
    message = ccm(b"\x01\x02")
    details = transaction(broker, evm("Ethereum", ETHER), "Eth", "ArbEth", channel_metadata=message)
    assert details[1]["details"]["calldata"][:4].hex() == "07933dd2"
    assert send(broker, details, sender=SENDER) == "Ok"
    kind, regular = broker.event("SwapRequested")["request_type"]
    assert regular["output_action"][1]["ccm_deposit_metadata"] == {
        "channel_metadata": message | {"ccm_additional_data": "NotRequired"},
        "source_chain": "Ethereum",
        "source_address": SENDER,
    }
    assert (kind, regular["output_action"][1]["output_address"]) == ("Regular", address_on("Arbitrum"))
    broker.blocks(2)
    assert broker.event("CcmBroadcastRequested")["egress_id"] == ("Arbitrum", 1)


@pytest.mark.parametrize(("asset", "amount"), [("Trx", 100 * 10**6), ("TrxUsdt", 20 * USDC)])
def test_trons_note_tells_the_swap_beside_the_transfer(broker: Swapper, asset: str, amount: int) -> None:
    """Read the terms of a vault swap on Tron from the note of its transfer."""
    details = transaction(broker, evm("Tron", amount), asset, "Btc")
    assert send(broker, details) == "Ok"
    finalised = broker.event("DepositFinalised")
    assert (finalised["asset"], finalised["amount"], finalised["ingress_fee"]) == (asset, amount, 0)
    assert broker.event("SwapRequested")["output_asset"] == "Btc"


@pytest.mark.parametrize(("asset", "amount"), [("Sol", 10**9), ("SolUsdc", 10**8)])
def test_solanas_instruction_leaves_an_account_that_tells_the_swap(
    broker: Swapper, asset: str, amount: int
) -> None:
    """Witness a vault swap on Solana by the event account that its instruction creates."""
    chain, details = transaction(broker, solana(amount), asset, "Eth")
    instruction, known = details["instruction"], solana_environment()
    assert instruction["program_id"] == known.swap_endpoint_program
    assert len(instruction["accounts"]) == (6 if asset == "Sol" else 10)
    (payer,) = [account for account in instruction["accounts"] if account["is_signer"]]
    assert payer["pubkey"] == address_on("Solana")[1]
    seeds = [b"swap_event", payer["pubkey"], b"\x01" * 32]
    account, _ = program_address(seeds, known.swap_endpoint_program)
    assert instruction["accounts"][3 if asset == "Sol" else 4]["pubkey"] == account
    assert send(broker, (chain, details)) == "Ok"
    finalised = broker.event("DepositFinalised")
    witnessed = (account, finalised["block_height"])
    assert finalised["deposit_details"] == ("VaultSwapAccount", witnessed)
    own = [event for event in broker.all_of("SwapRequested") if event["output_asset"] == "Eth"]
    assert own[0]["origin"] == ("Vault", {"tx_id": ("Solana", witnessed), "broker_id": broker.account})
    assert (finalised["amount"], own[0]["input_amount"]) == (amount, amount - finalised["ingress_fee"])
    if asset == "Sol":
        assert finalised["ingress_fee"] == 5_000 + 39_000 * 10


def test_solanas_instruction_reads_back(broker: Swapper) -> None:
    """Decode Solana's instruction to the parameters that it was encoded from."""
    extra = solana(10**8, max_oracle_price_slippage=50)
    dca = {"number_of_chunks": 2, "chunk_interval": 3}
    message = ccm(b"\x05")
    details = transaction(broker, extra, "SolUsdc", "ArbEth", dca_parameters=dca, channel_metadata=message)
    kind, read = broker.world.api("CustomRuntimeApi_cf_decode_vault_swap_parameter", broker.account, details)
    assert kind == "Ok"
    assert (read["source_asset"], read["destination_asset"]) == ("SolUsdc", "ArbEth")
    parameters = read["extra_parameters"][1]
    assert parameters.pop("from_token_account")[0] == "Sol"
    assert parameters == {name: value for name, value in extra[1].items() if name != "from_token_account"}
    assert (read["dca_parameters"], read["channel_metadata"]) == (dca, message)
    assert (read["broker_commission"], read["affiliate_fees"]) == (10, [])


def test_a_private_bitcoin_channel_is_opened_used_and_closed(broker: Swapper) -> None:
    """Swap a deposit on a private Bitcoin channel by its payload's terms, until the channel is closed."""
    chain, details = opened(broker)
    assert broker.event("PrivateBrokerChannelOpened") == {"broker_id": broker.account, "channel_id": 1}
    assert send(broker, (chain, details), amount=BITCOIN, sender=address_on("Bitcoin")) == "Ok"
    assert broker.happened() == [*SWAPPED, "BitcoinIngressEgress.DepositFinalised"]
    finalised, requested = broker.event("DepositFinalised"), broker.event("SwapRequested")
    script = finalised["deposit_address"]
    assert script_to_text(script, NETWORKS["Development"]) == details["deposit_address"]
    assert (finalised["channel_id"], finalised["ingress_fee"]) == (1, BTC_INGRESS)
    utxo = finalised["deposit_details"]
    assert (utxo["id"], utxo["amount"]) == ({"tx_id": TRANSACTION, "vout": 0}, BITCOIN)
    assert utxo["deposit_address"]["script_path"]["salt"] == 1
    assert broker.world.stored("Environment", "BitcoinAvailableUtxos")[1:] == [utxo]
    assert requested["input_amount"] == BITCOIN - BTC_INGRESS
    limits = requested["price_limits_and_expiry"]
    assert limits["min_price"] == price_of(sqrt_price_of_amounts(BITCOIN, 7))
    address = limits["expiry_behaviour"][1]["refund_address"][1]
    assert script_to_text(address[1], NETWORKS["Development"]).encode() == address_on("Bitcoin")[1]
    # A single chunk is encoded as one: the payload has no way to leave the field out.
    assert requested["dca_parameters"] == {"number_of_chunks": 1, "chunk_interval": 2}
    broker.blocks(2)
    assert broker.event("SwapRequestCompleted")["reason"] == "Executed"
    assert broker.swapping("close_private_btc_channel") == "Ok"
    assert broker.event("PrivateBrokerChannelClosed") == {"broker_id": broker.account, "channel_id": 1}
    assert send(broker, (chain, details), amount=BITCOIN) == "Dev.NotNoticed"
    missing = ("Err", ("Module", b"NoPrivateChannelExistsForBroker"))
    assert encoded(broker, TERMS, "Btc") == missing


def test_a_price_that_is_not_met_brings_the_bitcoin_back(broker: Swapper) -> None:
    """Refund bitcoin whose swap misses its price, less the fees, to the satoshi."""
    terms = ("Bitcoin", TERMS[1] | {"min_output_amount": 1_000 * ETHER, "retry_duration": 0})
    assert broker.swapping("open_private_btc_channel") == "Ok"
    details = transaction(broker, terms, "Btc", "Eth")
    assert send(broker, details, amount=BITCOIN, sender=address_on("Bitcoin")) == "Ok"
    _, happened = broker.blocks(2)
    assert "Swapping.RefundEgressScheduled" in happened
    refunded = broker.event("RefundEgressScheduled")
    paid = refunded["amount"] + refunded["egress_fee"][0] + refunded["refund_fee"]
    assert paid == BITCOIN - BTC_INGRESS
    (transfer,) = [event for event in broker.all_of("BatchBroadcastRequested") if event["egress_ids"]]
    assert transfer["egress_ids"] == [refunded["egress_id"]]


def test_a_vault_swap_is_boosted(broker: Swapper) -> None:
    """Boost a vault swap before it is final, and credit the boosters when it is."""
    assert broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN) == "Ok"
    details = opened(broker, boost_fee=10)
    sent = {"amount": BITCOIN, "sender": address_on("Bitcoin")}
    assert send(broker, details, **sent, is_final=False) == "Ok"
    assert broker.happened() == [*SWAPPED, "BitcoinIngressEgress.DepositBoosted"]
    boosted, fee = broker.event("DepositBoosted"), BITCOIN * 5 // 10_000
    assert (boosted["origin_type"], boosted["boost_fee"]) == ("Vault", [("BoostPool", fee)])
    assert broker.event("SwapRequested")["input_amount"] == BITCOIN - fee - BTC_INGRESS
    status = broker.world.stored("BitcoinIngressEgress", "BoostedVaultTransactions", TRANSACTION)
    assert status == ("Boosted", {"prewitnessed_deposit_id": 1, "amount": BITCOIN})
    assert send(broker, details, **sent) == "Ok"
    assert broker.happened()[-1] == "BitcoinIngressEgress.DepositFinalised"
    action = broker.event("DepositFinalised")["action"]
    assert action[0] == "BoostersCredited"
    assert action[1]["network_fee_from_boost"] == fee // 2
    assert broker.balance(BOOSTER, "Btc") == 10 * BITCOIN + fee // 2
    after = broker.world.stored("BitcoinIngressEgress", "BoostedVaultTransactions", TRANSACTION)
    assert after == "NotBoosted"


def test_a_vault_swap_waits_for_its_boost(broker: Swapper) -> None:
    """Boost a vault swap only after the delay that governance set."""
    update = ("SetBoostDelayBitcoin", {"delay_blocks": 2})
    governed = ("BitcoinIngressEgress", ("update_pallet_config", {"updates": [update]}))
    assert broker.dev("as_governance", call=governed) == "Ok"
    broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN)
    details, sent = opened(broker, boost_fee=10), {"amount": BITCOIN, "sender": address_on("Bitcoin")}
    assert send(broker, details, **sent, is_final=False) == "Ok"
    assert broker.happened() == []
    waits = {"amount": BITCOIN, "process_at_block": broker.world.header.number + 2}
    stored = broker.world.stored("BitcoinIngressEgress", "BoostedVaultTransactions", TRANSACTION)
    assert stored == ("BoostPending", waits)
    broker.blocks(2)
    boosted, requested = broker.event("DepositBoosted"), broker.event("SwapRequested")
    assert (boosted["origin_type"], boosted["amounts"]) == ("Vault", [("BoostPool", BITCOIN)])
    assert requested["origin"][1]["tx_id"] == ("Bitcoin", TRANSACTION)
    assert send(broker, details, **sent) == "Ok"
    assert broker.event("DepositFinalised")["action"][0] == "BoostersCredited"


# What cannot be swapped


def sent_back(broker: Swapper, details: Any, reason: str) -> None:
    """Check that the money goes back, all of it less the fee of the transfer."""
    assert send(broker, details, sender=SENDER) == "Ok"
    finalised = broker.event("DepositFinalised")
    refund = {"egress_id": ("Ethereum", 1), "reason": reason, "amount": ETHER}
    assert finalised["action"] == ("Refund", refund)
    assert broker.event("BatchBroadcastRequested")["egress_ids"] == [("Ethereum", 1)]
    assert broker.all_of("SwapRequested") == []


def changed(details: Any, old: bytes, new: bytes) -> Any:
    """Return a wallet that sends something else."""
    chain, inner = details
    data = inner["details"]["calldata"]
    assert data.count(old) == 1 and len(old) == len(new)
    return chain, {"details": inner["details"] | {"calldata": data.replace(old, new)}}


def test_a_broker_that_is_none_sends_the_money_back(broker: Swapper) -> None:
    """Refund a vault swap that names no broker, and emit the unknown account."""
    details = transaction(broker, evm("Ethereum", ETHER), "Eth", "Sol")
    sent_back(broker, changed(details, broker.account, BOB.account), "InvalidBrokerFees")
    assert broker.event("UnknownBroker") == {"broker_id": BOB.account}


def test_an_unknown_affiliate_is_left_out_and_the_brokers_minimum_is_taken(broker: Swapper) -> None:
    """Leave out an affiliate that is gone, and raise the commission to the broker's minimum."""
    assert broker.swapping("register_affiliate", withdrawal_address=b"\x01" * 20) == "Ok"
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    fees = [{"account": affiliate, "bps": 20}]
    details = transaction(broker, evm("Ethereum", ETHER), "Eth", "Sol", affiliate_fees=fees)
    assert broker.swapping("deregister_affiliate", affiliate_account_id=affiliate) == "Ok"
    assert broker.swapping("set_vault_swap_minimum_broker_fee", minimum_fee_bps=40) == "Ok"
    assert send(broker, details) == "Ok"
    assert broker.event("UnknownAffiliate") == {"broker_id": broker.account, "short_affiliate_id": 0}
    assert broker.event("SwapRequested")["broker_fees"] == [{"account": broker.account, "bps": 40}]


def test_limits_that_have_changed_since_send_the_money_back(broker: Swapper) -> None:
    """Refund a vault swap whose chunks or retry duration the chain no longer allows."""
    dca = {"number_of_chunks": 3, "chunk_interval": 2}
    details = transaction(broker, evm("Ethereum", ETHER), "Eth", "Sol", dca_parameters=dca)
    later = changed(details, b"\1" + (3).to_bytes(4, "little"), b"\1" + bytes(4))
    sent_back(broker, later, "InvalidDcaParameters")
    broker.world.block()
    retry = (100).to_bytes(4, "little") + address_on("Ethereum")[1]
    late = changed(details, retry, (601).to_bytes(4, "little") + retry[4:])
    assert send(broker, late) == "Ok"
    assert broker.event("DepositFinalised")["action"][1]["reason"] == "InvalidRefundParameters"


def test_money_without_a_way_back_stays(broker: Swapper) -> None:
    """Keep bitcoin whose payload cannot be read or whose sender is unknown: there is no address to refund."""
    chain, details = opened(broker)
    unreadable = (chain, details | {"nulldata_payload": b"\x09"})
    assert send(broker, unreadable, amount=BITCOIN, sender=address_on("Bitcoin")) == "Ok"
    assert broker.happened()[-1] == "BitcoinIngressEgress.DepositFinalised"
    finalised = broker.event("DepositFinalised")
    assert (finalised["action"], finalised["ingress_fee"]) == ("Unrefundable", BTC_INGRESS)
    assert send(broker, (chain, details), amount=BITCOIN, transaction=b"\x78" * 32) == "Ok"
    assert broker.event("DepositFinalised")["action"] == "Unrefundable"


def test_a_too_small_deposit_and_one_that_a_broker_rejects_are_not_swapped(broker: Swapper) -> None:
    """Fail a vault swap below the minimum, and refund one that its broker rejected, less the fee."""
    assert send(broker, transaction(broker, evm("Ethereum", 5), "Eth", "Sol")) == "Ok"
    failed = broker.event("DepositFailed")
    assert failed["reason"] == "BelowMinimumDeposit"
    kind, details = failed["details"]
    assert (kind, details["vault_witness"]["deposit_amount"]) == ("DepositFailedVaultVariantEthereum", 5)
    marked = broker.submit("EthereumIngressEgress", "mark_transaction_for_rejection", tx_id=TRANSACTION)
    assert marked == "Ok"
    assert send(broker, transaction(broker, evm("Ethereum", ETHER), "Eth", "Sol")) == "Ok"
    assert broker.event("DepositFailed")["reason"] == "TransactionRejectedByBroker"
    rejected = broker.event("TransactionRejectedByBroker")
    assert rejected["tx_id"] == {"tx_hashes": [TRANSACTION]}
    broker.world.block()
    sent = [event["transaction_payload"]["data"] for event in broker.all_of("TransactionBroadcastRequest")]
    left = ETHER - 70_000 * 2_100_000_000
    assert [data[:4].hex() for data in sent] == ["5f8c0f9a"]
    assert sent[0].endswith(address_on("Ethereum")[1] + left.to_bytes(32, "big"))


def marked_on_solana(broker: Swapper, height: int) -> None:
    """Mark what a vault swap leaves at a height, then send one."""
    chain, details = transaction(broker, solana(10**9), "Sol", "Eth")
    account = details["instruction"]["accounts"][3]["pubkey"]
    mark = "mark_transaction_for_rejection"
    assert broker.submit("SolanaIngressEgress", mark, tx_id=(account, height)) == "Ok"
    assert send(broker, (chain, details)) == "Ok"


def test_a_marked_vault_swap_on_solana_is_sent_back(broker: Swapper) -> None:
    """Refund a marked vault swap on Solana, which is identified by event account and height."""
    marked_on_solana(broker, 0)
    height = broker.event("DepositFinalised")["block_height"]
    again = Swapper()
    marked_on_solana(again, height)
    assert again.event("DepositFailed")["reason"] == "TransactionRejectedByBroker"
    details = again.event("TransactionRejectedByBroker")["tx_id"]
    assert (details[0], details[1][1]) == ("VaultSwapAccount", height)
    again.world.block()
    marks = ("SolanaIngressEgress", "TransactionsMarkedForRejection", again.account, details[1])
    assert again.world.stored(*marks) is None


def test_a_marked_channel_deposit_on_solana_is_named_by_the_channels_address(broker: Swapper) -> None:
    """Identify a deposit on a Solana channel by the channel's address when it is marked."""
    address = broker.opened(**request("Sol", "Eth"))["deposit_address"]
    mark = "mark_transaction_for_rejection"
    assert broker.submit("SolanaIngressEgress", mark, tx_id=(address[1], 0)) == "Ok"
    assert broker.pay(address, "Sol", 10**9)[0] == "SolanaIngressEgress.DepositFailed"


def test_a_transaction_that_the_authorities_would_not_notice_is_an_error(broker: Swapper) -> None:
    """Refuse to witness a transaction that authorities would not: wrong contract, data, amount or chain."""
    chain, inner = transaction(broker, evm("Ethereum", ETHER), "Eth", "Sol")
    elsewhere = (chain, {"details": inner["details"] | {"to": b"\x01" * 20}})
    garbled = (chain, {"details": inner["details"] | {"calldata": inner["details"]["calldata"][:-40]}})
    for details in (elsewhere, garbled):
        assert send(broker, details) == "Dev.NotNoticed"
    assert send(broker, (chain, inner), amount=ETHER + 1) == "Dev.NotNoticed"
    assert send(broker, (chain, inner), sender=address_on("Solana")) == "Dev.WrongChain"
    nothing = (chain, {"details": inner["details"] | {"value": 0}})
    assert send(broker, nothing) == "Dev.InvalidAmount"
    tron_chain, tron = transaction(broker, evm("Tron", 10**8), "Trx", "Sol")
    wrong = tron["details"] | {"to": address_to_text(("Tron", b"\x01" * 20))}
    assert send(broker, (tron_chain, tron | {"details": wrong})) == "Dev.NotNoticed"
    assert ASSETS["Trx"].chain == tron_chain


def test_a_witnessed_deposit_is_listed_in_its_block_only(broker: Swapper) -> None:
    """List a vault deposit as witnessed in its own block only."""
    details = opened(broker)
    sent = {"amount": BITCOIN, "sender": address_on("Bitcoin")}
    assert send(broker, details, **sent, is_final=False) == "Ok"
    kind, events = broker.world.api("CustomRuntimeApi_cf_ingress_events", "Bitcoin")
    assert (kind, events["deposits"]) == ("Ok", [])
    (deposit,) = events["vault_deposits"]
    assert (deposit["tx_id"], deposit["amount"]) == (("Bitcoin", TRANSACTION), BITCOIN)
    assert (deposit["input_asset"], deposit["output_asset"]) == ("Btc", "Eth")
    assert deposit["destination_address"] == address_on("Ethereum")
    broker.world.block()
    _, events = broker.world.api("CustomRuntimeApi_cf_ingress_events", "Bitcoin")
    assert events == {"deposits": [], "vault_deposits": []}
