"""JSON-RPC of the local EVM chain: what wallets read, what is refused, and that nothing else is raised."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.hashing import keccak_256
from cfnode.core.jsonrpc import RpcError
from cfnode.core.vault_calls import NATIVE_TOKEN, TransferParams, transfer_fallback
from tests.support.devchain.local_evm import (
    CHAIN_ID,
    ETHER,
    GWEI,
    KEY_MANAGER,
    PAYER,
    VAULT,
    LocalEvm,
    hexed,
    local_evm,
    require_py_evm,
)

RECEIVER = b"\xaa" * 20
LOOP = bytes.fromhex("5b5f56")
"""Code without an end."""
CALLING_ITSELF = bytes.fromhex("5f5f5f5f5f305af1")
DEPTH_LIMIT = 100_000
"""The recursion limit that py-evm sets, for calls 1,024 deep."""


@pytest.fixture(scope="module")
def shared_evm() -> LocalEvm:
    """Return a chain on which one payment has been made."""
    require_py_evm()
    local = local_evm()
    local.send(VAULT, local.signed(transfer_fallback(TransferParams(NATIVE_TOKEN, RECEIVER, ETHER))))
    return local


def test_a_transaction_its_block_its_receipt_and_its_logs_agree(shared_evm: LocalEvm) -> None:
    """Agree on one transaction in its block, its receipt, its logs, its fee and what its sender paid."""
    local = shared_evm
    block = local.call("eth_getBlockByNumber", "latest", True)
    (transaction,) = block["transactions"]
    receipt = local.call("eth_getTransactionReceipt", transaction["hash"])
    assert local.call("eth_getTransactionByHash", transaction["hash"]) == transaction
    assert local.call("eth_getBlockByHash", block["hash"], False) == block | {
        "transactions": [transaction["hash"]]
    }
    assert receipt["blockHash"] == transaction["blockHash"] == block["hash"]
    assert receipt["blockNumber"] == block["number"] == local.call("eth_blockNumber") == "0x1"
    assert (receipt["from"], receipt["to"]) == (hexed(PAYER.address), hexed(VAULT))
    assert receipt["gasUsed"] == block["gasUsed"]
    price = int(receipt["effectiveGasPrice"], 16)
    assert price == int(block["baseFeePerGas"], 16) + GWEI == int(transaction["gasPrice"], 16)
    spent = 1_000 * ETHER - local.balance(PAYER.address)
    assert spent == price * int(receipt["gasUsed"], 16)
    assert local.call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}) == receipt["logs"]
    assert transaction["type"] == "0x2"
    assert transaction["chainId"] == local.call("eth_chainId") == hex(CHAIN_ID)


def test_states_of_earlier_blocks_stay(shared_evm: LocalEvm) -> None:
    """Answer for the state of earlier blocks: the balance before a payment stays zero there."""
    at = [shared_evm.call("eth_getBalance", hexed(RECEIVER), block) for block in ("0x0", "earliest", "0x1")]
    assert at == ["0x0", "0x0", hex(ETHER)]
    counts = [
        shared_evm.call("eth_getTransactionCount", hexed(PAYER.address), block)
        for block in ("0x0", "pending")
    ]
    assert counts == ["0x0", "0x1"]
    assert shared_evm.call("eth_getCode", hexed(PAYER.address), "latest") == "0x"
    assert shared_evm.call("eth_getStorageAt", hexed(VAULT), "0x0", "latest") == hexed(
        KEY_MANAGER.rjust(32, b"\0")
    )


def test_logs_are_found_by_place_topic_and_block(shared_evm: LocalEvm) -> None:
    """Filter logs by address, topic, range of blocks and block hash."""
    (log,) = shared_evm.call("eth_getLogs", {"fromBlock": "0x1"})

    def logs(**fields: Any) -> int:
        return len(shared_evm.call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"} | fields))

    assert logs(address=hexed(KEY_MANAGER)) == logs(address=[hexed(VAULT), hexed(KEY_MANAGER)]) == 1
    assert logs(address=hexed(VAULT)) == 0
    assert (
        logs(topics=log["topics"])
        == logs(topics=[None])
        == logs(topics=[["0x" + "11" * 32, *log["topics"]]])
        == 1
    )
    assert logs(topics=["0x" + "11" * 32]) == logs(topics=[None, None]) == 0
    assert logs(toBlock="0x0") == logs(fromBlock="0x2") == 0
    assert len(shared_evm.call("eth_getLogs", {"blockHash": log["blockHash"]})) == 1
    assert shared_evm.call("eth_getLogs", {"blockHash": "0x" + "11" * 32}) == []


def test_fees_are_those_of_the_blocks(shared_evm: LocalEvm) -> None:
    """Report the fees of the blocks themselves, and a gas price of the next base fee plus the tip."""
    history = shared_evm.call("eth_feeHistory", "0x4", "latest", [50])
    blocks = [shared_evm.call("eth_getBlockByNumber", number, False) for number in ("0x0", "0x1")]
    assert history["oldestBlock"] == "0x0"
    assert history["baseFeePerGas"][:2] == [block["baseFeePerGas"] for block in blocks]
    assert history["reward"] == [[hex(GWEI)]] * 2
    assert history["gasUsedRatio"][1] == int(blocks[1]["gasUsed"], 16) / int(blocks[1]["gasLimit"], 16)
    following = int(history["baseFeePerGas"][2], 16)
    assert int(shared_evm.call("eth_gasPrice"), 16) == following + int(
        shared_evm.call("eth_maxPriorityFeePerGas"), 16
    )


def test_an_estimate_is_the_least_gas_that_succeeds(local: LocalEvm) -> None:
    """Estimate the least gas that succeeds: with one unit less the transaction fails."""
    data = local.signed(transfer_fallback(TransferParams(NATIVE_TOKEN, RECEIVER, ETHER)))
    asked = {"from": hexed(PAYER.address), "to": hexed(VAULT), "data": hexed(data)}
    gas = int(local.call("eth_estimateGas", asked, "latest"), 16)
    assert local.send(VAULT, data, gas=gas - 1)["status"] == "0x0"
    assert local.send(VAULT, data, gas=gas)["status"] == "0x1"
    assert local.call("eth_estimateGas", {"to": hexed(RECEIVER)}) == hex(21_000)


def test_each_form_of_transaction_is_mined(local: LocalEvm) -> None:
    """Mine legacy, access-list and dynamic-fee transactions, with the price paid in each receipt."""
    legacy: dict[str, Any] = {"maxFeePerGas": None, "maxPriorityFeePerGas": None, "gasPrice": 2 * GWEI}
    access = {"accessList": [{"address": hexed(VAULT), "storageKeys": ["0x" + "00" * 32]}]}
    for kind, fields in enumerate([legacy, legacy | access, access]):
        receipt = local.send(RECEIVER, value=1, **fields)
        assert (receipt["type"], receipt["status"]) == (hex(kind), "0x1")
        transaction = local.call("eth_getTransactionByHash", receipt["transactionHash"])
        assert int(transaction["gasPrice"], 16) == int(receipt["effectiveGasPrice"], 16)
    assert local.balance(RECEIVER) == 3


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"nonce": 5}, "nonce too high: the next one is 0, the transaction has 5"),
        ({"chainId": 1}, "invalid chain id: it is for 1, not 10997"),
        ({"value": 10**22}, "insufficient funds for gas * price + value"),
        ({"gas": 20_999}, "intrinsic gas too low: it takes at least 21000"),
        ({"gas": 30_000_001}, "exceeds block gas limit"),
        ({"maxFeePerGas": 1, "maxPriorityFeePerGas": 0}, "max fee per gas less than block base fee"),
    ],
)
def test_a_wrong_transaction_is_refused_with_its_reason(
    shared_evm: LocalEvm, fields: dict[str, Any], text: str
) -> None:
    """Refuse a transaction with a wrong field with the reason, and mine no block for it."""
    if "nonce" in fields:
        text = text.replace("is 0", "is 1")
    raw = shared_evm.raw(RECEIVER, **{"gas": 21_000} | fields)
    with pytest.raises(RpcError, match=re.escape(text)):
        shared_evm.call("eth_sendRawTransaction", raw)
    assert shared_evm.call("eth_blockNumber") == "0x1"


def test_a_sent_transaction_is_known(shared_evm: LocalEvm) -> None:
    """Refuse a transaction with the nonce of a mined one: it would be paid twice."""
    from eth_account import Account

    fields = {
        "chainId": CHAIN_ID,
        "nonce": 0,
        "gas": 21_000,
        "gasPrice": 2 * GWEI,
        "to": RECEIVER,
        "value": 1,
    }
    raw = hexed(bytes(Account.sign_transaction(fields, PAYER.secret).raw_transaction))
    with pytest.raises(RpcError, match="nonce too low: the next one is 1"):
        shared_evm.call("eth_sendRawTransaction", raw)


def test_code_without_an_end_ends_with_its_gas(local: LocalEvm) -> None:
    """Stop code that loops when its gas is used up, rather than hang."""
    looping = local.deploy(LOOP)
    with pytest.raises(RpcError, match="Out of gas"):
        local.call("eth_call", {"to": hexed(looping), "gas": hex(100_000)}, "latest")


def test_calls_as_deep_as_the_rules_allow_exhaust_no_stack(local: LocalEvm) -> None:
    """Run calls that nest as deep as py-evm allows without an exhausted interpreter stack."""
    deep, limit = local.deploy(CALLING_ITSELF), sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(DEPTH_LIMIT)
        assert local.call("eth_call", {"to": hexed(deep)}, "latest") == "0x"
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("eth_getBalance", [hexed(VAULT)[:-2], "latest"], "address takes 20 bytes in 0x hex, not 19"),
        ("eth_getBalance", [7, "latest"], "address is not at most 20 bytes"),
        ("eth_getBalance", [hexed(VAULT), "newest"], "block takes a number in 0x hex, or one of earliest"),
        ("eth_getBalance", [hexed(VAULT), "0x9"], "header not found: the latest block is 1"),
        ("eth_getBalance", [hexed(VAULT), "latest", 1], "eth_getBalance takes at most 2 parameters, not 3"),
        ("eth_call", ["0x", "latest"], "the transaction takes an object"),
        ("eth_call", [{"value": -1}, "latest"], "value is not a number"),
        (
            "eth_call",
            [{"from": hexed(RECEIVER), "value": hex(2 * ETHER)}, "latest"],
            "does not have enough balance",
        ),
        ("eth_sendRawTransaction", [], "the transaction is not at most"),
        ("eth_sendRawTransaction", ["0x03" + "00" * 9], "no blob transactions"),
        ("eth_getLogs", [[]], "the filter takes an object"),
        ("eth_getLogs", [{"topics": [None] * 5}], "topics takes a list of at most 4"),
        ("eth_getLogs", [{"address": [hexed(VAULT)] * 101}], "address takes at most 100 values"),
        ("eth_feeHistory", [None, "latest", []], "blockCount is not a number"),
        ("eth_getTransactionReceipt", ["0x12"], "hash takes 32 bytes"),
        ("eth_sign", [], "the methods of this chain are those of wallets"),
    ],
)
def test_a_wrong_parameter_is_named(shared_evm: LocalEvm, method: str, params: list[Any], text: str) -> None:
    """Name the parameter that is wrong and what it takes."""
    with pytest.raises(RpcError) as caught:
        shared_evm.call(method, *params)
    assert re.search(text, f"{caught.value.message} {caught.value.data}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**257) | st.text("0x1af", max_size=70) | st.just("latest"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["to", "from", "data", "value", "gas", "address", "topics", "fromBlock", "blockHash"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@given(data=st.data())
def test_no_parameters_raise_anything_but_an_error_of_the_method(
    shared_evm: LocalEvm, data: st.DataObject
) -> None:
    """Raise nothing but an RPC error with a message, whatever the parameters are."""
    from cfnode.devchain.evm.methods import METHODS

    method = data.draw(st.sampled_from(sorted(METHODS)))
    params = data.draw(st.lists(JSON, max_size=METHODS[method][1]))
    try:
        shared_evm.call(method, *params)
    except RpcError as error:
        assert error.message


@given(raw=st.binary(max_size=200), position=st.integers(0, 150), byte=st.integers(0, 255))
def test_no_bytes_are_taken_for_a_transaction(
    shared_evm: LocalEvm, raw: bytes, position: int, byte: int
) -> None:
    """Neither any bytes nor a transaction with one byte changed: its signature then has another sender."""
    good = bytearray.fromhex(shared_evm.raw(RECEIVER, value=1)[2:])
    changed = bytearray(good)
    changed[position % len(good)] = byte
    for sent in (raw, bytes(changed)):
        if sent == good:
            continue
        with pytest.raises(RpcError):
            shared_evm.call("eth_sendRawTransaction", hexed(sent))


def test_a_created_contract_has_the_address_that_its_receipt_names(local: LocalEvm) -> None:
    """Create a contract at the address that sender and nonce give by Ethereum's rule."""
    import rlp

    address = local.deploy(LOOP)
    assert address == keccak_256(rlp.encode([PAYER.address, 0]))[12:]
    assert local.call("eth_getCode", hexed(address), "latest") == hexed(LOOP)
