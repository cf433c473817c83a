"""What a development chain prints when it has started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cfnode.cli.banner import Start, banner
from cfnode.cli.exits import CommandFailure
from cfnode.cli.options import DEFAULT_URL
from cfnode.cli.run import account_secret, named_accounts
from cfnode.core import ss58
from cfnode.core.keys import Keypair

SECRET = "0x" + "7a" * 32
OTHER_URL = "http://127.0.0.1:19944"
ALICE = Keypair.from_suri("//Alice").account


def test_accounts_services_and_commands_to_paste() -> None:
    """Print accounts, addresses and the commands of a first swap, which run when they are pasted."""
    text = banner(Start(DEFAULT_URL, broker=ALICE, is_registered=True, program=Path("/my programs")))
    lines = [line.strip() for line in text.splitlines()]
    assert "//Alice     cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9" in lines
    assert "//Ferdie    cFJXANDouKpHP6tvw9j7RG2N13aLsWysLXrkXuL4fdiv1CKEr" in lines
    assert "JSON-RPC      http://127.0.0.1:9944  ws://127.0.0.1:9944" in lines
    assert "Swap service  http://127.0.0.1:9944" in lines
    first = lines.index("A first swap, in another terminal:")
    assert lines[first + 2 : first + 4] == [
        "export PATH='/my programs':$PATH",
        "cfnode swap request BTC ETH 0.1 --slippage 2 --network dev --commission 10 \\",
    ]
    assert lines[-2:] == ["cfnode dev deposit ADDRESS BTC 0.1", "cfnode swap watch CHANNEL --network dev"]
    assert max(map(len, text.splitlines())) <= 100


def test_another_port_and_another_pace_are_in_the_commands() -> None:
    """Name another address once, as CFNODE_URL; add `dev seal` where only transactions make blocks."""
    start = Start(OTHER_URL, broker=ALICE, is_registered=True)
    text = banner(replace(start, seal="instant"))
    assert "cfnode dev seal 6\n" in text
    assert text.partition("first swap")[2].count(OTHER_URL) == 1
    assert f"    export CFNODE_URL={OTHER_URL}\n" in text
    assert "export" not in banner(replace(start, url=DEFAULT_URL))
    assert "first swap" not in banner(replace(start, seal="manual"))
    alone = banner(replace(start, broker=None, is_registered=False))
    assert "--commission" not in alone.partition("first swap")[2]


def test_a_secret_of_the_operator_is_never_printed(tmp_path: Path) -> None:
    """Print the account of the operator's own key and never the key, nor a malformed one in an error."""
    (tmp_path / "key").write_text(SECRET[2:])
    assert account_secret(str(tmp_path / "key"), "Secret") == SECRET
    account = Keypair.from_suri(SECRET).account
    text = banner(Start(DEFAULT_URL, broker=account))
    assert SECRET[2:] not in text
    assert (
        f"Broker        {ss58.encode(account)} (not registered: cfnode rpc broker_register_account)" in text
    )
    with pytest.raises(CommandFailure) as refused:
        account_secret(f"{SECRET}7a", "Secret")
    assert SECRET not in refused.value.message


def test_one_account_cannot_be_both_broker_and_liquidity_provider() -> None:
    """Refuse one account for --dev-broker and --dev-lp: an account of the chain has one role."""
    named = {"dev_broker": "//Alice", "dev_lp": "//Bob"}
    assert named_accounts(named) == {"broker_suri": "//Alice", "provider_suri": "//Bob"}
    with pytest.raises(CommandFailure, match="--dev-broker and --dev-lp name the same account"):
        named_accounts({"dev_broker": "//Alice", "dev_lp": "//Alice"})


def test_a_liquidity_provider_has_a_line_of_its_own() -> None:
    """Print a liquidity provider with the call that registers it, if it is not registered yet."""
    start = Start(DEFAULT_URL, provider=ALICE)
    advice = "(not registered: cfnode rpc lp_register_account)"
    assert f"  LP            //Alice, {ss58.encode(ALICE)} {advice}\n" in banner(start)
    assert f"{ss58.encode(ALICE)} (registered)\n" in banner(replace(start, is_provider_registered=True))
    assert "  LP  " not in banner(Start(DEFAULT_URL, broker=ALICE))


def test_the_time_of_a_chain_with_its_own_clock() -> None:
    """Print the chain's time and how it advances, where the chain has a clock of its own."""
    line = "  Chain time    2023-11-14T22:13:20Z; a block adds 6 s, `cfnode dev jump 1h` an hour"
    assert line in banner(Start(DEFAULT_URL, chain_time=1_700_000_000_000)).splitlines()
    assert "Chain time" not in banner(Start(DEFAULT_URL))
