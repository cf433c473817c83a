"""A broker opens a deposit channel: every check with its error, and the address each chain derives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import base58
import pytest
from coincurve import PublicKey
from eth_utils import keccak

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.core.hashing import blake2_256, sha2_256
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.keys import ASSETHUB_VAULT, bitcoin_public_key, solana_environment
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.runtime.calls import RuntimeTrap
from tests.devchain.runtime.broker import GAS_ASSETS, Broker, address_on, ccm, refund, request
from tests.devchain.runtime.world import BOB, World

AFFILIATE = {"account": b"a" * 32, "bps": 5}
DAY = 24 * 60 * 60
# Seconds of a block, as the main net's genesis takes them.
BLOCK_TIMES = {
    "Ethereum": 14,
    "Bitcoin": 600,
    "Arbitrum": 0.25,
    "Solana": 0.4,
    "Assethub": 12,
    "Tron": 3,
}


@pytest.fixture
def broker() -> Broker:
    """Return a broker on a new chain."""
    return Broker()


# The checks, in their order


def test_only_a_broker_may_open_a_channel(broker: Broker) -> None:
    """Refuse a deposit channel to an account that is no broker."""
    name = "request_swap_deposit_address_with_affiliates"
    assert broker.submit("Swapping", name, pair=BOB, **request()) == "BadOrigin"


REFUSED: list[tuple[dict[str, Any], str]] = [
    (request(broker_commission=1_001), "Swapping.BrokerCommissionBpsTooHigh"),
    (request(broker_commission=996, affiliate_fees=[AFFILIATE]), "Swapping.BrokerCommissionBpsTooHigh"),
    (request(broker_commission=65_535, affiliate_fees=[AFFILIATE]), "Swapping.BrokerCommissionBpsTooHigh"),
    (request(destination_address=("Btc", b"bc1qnot")), "Swapping.InvalidDestinationAddress"),
    (
        request(destination_address=("Btc", b"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")),
        "Swapping.InvalidDestinationAddress",
    ),
    (request(destination_address=("Btc", b"\xff\xfe")), "Swapping.InvalidDestinationAddress"),
    (request(destination_address=address_on("Ethereum")), "Swapping.IncompatibleAssetAndAddress"),
    (
        request("Eth", "ArbEth", destination_address=address_on("Ethereum")),
        "Swapping.IncompatibleAssetAndAddress",
    ),
    (
        request("Btc", "Eth", refund_parameters=refund("Bitcoin", refund_address=("Btc", b"nowhere"))),
        "Swapping.InvalidRefundAddress",
    ),
    (request(channel_metadata=ccm()), "Swapping.CcmUnsupportedForTargetChain"),
    (request("Btc", "Eth", channel_metadata=ccm(data=b"\x01")), "Swapping.InvalidCcm"),
    (request("Btc", "Sol", channel_metadata=ccm()), "Swapping.InvalidCcm"),
    (request("Btc", "HubDot", channel_metadata=ccm()), "Swapping.InvalidCcm"),
    (request(refund_parameters=refund("Bitcoin")), "Other"),
    (request("Eth", "Btc", refund_parameters=refund("Solana")), "Other"),
    (request(refund_parameters=refund("Ethereum", retry_duration=601)), "Swapping.RetryDurationTooHigh"),
    (
        request("Flip", refund_parameters=refund("Ethereum", max_oracle_price_slippage=50)),
        "Swapping.OraclePriceNotAvailable",
    ),
    (
        request("Eth", "Trx", refund_parameters=refund("Ethereum", max_oracle_price_slippage=50)),
        "Swapping.OraclePriceNotAvailable",
    ),
    (
        request(dca_parameters={"number_of_chunks": 0, "chunk_interval": 2}),
        "Swapping.ZeroNumberOfChunksNotAllowed",
    ),
    (request(dca_parameters={"number_of_chunks": 2, "chunk_interval": 0}), "Swapping.ChunkIntervalTooLow"),
    (
        request(dca_parameters={"number_of_chunks": 2**31, "chunk_interval": 3}),
        "Swapping.InvalidDcaParameters",
    ),
    (
        request(dca_parameters={"number_of_chunks": 2, "chunk_interval": 14_401}),
        "Swapping.SwapRequestDurationTooLong",
    ),
    (
        request("Btc", "Eth", refund_parameters=refund("Bitcoin", refund_ccm_metadata=ccm())),
        "Other",
    ),
    (request(refund_parameters=refund("Ethereum", refund_ccm_metadata=ccm(data=b"\x01"))), "Other"),
    (request("Dot", "Eth"), "PolkadotIngressEgress.ChainDeprecated"),
]


def test_each_check_has_its_error(broker: Broker) -> None:
    """Refuse each wrong request with the official runtime's error, and use no channel id for it."""
    for arguments, error in REFUSED:
        assert broker.open(**arguments) == error, arguments
    for chain in GAS_ASSETS:
        assert broker.world.stored(f"{chain}IngressEgress", "ChannelIdCounter") == 0


def test_of_two_faults_the_first_check_names_the_error(broker: Broker) -> None:
    """Return the error of the first check, in the official order, where several arguments are wrong."""
    later = request(
        broker_commission=1_001,
        destination_address=("Btc", b"nowhere"),
        refund_parameters=refund("Ethereum", retry_duration=601),
    )
    assert broker.open(**later) == "Swapping.BrokerCommissionBpsTooHigh"
    assert broker.open(**(later | {"broker_commission": 0})) == "Swapping.InvalidDestinationAddress"
    address = {"broker_commission": 0, "destination_address": address_on("Bitcoin")}
    assert broker.open(**(later | address)) == "Swapping.RetryDurationTooHigh"


ACCEPTED: list[dict[str, Any]] = [
    request(broker_commission=1_000),
    request(boost_fee=65_535),
    request(broker_commission=0, affiliate_fees=[AFFILIATE] * 5),
    request("Eth", "Eth"),
    request(dca_parameters={"number_of_chunks": 1, "chunk_interval": 0}),
    request(dca_parameters={"number_of_chunks": 2, "chunk_interval": 14_400}),
    request("Eth", refund_parameters=refund("Tron", max_oracle_price_slippage=50)),
    request("HubDot", "Eth", refund_parameters=refund("Polkadot")),
    request("Btc", "Eth", channel_metadata=ccm()),
    request("Eth", refund_parameters=refund("Ethereum", retry_duration=600, refund_ccm_metadata=ccm())),
]


def test_arguments_that_the_chain_leaves_unchecked_are_accepted(broker: Broker) -> None:
    """Accept arguments at their limits, and those that the official runtime does not check."""
    for arguments in ACCEPTED:
        assert broker.open(**arguments) == "Ok", arguments


def test_more_affiliates_or_longer_messages_than_the_type_allows_are_no_extrinsic(broker: Broker) -> None:
    """Trap on a request with more affiliates or longer messages than the call's type allows."""
    too_much = [
        request(affiliate_fees=[AFFILIATE] * 6),
        request("Btc", "Eth", channel_metadata=ccm(bytes(15_001))),
        request("Btc", "Sol", channel_metadata=ccm(data=bytes(3_001))),
        request(refund_parameters=refund("Ethereum", refund_ccm_metadata=ccm(bytes(15_001)))),
    ]
    name = "request_swap_deposit_address_with_affiliates"
    for arguments in too_much:
        call = broker.world.call("Swapping", name, **arguments)
        with pytest.raises(RuntimeTrap, match="cannot be decoded"):
            broker.world.block(broker.world.sign(call))


def test_safe_mode_closes_one_chain_and_leaves_the_others_open(broker: Broker) -> None:
    """Close one chain in safe mode and leave the others open."""
    with broker.arranging() as runtime:
        mode = runtime.pallet(EnvironmentStorage).RuntimeSafeMode
        switches = mode.get()
        closed = replace(switches.ingress_egress_ethereum, deposit_channel_creation_enabled=False)
        mode.put(replace(switches, ingress_egress_ethereum=closed))
    assert broker.open(**request("Eth")) == "EthereumIngressEgress.DepositChannelCreationDisabled"
    assert broker.open(**request("ArbEth")) == "Ok"


def test_the_opening_fee_is_taken_from_liquid_flip_only(broker: Broker) -> None:
    """Take the opening fee from liquid FLIP only: bonded FLIP pays for nothing."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).ChannelOpeningFee.put(7 * 10**18)
        flip = runtime.pallet(Flip)
        flip.set_bond(broker.account, flip.balance(broker.account) - 10**18)
    assert broker.open(**request("Eth")) == "Flip.InsufficientLiquidity"
    with broker.arranging() as runtime:
        runtime.pallet(Flip).set_bond(broker.account, 0)
    before = broker.world.stored("Flip", "Account", broker.account)["balance"]
    assert broker.opened(**request("Eth"))["channel_opening_fee"] == 7 * 10**18
    fee = broker.event("TransactionFeePaid")["actual_fee"]
    after = broker.world.stored("Flip", "Account", broker.account)["balance"]
    assert before - after == 7 * 10**18 + fee
    assert broker.event("ChannelOpeningFeePaid") == {"fee": 7 * 10**18}


def test_channel_ids_can_run_out(broker: Broker) -> None:
    """Refuse a channel once the ids of its chain have run out: an id given twice would share an address."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).ChannelIdCounter.put(2**32 - 1)
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).ChannelIdCounter.put(2**64 - 1)
    assert broker.open(**request("Btc", "Eth")) == "BitcoinIngressEgress.BitcoinChannelIdTooLarge"
    assert broker.open(**request("Eth")) == "EthereumIngressEgress.ChannelIdsExhausted"


def test_a_vault_that_is_not_there_is_named(broker: Broker) -> None:
    """Name the vault that is missing."""
    with broker.arranging() as runtime:
        runtime.pallet(EnvironmentStorage).AssethubVaultAccountId.kill()
        runtime.by_name["BitcoinThresholdSigner"].CurrentKeyEpoch.kill()  # type: ignore[attr-defined]
    assert broker.open(**request("HubDot", "Eth")) == "AssethubIngressEgress.MissingAssethubVault"
    assert broker.open(**request("Btc", "Eth")) == "BitcoinIngressEgress.MissingBitcoinVault"


def test_a_refused_channel_leaves_nothing_but_the_fee(broker: Broker) -> None:
    """Leave nothing of a refused channel but the transaction's fee and its two events."""
    supply = broker.world.stored("Flip", "TotalIssuance")
    assert broker.open(**request("HubDot", "Eth", refund_parameters=refund("Tron"))) == "Other"
    assert broker.world.names(1) == ["TransactionPayment.TransactionFeePaid", "System.ExtrinsicFailed"]
    paid = broker.event("TransactionFeePaid")["actual_fee"]
    assert broker.world.stored("Flip", "TotalIssuance") == supply - paid


# What opening does


def test_the_events_of_an_opening_come_in_the_chains_order(broker: Broker) -> None:
    """Emit the events of an opening in the official order."""
    broker.opened(**request())
    assert broker.world.names(1) == [
        "EthereumIngressEgress.ChannelOpeningFeePaid",
        "Swapping.SwapDepositAddressReady",
        "TransactionPayment.TransactionFeePaid",
        "System.ExtrinsicSuccess",
    ]


def test_the_event_repeats_the_request(broker: Broker) -> None:
    """Repeat each argument of the request in the event: a client checks there what it asked for."""
    dca = {"number_of_chunks": 3, "chunk_interval": 2}
    asked = request("Usdc", "ArbUsdc", channel_metadata=ccm(), affiliate_fees=[AFFILIATE], dca_parameters=dca)
    opened = broker.opened(**asked)
    same = ("destination_address", "source_asset", "destination_asset", "boost_fee", "affiliate_fees")
    for name in (*same, "refund_parameters", "dca_parameters"):
        assert opened[name] == asked[name], name
    assert opened["channel_metadata"] == ccm() | {"ccm_additional_data": "NotRequired"}
    assert (opened["channel_id"], opened["broker_id"], opened["broker_commission_rate"]) == (
        1,
        broker.account,
        10,
    )


def test_the_channel_stores_the_action_for_a_deposit(broker: Broker) -> None:
    """Store with the channel what a deposit starts: fees, destination, refund address, boost and expiry."""
    opened = broker.opened(**request("Eth", "Btc", affiliate_fees=[AFFILIATE], boost_fee=7))
    details = broker.world.stored(
        "EthereumIngressEgress", "DepositChannelLookup", opened["deposit_address"][1]
    )
    kind, action = details["action"]
    assert kind == "Swap"
    assert action["broker_fees"] == [{"account": broker.account, "bps": 10}, AFFILIATE]
    assert action["destination_address"][0] == "Btc"
    assert action["destination_address"][1][0] == "P2WPKH"
    assert action["refund_params"]["refund_address"] == address_on("Ethereum")
    assert details["owner"] == broker.account
    assert (details["boost_fee"], details["boost_status"]) == (7, "NotBoosted")
    assert details["deposit_channel"]["state"] == "Undeployed"
    assert details["expires_at"] == opened["source_chain_expiry_block"]


def test_the_older_call_opens_the_same_channel_without_affiliates_and_in_one_piece(broker: Broker) -> None:
    """Open a channel without affiliates and chunks by the older call."""
    arguments = request()
    del arguments["affiliate_fees"], arguments["dca_parameters"]
    assert broker.swapping("request_swap_deposit_address", **arguments) == "Ok"
    opened = broker.event("SwapDepositAddressReady")
    assert (opened["affiliate_fees"], opened["dca_parameters"]) == ([], None)


# Addresses, each computed here by another way


def evm_address(world: World, chain: str, channel_id: int, init_code_hash: str) -> bytes:
    """Compute the address of a deposit contract by CREATE2 from the vault's address."""
    vault = world.stored("Environment", f"{chain}VaultAddress")
    prefix = b"\x41" if chain == "Tron" else b"\xff"
    return keccak(prefix + vault + channel_id.to_bytes(32, "big") + bytes.fromhex(init_code_hash))[-20:]


@pytest.mark.parametrize(
    ("asset", "init_code_hash"),
    [
        ("Eth", "e90bf83533981276d50deaebb5f14dd57d3ab72c3a030e66b023bce46f259f4c"),
        ("Flip", "5bb0b25f5702f19924e60a65cdd34efa7ec0f85a469a70fe587873e198f24a40"),
        ("ArbUsdc", "2f30284886514030c4f1ce01820717261baea6b3fddc48be7b0f67bb5a4296cf"),
        ("TrxUsdt", "dd94910e53d341aa832a54188ec00b55b04d28a4fc0f613a67a80d43a7793077"),
    ],
)
def test_evm_addresses_are_those_that_the_vault_will_deploy(
    broker: Broker, asset: str, init_code_hash: str
) -> None:
    """Open EVM channels at the addresses at which the vault will deploy their contracts."""
    chain = ASSETS[asset].chain
    address = broker.opened(**request(asset))["deposit_address"][1]
    assert address == evm_address(broker.world, chain, 1, init_code_hash)


def test_a_bitcoin_address_is_a_regtest_taproot_output_of_the_vault_key(broker: Broker) -> None:
    """Open Bitcoin channels as taproot outputs of the vault's key with the channel id as salt."""
    broker.opened(**request("Btc", "Eth"))
    text = address_to_text(broker.opened(**request("Btc", "Eth"))["deposit_address"])
    assert text.startswith("bcrt1p")

    def tagged(tag: bytes, message: bytes) -> bytes:
        return sha2_256(sha2_256(tag) * 2 + message)

    script = b"\x52\x75\x20" + bitcoin_public_key() + b"\xac"  # OP_2 for channel 2
    leaf = tagged(b"TapLeaf", b"\xc0" + bytes([len(script)]) + script)
    tweak = tagged(b"TapTweak", b"\xee" * 32 + leaf)
    internal = PublicKey(b"\x02" + b"\xee" * 32)
    output = PublicKey.combine_keys([internal, PublicKey.from_secret(tweak)]).format()
    stored = broker.world.stored("BitcoinIngressEgress", "DepositChannelLookup", ("Taproot", output[1:]))
    assert stored["deposit_channel"]["state"]["script_path"] == {
        "salt": 2,
        "tweaked_pubkey_bytes": output,
        "tapleaf_hash": leaf,
        "unlock_script": {"bytes": script},
    }


def test_a_solana_address_is_derived_from_the_vault_program(broker: Broker) -> None:
    """Derive a Solana address from the vault's program, the channel id and the stored bump."""
    address = broker.opened(**request("SolUsdc"))["deposit_address"]
    details = broker.world.stored("SolanaIngressEgress", "DepositChannelLookup", address[1])
    bump = details["deposit_channel"]["state"]
    program = solana_environment().vault_program
    seeds = b"channel" + (1).to_bytes(8, "little") + bytes([bump])
    assert base58.b58encode(sha2_256(seeds + program + b"ProgramDerivedAddress")).decode() == address_to_text(
        address
    )


def test_an_assethub_address_is_a_derivative_of_the_vault_account(broker: Broker) -> None:
    """Derive an AssetHub address from the vault's account and the channel id."""
    address = broker.opened(**request("HubUsdc", "Eth"))["deposit_address"]
    assert address == ("Hub", blake2_256(b"modlpy/utilisuba" + ASSETHUB_VAULT + b"\x01\x00"))


# How long it lives


@pytest.mark.parametrize("chain", GAS_ASSETS)
def test_a_channel_expires_a_day_later_in_the_source_chains_blocks(broker: Broker, chain: str) -> None:
    """Let a channel live a day in the source chain's blocks, to the end of a witness period."""
    broker.world.block()
    height = broker.world.stored(f"{chain}ChainTracking", "CurrentChainState")["block_height"]
    opened = broker.opened(**request(GAS_ASSETS[chain], "Eth"))
    lifetime = (opened["source_chain_expiry_block"] - height) * BLOCK_TIMES[chain]
    # To the opening block and to the end of a witness period it is a little more than a day.
    assert DAY - BLOCK_TIMES[chain] <= lifetime <= DAY + 3 * max(BLOCK_TIMES[chain], 36)


def test_even_the_first_block_knows_the_heights() -> None:
    """Count a channel's lifetime from the chain's height even in the first block, which sets it."""
    world = World()
    register = world.sign(world.call("Swapping", "register_as_broker"))
    name = "request_swap_deposit_address_with_affiliates"
    opening = world.sign(world.call("Swapping", name, **request("ArbEth", "Eth")), nonce=1)
    assert world.block(register, opening) == [("Ok", ("Ok", ()))] * 2
    (opened,) = [fields for _, _, event, fields in world.events() if event == "SwapDepositAddressReady"]
    height = world.stored("ArbitrumChainTracking", "CurrentChainState")["block_height"]
    assert height > 0
    assert opened["source_chain_expiry_block"] - height == 345_600 + 48


def test_ids_of_a_chain_are_shared_by_all_brokers() -> None:
    """Share the channel ids of a chain among all brokers."""
    broker = Broker()
    charlie = Keypair.from_suri("//Charlie")
    assert broker.submit("Swapping", "register_as_broker", pair=charlie) == "Ok"
    assert broker.opened(**request("Eth"))["channel_id"] == 1
    name = "request_swap_deposit_address_with_affiliates"
    assert broker.submit("Swapping", name, pair=charlie, **request("Usdt")) == "Ok"
    opened = broker.event("SwapDepositAddressReady")
    assert (opened["channel_id"], opened["broker_id"]) == (2, charlie.account)
