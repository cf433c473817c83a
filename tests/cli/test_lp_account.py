"""`cfnode lp register | refund-address | deposit | withdraw`, and the account that is guessed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.exits import ExitCode
from cfnode.cli.lp.guessing import guessed_account
from cfnode.core import ss58
from cfnode.core.chain_time import NOW_KEY
from cfnode.core.hashing import twox_128
from cfnode.core.keys import Keypair
from tests.support.cli.commands import run
from tests.support.cli.servers import serving

HASH = "0x" + "ab" * 32
EVM = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
ETHER = {"chain": "Ethereum", "asset": "ETH"}
ANSWERS: dict[str, Any] = {
    "lp_register_account": HASH,
    "lp_register_liquidity_refund_address": HASH,
    "lp_request_liquidity_deposit_address_v2": {
        "block_hash": HASH,
        "response": {"deposit_address": EVM.lower(), "deposit_chain_expiry_block": 777},
    },
    "lp_withdraw_asset": {"tx_details": {"tx_hash": HASH, "response": ["Ethereum", 2]}},
    "lp_free_balances": {"Ethereum": {"ETH": hex(3 * 10**18)}},
    "system_chainType": "Development",
    "state_getStorage": {
        "0x" + (twox_128(b"EthereumChainTracking") + twox_128(b"CurrentChainState")).hex(): "0x"
        + (177).to_bytes(8, "little").hex(),
        NOW_KEY: "0x" + (1_767_225_600_000).to_bytes(8, "little").hex(),
    },
}
"""The chain is at block 177 of Ethereum, on January 1st, 2026."""


def played(*arguments: str) -> tuple[list[list[Any]], tuple[int, str, str]]:
    """Return the calls of a command that change something, and what it printed."""
    calls: list[list[Any]] = []

    def answered(request: dict[str, Any]) -> dict[str, Any]:
        calls.append([request["method"], *request["params"]])
        answer = ANSWERS[request["method"]]
        value = answer[request["params"][0]] if request["method"] == "state_getStorage" else answer
        return {"jsonrpc": "2.0", "id": request["id"], "result": value}

    def answer(request: Any) -> bytes:
        batch = [answered(call) for call in request] if isinstance(request, list) else answered(request)
        return json.dumps(batch).encode()

    with serving(answer) as url:
        done = run("lp", *arguments, "--node", url)
    read = ("system_chainType", "lp_free_balances", "state_getStorage")
    return [call for call in calls if call[0] not in read], done


def test_an_account_is_registered() -> None:
    """Send the registration and print its transaction."""
    calls, (code, out, err) = played("register")
    assert (calls, code, err) == ([["lp_register_account"]], 0, "")
    assert out == f"registered as a liquidity provider: transaction {HASH}\n"


def test_a_refund_address_is_set() -> None:
    """Set the refund address of a chain and print its transaction."""
    calls, (code, out, _) = played("refund-address", "ethereum", EVM)
    assert calls == [["lp_register_liquidity_refund_address", "Ethereum", EVM]]
    assert (code, out) == (0, f"Ethereum refunds go to {EVM}: transaction {HASH}\n")


def test_a_deposit_channel_is_opened() -> None:
    """Print address, expiry by the chain's clock and the command that pays on a development chain."""
    calls, (code, out, _) = played("deposit", "ETH")
    assert (calls, code) == ([["lp_request_liquidity_deposit_address_v2", ETHER]], 0)
    lines = out.splitlines()
    assert f"to      {EVM.lower()}" in lines
    assert "before  2026-01-01 02:00 UTC, chain time (block 777 of Ethereum)" in lines  # 600 blocks of 12 s
    assert re.fullmatch(
        rf"cfnode dev deposit {EVM.lower()} ETH AMOUNT --node=http://127\.0\.0\.1:\d+", lines[-1]
    )
    document = json.loads(played("deposit", "Ethereum/ETH", "--json")[1][1])
    expiry = {"expiryBlock": 777, "estimatedExpiryTime": "2026-01-01T02:00:00Z"}
    assert document == {**ETHER, "depositAddress": EVM.lower(), **expiry, "blockHash": HASH}


def test_a_deposit_channel_is_printed_by_a_node_that_does_not_tell_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Print the address and an expiry though the node gives neither time nor height."""
    monkeypatch.setitem(ANSWERS, "state_getStorage", dict.fromkeys(ANSWERS["state_getStorage"]))
    _, (code, out, _) = played("deposit", "ETH")
    assert (code, f"to      {EVM.lower()}\n" in out) == (0, True)
    assert re.search(
        r"^before  20\d\d-\d\d-\d\d \d\d:\d\d UTC, chain time \(block 777 of Ethereum\)$", out, re.M
    )


@pytest.mark.parametrize(("amount", "taken"), [("1.5", 15 * 10**17), ("all", 3 * 10**18)])
def test_a_balance_is_withdrawn(amount: str, taken: int) -> None:
    """Withdraw an amount or the whole free balance, and print the payout's number."""
    calls, (code, out, _) = played("withdraw", "ETH", amount, EVM)
    assert (calls, code) == ([["lp_withdraw_asset", hex(taken), ETHER, EVM, "InBlock"]], 0)
    assert out.endswith(f" ETH to {EVM}, payout Ethereum-2: transaction {HASH}\n")
    document = json.loads(played("withdraw", "ETH", amount, EVM, "--json")[1][1])
    assert document == {"transaction": HASH, "amount": str(taken), **ETHER, "egress": "Ethereum-2"}


@pytest.mark.parametrize("line", [("refund-address", "ethereum"), ("withdraw", "ETH", "1")])
def test_an_address_is_repeated_with_its_checksum(line: tuple[str, ...]) -> None:
    """The node gets that text, too."""
    (call,), (code, out, _) = played(*line, EVM.lower())
    assert (code, EVM in out, EVM.lower() in out) == (0, True, False)
    assert EVM in call


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (("withdraw", "ETH", "1", EVM.replace("F", "f", 1)), "its checksum is wrong"),
        (("withdraw", "BTC", "1", EVM), "it is an address of Ethereum"),
        (("withdraw", "ETH", "0", EVM), "the account has no free ETH to withdraw"),
        (("withdraw", "USDC", "all", EVM), "the account has no free USDC to withdraw"),
        (("refund-address", "bitcoin", EVM), "it is an address of Ethereum"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_sent(line: tuple[str, ...], fault: str) -> None:
    """Refuse wrong addresses and empty balances without a call that changes anything."""
    calls, (code, out, err) = played(*line)
    assert (calls, code, out) == ([], 2, "")
    assert fault in err


def test_the_account_is_that_of_the_one_key_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guess the account from the only key in the keystore, and refuse several, none or a foreign node."""
    monkeypatch.setenv("CFNODE_BASE_PATH", str(tmp_path))
    url, bob = "http://127.0.0.1:1", Keypair.from_suri("//Bob")

    def orders() -> tuple[int, str, str]:
        return run("lp", "orders", "--node", url)

    assert f"{tmp_path} holds no such key" in orders()[2]
    insert = ("key", "insert", "--key-type", "lqpr", "--base-path", str(tmp_path), "--dev", "--suri")
    assert run(*insert, "//Bob")[0] == 0
    assert guessed_account(url, tmp_path) == ss58.encode(bob.account)
    assert orders()[0] == ExitCode.NETWORK
    assert run(*insert, "//Dave")[0] == 0
    code, _, err = orders()
    assert (code, "holds keys of several" in err) == (2, True)
    other = tmp_path / "other"
    assert run(*insert[:5], str(other), *insert[6:], "//Erin")[0] == 0
    elsewhere = ("lp", "orders", "--node", url, "--base-path", str(other))
    assert run(*elsewhere)[0] == ExitCode.NETWORK
    assert guessed_account(url, other) == ss58.encode(Keypair.from_suri("//Erin").account)
    assert "--base-path DIR names another folder" in run(*elsewhere[:-1], str(tmp_path / "none"))[2]
    code, _, err = run("lp", "orders", "--node", "http://node.example:9944")
    assert (code, "the node is on another machine" in err) == (2, True)
