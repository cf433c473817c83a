"""The engine's answers by the metadata of later releases, to a state that is written here."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import pytest

from cfnode.core import schnorr
from cfnode.core.keys import Keypair
from cfnode.core.scale import Variants
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.engine.answers import Answer, Proved, Reported, Witnessed
from cfnode.devchain.engine.block import BlockView, filled
from cfnode.devchain.engine.events import deposit, funding
from cfnode.devchain.engine.names import SIGNERS, call_of
from cfnode.devchain.engine.signing import SCHEMES
from cfnode.devchain.engine.situation import Situation
from cfnode.devchain.engine.waiting import PARTS
from tests.conftest import shared

ENGINE = Keypair.from_suri("//Engine").public
EPOCH, HOUR_MS = 5, 3_600_000
OUT_ID = {"s": b"\x05" * 32, "k_times_g_address": b"\x06" * 20}


class Written:
    """A state of values that are encoded by the metadata; fields that are left out are empty."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._values: dict[bytes, bytes] = {}

    def put(self, pallet: str, item: str, value: Any, *keys: Any) -> None:
        """Write a value of a storage item, encoded by the metadata."""
        storage = self._metadata.storage(pallet, item)
        encoded = storage.value.encode(filled(self._metadata.registry, storage.value.type_id, value))
        self._values[storage.key(*keys)] = encoded

    def get(self, key: bytes, child: bytes = b"") -> bytes | None:
        """Return the encoded value under a key."""
        return self._values.get(key)

    def next_key(self, key: bytes, child: bytes = b"") -> bytes | None:
        """Return the key that follows a key."""
        keys = sorted(self._values)
        index = bisect_right(keys, key)
        return keys[index] if index < len(keys) else None


@pytest.fixture(params=["20203", "20209", "20300"])
def metadata(request: pytest.FixtureRequest) -> Metadata:
    """Return the metadata of a release."""
    return decode_metadata(shared("vectors", "chainflip", f"metadata-v15-{request.param}.scale").read_bytes())


@pytest.fixture
def state(metadata: Metadata) -> Written:
    """Return a state at block 10 in which everything else is empty."""
    state = Written(metadata)
    state.put("System", "Number", 10)
    return state


def answers(metadata: Metadata, state: Written) -> list[Answer]:
    """Return all answers of the engine to a state; assert that the metadata decodes each call."""
    block = BlockView(metadata, state)  # type: ignore[arg-type]
    situation = Situation(block, EPOCH, (ENGINE,), HOUR_MS, 2 * HOUR_MS)
    sent = [answer for part in PARTS for answer in part(situation)]
    for answer in sent:
        assert metadata.call_codec.decode(block.encoded(answer.call))
    return sent


def calls(sent: list[Answer], kind: type) -> dict[tuple[str, str], Any]:
    """Return the fields of the calls of a kind, by pallet and name."""
    made = {}
    for answer in sent:
        if isinstance(answer, kind):
            pallet, call = answer.call
            made[(pallet, call) if isinstance(call, str) else (pallet, call[0])] = call[1]
    return made


def keygen_phase(metadata: Metadata, scheme: str) -> str:
    """Return the name in this release of the phase in which a key is generated."""
    item = metadata.storage(f"{scheme}ThresholdSigner", "PendingKeyRotation")
    definition = metadata.registry.type(item.value.type_id).definition
    assert isinstance(definition, Variants)
    names = {case.name for case in definition.variants}
    (name,) = names & {"AwaitingKeygen", f"AwaitingKeygen{scheme}Crypto"}
    return name


def test_a_heartbeat_is_due_without_one(metadata: Metadata, state: Written) -> None:
    """Send only a heartbeat where the state asks for nothing else."""
    assert calls(answers(metadata, state), Reported).keys() == {("Reputation", "heartbeat")}


def test_an_evm_ceremony_is_signed_with_the_key_that_it_names(metadata: Metadata, state: Written) -> None:
    """Sign an EVM ceremony only with the key that it names: one with an unknown key stays unsigned."""
    key, payload = SCHEMES["Evm"].generated(EPOCH), b"\x77" * 32
    ceremony = {"request_context": {"payload": payload}, "epoch": EPOCH, "key": key}
    state.put("EvmThresholdSigner", "PendingCeremonies", ceremony, 7)
    unknown = {**ceremony, "key": {**key, "pub_key_x": b"?" * 32}}
    state.put("EvmThresholdSigner", "PendingCeremonies", unknown, 8)
    proved = [answer.call for answer in answers(metadata, state) if isinstance(answer, Proved)]
    ((pallet, (name, fields)),) = proved
    assert (pallet, name, fields["ceremony_id"]) == ("EvmThresholdSigner", "signature_success", 7)
    public = (b"\x03" if key["pub_key_y_parity"] == "Odd" else b"\x02") + key["pub_key_x"]
    assert schnorr.verify(public, payload, schnorr.Signature(**fields["signature"]))


def test_a_transaction_that_waits_succeeds(metadata: Metadata, state: Written) -> None:
    """Witness the success of a transaction only once a broadcast waits for it under its output id."""
    transaction = {"contract": b"\x09" * 20, "data": b"\x01\x02\x03\x04"}
    waiting = {
        "broadcast_id": 3,
        "transaction_out_id": OUT_ID,
        "transaction_payload": transaction,
        "nominee": ENGINE,
    }
    state.put("EthereumBroadcaster", "AwaitingBroadcast", waiting, 3)
    assert not calls(answers(metadata, state), Witnessed)  # nothing waits for its success
    state.put("EthereumBroadcaster", "TransactionOutIdToBroadcastId", (3, 0), OUT_ID)
    (fields,) = calls(answers(metadata, state), Witnessed).values()
    assert fields["tx_out_id"] == OUT_ID
    assert fields["tx_metadata"]["contract"] == b"\x09" * 20


def test_keys_are_generated_for_the_next_epoch(metadata: Metadata, state: Written) -> None:
    """Report the keys of the next epoch for every scheme that awaits a key generation."""
    for number, scheme in enumerate(SIGNERS):
        phase = keygen_phase(metadata, scheme)
        status = {
            "ceremony_id": number,
            "new_epoch_index": EPOCH + 1,
            "response_status": {"remaining_candidates": [ENGINE]},
        }
        state.put(f"{scheme}ThresholdSigner", "PendingKeyRotation", (phase, status))
    reported = calls(answers(metadata, state), Reported)
    for scheme in SIGNERS:
        fields = reported[f"{scheme}ThresholdSigner", "report_keygen_outcome"]
        assert fields["reported_outcome"] == ("Ok", SCHEMES[scheme].generated(EPOCH + 1))


def test_heights_grow_with_the_hour(metadata: Metadata, state: Written) -> None:
    """Witness Bitcoin at a height six blocks above that of an hour ago."""
    state.put("BitcoinChainTracking", "CurrentChainState", {"block_height": 800_000})
    (fields,) = calls(answers(metadata, state), Witnessed).values()
    assert fields["new_chain_state"]["block_height"] == 800_006


def test_deposits_and_funds_are_witnessed(metadata: Metadata, state: Written) -> None:
    """Encode funding and deposits of two chains as calls that each release's metadata decodes."""
    for chain in ("Ethereum", "Bitcoin"):
        state.put(f"{chain}ChainTracking", "CurrentChainState", {"block_height": 100})
    state.put("Environment", "ChainflipNetworkEnvironment", "Mainnet")
    block = BlockView(metadata, state)  # type: ignore[arg-type]
    situation = Situation(block, EPOCH, (ENGINE,), 0, 0)
    sent = [funding(situation, b"\x01" * 32, 10**18)]
    for asset, address in (("Eth", b"\x02" * 20), ("Btc", b"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq")):
        sent += deposit(situation, (asset, address), asset, 10**8, b"\x03" * 32)
    made = calls(sent, Witnessed)
    assert made.keys() == {
        call_of(metadata, "Funding", "execute_sc_call"),
        ("EthereumIngressEgress", "process_deposits"),
        ("BitcoinIngressEgress", "process_deposits"),
    }
    for answer in sent:
        assert metadata.call_codec.decode(block.encoded(answer.call))
