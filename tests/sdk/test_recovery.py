"""Payloads of failed calls: read, checked, explained; and what is said when there is none."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core import schnorr
from cfnode.core.vault_calls import (
    NATIVE_TOKEN,
    ReplayProtection,
    TransferParams,
    all_batch,
    execute_x_swap_and_call,
)
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.recovery import (
    BadPayload,
    BeingSigned,
    Expired,
    FailedCall,
    FetchFailedCall,
    KeyRotated,
    NoSuchCall,
    RecoveryError,
    UnsignedTransaction,
    Wallet,
    check_key,
    described,
    explained,
    for_tron,
    read_payload,
    summary,
    unsigned,
)
from cfnode.sdk.recovery.payments import Payment, paying
from cfnode.swaps.checksums import checksum_address
from tests.sdk.anvil import require_eth_account
from tests.sdk.scripted import Script, session
from tests.support.sdk.payloads import NAMES, chain_of, entries, node, payload_of, raw, vector
from tests.support.sdk.providers import offered


@pytest.mark.parametrize("name", NAMES)
def test_a_payload_that_the_contracts_have_accepted(name: str) -> None:
    """Read transfer, nonce and hash of an accepted payload, and its key and key manager as the only ones."""
    test_vector = vector(name)
    inputs, payload = test_vector["inputs"], payload_of(test_vector)
    assert payload.function == "transferFallback"
    assert payload.transfer == TransferParams(
        raw(inputs["token"]), raw(inputs["recipient"]), int(inputs["amount"])
    )
    assert (payload.nonce, payload.chain_id) == (inputs["nonce"], inputs["chain_id"])
    manager, key = raw(inputs["key_manager"]), raw(test_vector["agg_key"]["compressed"])
    assert payload.signed_hash(manager) == raw(test_vector["msg_hash"])
    assert payload.is_signed_by(key, manager)
    assert not payload.is_signed_by(bytes([key[0] ^ 1]) + key[1:], manager)
    assert not payload.is_signed_by(key, manager[::-1])
    assert not payload.is_signed_by(b"\x02" + b"\xff" * 32, manager)


@pytest.mark.parametrize("name", NAMES)
def test_the_users_transaction_to_the_byte(name: str) -> None:
    """Sign the transaction of the vectors byte for byte, and hide the key from repr."""
    require_eth_account()
    test_vector = vector(name)
    wanted, payload = test_vector["user_tx"], payload_of(test_vector)
    transaction = UnsignedTransaction(
        payload.chain_id,
        payload.vault,
        payload.data,
        wanted["nonce"],
        wanted["gas"],
        wanted["maxFeePerGas"],
        wanted["maxPriorityFeePerGas"],
    )
    before = sys.getrecursionlimit()
    wallet = Wallet.from_secret(raw(wanted["user_key"]))
    assert wallet.address == raw(wanted["from"])
    assert wallet.sign(transaction) == (raw(wanted["raw"]), wanted["hash"])
    assert sys.getrecursionlimit() == before
    assert wanted["user_key"][2:] not in repr(wallet) + repr(vars(wallet))
    assert unsigned(transaction)["gas"] == hex(wanted["gas"])


def test_every_flipped_bit_breaks_payload_or_signature() -> None:
    """Break payload or signature by flipping any fifth bit."""
    test_vector = vector(NAMES[0])
    manager, key = raw(test_vector["inputs"]["key_manager"]), raw(test_vector["agg_key"]["compressed"])
    data = raw(test_vector["rpc_result"]["data"])
    for position in range(0, len(data) * 8, 5):
        changed = bytearray(data)
        changed[position // 8] ^= 1 << position % 8
        document = test_vector["rpc_result"] | {"data": changed.hex()}
        with suppress(BadPayload):
            assert not read_payload("Ethereum", 1, document, None).is_signed_by(key, manager), position


@settings(max_examples=80)
@given(st.binary(max_size=600))
def test_no_data_makes_the_reader_raise_anything_else(data: bytes) -> None:
    """Raise nothing but BadPayload for any data."""
    for selector in (b"", raw("b267e7f6"), raw("5293178e")):
        document = {"chain_id": 1, "contract": "0x" + "11" * 20, "data": (selector + data).hex()}
        with suppress(BadPayload):
            read_payload("Ethereum", 1, document, None)


@pytest.mark.parametrize(
    "change",
    [
        {"data": "zz"},
        {"data": None},
        {"data": "5f8c0f9a" + "00" * 192},
        {"contract": "0x1234"},
        {"chain_id": None},
        {"gas_limit": "many"},
    ],
)
def test_an_answer_that_is_no_payload(change: dict[str, Any]) -> None:
    """Refuse an answer with a member that is missing, malformed or of an unknown call."""
    with pytest.raises(BadPayload, match="is malformed"):
        read_payload("Ethereum", 1, vector(NAMES[0])["rpc_result"] | change, None)


def message_payload() -> dict[str, Any]:
    """Return the payload of a message that was never delivered."""
    call = execute_x_swap_and_call(
        TransferParams(NATIVE_TOKEN, b"\x22" * 20, 10**17), 3, b"tb1q", b"\xde\xad\xc0\xde"
    )
    secret = raw(vector(NAMES[0])["inputs"]["agg_secret"])
    protection = ReplayProtection(9, 31337, b"\x0a" * 20, b"\x0b" * 20)
    signature = schnorr.sign(secret, b"\x07" * 32, call.message_hash(protection))
    data = call.data(9, signature).hex()
    return {
        "chain_id": 31337,
        "contract": "0x" + "0b" * 20,
        "value": "0x0",
        "data": data,
        "gas_limit": "0x30d40",
    }


def test_a_message_that_was_never_delivered() -> None:
    """Read and explain a message with its source, its limit of gas and its signature."""
    payload = read_payload("Ethereum", 4, message_payload(), None)
    assert payload.function == "executexSwapAndCall"
    assert (payload.message, payload.source_chain, payload.source_address) == (
        b"\xde\xad\xc0\xde",
        3,
        b"tb1q",
    )
    assert payload.gas_limit == 200_000
    key = raw(vector(NAMES[0])["agg_key"]["compressed"])
    assert payload.is_signed_by(key, b"\x0a" * 20)
    words = "\n".join(explained(FailedCall(payload, key, b"\x0a" * 20, 5, 5, None)))
    assert "0.1 ETH" in words and "4 bytes of message" in words


def test_a_payload_on_tron_in_the_form_of_its_wallets() -> None:
    """Write contract, function and parameter as Tron's wallets take them."""
    test_vector = vector(NAMES[1])
    text = "transferFallback((uint256,uint256,address),(address,address,uint256))"
    document = {
        "fee_limit": None,
        "contract": "0x2fca9b8e3816e10d6c6033d0f7e0471542a09110",
        "value": "0x0",
        "data": test_vector["rpc_result"]["data"][8:],
        "function_selector": list(text.encode()),
    }
    payload = read_payload("Tron", 2, document, 3_448_148_188)
    wanted = for_tron(payload)
    assert wanted["contract_address"].startswith("T")
    assert wanted["function_selector"] == text
    assert wanted["parameter"] == document["data"]


# What the State Chain says of it.


@pytest.mark.parametrize("name", NAMES)
def test_a_call_on_offer(name: str) -> None:
    """Explain a call on offer: amount, receiver, vault, deadline, as text and as JSON."""
    test_vector = vector(name)
    chain = chain_of(test_vector)
    failed = node(test_vector, offered=True, now=entries((3, 6), (7, 6))).run(
        FetchFailedCall(chain, 7), session()
    )
    assert failed.is_signed_by_current_key
    assert (failed.epoch, failed.original_epoch, failed.last_epoch) == (6, 6, 7)
    assert failed.epoch_ends_at_block == 1500
    words = "\n".join(explained(failed))
    amount = {NAMES[0]: "1.23456789 ETH", NAMES[1]: "25 USDC", NAMES[2]: "0.000000000000000001 ETH"}[name]
    for part in (
        amount,
        test_vector["inputs"]["recipient"],
        test_vector["inputs"]["vault"],
        "signed anew in the next one",
        "until about 2025-02-24 17:44 UTC",  # 600 blocks from the 24th of February, 16:44:12
    ):
        assert part in words
    assert "Broadcast 7" not in words
    document = described(failed)
    assert json.dumps(document)
    assert (document["signedByCurrentKey"], document["amount"]) == (True, test_vector["inputs"]["amount"])
    assert (document["lastBlock"], document["deadline"]) == (2000, "2025-02-24T17:44:12Z")
    assert document["amountText"] == amount


def test_a_batch_of_which_no_transfer_was_searched_for_names_its_receivers_alike() -> None:
    """Name all receivers of a batch alike, or the searched one first and the others after it."""
    receivers = [bytes([number]) * 20 for number in (0xA1, 0xB2, 0xC3)]
    call = all_batch(
        [],
        [],
        [
            TransferParams(NATIVE_TOKEN, receiver, place * 10**18)
            for place, receiver in enumerate(receivers, 1)
        ],
    )
    batch = replace(read_payload("Ethereum", 7, offered(call)["rpc_result"], None), is_offered=False)
    a, b, c = (checksum_address(receiver) for receiver in receivers)
    whole = FailedCall(batch, b"", b"", 6, None, None)
    assert dict(summary(whole)) == {
        "pays": "3 transfers on Ethereum",
        "to": f"{a}: 1 ETH\n{b}: 2 ETH\n{c}: 3 ETH",
        "until": "the vault gets the next epoch's key",
    }
    assert [line for line in explained(whole) if line.startswith("It pays")] == [
        f"It pays 1 ETH to {a}.",
        f"It pays 2 ETH to {b}.",
        f"It pays 3 ETH to {c}.",
    ]
    own = paying(Payment("Ethereum", recipient=receivers[1]), batch)
    assert own is not None
    rows = dict(summary(replace(whole, payload=own)))
    assert (rows["pays"], rows["to"], rows["also pays"]) == (
        "2 ETH on Ethereum",
        b,
        f"1 ETH to {a}\n3 ETH to {c}",
    )


def test_a_call_in_its_second_epoch() -> None:
    """Name the end of the running epoch as the deadline in the call's second one."""
    test_vector = vector(NAMES[0])
    failed = node(test_vector, offered=True, now=entries((7, 5))).run(
        FetchFailedCall("Ethereum", 7), session()
    )
    assert "offered until this one ends (until about 2025-02-24 16:54 UTC)" in explained(failed)[-1]


def test_a_payload_that_was_altered_is_not_one_of_a_rotated_key() -> None:
    """Tell an altered payload from one whose key was rotated."""
    test_vector = vector(NAMES[0])
    data = test_vector["rpc_result"]["data"]
    altered = test_vector | {"rpc_result": test_vector["rpc_result"] | {"data": data[:-2] + "01"}}
    rotated = test_vector | {"agg_key": vector(NAMES[1])["agg_key"]}
    for document, kind in ((altered, BadPayload), (rotated, KeyRotated)):
        failed = node(document, offered=True, now=entries((7, 6))).run(
            FetchFailedCall("ethereum", 7), session()
        )
        with pytest.raises(kind):
            check_key(failed)


@pytest.mark.parametrize(
    ("number", "now", "before", "kind", "words"),
    [
        (11, None, None, NoSuchCall, "no such failed call: Ethereum has had 10 broadcasts"),
        (0, None, None, NoSuchCall, "no such failed call"),
        (7, None, None, Expired, "has expired"),
        (7, entries((8, 6)), entries((9, 5)), Expired, "has expired"),
        (7, entries((7, 6)), None, BeingSigned, "being signed: try again in a minute"),
        (7, None, entries((7, 5)), BeingSigned, "signed again after an epoch change"),
        (7, None, entries((7, 4)), Expired, "has expired, as calls do two epochs after"),
    ],
)
def test_nothing_on_offer(
    number: int, now: str | None, before: str | None, kind: type[RecoveryError], words: str
) -> None:
    """Tell a number that is too high from a call that expired and from one that is being signed."""
    script = node(vector(NAMES[0]), offered=False, now=now, before=before)
    with pytest.raises(kind, match=words):
        script.run(FetchFailedCall("ethereum", number), session())


def test_a_chain_without_failed_calls() -> None:
    """Refuse Bitcoin, whose payouts no vault makes."""
    with pytest.raises(NoSuchCall, match="not on 'Bitcoin'"):
        Script().run(FetchFailedCall("Bitcoin", 1), session())


def test_keys_in_files(tmp_path: Path) -> None:
    """Open a key in hexadecimal or a keystore, and name what is wrong with any other file."""
    account = require_eth_account().Account
    secret = raw(vector(NAMES[0])["user_tx"]["user_key"])
    plain, store, junk = tmp_path / "key", tmp_path / "keystore.json", tmp_path / "junk"
    plain.write_text("0x" + secret.hex() + "\n")
    store.write_text(json.dumps(account.encrypt(secret, "pass", kdf="pbkdf2", iterations=10)))
    junk.write_text("{}")
    address = Wallet.from_secret(secret).address
    assert Wallet.from_file(plain, lambda: "").address == address
    assert Wallet.from_file(store, lambda: "pass").address == address
    with pytest.raises(ValidationError, match="the password is wrong"):
        Wallet.from_file(store, lambda: "other")
    with pytest.raises(ValidationError, match="not a keystore JSON"):
        Wallet.from_file(junk, lambda: "")
    junk.write_text("no key")
    with pytest.raises(ValidationError, match="neither a keystore JSON nor a key"):
        Wallet.from_file(junk, lambda: "")
