"""`cfnode recover` sends once, with gas enough, through providers that leave things out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.exits import ExitCode
from cfnode.core.hashing import keccak_256
from cfnode.swaps.checksums import checksum_address
from tests.sdk.anvil import DEPLOYER, KEY_MANAGER, USER, VAULT, Evm
from tests.support.sdk.payloads import NAMES, raw, vector
from tests.support.sdk.providers import LIMIT, Answer, error, message, nothing, provider, report, transfer
from tests.support.sdk.recover_command import ETHER, ended, recover, state_chain

CHECKED_VAULT = checksum_address(raw(VAULT))

# Providers with limits


def no_batches(document: Any) -> Answer:
    """Refuse any batch of calls."""
    return error(-32600, "batches are not served") if isinstance(document, list) else None


def batches_of_three(document: Any) -> Answer:
    """Refuse batches of more than three calls."""
    return error(-32600, "too many") if isinstance(document, list) and len(document) > 3 else None


def no_tips(document: Any) -> Answer:
    """Refuse to propose a tip."""
    is_tip = "eth_maxPriorityFeePerGas" in json.dumps(document)
    return error(-32601, "the method does not exist") if is_tip else None


def only_latest(document: Any) -> Answer:
    """Refuse to answer about the pending state."""
    return error(-32000, "pending state is not available") if '"pending"' in json.dumps(document) else None


@pytest.mark.parametrize("refuses", [no_batches, batches_of_three, no_tips, only_latest])
def test_one_payment_through_a_provider_that_leaves_something_out(
    refuses: Callable[[Any], Answer], evm: Evm, key: Path
) -> None:
    """Pay through a provider that leaves something out, by calls one at a time."""
    receiver, test_vector = transfer()
    with state_chain(test_vector) as server, provider(evm, refuses) as proxy:
        done = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json")
        ended(done, ExitCode.OK)
        assert evm.balance(receiver) == ETHER
        assert evm.call("eth_getTransactionReceipt", report(done)["hash"])["status"] == "0x1"
        assert all(isinstance(json.loads(request.body), dict) for request in proxy.requests)


def test_an_error_of_a_provider_names_the_method_and_the_host(evm: Evm, key: Path) -> None:
    """Name method and host of a provider's error, without the secret in its path."""

    def tired(document: Any) -> Answer:
        return error(-32005, "limit exceeded") if document["method"] == "eth_getCode" else None

    with state_chain(transfer()[1]) as server, provider(evm, tired) as proxy:
        result = recover(server, "--eth-rpc", f"{proxy.url}/a-secret-token", "--key", str(key), "--yes")
    ended(result, ExitCode.FAILURE, f"eth_getCode at {proxy.url}", "limit exceeded")
    assert "a-secret-token" not in result.output


def test_a_provider_that_does_not_simulate_proves_nothing_about_the_call(evm: Evm) -> None:
    """Report a provider that refuses the simulation, and do not take that for the contract's refusal."""

    def tired(document: Any) -> Answer:
        is_simulation = document["method"] == "eth_call" and document["params"][0]["to"] == CHECKED_VAULT
        is_view = len(document["params"][0]["data"]) < 200 if is_simulation else True
        return None if is_view else error(-32005, "daily request count exceeded, request rate limited")

    with state_chain(transfer()[1]) as server, provider(evm, tired) as proxy:
        result = recover(server, "--eth-rpc", proxy.url)
    ended(result, ExitCode.FAILURE, f"eth_call at {proxy.url}", "request rate limited")
    assert "refuses" not in result.output


# Once, and never twice


@pytest.mark.parametrize("answer", [None, error(-32603, "internal error"), error(-32000, "already known")])
def test_an_answer_of_the_send_that_is_lost(answer: Answer, evm: Evm, key: Path) -> None:
    """Look for the transaction after a lost answer instead of sending it again."""
    receiver, test_vector = transfer()
    lost = answer and {"jsonrpc": "2.0", "id": None} | answer
    with state_chain(test_vector) as server, provider(evm, nothing, lambda _: lost) as proxy:
        send = ("--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json")
        done = recover(server, *send)
        ended(done, ExitCode.OK)
        assert evm.balance(receiver) == ETHER
        assert evm.call("eth_getTransactionByHash", report(done)["hash"])["from"] == USER.lower()
        ended(recover(server, *send), ExitCode.ALREADY_SENT)
        sends = [request for request in proxy.requests if b"eth_sendRawTransaction" in request.body]
        assert len(sends) == 1


def test_a_send_that_is_refused_keeps_its_hash(evm: Evm, key: Path) -> None:
    """Report the hash of a transaction whose sending was refused: it may have gone out nevertheless."""

    def closed(document: Any) -> Answer:
        return error(-32000, "closed") if document["method"] == "eth_sendRawTransaction" else None

    receiver, test_vector = transfer()
    with state_chain(test_vector) as server, provider(evm, closed) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json")
    ended(result, ExitCode.FAILURE)
    document = report(result)
    assert (document["error"]["code"], document["hash"][:2], len(document["hash"])) == ("RPC", "0x", 66)
    assert f"eth_sendRawTransaction at {proxy.url}" in document["error"]["message"]
    assert evm.balance(receiver) == 0


def test_a_transaction_that_failed_in_its_block(evm: Evm, key: Path) -> None:
    """Between the simulation and the block, another account sends the same call."""
    receiver, test_vector = transfer()
    data = "0x" + test_vector["rpc_result"]["data"]

    def overtaken(document: Any) -> Answer:
        if document["method"] == "eth_sendRawTransaction":
            evm.submit({"from": DEPLOYER, "to": VAULT, "data": data})
        return None

    with state_chain(test_vector) as server, provider(evm, overtaken) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json")
    ended(result, ExitCode.ALREADY_SENT)
    assert evm.call("eth_getTransactionReceipt", report(result)["hash"])["status"] == "0x0"
    assert evm.balance(receiver) == ETHER


def test_a_rotation_between_the_question_and_the_send(evm: Evm, key: Path) -> None:
    """The transaction fails in its block, and the key is named as the reason; the receiver is not paid."""
    receiver, test_vector = transfer()
    rotate = keccak_256(b"rotate(uint256,uint8)")[:4].hex()
    words = [raw(vector(name)["agg_key"]["compressed"]) for name in NAMES[:2]]
    ours, other = (f"0x{rotate}{word[1:].hex()}{word[0] - 2:064x}" for word in words)

    def rotated(document: Any) -> Answer:
        if document["method"] == "eth_sendRawTransaction":
            evm.send(other, to=KEY_MANAGER)
        return None

    with state_chain(test_vector) as server, provider(evm, rotated) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json")
        evm.send(ours, to=KEY_MANAGER)
        ended(result, ExitCode.KEY_ROTATED)
        assert evm.call("eth_getTransactionReceipt", report(result)["hash"])["status"] == "0x0"
        assert evm.balance(receiver) == 0
        ended(recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes"), ExitCode.OK)
    assert evm.balance(receiver) == ETHER


@pytest.fixture
def held(evm: Evm) -> Iterator[None]:
    """Yield a chain whose blocks come on request only."""
    evm.call("evm_setAutomine", False)
    yield
    evm.call("evm_mine")
    evm.call("evm_setAutomine", True)


def test_a_transaction_that_waits_is_named_and_replaced_only_on_request(
    evm: Evm, key: Path, held: None
) -> None:
    """Name the waiting payment, and replace it under its nonce with fees a tenth higher on request only."""
    receiver, test_vector = transfer()
    with state_chain(test_vector) as server:
        send = ("--eth-rpc", evm.url, "--key", str(key), "--yes", "--json", "--timeout=1")
        first = recover(server, *send)
        ended(first, ExitCode.NETWORK)
        before = report(first)
        assert "not in a block" in before["error"]["message"]

        again = recover(server, *send)
        ended(again, ExitCode.PENDING)
        (pending,) = report(again)["pending"]
        assert pending["hash"] == before["hash"]
        assert f"{before['hash']} makes this same payment" in again.output
        assert "--replace" in again.output

        after = report(recover(server, *send, "--replace"))
        assert after["hash"] != before["hash"]
        assert after["transaction"]["nonce"] == before["transaction"]["nonce"]
        for name in ("maxFeePerGas", "maxPriorityFeePerGas"):
            old, new = (int(document["transaction"][name], 16) for document in (before, after))
            assert new * 100 >= old * 110
        evm.call("evm_mine")
        assert evm.balance(receiver) == ETHER
        ended(recover(server, *send), ExitCode.ALREADY_SENT)
    assert evm.call("eth_getTransactionReceipt", before["hash"]) is None


def test_a_send_without_an_answer_may_have_been_one(evm: Evm, key: Path, held: None) -> None:
    """And the text does not say later that it was one."""
    with state_chain(transfer()[1]) as server, provider(evm, nothing, lambda _: None) as proxy:
        send = ("--eth-rpc", proxy.url, "--key", str(key), "--yes", "--timeout=1")
        result = recover(server, *send)
    ended(result, ExitCode.NETWORK, "The node did not answer", "it may have been sent as 0x")
    assert "it was sent as" not in result.output


def test_another_transaction_of_the_sender_is_not_replaced(evm: Evm, key: Path, held: None) -> None:
    """Leave another transaction of the sender alone that holds the nonce, even with --replace."""
    waiting = evm.call("eth_sendTransaction", {"from": USER, "to": DEPLOYER, "value": "0x1"})
    receiver, test_vector = transfer()
    with state_chain(test_vector) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes", "--replace")
    ended(result, ExitCode.PENDING, waiting, "nothing is replaced")
    evm.call("evm_mine")
    assert (evm.balance(receiver), evm.call("eth_getTransactionReceipt", waiting)["status"]) == (0, "0x1")


# More gas than the limit


def test_a_message_that_needs_more_gas_than_its_limit(evm: Evm, key: Path) -> None:
    """Send a third more gas than estimated where a message needs more than its limit."""
    hungry = evm.deploy("Hungry")
    with state_chain(message(hungry, 100)) as server:
        document = report(recover(server, "--unsigned", "--json"))
        assert document["gas"] == {"aboveEstimate": "1/3", "atLeast": LIMIT}
        ended(recover(server, "--unsigned"), ExitCode.OK, "by a third", f"at least {LIMIT} (gasLimit)")

        whole = recover(server, "--eth-rpc", evm.url, "--unsigned", "--from", USER, "--json")
        call = {"from": USER, "to": VAULT, "data": document["transaction"]["data"]}
        estimate = int(evm.call("eth_estimateGas", call), 16)
        assert estimate > LIMIT
        assert int(report(whole)["transaction"]["gas"], 16) >= estimate * 4 // 3

        done = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes", "--max-fee", "1")
        ended(done, ExitCode.OK, f"its limit of {LIMIT}", "sends more gas", "Done: 0.0000000000000001 ETH")
    assert evm.balance(hungry) == 100


def test_a_limit_between_the_need_and_what_is_sent_is_no_obstacle(evm: Evm, key: Path) -> None:
    """The engines would have delivered it: only the reserve of a third is above the limit."""
    listener = evm.deploy("Listener")
    with state_chain(message(listener, 7, None)) as server:
        dry = recover(server, "--eth-rpc", evm.url, "--dry-run", "--from", USER, "--json")
        data = report(dry)["transaction"]["data"]
        estimate = int(evm.call("eth_estimateGas", {"from": USER, "to": VAULT, "data": data}), 16)
    with state_chain(message(listener, 7, estimate + 9_000)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--dry-run", "--from", USER)
    ended(result, ExitCode.OK, "Nothing was sent")
    assert "engines stop" not in result.output


def test_a_message_to_an_address_without_a_contract(evm: Evm, key: Path) -> None:
    """Refuse a message to an address without a contract, which could not receive it."""
    receiver = "0x" + "99" * 20
    with state_chain(message(receiver, 7)) as server:
        result = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    ended(result, ExitCode.WOULD_REVERT, "there is no contract at 0x9999", "the funds stay in the vault")
    assert "its own" not in result.output


def test_a_message_that_stays_below_its_limit_gets_all_of_it(evm: Evm, key: Path) -> None:
    """Send the message's whole limit where it needs less."""
    listener = evm.deploy("Listener")
    with state_chain(message(listener, 7)) as server:
        dry = recover(server, "--eth-rpc", evm.url, "--dry-run", "--from", USER, "--json")
    assert int(report(dry)["transaction"]["gas"], 16) == LIMIT


# The right words


def test_a_vault_that_is_too_poor_for_a_message_or_a_token(evm: Evm, key: Path) -> None:
    """Say what the vault holds where it has too little of a coin or a token."""
    send = ("--eth-rpc", evm.url, "--key", str(key), "--yes")
    listener, coin = evm.deploy("Listener"), evm.deploy("Coin")
    with state_chain(message(listener, 500 * ETHER)) as server:
        ended(
            recover(server, *send),
            ExitCode.WOULD_REVERT,
            "the vault holds",
            "less than is to be paid (500 ETH)",
        )
    with state_chain(transfer(9, raw(coin))[1]) as server:
        ended(
            recover(server, *send), ExitCode.WOULD_REVERT, "exceeds balance", "the vault holds 0 base units"
        )


def test_a_payload_that_was_altered(evm: Evm, key: Path) -> None:
    """Say that the payload was altered, which no rotation explains."""
    _, test_vector = transfer()
    data = test_vector["rpc_result"]["data"]
    altered = test_vector | {"rpc_result": test_vector["rpc_result"] | {"data": data[:-4] + "beef"}}
    with state_chain(altered) as server:
        for where in ([], ["--eth-rpc", evm.url]):
            result = recover(server, *where)
            ended(result, ExitCode.BAD_PAYLOAD, "the payload was altered")
            assert "rotated" not in result.output


def test_without_an_evm_node_it_may_be_paid_already() -> None:
    """Say that only an EVM node can tell whether the call was paid already."""
    with state_chain(transfer()[1]) as server:
        ended(recover(server), ExitCode.OK, "cannot check whether the call was already sent and paid")
