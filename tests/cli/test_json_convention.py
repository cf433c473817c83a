"""`--json` of the commands follows one convention: each document is checked by its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from tests.sdk.place import RECEIVER, REFUND, node_with_broker
from tests.support.cli.json_schemas import SCHEMAS, faults

BOB = "cFM6ZcrDUtrcUDFCDJZQ6bX9iA9z8w1zVd3PhBukicFpnK6FD"


def test_each_document_is_as_its_schema_says(tmp_path: Path) -> None:
    with node_with_broker(tmp_path, "--dev-lp=//Bob") as node:
        documents = dict[str, Any]()

        def play(name: str, *arguments: str, code: int = 0) -> Any:
            variables = {"CFNODE_URL": node.url, "CFNODE_NETWORK": "dev", "CFNODE_LP_ACCOUNT": BOB}
            words = (*name.split(), *arguments) if code == 0 else arguments
            done = CliRunner().invoke(cli, [*words, "--json"], env=variables)
            assert done.exit_code == code, (name, done.output)
            documents[name] = json.loads(done.stdout)
            return documents[name]

        play("status")
        play("lp refund-address", "Ethereum", RECEIVER)
        channel = play("lp deposit", "ETH")
        play("dev deposit", channel["depositAddress"], "ETH", "10")
        play("dev seal")
        play("lp balances")
        play("lp set-limit", "ETH", "sell", "1", "--price", "5000", "--id", "1")
        play("lp orders")
        play("lp book", "ETH")
        play("lp cancel", "ETH")
        play("lp fills")
        play("dev jump", "1h")
        play("dev price", "BTC", "60000")
        play("dev fund", BOB, "1")
        keystore = ("--keystore-path", str(tmp_path / "keys"))
        insert = ["key", "insert", *keystore, "--suri=//Alice", "--key-type=brok"]
        assert CliRunner().invoke(cli, insert).exit_code == 0
        play("key list", *keystore)
        play("wrong command", "swap", "quote", "BTK", "ETH", "1", code=2)
        play("refused", "rpc", "chain_getBlock", "0x12", code=1)
    assert documents.keys() == SCHEMAS.keys()
    assert [each for name, found in documents.items() for each in faults(found, SCHEMAS[name], name)] == []


@pytest.mark.parametrize(
    ("value", "schema", "fault"),
    [
        ({"a_b": 1}, {"a_b": "number"}, ".a_b: not camelCase"),
        ({"a": 1.5}, {"a": "amount"}, ".a: 1.5 is not of the kind amount"),
        ({}, {"a": "number"}, ".a: missing"),
        ({"b": 1}, {"a?": "number"}, ".b: not in the schema"),
        ({"a": 2**60}, {"a": "number"}, f".a: {2**60} is not of the kind number"),
        ([1], ["amount"], "[0]: 1 is not of the kind amount"),
    ],
)
def test_a_document_off_the_convention_is_noticed(value: Any, schema: Any, fault: str) -> None:
    assert list(faults(value, schema)) == [fault]


def test_the_documents_of_a_swap_have_no_inexact_amounts(tmp_path: Path) -> None:
    """They are the SDK's: amounts are text, and no number is beyond what JavaScript reads exactly."""
    with node_with_broker(tmp_path) as node:
        variables = {"CFNODE_URL": node.url, "CFNODE_NETWORK": "dev"}
        to = (f"--to={RECEIVER}", f"--refund={REFUND}", "--slippage=5")
        quoted = CliRunner().invoke(cli, ["swap", "quote", "BTC", "ETH", "0.1", "--json"], env=variables)
        line = ["swap", "request", "BTC", "ETH", "0.1", *to, "--json"]
        opened = json.loads(CliRunner().invoke(cli, line, env=variables).stdout)
        line = ["swap", "status", opened["depositChannelId"], "--json"]
        status = json.loads(CliRunner().invoke(cli, line, env=variables).stdout)
    for document in (json.loads(quoted.stdout), opened, status):
        for name, value in members(document):
            assert not name.lower().endswith("amount") or isinstance(value, str | None), name
            assert not isinstance(value, int) or abs(value) < 2**53, name


def members(value: Any) -> list[tuple[str, Any]]:
    """All members of all objects in a document."""
    if isinstance(value, list):
        return [each for entry in value for each in members(entry)]
    if not isinstance(value, dict):
        return []
    return [each for name, entry in value.items() for each in [(name, entry), *members(entry)]]
