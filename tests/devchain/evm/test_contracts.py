"""The contracts of the local EVM chain: calls that they accept or revert, payments, and compiled code."""

from __future__ import annotations

import json

import pytest

from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.jsonrpc import RpcError
from cfnode.core.vault_calls import (
    NATIVE_TOKEN,
    TransferParams,
    VaultCall,
    all_batch,
    execute_x_swap_and_call,
    selector,
    set_agg_key,
    transfer_fallback,
)
from tests.conftest import shared
from tests.support.devchain.local_evm import (
    AGGREGATE,
    ETHER,
    KEY_MANAGER,
    PAYER,
    USDC,
    VAULT,
    LocalEvm,
    hexed,
    local_evm,
    require_py_evm,
)
from tests.support.sdk.payloads import NAMES, raw, vector

RECEIVER = b"\xaa" * 20
OTHER_KEY = EthereumKey.from_secret(b"\x09" * 32)
REFUSING = bytes.fromhex("5f5ffd")
"""Code that reverts."""
SPENDING = bytes.fromhex("60015f5500")
"""Code that fills a slot: more gas than a payment in a batch gives."""
KEEPING = bytes.fromhex("365f5f37365fa000")
"""Code that logs the data it is called with."""
MILLION = 10**6


def topics() -> dict[str, str]:
    """Return the topics of the events of Chainflip's contracts, by name."""
    event_topics: dict[str, str] = json.loads(shared("evm-vectors.json").read_text())["event_topics"]
    return event_topics


def word(value: int | bytes) -> bytes:
    """Return a value as a word of 32 bytes, padded on the left."""
    return value.to_bytes(32, "big") if isinstance(value, int) else value.rjust(32, b"\0")


def failed(local: LocalEvm, data: bytes, to: bytes = VAULT) -> str:
    """Return the text of a call that reverts when it is simulated, and when it is sent."""
    with pytest.raises(RpcError) as simulated:
        local.call("eth_call", {"to": hexed(to), "data": hexed(data), "from": hexed(PAYER.address)}, "latest")
    assert local.send(to, data)["status"] == "0x0"
    assert simulated.value.code == 3
    return simulated.value.message.removeprefix("execution reverted: ")


def is_used(local: LocalEvm, nonce: int) -> bool:
    """Return whether the key manager has seen a nonce."""
    data = selector("isNonceUsedByAggKey(uint256)") + word(nonce)
    return (
        int(local.call("eth_call", {"to": hexed(local.key_manager), "data": hexed(data)}, "latest"), 16) == 1
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_contracts_accept_a_call_that_chainflips_contracts_accepted(name: str) -> None:
    """Accept calldata that Chainflip's own contracts accepted, with its payment, its event and its nonce."""
    require_py_evm()
    recorded = vector(name)
    inputs = recorded["inputs"]
    token, recipient, amount = raw(inputs["token"]), raw(inputs["recipient"]), int(inputs["amount"])
    local = local_evm(
        raw(recorded["agg_key"]["compressed"]),
        inputs["chain_id"],
        raw(inputs["key_manager"]),
        raw(inputs["vault"]),
        USDC if token == NATIVE_TOKEN else token,
    )
    receipt = local.send(local.vault, raw(recorded["calldata"]))
    assert receipt["status"] == "0x1"
    assert local.balance(recipient, token) == amount
    assert receipt["logs"][0]["topics"][0] == topics()["accepted"]
    assert is_used(local, inputs["nonce"])


def test_a_transfer_pays_the_exact_amount_and_only_once(local: LocalEvm) -> None:
    """Pay the exact amount once: the second call with the same nonce reverts and pays nothing."""
    data = local.signed(
        transfer_fallback(TransferParams(NATIVE_TOKEN, RECEIVER, 1_234_567_890_123_456_789)), 5
    )
    held = local.balance(VAULT)
    assert local.send(VAULT, data)["status"] == "0x1"
    assert local.balance(RECEIVER) == 1_234_567_890_123_456_789
    assert held - local.balance(VAULT) == 1_234_567_890_123_456_789
    assert failed(local, data) == "KeyManager: nonce already used"
    assert local.balance(RECEIVER) == 1_234_567_890_123_456_789


def test_a_token_is_paid_too(local: LocalEvm) -> None:
    """Pay a token as well as the native coin."""
    assert (
        local.send(VAULT, local.signed(transfer_fallback(TransferParams(USDC, RECEIVER, 25 * MILLION))))[
            "status"
        ]
        == "0x1"
    )
    assert local.balance(RECEIVER, USDC) == 25 * MILLION


def test_it_pays_a_receiver_that_only_needs_more_gas_than_a_batch_gives(local: LocalEvm) -> None:
    """Pay by fallback a receiver that needs more gas than a batch gives: the batch only logs its failure."""
    receiver = local.deploy(SPENDING)
    payment = TransferParams(NATIVE_TOKEN, receiver, ETHER)
    batch = local.send(
        VAULT, local.signed(all_batch([], [], [payment, TransferParams(NATIVE_TOKEN, RECEIVER, 2 * ETHER)]))
    )
    assert batch["status"] == "0x1"
    assert (local.balance(receiver), local.balance(RECEIVER)) == (0, 2 * ETHER)
    (event,) = batch["logs"][1:]
    assert event["topics"] == [topics()["native_failed"], hexed(word(receiver))]
    assert event["data"] == hexed(word(ETHER))
    assert local.send(VAULT, local.signed(transfer_fallback(payment)))["status"] == "0x1"
    assert local.balance(receiver) == ETHER


def test_a_token_that_refuses_costs_the_others_of_a_batch_nothing(local: LocalEvm) -> None:
    """Pay the other transfers of a batch when one token refuses, and log the one that failed."""
    refusing = local.deploy(REFUSING)
    payments = [TransferParams(refusing, RECEIVER, 3), TransferParams(USDC, RECEIVER, 4)]
    batch = local.send(VAULT, local.signed(all_batch([(1, NATIVE_TOKEN)], [(RECEIVER, USDC)], payments)))
    assert batch["status"] == "0x1"
    event = batch["logs"][1]
    assert event["topics"] == [topics()["token_failed"], hexed(word(RECEIVER)), hexed(word(refusing))]
    assert local.balance(RECEIVER, USDC) == 4


def test_a_message_comes_with_its_payment(local: LocalEvm) -> None:
    """Call a receiver with source chain, token, amount and message, in the call that pays it."""
    receiver = local.deploy(KEEPING)
    call = execute_x_swap_and_call(TransferParams(NATIVE_TOKEN, receiver, ETHER), 3, b"\x51" * 34, b"hello")
    receipt = local.send(VAULT, local.signed(call))
    assert receipt["status"] == "0x1"
    assert local.balance(receiver) == ETHER
    message = bytes.fromhex(receipt["logs"][1]["data"][2:])
    assert message[:4] == selector("cfReceive(uint32,bytes,bytes,address,uint256)")
    arguments = message[4:]
    assert arguments[:32] == word(3)
    assert arguments[96:160] == word(NATIVE_TOKEN) + word(ETHER)
    assert b"hello" in arguments


@pytest.mark.parametrize(
    "call",
    [
        transfer_fallback(TransferParams(NATIVE_TOKEN, RECEIVER, ETHER)),
        all_batch([], [], [TransferParams(NATIVE_TOKEN, RECEIVER, ETHER)]),
        execute_x_swap_and_call(TransferParams(NATIVE_TOKEN, RECEIVER, ETHER), 1, b"", b"hello"),
    ],
    ids=["transfer", "batch", "message"],
)
def test_another_key_and_another_byte_are_refused(local: LocalEvm, call: VaultCall) -> None:
    """Refuse a call of another key or with a changed byte: it pays nothing and uses no nonce."""
    assert failed(local, local.signed(call, 1, by=OTHER_KEY)) == "KeyManager: Sig invalid"
    data = bytearray(local.signed(call, 1))
    data[67] += 1
    assert failed(local, bytes(data)) == "KeyManager: Sig invalid"
    assert local.balance(RECEIVER) == 0
    assert not is_used(local, 1)


@pytest.mark.parametrize(
    ("token", "receiver", "amount", "text"),
    [
        (NATIVE_TOKEN, "refusing", ETHER, "Vault: transfer fallback failed"),
        (NATIVE_TOKEN, RECEIVER, 10**30, "Vault: transfer fallback failed"),
        (NATIVE_TOKEN, RECEIVER, 0, "Shared: uint input is empty"),
        (bytes(20), RECEIVER, 1, "Shared: address input is empty"),
        (USDC, RECEIVER, 10**30, "ERC20: transfer amount exceeds balance"),
    ],
)
def test_a_payment_that_cannot_be_made_leaves_its_call_usable(
    local: LocalEvm, token: bytes, receiver: bytes | str, amount: int, text: str
) -> None:
    """Revert a payment that cannot be made and leave its nonce unused, so that the call can be sent again."""
    to = local.deploy(REFUSING) if isinstance(receiver, str) else receiver
    data = local.signed(transfer_fallback(TransferParams(token, to, amount)), 9)
    assert failed(local, data) == text
    assert not is_used(local, 9)


def test_the_keys_follow_one_another(local: LocalEvm) -> None:
    """Accept a new key only from the current one; from then on the old key signs nothing."""
    call = transfer_fallback(TransferParams(NATIVE_TOKEN, RECEIVER, ETHER))
    change = set_agg_key(OTHER_KEY.public[1:], odd=OTHER_KEY.public[0] == 3)
    assert failed(local, local.signed(change, by=OTHER_KEY), KEY_MANAGER) == "KeyManager: Sig invalid"
    assert local.send(KEY_MANAGER, local.signed(change))["status"] == "0x1"
    assert failed(local, local.signed(call)) == "KeyManager: Sig invalid"
    assert local.send(VAULT, local.signed(call, by=OTHER_KEY))["status"] == "0x1"


def test_the_governor_sets_a_key_and_nobody_else(local: LocalEvm) -> None:
    """Let the governor alone set a key without the current one's signature."""
    from cfnode.devchain.evm.governor import set_key

    data = (
        selector("setAggKeyWithGovKey((uint256,uint8))")
        + OTHER_KEY.public[1:]
        + word(OTHER_KEY.public[0] & 1)
    )
    assert failed(local, data, KEY_MANAGER) == "KeyManager: not governor"
    set_key(local.chain, KEY_MANAGER, OTHER_KEY.public)
    call = transfer_fallback(TransferParams(NATIVE_TOKEN, RECEIVER, ETHER))
    assert local.send(VAULT, local.signed(call, by=OTHER_KEY))["status"] == "0x1"
    assert failed(local, local.signed(call, by=AGGREGATE)) == "KeyManager: Sig invalid"


def test_a_token_has_what_wallets_show(local: LocalEvm) -> None:
    """Answer what wallets ask of a token, and spend no more of an allowance than was approved."""

    def view(signature: str) -> bytes:
        return raw(local.call("eth_call", {"to": hexed(USDC), "data": hexed(selector(signature))}, "latest"))

    assert view("symbol()")[64:68] == view("name()")[64:68] == b"USDC"
    assert view("decimals()") == word(6)
    assert local.balance(VAULT, USDC) == int.from_bytes(view("totalSupply()"), "big") == 10**15
    mint = selector("mint(address,uint256)") + word(PAYER.address) + word(7)
    assert local.send(USDC, mint)["status"] == "0x1"
    approve = selector("approve(address,uint256)") + word(PAYER.address) + word(5)
    assert local.send(USDC, approve)["status"] == "0x1"
    spend = selector("transferFrom(address,address,uint256)") + word(PAYER.address) + word(RECEIVER)
    assert failed(local, spend + word(6), USDC) == "ERC20: insufficient allowance"
    assert local.send(USDC, spend + word(5))["status"] == "0x1"
    assert (local.balance(PAYER.address, USDC), local.balance(RECEIVER, USDC)) == (2, 5)


@pytest.mark.world
def test_their_code_is_what_their_sources_compile_to() -> None:
    """Compile the contracts' sources to the very code that the repository holds."""
    pytest.importorskip("vyper", reason="vyper is not here: pip install 'cfnode[dev]'")
    from scripts.contracts import COMPILED, compiled

    assert compiled() == COMPILED.read_text()
