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
from cfnode.core.keys import Keypair
from tests.support.cli.commands import run
from tests.support.cli.servers import result, serving

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
}


def played(*arguments: str) -> tuple[list[list[Any]], tuple[int, str, str]]:
    """The calls of a command that change something, and what it printed."""
    calls: list[list[Any]] = []

    def answer(request: dict[str, Any]) -> bytes:
        calls.append([request["method"], *request["params"]])
        return result(ANSWERS[request["method"]])

    with serving(answer) as url:
        done = run("lp", *arguments, "--node", url)
    return [call for call in calls if call[0] not in ("system_chainType", "lp_free_balances")], done


def test_an_account_is_registered() -> None:
    calls, (code, out, err) = played("register")
    assert (calls, code, err) == ([["lp_register_account"]], 0, "")
    assert out == f"registered as a liquidity provider: transaction {HASH}\n"


def test_a_refund_address_is_set() -> None:
    calls, (code, out, _) = played("refund-address", "ethereum", EVM)
    assert calls == [["lp_register_liquidity_refund_address", "Ethereum", EVM]]
    assert (code, out) == (0, f"Ethereum refunds go to {EVM}: transaction {HASH}\n")


def test_a_deposit_channel_is_opened() -> None:
    calls, (code, out, _) = played("deposit", "ETH")
    assert (calls, code) == ([["lp_request_liquidity_deposit_address_v2", ETHER]], 0)
    lines = out.splitlines()
    assert f"to      {EVM.lower()}" in lines
    assert "before  block 777" in lines
    assert re.fullmatch(
        rf"cfnode dev deposit {EVM.lower()} Eth AMOUNT --node=http://127\.0\.0\.1:\d+", lines[-1]
    )
    document = json.loads(played("deposit", "Ethereum/ETH", "--json")[1][1])
    assert document == {**ETHER, "depositAddress": EVM.lower(), "expiryBlock": 777, "blockHash": HASH}


@pytest.mark.parametrize(("amount", "taken"), [("1.5", 15 * 10**17), ("all", 3 * 10**18)])
def test_a_balance_is_withdrawn(amount: str, taken: int) -> None:
    calls, (code, out, _) = played("withdraw", "ETH", amount, EVM)
    assert (calls, code) == ([["lp_withdraw_asset", hex(taken), ETHER, EVM, "InBlock"]], 0)
    assert out.endswith(f" Eth to {EVM}, payout Ethereum-2: transaction {HASH}\n")
    document = json.loads(played("withdraw", "ETH", amount, EVM, "--json")[1][1])
    assert document == {"transaction": HASH, "amount": str(taken), **ETHER, "egress": "Ethereum-2"}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (("withdraw", "ETH", "1", EVM.replace("F", "f", 1)), "its checksum is wrong"),
        (("withdraw", "BTC", "1", EVM), "it is an address of Ethereum"),
        (("withdraw", "ETH", "0", EVM), "the account has no free Eth to withdraw"),
        (("withdraw", "USDC", "all", EVM), "the account has no free Usdc to withdraw"),
        (("refund-address", "bitcoin", EVM), "it is an address of Ethereum"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_sent(line: tuple[str, ...], fault: str) -> None:
    calls, (code, out, err) = played(*line)
    assert (calls, code, out) == ([], 2, "")
    assert fault in err


def test_the_account_is_that_of_the_one_key_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFNODE_BASE_PATH", str(tmp_path))
    url, bob = "http://127.0.0.1:1", Keypair.from_suri("//Bob")

    def orders() -> tuple[int, str, str]:
        return run("lp", "orders", "--node", url)

    assert f"{tmp_path} holds no such key" in orders()[2]
    insert = ("key", "insert", "--key-type", "lqpr", "--base-path", str(tmp_path), "--dev", "--suri")
    assert run(*insert, "//Bob")[0] == 0
    assert guessed_account(url) == ss58.encode(bob.account)
    assert orders()[0] == ExitCode.NETWORK
    assert run(*insert, "//Dave")[0] == 0
    code, _, err = orders()
    assert (code, "holds keys of several" in err) == (2, True)
    code, _, err = run("lp", "orders", "--node", "http://node.example:9944")
    assert (code, "the node is on another machine" in err) == (2, True)
