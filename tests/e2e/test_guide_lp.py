"""The guide page of a liquidity provider's node, pasted into a shell from its top to its end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.documentation import block
from tests.e2e.guide import MARK, blocks_of, differences
from tests.e2e.shell import Shell
from tests.process import NodeProcess, running_node

pytestmark = pytest.mark.world

PAGE = "docs/guide/liquidity-provider.md"
SCENARIO = ROOT / "docs/guide/provide-and-withdraw.md"
ETHER, DOLLAR = 10**18, 10**6


def printed_values(text: str) -> list[object]:
    """Return the JSON values that commands print one after the other."""
    values, decoder, remaining = list[object](), json.JSONDecoder(), text.strip()
    while remaining:
        value, end = decoder.raw_decode(remaining)
        values.append(value)
        remaining = remaining[end:].strip()
    return values


def test_from_the_key_to_a_withdrawal(tmp_path: Path) -> None:
    """Follow a provider's page from the key to a withdrawal."""
    shell = Shell(tmp_path)
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    (keys / "signing_key_file").write_text("7a" * 32)
    shell.run(block(PAGE, "cfnode key insert --chain berghain"))
    (key,) = tmp_path.rglob("keystore/*")
    assert key.name.startswith(b"lqpr".hex())

    start, wait = block(PAGE, "cfnode run --dev --dev-lp").splitlines()
    assert start.startswith("cfnode run --dev --dev-lp //Bob --dev-seal instant ")
    (tmp_path / "node").mkdir()
    with running_node(tmp_path / "node", "--dev", "--dev-lp=//Bob", "--dev-seal=instant") as node:
        shell = Shell(tmp_path, node.url)
        assets, orders = block(PAGE, "ETH='"), block(PAGE, "TICK=")
        printed = shell.run(f"{wait}\n{assets}\n{orders}")
        assert "LP            //Bob, cF" in node.log
        by_command = shell.run(commands := block(PAGE, "export CFNODE_LP_ACCOUNT="))
        program, export = block(PAGE, "import os"), commands.splitlines()[0]
        by_range = shell.run(export + "\n" + block(PAGE, "cfnode lp set-range"))
        by_program = shell.run(f'{export}\n"{sys.executable}" - <<"END"\n{program}END')
    assert by_command.index("set: sell order 1 of ETH: 0.5 ETH at 2900.") < by_command.index("at 2950.")
    assert "a swap sells ETH at" in by_command
    assert by_range.count("set: range order 2 of ETH: liquidity ") == 2
    assert by_program.splitlines()[:3] == ["3000 3", "3010 3", "3010 0"]
    assert len(by_program.splitlines()) == 6
    after_deposit = printed.partition("deposited ")[2].partition("\n")[2]
    balances, set_, updated, fills, cancelled, withdrawn = printed_values(after_deposit)
    assert isinstance(balances, dict)
    assert int(balances["Ethereum"]["ETH"], 16) > 0
    for answer, change in ((set_, {"increase": hex(ETHER)}), (updated, {"decrease": hex(ETHER // 2)})):
        assert isinstance(answer, dict)
        (order,) = answer["tx_details"]["response"]
        assert order["sell_amount_change"] == change
    assert isinstance(fills, dict)
    assert fills["fills"] == []
    assert isinstance(cancelled, list)
    (closed,) = cancelled[0]["tx_details"]["response"]
    assert closed["LimitOrder"]["sell_amount_change"] == {"decrease": hex(ETHER // 2)}
    assert isinstance(withdrawn, dict)
    assert withdrawn["tx_details"]["response"] == ["Ethereum", 1]


def test_a_provider_provides_is_traded_against_and_withdraws(tmp_path: Path) -> None:
    """Provide, trade against it and withdraw as the page prints it, with every unit accounted for."""
    parts = blocks_of(SCENARIO)
    start, first = parts[0].commands.split("\n", 1)
    assert start == "cfnode run --dev --dev-broker //Alice --dev-lp //Bob --dev-seal instant 2> node.log &"
    flags = ("--dev", "--dev-broker=//Alice", "--dev-lp=//Bob", "--dev-seal=instant")
    with running_node(tmp_path, *flags) as node:
        commands = "".join(f"printf '{MARK}'\n{part.commands}" for part in parts[1:])
        printed = Shell(tmp_path, node.url).run(f"exec 2>&1\n{first}{commands}").split(MARK)[1:]
        for part, output in zip(parts[1:], printed, strict=True):
            lines = "\n".join(line.rstrip() for line in output.splitlines())
            assert differences(part.output or "", lines) == [], part.section
        the_books_balance(node)


def the_books_balance(node: NodeProcess) -> None:
    """Check both assets to the unit: what came in went out, but for fees and a unit of dust."""
    fields_by_name: dict[str, list[Any]] = {}
    for number in range(1, int(node.call("chain_getHeader")["number"], 16) + 1):
        for event in node.call("dev_events", node.call("chain_getBlockHash", number)):
            fields_by_name.setdefault(event["name"], []).append(event["fields"])
    ether, dollars = (deposit for deposit in fields_by_name["DepositFinalised"])
    order, closed = fields_by_name["LimitOrderUpdated"]
    swaps = fields_by_name["SwapExecuted"][:2]  # the third swaps the fee of a withdrawal
    assert {amount(swap["input_amount"]) + amount(swap["network_fee"]) for swap in swaps} == {
        amount(dollars["ingress_fee"]),
        1_000 * DOLLAR - amount(dollars["ingress_fee"]),
    }
    paid, got = (sum(amount(swap[name]) for swap in swaps) for name in ("input_amount", "output_amount"))
    assert (paid, amount(closed["bought_amount"])) == (999 * DOLLAR, 999 * DOLLAR - 1)
    sold = amount(order["sell_amount_change"][1]) - amount(closed["sell_amount_change"][1])
    assert sold - got == 2, "one unit of the order, one of the division between both swaps"
    left = {"Eth": 10 * ETHER - amount(ether["ingress_fee"]) - sold, "Usdc": 999 * DOLLAR - 1}
    for withdrawal in fields_by_name["WithdrawalEgressScheduled"]:
        assert amount(withdrawal["amount"]) + amount(withdrawal["fee"]) == left.pop(withdrawal["asset"])
    assert left == {}
    (egress,) = fields_by_name["SwapEgressScheduled"]
    output = amount(swaps[1]["output_amount"])
    assert amount(egress["amount"]) + amount(egress["egress_fee"][0]) == output


def amount(value: int | str) -> int:
    """Return an amount of an event."""
    return value if isinstance(value, int) else int(value, 16)
