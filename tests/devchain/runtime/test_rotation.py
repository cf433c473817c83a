"""A rotation of keys: its steps in order, what waits for it, what is signed anew, the old key's addresses."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from cfnode.core import schnorr
from cfnode.core.addresses import taproot
from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import ReplayProtection, set_agg_key, transfer_fallback
from cfnode.devchain.runtime.config import CONTRACTS, DevGenesis, EvmAddresses
from cfnode.devchain.runtime.genesis import dev_authorities
from cfnode.devchain.runtime.keys import (
    bitcoin_public_key,
    evm_key,
    polkadot_public_key,
    solana_public_key,
)
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS
from cfnode.devchain.runtime.pallets.evm_signer import SILENT
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from tests.devchain.runtime.broker import request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, Swapper
from tests.support.devchain.broadcasts import emitted_by, hold, until
from tests.support.devchain.egress import API, failed_transfer, signed_transfer

ARBITRUM = CONTRACTS["Arbitrum"]
BSC = CONTRACTS["Bsc"]
ETHEREUM = CONTRACTS["Ethereum"]
TRON = CONTRACTS["Tron"]
MONITORING = "MonitoringRuntimeApi_cf_"
EVM_CHAINS = {"Ethereum": ETHEREUM, "Arbitrum": ARBITRUM, "Tron": TRON, "Bsc": BSC}
ROTATION_TRANSACTIONS = ("Ethereum", "Arbitrum", "Solana", "Assethub", "Tron", "Bsc")
HOUSEKEEPING = ("System.", "ChainTracking.", "DeficitRecorded")


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def force(broker: Swapper) -> str:
    """Force a rotation as governance; return the outcome."""
    return broker.dev("as_governance", call=("Validator", "force_rotation"))


def rotate(broker: Swapper) -> None:
    """Carry a rotation out, up to the first block of the new epoch."""
    assert force(broker) == "Ok"
    until(broker, "NewEpoch")


def names(broker: Swapper) -> list[str]:
    """Return the block's events without those that each block may have."""
    return [name for name in broker.world.names() if not any(word in name for word in HOUSEKEEPING)]


def of(pallet: str, *events: str) -> list[str]:
    """Return the full names of events of a pallet."""
    return [f"{pallet}.{name}" for name in events]


def evm(*events: str) -> list[str]:
    """Return the full names of events of the EVM signer."""
    return of("EvmThresholdSigner", *events)


def each_signer(event: str) -> list[str]:
    """Return the full name of an event for each signer."""
    return [f"{crypto}ThresholdSigner.{event}" for crypto in ("Evm", "Polkadot", "Bitcoin", "Solana")]


def phases(broker: Swapper) -> list[str]:
    """Return the phases that the block's events name."""
    raw_phases = [event["new_phase"] for event in broker.all_of("RotationPhaseUpdated")]
    return [phase if isinstance(phase, str) else phase[0] for phase in raw_phases]


def compressed(key: dict[str, Any]) -> bytes:
    """Return an EVM key in 33 bytes."""
    return (b"\3" if key["pub_key_y_parity"] == "Odd" else b"\2") + key["pub_key_x"]


def test_the_steps_of_a_rotation_come_in_the_chains_order(broker: Swapper) -> None:
    """Take each step of a rotation in the official order of blocks and events."""
    validators, bond = broker.world.stored("Validator", "CurrentAuthorities"), 50_000 * ETHER
    assert force(broker) == "Ok"
    assert names(broker) == [
        "Validator.AuctionCompleted",
        *each_signer("KeygenRequest"),
        "Validator.RotationPhaseUpdated",
    ]
    assert broker.event("AuctionCompleted") == (validators, bond)
    assert broker.all_of("KeygenRequest")[0] == {
        "ceremony_id": 1,
        "participants": validators,
        "epoch_index": 2,
    }
    state = {"primary_candidates": validators, "banned": [], "bond": bond, "new_epoch_index": 2}
    assert broker.event("RotationPhaseUpdated") == {"new_phase": ("KeygensInProgress", state)}
    assert force(broker) == "Validator.RotationInProgress"
    signed = evm("ThresholdSignatureSuccess", "KeygenVerificationSuccess", "ThresholdDispatchComplete")
    generated = each_signer("KeygenSuccess")
    assert names(broker) == [generated[0], *evm("ThresholdSignatureRequest"), *generated[1:], *signed]
    assert broker.event("KeygenVerificationSuccess") == {"agg_key": asdict(evm_key(2))}

    broker.blocks(1)
    assert names(broker) == each_signer("KeygenVerificationSuccess")[1:]
    broker.blocks(1)
    handed = each_signer("NoKeyHandover")
    handed[2] = "BitcoinThresholdSigner.KeyHandoverRequest"
    assert (names(broker), phases(broker)) == (
        [*handed, "Validator.RotationPhaseUpdated"],
        ["KeyHandoversInProgress"],
    )
    broker.blocks(2)
    both = {"previous": bitcoin_public_key(), "current": bitcoin_public_key(2)}
    assert broker.event("KeyHandoverVerificationSuccess") == {"agg_key": both}

    broker.blocks(1)
    activated = [
        *of("BitcoinVault", "VaultActivationCompleted"),
        "BitcoinThresholdSigner.KeyRotationCompleted",
    ]
    sent = [
        name
        for chain in EVM_CHAINS
        for name in (
            *evm("ThresholdSignatureSuccess"),
            f"{chain}Broadcaster.TransactionBroadcastRequest",
            *evm("ThresholdDispatchComplete"),
        )
    ]
    assert names(broker) == [
        *evm(*["ThresholdSignatureRequest"] * len(EVM_CHAINS)),
        *activated,
        "Validator.RotationPhaseUpdated",
        *sent,
        "BitcoinIngressEgress.UtxoConsolidation",
    ]
    assert phases(broker) == ["ActivatingKeys"]

    set_id = broker.world.stored("Grandpa", "CurrentSetId")
    session = broker.world.stored("Session", "CurrentIndex")
    broker.blocks(1)
    assert names(broker) == [
        *[f"{chain}Vault.VaultActivationCompleted" for chain in EVM_CHAINS],
        *evm("KeyRotationCompleted"),
        "AssethubVault.VaultActivationCompleted",
        "PolkadotThresholdSigner.KeyRotationCompleted",
        "SolanaVault.VaultActivationCompleted",
        "SolanaThresholdSigner.KeyRotationCompleted",
        *of("Validator", *["RotationPhaseUpdated"] * 2),
        *of("Session", "NewQueued", "NewSession"),
        *[f"{chain}Broadcaster.BroadcastSuccess" for chain in ROTATION_TRANSACTIONS],
    ]
    assert phases(broker) == ["NewKeysActivated", "SessionRotating"]
    assert broker.world.stored("Grandpa", "CurrentSetId") == set_id
    assert broker.world.stored("Validator", "CurrentEpoch") == 1

    broker.blocks(1)
    assert names(broker) == [
        "Validator.NewEpoch",
        *of(
            "AssetBalances", *["VaultDeficitDetected"] * len(EVM_CHAINS)
        ),  # who has paid for the rotation's transactions
        "Validator.RotationPhaseUpdated",
        "Session.NewSession",
        "Grandpa.NewAuthorities",
        "BitcoinBroadcaster.BroadcastSuccess",  # of the outputs that were moved
    ]
    assert phases(broker) == ["Idle"]
    assert broker.world.stored("Grandpa", "CurrentSetId") == set_id + 1
    assert broker.world.stored("Session", "CurrentIndex") == session + 2
    broker.blocks(1)
    assert names(broker) == []


@pytest.mark.parametrize(("chain", "contracts"), EVM_CHAINS.items())
def test_the_old_key_has_the_key_manager_take_the_new_one(
    broker: Swapper, chain: str, contracts: EvmAddresses
) -> None:
    """Sign the key manager's change to the new key with the old one, on every EVM chain."""
    old, new = asdict(evm_key()), asdict(evm_key(2))
    assert old != new
    assert force(broker) == "Ok"
    until(broker, "TransactionBroadcastRequest")
    requests = {
        pallet: fields
        for _, pallet, name, fields in broker.world.events()
        if name == "TransactionBroadcastRequest"
    }
    asked = requests[f"{chain}Broadcaster"]
    transaction = asked["transaction_payload"]
    data, contract = transaction["data"], transaction["contract"]
    assert (contract, data[:4].hex(), len(data)) == (contracts.key_manager, "c1c4a159", 4 + 5 * 32)
    assert data[4 + 96 :] == new["pub_key_x"] + (new["pub_key_y_parity"] == "Odd").to_bytes(32, "big")
    nonce = int.from_bytes(data[36:68], "big")
    assert nonce == broker.world.stored("Environment", f"{chain}SignatureNonce") == 1
    manager = contracts.key_manager
    call = set_agg_key(new["pub_key_x"], odd=new["pub_key_y_parity"] == "Odd")
    message = call.message_hash(ReplayProtection(nonce, contracts.chain_id, manager, manager))
    assert schnorr.verify(compressed(old), message, Signature(data[4:36], data[80:100]))
    if chain == "Tron":
        selector = b"setAggKeyWithAggKey((uint256,uint256,address),(uint256,uint8))"
        assert transaction["function_selector"] == selector


def test_after_a_rotation_each_answer_has_the_new_keys(broker: Swapper) -> None:
    """Answer with the new keys once the epoch begins, and with the old ones until then."""
    api = broker.world.api
    channel = broker.opened(**request("Btc", "Eth"))
    assert broker.submit("Swapping", "open_private_btc_channel") == "Ok"
    ids: dict[str, Any] = dict.fromkeys(map(str.lower, RELEASES[DEFAULT_RELEASE].chains)) | {
        "solana": (None, None)
    }
    before = api(API + "eth_vault"), api(API + "vault_addresses")
    assert before[0][0] == compressed(asdict(evm_key()))
    assert (api(MONITORING + "rotation_broadcast_ids"), api(MONITORING + "sol_onchain_key")) == (
        ids,
        bytes(32),
    )

    assert force(broker) == "Ok"
    until(broker, "TransactionBroadcastRequest")
    sent = dict.fromkeys(("ethereum", "arbitrum", "assethub", "tron", "bsc"), 1) | {"solana": (1, None)}
    assert api(MONITORING + "rotation_broadcast_ids") == ids | sent
    assert api(API + "eth_vault") == before[0]  # until the epoch begins
    until(broker, "NewEpoch")

    key, since = api(API + "eth_vault")
    assert key == compressed(asdict(evm_key(2)))
    heights = api(MONITORING + "external_chains_block_height")
    assert heights["ethereum"] <= since <= heights["ethereum"] + 1
    assert (api(MONITORING + "rotation_broadcast_ids"), api(API + "current_epoch")) == (ids, 2)
    solana = solana_public_key(2)
    assert api(MONITORING + "sol_aggkey") == api(MONITORING + "sol_onchain_key") == solana
    assert api(MONITORING + "dot_aggkey") == polkadot_public_key(2)
    after = api(API + "vault_addresses")
    changed = {name for name in after if after[name] != before[1][name]}
    seconds = "predicted_seconds_until_next_vault_rotation"
    assert changed - {seconds} == {"bitcoin", "bitcoin_vault", "solana_sol_vault"}
    assert after["solana_sol_vault"] == ("Sol", solana)
    assert after[seconds] == broker.world.stored("Validator", "EpochDuration") * 6
    assert broker.world.stored("Validator", "CurrentEpochStartedAt") == broker.world.header.number
    # A channel of before takes deposits as it did.
    assert "BitcoinIngressEgress.DepositFinalised" in broker.pay(channel["deposit_address"], "Btc", BITCOIN)


def test_an_epoch_that_is_over_rotates_the_keys_where_the_chain_says_so() -> None:
    """Rotate the keys at the end of an epoch where genesis says so, one rotation at a time."""
    broker = Swapper(config=DevGenesis(epoch_blocks=6, rotate_keys=True))
    until(broker, "AuctionCompleted")
    assert (broker.world.header.number, phases(broker)) == (6, ["KeygensInProgress"])
    hold(broker, chain="Arbitrum")
    until(broker, "NewEpoch")
    began = broker.world.header.number
    assert broker.world.stored("EvmThresholdSigner", "CurrentKeyEpoch") == 2
    until(broker, "PreviousRotationStillPending")
    assert broker.world.header.number == began + 6
    hold(broker, False, "Arbitrum")
    until(broker, "AuctionCompleted")


def test_later_broadcasts_wait_for_the_rotation_and_it_for_earlier_ones(broker: Swapper) -> None:
    """Order broadcasts around a rotation: earlier ones, then its own, then later ones by the new key."""
    hold(broker)
    broker.deposit("Btc", "Eth", BITCOIN)
    earlier = until(broker, "TransactionBroadcastRequest")["broadcast_id"]
    rotation, later = earlier + 1, earlier + 2
    assert force(broker) == "Ok"
    scheduled = until(broker, "BroadcastRetryScheduled")
    assert scheduled == {"broadcast_id": rotation, "retry_block": broker.world.header.number + 10}
    assert broker.world.stored("EthereumBroadcaster", "BroadcastBarriers") == [rotation - 1, rotation]
    assert broker.world.stored("ArbitrumBroadcaster", "BroadcastBarriers") == [1]
    until(broker, "NewEpoch")  # the signatures alone are needed for that
    assert broker.world.stored("ArbitrumBroadcaster", "BroadcastBarriers") == []
    assert broker.world.stored("EthereumBroadcaster", "CurrentOnChainKey") is None

    broker.deposit("Btc", "Eth", BITCOIN)
    assert until(broker, "BroadcastRetryScheduled")["broadcast_id"] == later
    hold(broker, held=False)
    assert broker.event("BroadcastSuccess")["broadcast_id"] == earlier
    assert broker.world.stored("EthereumBroadcaster", "BroadcastBarriers") == [rotation]
    sent = until(broker, "TransactionBroadcastRequest")
    assert (sent["broadcast_id"], sent["transaction_payload"]["contract"]) == (rotation, ETHEREUM.key_manager)
    assert until(broker, "BroadcastSuccess")["broadcast_id"] == rotation
    new = asdict(evm_key(2))
    assert broker.world.stored("EthereumBroadcaster", "CurrentOnChainKey") == new
    sent = until(broker, "TransactionBroadcastRequest")
    kept = broker.world.stored("EthereumBroadcaster", "PendingApiCalls", later)
    assert (sent["broadcast_id"], kept[1]["signer_and_sig_data"][0]) == (later, new)
    assert until(broker, "BroadcastSuccess")["broadcast_id"] == later
    assert broker.world.stored("EthereumBroadcaster", "BroadcastBarriers") == []


def test_a_signature_of_a_key_that_the_chain_has_no_more_is_made_anew() -> None:
    """Sign again where the chain no longer has the signature's key; both ids lead to the broadcast."""
    broker = Swapper(config=DevGenesis(authorities=dev_authorities(3)))
    rotate(broker)
    hold(broker)
    broker.deposit("Btc", "Eth", BITCOIN)
    first = until(broker, "TransactionBroadcastRequest")
    number = first["broadcast_id"]
    assert broker.dev("fail_broadcast", chain="Ethereum", broadcast_id=number) == "Ok"
    with broker.arranging() as runtime:
        pallet: Any = runtime.pallet(BROADCASTERS["Ethereum"])
        pallet.CurrentOnChainKey.put(evm_key(3))
    broker.blocks(1)
    assert emitted_by(broker)[0] == "ThresholdSignatureInvalid"
    assert broker.event("ThresholdSignatureInvalid") == {"broadcast_id": number}
    again = broker.event("TransactionBroadcastRequest")
    assert (again["broadcast_id"], again["transaction_out_id"] != first["transaction_out_id"]) == (
        number,
        True,
    )
    known = broker.world.stored("EthereumBroadcaster", "BroadcastIdToTransactionOutIds", number)
    assert known == [first["transaction_out_id"], again["transaction_out_id"]]


def test_a_call_that_anybody_may_send_is_signed_anew_by_the_new_key(broker: Swapper) -> None:
    """Between the rotation on the chain and the new signature, the old one is offered: recover's exit 15."""
    number = failed_transfer(broker, "Eth")["broadcast_id"]
    broker.blocks(1)

    def signer() -> str:
        data = broker.world.api(API + "failed_call_ethereum", number)["data"]
        nonce, signature, transfer = signed_transfer(data)
        protection = ReplayProtection(nonce, ETHEREUM.chain_id, ETHEREUM.key_manager, ETHEREUM.vault)
        message = transfer_fallback(transfer).message_hash(protection)
        keys = {"old": asdict(evm_key()), "new": asdict(evm_key(2))}
        (key_name,) = [
            name for name, key in keys.items() if schnorr.verify(compressed(key), message, signature)
        ]
        return key_name

    assert signer() == "old"
    assert force(broker) == "Ok"
    until(broker, "BroadcastSuccess")
    assert broker.world.stored("EthereumBroadcaster", "CurrentOnChainKey") is not None
    assert signer() == "old"
    assert until(broker, "FailedForeignChainCallResigned")["broadcast_id"] == number
    assert signer() == "old"
    assert until(broker, "CallResigned")["broadcast_id"] == number
    assert signer() == "new"


def test_a_key_that_is_not_tried_in_time_is_generated_again(broker: Swapper) -> None:
    """Generate a key again that was not verified in time; the old epoch goes on until then."""
    assert force(broker) == "Ok"
    for _ in range(11):
        broker.world.block(extra=[(SILENT, b"")])
    failed = of("EvmThresholdSigner", "KeygenVerificationFailure", "ThresholdDispatchComplete")
    assert names(broker) == [*failed, *evm("ThresholdSignatureFailed")]
    broker.blocks(1)
    assert names(broker)[:2] == ["Validator.AuctionCompleted", "EvmThresholdSigner.KeygenRequest"]
    assert broker.world.stored("Validator", "CurrentEpoch") == 1
    until(broker, "NewEpoch")
    assert broker.world.api(API + "eth_vault")[0] == compressed(asdict(evm_key(2)))


def test_safe_mode_allows_no_rotation_and_ends_one(broker: Swapper) -> None:
    """Abort a rotation when safe mode begins, and allow none until it ends."""

    def switch(code: str) -> None:
        call = ("Environment", ("update_safe_mode", {"update": code}))
        assert broker.dev("as_governance", call=call) == "Ok"

    assert force(broker) == "Ok"
    switch("CodeRed")
    assert until(broker, "RotationAborted") is None
    assert phases(broker) == ["Idle"]
    assert force(broker) == "Validator.RotationsDisabled"
    switch("CodeGreen")
    rotate(broker)
    assert broker.world.stored("Validator", "CurrentEpoch") == 2


def test_epochs_that_end_by_themselves_keep_the_keys_of_the_last_rotation(broker: Swapper) -> None:
    """Keep the keys of the last rotation in epochs that end without one."""
    rotate(broker)
    assert broker.dev("end_epoch") == "Ok"
    assert broker.dev("end_epoch") == "Ok"  # the epoch has begun in this block
    broker.blocks(1)
    assert broker.world.stored("Validator", "CurrentEpoch") == 4
    key = asdict(evm_key(2))
    assert broker.world.api(API + "eth_vault")[0] == compressed(key)
    broker.deposit("Eth", "Btc", ETHER)
    assert broker.event("ThresholdSignatureRequest")["key"] == key
    assert until(broker, "BroadcastSuccess") is not None
    rotate(broker)
    assert broker.world.stored("BitcoinThresholdSigner", "Keys", 5) == {
        "previous": bitcoin_public_key(2),
        "current": bitcoin_public_key(5),
    }


# Bitcoin


def outputs(broker: Swapper) -> list[tuple[bytes, int]]:
    """Return the keys and amounts of the vault's outputs."""
    utxos = broker.world.stored("Environment", "BitcoinAvailableUtxos")
    return [(utxo["deposit_address"]["pubkey_x"], utxo["amount"]) for utxo in utxos]


def test_outputs_of_the_old_key_are_moved_to_the_new_one_and_older_ones_given_up(broker: Swapper) -> None:
    """Move outputs of the previous key to the new one, and discard those of keys before."""
    address = broker.opened(**request("Btc", "Eth"))["deposit_address"]
    ((key, amount),) = outputs(broker)
    assert key == bitcoin_public_key()
    rotate(broker)
    ((key, left),) = outputs(broker)
    assert (key, amount - left) == (bitcoin_public_key(2), 390 + 80 + 255)
    broker.pay(address, "Btc", BITCOIN)  # to a channel of the old key: moved in the same block
    assert [key for key, _ in outputs(broker)] == [bitcoin_public_key(2)] * 2
    rotate(broker)
    broker.pay(address, "Btc", BITCOIN)
    (stale,) = broker.event("StaleUtxosDiscarded")["utxos"]
    assert (stale["deposit_address"]["pubkey_x"], stale["amount"]) == (bitcoin_public_key(), BITCOIN)
    assert {key for key, _ in outputs(broker)} == {bitcoin_public_key(3)}


def test_addresses_made_in_advance_are_of_the_present_key(broker: Swapper) -> None:
    """Derive preallocated addresses anew from the present key after a rotation."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).MaximumPreallocatedChannels.put("Broker", 2)
    broker.opened(**request("Btc", "Eth"))
    rotate(broker)
    number = broker.opened(**request("Btc", "Eth"))["channel_id"]
    script = taproot.deposit(bitcoin_public_key(2), number).script
    assert broker.world.stored("BitcoinIngressEgress", "DepositChannelLookup", script) is not None
    kept = broker.world.stored("BitcoinIngressEgress", "PreallocatedChannels", broker.account)
    assert {utxo["state"]["pubkey_x"] for utxo in kept} == {bitcoin_public_key(2)}
