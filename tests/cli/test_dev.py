"""`cfnode dev`: what each command asks of the node, against a small HTTP server in its place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cfnode.core.hashing import blake2_256
from tests.support.cli.commands import run
from tests.support.cli.servers import result, serving

BLOCK = "0x" + "ab" * 32
ADDRESS = "0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF"
ACCOUNT = "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
MADE_UP = "0x" + blake2_256(f'{BLOCK} {{"chain": "Bitcoin"}}'.encode()).hex()
ETHER = {"chain": "Ethereum", "asset": "ETH"}


def played(*arguments: str) -> tuple[list[list[Any]], str]:
    """Return the calls that a command makes, without those that only check something, and its output."""
    calls: list[list[Any]] = []
    checks = {
        "chain_getHeader": {"number": "0x2a"},
        "chain_getBlockHash": BLOCK,
        "cf_controlled_deposit_addresses": {"Ethereum": [ADDRESS]},
        "state_getStorage": "0x" + (1_700_000_000_000).to_bytes(8, "little").hex(),
    }

    def answer(request: dict[str, Any]) -> bytes:
        calls.append([request["method"], *request["params"]])
        return result(checks.get(request["method"], BLOCK))

    with serving(answer) as url:
        code, out, err = run("dev", *arguments, "--url", url)
    assert (code, err) == (0, "")
    return [call for call in calls if call[0] not in checks], out


def test_a_deposit_that_the_chain_refuses_is_an_error_with_the_reason() -> None:
    """Print the chain's reason for a rejected deposit, and exit with 1."""
    text = "Deposit rejected: InvalidDepositAddress: The deposit address is not valid."
    data = {"block": BLOCK, "reason": "InvalidDepositAddress"}
    error = {"code": -32000, "message": text, "data": data}
    refusal = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    with serving(lambda request: refusal) as url:
        line = ("dev", "deposit", ADDRESS, "Eth", "1", "--node", url)
        assert run(*line) == (1, "", f"Error: dev_deposit: {text} [code -32000]\n")
        code, out, _ = run(*line, "--json")
    assert (code, json.loads(out)["error"]["rpc"]) == (1, error)


def test_a_jump_prints_the_chains_time() -> None:
    """Print the block and the chain's time after a jump."""
    _, out = played("jump", "1h")
    assert out == f"jumped by 3600 seconds: block 42 {BLOCK}, chain time 2023-11-14T22:13:20Z\n"
    assert json.loads(played("jump", "1h", "--json")[1])["chainTime"] == "2023-11-14T22:13:20Z"


def test_a_vault_swap_prints_the_transaction_that_watch_takes() -> None:
    """Print the command that follows a vault swap, with Bitcoin's transaction in reversed byte order."""
    sent = "0x" + "12" * 31 + "34"
    for chain, reference in (("Ethereum", sent), ("Bitcoin", "34" + "12" * 31)):
        line = ("send-to-vault", f'{{"chain": "{chain}"}}', "--transaction", sent)
        _, out = played(*line)
        lines = out.splitlines()
        assert lines[-2] == "Follow it:"
        assert re.fullmatch(rf"cfnode swap watch --network=dev --node=\S+ {reference}", lines[-1])
        assert json.loads(played(*line, "--json")[1])["transaction"] == reference


def test_a_vault_swap_from_solana_is_not_followed_by_a_transaction() -> None:
    """Print no command to follow a vault swap from Solana: it has no transaction to ask for."""
    _, out = played("send-to-vault", '{"chain": "Solana"}')
    assert out.startswith("sent the vault swap: block 42 ")
    assert "swap watch" not in out


@pytest.mark.parametrize("command", [("deposit",), ("announce",), ("fail-receiver",)])
def test_an_address_is_checked_and_repeated_with_its_checksum(command: tuple[str]) -> None:
    """Refuse a wrong checksum before the node is called."""
    receiver = "0xFcd3C82b154CB4717Ac98718D0Fd13EEBA3D2754"
    amount = () if command == ("fail-receiver",) else ("1",)
    calls, out = played(*command, receiver.lower(), "ETH", *amount)
    assert calls[0][1] == receiver
    assert (receiver in out, receiver.lower() in out) == (True, False)
    code, _, err = run("dev", *command, receiver.replace("F", "f", 1), "ETH", *amount)
    assert (code, "its checksum is wrong" in err) == (2, True)


def test_a_jump_by_zero_adds_no_block() -> None:
    """Add no block for a jump of zero, and say so."""
    assert played("jump", "0s") == ([], "jumped by 0 seconds: no block was added\n")
    assert json.loads(played("jump", "0", "--json")[1]) == {
        "blockHash": None,
        "blockNumber": None,
        "chainTime": None,
    }


@pytest.mark.parametrize(
    ("typed", "calls"),
    [
        (("fund", ACCOUNT), [["dev_fundAccount", ACCOUNT, hex(1000 * 10**18)]]),
        (("fund", ACCOUNT, "0.5"), [["dev_fundAccount", ACCOUNT, hex(5 * 10**17)]]),
        (("deposit", ADDRESS, "Eth", "1.5"), [["dev_deposit", ADDRESS, ETHER, hex(15 * 10**17), None]]),
        (
            ("deposit", ADDRESS, "arbitrum.usdc", "20", "--transaction", BLOCK),
            [["dev_deposit", ADDRESS, {"chain": "Arbitrum", "asset": "USDC"}, "0x1312d00", BLOCK]],
        ),
        (
            ("announce", ADDRESS, "Eth", "1.5", "--transaction", BLOCK),
            [["dev_announceDeposit", ADDRESS, ETHER, hex(15 * 10**17), BLOCK]],
        ),
        (
            ("send-to-vault", '{"chain": "Bitcoin"}', "--amount", "0.5", "--sender", "bcrt1q"),
            [["dev_sendToVault", {"chain": "Bitcoin"}, hex(5 * 10**7), "bcrt1q", MADE_UP, True]],
        ),
        (
            ("send-to-vault", '{"chain": "Tron"}', "--transaction", BLOCK, "--unconfirmed"),
            [["dev_sendToVault", {"chain": "Tron"}, None, None, BLOCK, False]],
        ),
        (("boost", "Eth", "2"), [["dev_setBoost", ETHER, hex(2 * 10**18)]]),
        (("boost", "Eth", "2", "--lending"), [["dev_setBoost", ETHER, hex(2 * 10**18), True]]),
        (("price", "Eth", "2800.25"), [["dev_setPool", ETHER, hex(2_800_250_000), None]]),
        (("depth", "Eth", "1000"), [["dev_setPool", ETHER, None, hex(10**9)]]),
        (("oracle", "Eth", "2800.5"), [["dev_setOracle", "Eth", hex(2_800_500_000), False]]),
        (("oracle", "bitcoin/btc", "--stale"), [["dev_setOracle", "Btc", None, True]]),
        (("fail-receiver", ADDRESS, "Eth"), [["dev_failReceiver", ADDRESS, ETHER, True]]),
        (("fail-receiver", ADDRESS, "Eth", "--off"), [["dev_failReceiver", ADDRESS, ETHER, False]]),
        (("abort", "bitcoin"), [["dev_abortBroadcast", "Bitcoin"]]),
        (("hold", "Ethereum"), [["dev_holdBroadcasts", "Ethereum", True]]),
        (("hold", "Ethereum", "--off"), [["dev_holdBroadcasts", "Ethereum", False]]),
        (("fail-broadcast", "Ethereum"), [["dev_failBroadcast", "Ethereum", None]]),
        (("fail-broadcast", "Ethereum", "7"), [["dev_failBroadcast", "Ethereum", 7]]),
        (("jump", "24h"), [["dev_timeTravel", 86_400_000], ["dev_newBlock"]]),
        (("epoch",), [["dev_nextEpoch"], ["cf_current_epoch", BLOCK]]),
        (("upgrade", "2.2.9"), [["dev_upgrade", "2.2.9"]]),
        (("seal", "3"), [["dev_newBlock"]] * 3),
        (("finalize",), [["dev_finalize", None]]),
    ],
)
def test_a_command_is_a_call_in_the_chains_own_units(typed: tuple[str, ...], calls: list[Any]) -> None:
    """Call the node's method with amounts in the smallest unit, for each command and its flags."""
    asked, out = played(*typed)
    assert asked == calls
    assert f": block 42 {BLOCK}" in out


EVENTS = [
    {"pallet": "System", "name": "ExtrinsicSuccess", "fields": {}},
    {"pallet": "Swapping", "name": "SwapExecuted", "fields": {"swap_id": 1}},
]


def printed(*arguments: str) -> str:
    """Return the output of `events` for a chain of three blocks with the same events."""

    def answer(request: dict[str, Any]) -> bytes:
        number = request["params"][0] if request["params"] else None
        answers = {"chain_getHeader": {"number": "0x3"}, "chain_getBlockHash": number, "dev_events": EVENTS}
        return result(answers[request["method"]])

    with serving(answer) as url:
        code, out, err = run("dev", "events", *arguments, "--url", url)
    assert (code, err) == (0, "")
    return out


def test_events_are_printed_block_by_block_without_the_housekeeping() -> None:
    """Print events by block, without those of every block unless --all asks for them."""
    assert printed("2") == "2 Swapping.SwapExecuted\n3 Swapping.SwapExecuted\n"
    assert printed("--all") == "3 System.ExtrinsicSuccess\n3 Swapping.SwapExecuted\n"
    assert len(printed("100").splitlines()) == 3


def test_events_in_full_are_an_array_or_an_object_a_line() -> None:
    """Print events with their fields as lines of JSON, or as one array."""
    assert [json.loads(line) for line in printed("--json-lines").splitlines()] == [
        {"blockNumber": 3, **EVENTS[1]}
    ]
    assert json.loads(printed("2", "--json")) == [{"blockNumber": at, **EVENTS[1]} for at in (2, 3)]


def test_a_rotation_names_the_chains_and_in_json_their_transactions() -> None:
    """Print the epoch and the chains of a rotation; as JSON its transactions in camelCase."""
    sent = {"chain": "Ethereum", "broadcast_id": 1, "contract": ADDRESS, "data": "0xc1c4a159"}
    rotation = {"block": BLOCK, "epoch": 2, "transactions": [sent]}

    def answer(request: dict[str, Any]) -> bytes:
        return result({"dev_rotate": rotation, "chain_getHeader": {"number": "0x2a"}}[request["method"]])

    with serving(answer) as url:
        printed, record = (run("dev", "rotate", *more, "--url", url)[1] for more in ((), ("--json",)))
    assert printed == f"epoch 2 started with new keys, sent to Ethereum: block 42 {BLOCK}\n"
    renamed = {"chain": "Ethereum", "broadcastId": 1, "contract": ADDRESS, "data": "0xc1c4a159"}
    epoch = {"epoch": 2, "transactions": [renamed]}
    assert json.loads(record) == {"blockHash": BLOCK, "blockNumber": 42} | epoch


@pytest.mark.parametrize(("typed", "words"), [((), "not signed from now on"), (("--off",), "signed again")])
def test_signatures_are_held_back_without_a_block(typed: tuple[str, ...], words: str) -> None:
    """Hold and release signatures by a call that adds no block."""
    asked, out = played("hold-signatures", *typed)
    assert asked == [["dev_holdSignatures", not typed]]
    assert out == f"transactions are {words}\n"


def test_json_is_one_object() -> None:
    """Print one object with the last block's hash and number."""
    assert json.loads(played("seal", "--json")[1]) == {"blockHash": BLOCK, "blockNumber": 42}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("deposit", ADDRESS, "Doge", "1"), "Unknown asset 'Doge'. Choose from ETH, "),
        (("deposit", ADDRESS, "bitcon/btc", "1"), "Unknown asset 'bitcon/btc'. Did you mean BTC"),
        (("deposit", ADDRESS, "Btc", "0,5"), "write a decimal point instead of the comma, such as 0.5,"),
        (("deposit", ADDRESS, "Eth", "1" * 12 + "." + "1" * 19), "more than 18 decimals"),
        (("abort", "Etherium"), "Did you mean Ethereum?"),
        (("abort", "Dogechain"), "Choose from Ethereum, Polkadot, Bitcoin"),
        (("oracle", "ArbUsdt", "1"), "choose from BTC, ETH, SOL, USDC, USDT"),
        (("upgrade", "2.4"), "Unknown value '2.4'."),
        (("deposit", ADDRESS, "Btc", "0.000000001"), "more than 8 decimals"),
        (("deposit", ADDRESS, "Btc", "one"), "not a number of whole units"),
        (("deposit", ADDRESS, "Btc", "1e40"), "more than the chain can count"),
        (("deposit", ADDRESS, "Btc", "٣"), "not a number of whole units"),
        (("deposit", ADDRESS, "Btc", "NaN"), "not a number of whole units"),
        (("jump", "soon"), "not a duration"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(typed: tuple[str, ...], words: str) -> None:
    """Refuse unknown assets, chains and versions and malformed amounts, without a call to the node."""
    code, _, err = run("dev", *typed, "--url", "http://127.0.0.1:1")
    assert code == 2
    assert words in err


def test_a_node_that_does_not_author_its_chain_is_an_error() -> None:
    """Name `cfnode run --dev` where the node has no method to add a block."""
    refusal = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}
    with serving(lambda _: json.dumps(refusal).encode()) as url:
        code, _, err = run("dev", "seal", "--url", url)
    assert code == 1
    assert "has no dev_newBlock: only a node started with `cfnode run --dev` does" in err
