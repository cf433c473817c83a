"""`--json` of the commands follows one convention: each command's document is checked by its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.chainspec import to_json
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.ledger.database import Database, sqlite_url
from tests.process import NodeProcess, running_node
from tests.sdk.place import RECEIVER, REFUND, node_with_broker
from tests.support.cli.commands import commands, option, run
from tests.support.cli.json_parts import REPORTS
from tests.support.cli.json_schemas import ERROR, NO_DOCUMENT, PLAYED_ELSEWHERE, SCHEMAS
from tests.support.cli.json_shapes import faults
from tests.support.cli.servers import result, serving
from tests.support.sdk.payloads import vector
from tests.support.sdk.recover_command import state_chain

BOB = "cFM6ZcrDUtrcUDFCDJZQ6bX9iA9z8w1zVd3PhBukicFpnK6FD"
PRICES = "time,asset,price\n2026-01-05T12:00:00Z,ETH,3000\n2026-01-05T12:00:30Z,ETH,3001\n"
SWAPS = "time,from,to,amount\n2026-01-05T12:00:12Z,USDC,ETH,1000\n"
MAKER = """
from cfnode.sdk.lp import LimitOrder

def quotes(market):
    return [LimitOrder("Eth", "sell", 1, "1", price="3000.5")]
"""
ENCODING = (
    {"chain": "Bitcoin", "asset": "BTC"},
    {"chain": "Ethereum", "asset": "ETH"},
    RECEIVER,
    10,
    {"chain": "Bitcoin", "min_output_amount": "0x1", "retry_duration": 10},
)


class Player:
    """Plays commands with --json and keeps which of them were played."""

    def __init__(self) -> None:
        self.played: set[str] = set()
        self.faults: list[str] = []
        self.variables: dict[str, str] = {}

    def __call__(self, name: str, *arguments: str) -> Any:
        """Play a command, compare its document with its schema, and return it."""
        done = CliRunner().invoke(cli, [*name.split(), *arguments, "--json"], env=self.variables)
        assert done.exit_code == 0, (name, done.output)
        self.played.add(name)
        if name == "swap watch":
            document: Any = [json.loads(line) for line in done.stdout.splitlines()]
        else:
            document = json.loads(done.stdout)
        self.faults += faults(document, SCHEMAS[name], name)
        return document


def test_each_command_has_a_schema() -> None:
    """Have a schema for each command, or a reason why it prints no document."""
    assert SCHEMAS.keys() | NO_DOCUMENT.keys() == {path for path, _ in commands()}
    assert SCHEMAS.keys() & NO_DOCUMENT.keys() == set()


def test_each_command_that_prints_a_list_prints_lines_as_well() -> None:
    """Offer --json-lines with each command whose document is a list."""
    listing = {path for path, schema in SCHEMAS.items() if isinstance(schema, list)} - {"swap watch"}
    assert {path for path, command in commands() if option(command, "--json-lines")} == listing


def play_a_development_chain(play: Player) -> None:
    """Play the commands that control a development chain."""
    play("status")
    play("wait")
    play("rpc", "system_health")
    play("dev boost", "BTC", "1")
    play("dev price", "BTC", "60000")
    play("dev depth", "ETH", "1000000")
    play("dev oracle", "ETH", "3000")
    play("dev fund", BOB, "1")
    play("dev fail-receiver", "0x" + "aa" * 20, "ETH")
    play("dev abort", "Bitcoin")
    assert play("dev hold-signatures") == {"signed": False}
    assert play("dev hold-signatures", "--off") == {"signed": True}
    play("dev jump", "1h")
    play("dev epoch")
    assert play("dev events", "3", "--all") != []
    play("dev rotate")
    play("inspect-runtime")


def play_a_swap(node: NodeProcess, play: Player) -> None:
    """Play a swap from quote to completion, and one through the vault."""
    play("swap quote", "BTC", "ETH", "0.1")
    to = (f"--to={RECEIVER}", f"--refund={REFUND}", "--slippage=5")
    opened = play("swap request", "BTC", "ETH", "0.1", *to)
    play("swap status", opened["depositChannelId"])
    play("dev announce", opened["depositAddress"], "BTC", "0.1")
    play("dev deposit", opened["depositAddress"], "BTC", "0.1")
    play("dev seal", "6")
    assert play("swap watch", opened["depositChannelId"], "--every=0.1")[-1]["state"] == "COMPLETED"
    node.call("broker_open_private_btc_channel")
    encoded = json.dumps(node.call("broker_request_swap_parameter_encoding", *ENCODING))
    play("dev send-to-vault", encoded, "--amount=0.1", f"--sender={REFUND}")


def play_a_provider(play: Player) -> None:
    """Play a provider from deposit to withdrawal; then a failed broadcast and an upgrade."""
    play("lp refund-address", "Ethereum", RECEIVER)
    channel = play("lp deposit", "ETH")
    play("dev deposit", channel["depositAddress"], "ETH", "10")
    play("dev seal")
    play("lp balances")
    play("lp set-limit", "ETH", "sell", "1", "--price", "1000", "--id", "1")
    play("lp set-range", "ETH", "--price", "4000", "5000", "--amounts", "1", "0", "--id", "2")
    assert len(play("lp orders")) == 2
    opened = play(
        "swap request", "BTC", "ETH", "0.1", f"--to={RECEIVER}", f"--refund={REFUND}", "--slippage=50"
    )
    play("dev deposit", opened["depositAddress"], "BTC", "0.1")
    play("dev seal", "6")
    play("dev finalize")
    assert play("lp fills")[-1]["fills"][0]["sold"].keys() == {"Eth"}
    play("lp book", "ETH")
    assert len(play("lp cancel", "ETH")) == 1
    play("dev hold", "Ethereum")
    play("lp withdraw", "ETH", "1", RECEIVER)
    play("dev seal", "3")
    play("dev fail-broadcast", "Ethereum")
    play("dev upgrade", "2.3.0")
    with serving(lambda request: result("0x" + "12" * 32)) as url:
        play("lp register", "--node", url)


def play_the_books(play: Player, folder: Path) -> None:
    """Play reports, statements, webhooks and partners over the books of the chain."""
    books = f"--database={sqlite_url(folder / 'books.sqlite')}"

    def silent(*line: str) -> None:
        done = CliRunner().invoke(cli, [*line, books, "--json"], env=play.variables)
        assert (done.exit_code, done.stdout) == (0, ""), done.output

    silent("ledger", "run", "--once", "--first-block=1")
    silent("service", "run", "--check")
    assert play("ledger check", "--recompute", books)["compared"] > 0
    fees = play("ledger show", "fees", books)
    for name, schema in REPORTS.items():
        done = CliRunner().invoke(cli, ["ledger", "show", name, books, "--json"], env=play.variables)
        records = json.loads(done.stdout)
        assert records != [], name
        play.faults += faults(records, [schema], name)
    statement = play("ledger statement", f"--month={fees[-1]['time'][:7]}", books)
    assert statement["lines"] != [] != statement["totals"]
    added = play("ledger webhook add", "http://127.0.0.1:9/changes", books)
    assert play("ledger webhook list", books)[0]["id"] == added["id"]
    play("ledger webhook replay", added["id"], books)
    delivery = play("ledger webhook test", added["id"], books)["delivery"]
    assert play("ledger webhook deliveries", added["id"], books)[0]["delivery"] == delivery
    assert play("ledger webhook delivery", delivery, books)["attempts"] == []
    play("ledger webhook rotate", added["id"], books)
    play("ledger webhook disable", added["id"], books)
    play("ledger webhook enable", added["id"], books)
    play("ledger webhook remove", added["id"], books)
    assert play("ledger find", "1", books)["swaps"] != []
    assert play("ledger webhook list", books) == []
    play("ledger partner add", "shop", "--budget=5", "--asset=BTC", "--asset=ETH", books)
    (shop,) = play("ledger partner list", books)
    assert (shop["assets"], shop["budget"], shop["budgetAsset"]) == (["Btc", "Eth"], "5" + 18 * "0", "Flip")
    assert play("ledger partner change", "shop", "--rate=5", books)["rate"] == 5
    play("ledger partner rotate", "shop", books)
    assert play("ledger partner usage", "shop", books) == []
    play("ledger partner revoke", "shop", books)
    assert play("ledger partner list", books)[0]["revoked"] is not None
    assert play("ledger partner remove", "shop", books)["kept"].startswith("shop~")


def play_the_keys(play: Player, folder: Path) -> None:
    """Play the commands about keys."""
    keystore = f"--keystore-path={folder / 'keystore'}"
    assert play("key insert", "--suri=//Alice", keystore)["inserted"] is True
    assert play("key insert", "--suri=//Alice", keystore)["inserted"] is False
    assert play("key insert", "--suri=//Bob", keystore)["warnings"] != []
    assert len(play("key list", keystore)["keys"]) == 2
    play("key generate")
    play("key inspect", "//Alice")
    play("key generate-node-key")
    made = play("key generate-node-key", f"--file={folder / 'node_key'}")
    assert play("key inspect-node-key", f"--file={folder / 'node_key'}") == {"peerId": made["peerId"]}


def play_the_files(play: Player, folder: Path) -> None:
    """Play the commands about specifications, configuration and databases."""
    state, mine, config = folder / "state.json", folder / "mine.json", folder / "config.toml"
    state.write_text(to_json(dev_chain_spec(DevGenesis())))
    config.write_text("[rpc]\ntimeout = 3\n")
    play("export-chain-spec", "--dev", "--light")
    play("export-chain-spec", "--dev")
    mine.write_text(json.dumps(play("build-spec", f"--chain={state}")))
    play("inspect-runtime", f"--chain={mine}")
    assert play("config check", str(config))["values"] == 1
    assert play("config show", f"--config={config}")["commands"]["rpc"][0]["line"] == 2
    play("config show", "swap", "quote")
    base = f"--base-path={folder / 'base'}"
    assert play("purge-chain", "--dev", base)["deleted"] is False
    with running_node(folder, base, "--dev") as node:
        play("chain-info", "--dev", base)
        play("export-state", "--dev", "--node", node.url)
    assert play("purge-chain", "--dev", base, "--yes")["deleted"] is True


def play_a_replay(play: Player, folder: Path) -> None:
    """Play a strategy against prices and swaps from files."""
    for name, text in (("prices.csv", PRICES), ("swaps.csv", SWAPS), ("json_maker.py", MAKER)):
        (folder / name).write_text(text)
    files = (f"--prices={folder / 'prices.csv'}", f"--swaps={folder / 'swaps.csv'}")
    report = play("lp replay", *files, "--strategy=json_maker:quotes", "--fund=ETH=10")
    assert report["fills"] != []


def play_a_recovery(play: Player) -> None:
    """Play a recovery for a stored answer of a node."""
    with state_chain(vector("native-ethereum-even-key")) as server:
        play("recover", "ethereum", "7", "--node", server.url)


def test_each_document_is_as_its_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the document of each command with its schema, and leave no command out."""
    monkeypatch.chdir(tmp_path)
    play = Player()
    play_the_keys(play, tmp_path)
    play_the_files(play, tmp_path)
    play_a_replay(play, tmp_path)
    play_a_recovery(play)
    (folder := tmp_path / "node").mkdir()
    with node_with_broker(folder, "--dev-lp=//Bob", "--dev-runtime=2.2.9") as node:
        play.variables = {"CFNODE_URL": node.url, "CFNODE_NETWORK": "dev", "CFNODE_LP_ACCOUNT": BOB}
        play_a_development_chain(play)
        play_a_swap(node, play)
        play_a_provider(play)
        play_the_books(play, tmp_path)
    assert play.faults == []
    assert play.played | PLAYED_ELSEWHERE == SCHEMAS.keys()


def test_errors_are_objects_with_a_code_and_a_message() -> None:
    """Print a node's own error object inside the document of an error."""
    refusal = {"code": -32000, "message": "no"}
    with serving(lambda request: json.dumps({"jsonrpc": "2.0", "id": 1, "error": refusal}).encode()) as url:
        done = CliRunner().invoke(cli, ["rpc", "m", "--node", url, "--json"])
    error = json.loads(done.stdout)
    assert error["error"].pop("rpc") == refusal
    assert list(faults(error, ERROR)) == []


def test_a_list_has_the_same_entries_as_an_array_and_as_lines(tmp_path: Path) -> None:
    """Print equal entries as one array and as lines, and refuse --json-lines together with --csv."""
    books = f"--database={sqlite_url(tmp_path / 'books.sqlite')}"
    Database(sqlite_url(tmp_path / "books.sqlite")).migrate()
    for count in range(3):
        array, lines = (
            run("ledger", "webhook", "list", books, flag)[1] for flag in ("--json", "--json-lines")
        )
        entries = json.loads(array)
        assert [json.loads(line) for line in lines.splitlines()] == entries
        assert len(entries) == count
        assert run("ledger", "webhook", "add", f"http://127.0.0.1:9/{count}", books)[0] == 0
    code, out, err = run("ledger", "show", "fees", books, "--json-lines", "--csv")
    assert (code, json.loads(out)["error"]["code"], err) == (2, "USAGE", "")


@pytest.mark.parametrize(
    ("value", "schema", "fault"),
    [
        ({"a_b": 1}, {"a_b": "number"}, ".a_b: not camelCase"),
        ({"asset": "x", "a": 1.5}, {"asset": "text", "a": "amount"}, ".a: 1.5 is not of the kind amount"),
        ({"a": "1"}, {"a": "amount"}, ".a: an amount without its asset"),
        ({}, {"a": "number"}, ".a: missing"),
        ({"b": 1}, {"a?": "number"}, ".b: not in the schema"),
        ({"a": 2**60}, {"a": "number"}, f".a: {2**60} is not of the kind number"),
        ({"a": "1970-01-21T10:03:52Z"}, {"a": "time"}, ".a: '1970-01-21T10:03:52Z' is not of the kind time"),
        ([1], ["amount"], "[0]: 1 is not of the kind amount"),
    ],
)
def test_a_document_off_the_convention_is_noticed(value: Any, schema: Any, fault: str) -> None:
    """Notice members in snake case, of another kind, missing, extra, or amounts without their asset."""
    assert list(faults(value, schema)) == [fault]
