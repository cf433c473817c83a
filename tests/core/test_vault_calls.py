"""Calls of the vault contract and their signatures: vectors that the real contracts have accepted."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from coincurve import PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core import schnorr
from cfnode.core.hashing import keccak_256
from cfnode.core.scale import ScaleError
from cfnode.core.schnorr import ORDER, Signature
from cfnode.core.vault_calls import (
    NATIVE_TOKEN,
    ReplayProtection,
    TransferParams,
    all_batch,
    batch_transfers,
    execute_x_swap_and_call,
    set_agg_key,
    transfer_fallback,
)
from tests.conftest import shared


def vectors() -> dict[str, Any]:
    """Return the vectors that were made with the real contracts."""
    evm_vectors: dict[str, Any] = json.loads(shared("evm-vectors.json").read_text())
    return evm_vectors


def raw(text: str) -> bytes:
    """Return the bytes of a hex text with or without 0x."""
    return bytes.fromhex(text.removeprefix("0x"))


def test_the_known_answer_of_the_chains_source() -> None:
    """Make and verify the signature that stands in the chain's source."""
    known = vectors()["known_answer"]
    secret, message = raw(known["agg_secret"]), raw(known["msg_hash"])
    signature = schnorr.sign(secret, raw(known["k"]), message)
    assert signature == Signature(raw(known["sig"]), raw(known["k_times_g_address"]))
    assert schnorr.verify(PrivateKey(secret).public_key.format(), message, signature)


@pytest.mark.parametrize("position", range(3))
def test_a_fallback_is_what_the_contracts_have_accepted(position: int) -> None:
    """Encode and sign a fallback transfer exactly as the contracts accepted it."""
    vector = vectors()["vectors"][position]
    given_ = vector["inputs"]
    call = transfer_fallback(
        TransferParams(raw(given_["token"]), raw(given_["recipient"]), int(given_["amount"]))
    )
    protection = ReplayProtection(
        given_["nonce"], given_["chain_id"], raw(given_["key_manager"]), raw(given_["vault"])
    )
    message = call.message_hash(protection)
    assert message == raw(vector["msg_hash"])
    signature = schnorr.sign(raw(given_["agg_secret"]), raw(given_["k"]), message)
    assert call.data(given_["nonce"], signature) == raw(vector["calldata"])


def test_a_rotation_is_signed_for_the_key_manager_as_the_chains_source_knows() -> None:
    """Sign a rotation for the key manager with the hash of the chain's source."""
    x = raw("1742daacd4dbfbe66d4c8965550295873c683cb3b65019d3a53975ba553cc31d")
    manager = raw("A44B9f3F5Bb8C278c1ee85D8F32517c6EFa64B0D")
    message = set_agg_key(x, odd=True).message_hash(ReplayProtection(0, 31337, manager, manager))
    assert message.hex() == "d45a181d77a4e10810b033734a611885d85848663b98f372f5d279309b3da0b5"
    data = set_agg_key(x, odd=False).data(7, Signature(b"\1" * 32, b"\2" * 20))
    words = [b"\1" * 32, (7).to_bytes(32, "big"), bytes(12) + b"\2" * 20, x, bytes(32)]
    assert data == bytes.fromhex("c1c4a159") + b"".join(words)


def test_selectors_are_those_of_the_contracts() -> None:
    """Use the selectors of the contracts' functions."""
    selectors = vectors()["selectors"]
    transfer = TransferParams(NATIVE_TOKEN, bytes(20), 1)
    calls = {
        "transferFallback": transfer_fallback(transfer),
        "allBatch": all_batch([], [], []),
        "executexSwapAndCall": execute_x_swap_and_call(transfer, 1, b"", b""),
    }
    assert {name: call.selector for name, call in calls.items()} == {
        name: raw(selectors[name]) for name in calls
    }


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.binary(min_size=20, max_size=20)), max_size=3),
    st.lists(st.tuples(*[st.binary(min_size=20, max_size=20)] * 2), max_size=3),
    st.lists(st.tuples(*[st.binary(min_size=20, max_size=20)] * 2, st.integers(0, 2**128 - 1)), max_size=3),
    st.binary(max_size=70),
)
@settings(max_examples=40)
def test_arguments_are_encoded_as_another_implementation_does(
    deploys: Any, fetches: Any, transfers: Any, message: bytes
) -> None:
    """Encode arguments, and the hash that is signed, as eth-abi does."""
    eth_abi = pytest.importorskip("eth_abi")
    signature = Signature(bytes(31) + b"\x07", b"\x01" * 20)
    signed = (7, 9, "0x" + "01" * 20)
    batch = all_batch(deploys, fetches, [TransferParams(*transfer) for transfer in transfers])
    types = ["(uint256,uint256,address)", "(bytes32,address)[]", "(address,address)[]"]
    values = [
        signed,
        [(channel.to_bytes(32, "big"), token) for channel, token in deploys],
        fetches,
        transfers,
    ]
    encoded = eth_abi.encode([*types, "(address,address,uint256)[]"], values)
    assert batch.data(9, signature) == batch.selector + encoded
    assert batch_transfers(batch.selector + encoded) == [TransferParams(*each) for each in transfers]
    transfer = (NATIVE_TOKEN, b"\x02" * 20, 5)
    call = execute_x_swap_and_call(TransferParams(*transfer), 3, b"", message)
    types = ["(uint256,uint256,address)", "(address,address,uint256)", "uint32", "bytes", "bytes"]
    assert call.data(9, signature)[4:] == eth_abi.encode(types, [signed, transfer, 3, b"", message])
    inner = eth_abi.encode(["bytes4", *types[1:]], [call.selector, transfer, 3, b"", message])
    outer = ["bytes32", "uint256", "address", "uint256", "address"]
    bound = eth_abi.encode(outer, [keccak_256(inner), 9, b"\x03" * 20, 4, b"\x05" * 20])
    assert call.message_hash(ReplayProtection(9, 4, b"\x05" * 20, b"\x03" * 20)) == keccak_256(bound)


@pytest.mark.parametrize("spoiled", ["s", "address", "message", "zero", "order"])
def test_a_spoiled_signature_is_none(spoiled: str) -> None:
    """Refuse a signature of which any part is spoiled, for another message, or out of the curve's order."""
    secret, message = keccak_256(b"secret"), keccak_256(b"message")
    public = PrivateKey(secret).public_key.format()
    signature = schnorr.sign(secret, keccak_256(b"k"), message)
    others = {
        "s": Signature(keccak_256(b"other"), signature.k_times_g_address),
        "address": Signature(signature.s, b"\x01" * 20),
        "zero": Signature(bytes(32), signature.k_times_g_address),
        "order": Signature(ORDER.to_bytes(32, "big"), signature.k_times_g_address),
    }
    said = keccak_256(b"other") if spoiled == "message" else message
    assert schnorr.verify(public, message, signature)
    assert not schnorr.verify(public, said, others.get(spoiled, signature))


@given(st.binary(max_size=400))
def test_no_batch_makes_the_reader_of_transfers_raise_another_error(arguments: bytes) -> None:
    """Answer any arguments of a batch with transfers or a ScaleError."""
    with suppress(ScaleError):
        batch_transfers(all_batch((), (), ()).selector + arguments)


def test_another_call_has_no_transfers() -> None:
    """Read no transfers from another call."""
    assert batch_transfers(set_agg_key(bytes(32), odd=False).data(1, Signature(bytes(32), bytes(20)))) == []
