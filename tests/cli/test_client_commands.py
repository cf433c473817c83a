"""`cfnode rpc` and `cfnode wait` against a small HTTP server that answers what a node would, or nonsense."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from tests.support.cli.commands import run
from tests.support.cli.servers import echo, result, serving


def test_parameters_are_json_or_bare_text() -> None:
    """Send JSON as it is, whole numbers of any size, and as text what is no JSON."""
    with serving(echo) as url:
        code, out, _ = run(
            "rpc", "m", "1", "Ethereum", '{"a": 340282366920938463463374607431768211455}', "--url", url
        )
    assert (code, json.loads(out)) == (0, ["m", [1, "Ethereum", {"a": 2**128 - 1}]])


def test_parameters_by_name_come_from_an_argument_or_standard_input() -> None:
    """Send parameters by name from the command line or from standard input."""
    with serving(echo) as url:
        _, first, _ = run("rpc", "m", "--named", '{"at": null}', "--url", url)
        _, second, _ = run("rpc", "m", "--named", "-", "--url", url, stdin='{"at": null}')
    assert json.loads(first) == json.loads(second) == ["m", {"at": None}]


def test_an_error_object_is_one_line_and_exit_1() -> None:
    """Print method, message and code of a node's error on one line, and exit with 1."""
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
    with serving(lambda request: body) as url:
        code, out, err = run("rpc", "nope", "--url", url)
    assert (code, out, err) == (1, "", "Error: nope: Method not found [code -32601]\n")


@pytest.mark.parametrize(
    ("line", "reason", "named"),
    [
        (("chain_getBlock", "0x12"), "invalid length 2, expected 32 bytes", ". Correct hash."),
        (("broker_withdraw_fees", "1"), "invalid type", ". Correct asset."),
        (("author_hasKey", "0x12"), "No more params", ". Add key_type."),
        (
            ("author_hasKey", "--named", '{"keyType": 7, "publicKey": "0x12"}'),
            "invalid type",
            ". Correct key_type.",
        ),
        (("author_hasKey", "--named", '{"keyType": "aura"}'), "missing field `public_key`", ""),
        (("dev_setBoost", "BTC", "x"), "amount: expected an integer", ""),
        (("dev_setBoost", "BTK", "1"), "asset: Unknown asset", ""),
        (("chain_getBlock",), "of a newer node", ""),
    ],
)
def test_a_refused_parameter_is_named(line: tuple[str, ...], reason: str, named: str) -> None:
    """Name the parameter to correct or add, by the node's reason, and list those of the method."""
    error = {"code": -32602, "message": "Invalid params", "data": reason}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    with serving(lambda request: body) as url:
        code, out, err = run("rpc", *line, "--url", url)
        document = json.loads(run("rpc", *line, "--url", url, "--json")[1])
    assert (code, out, document["error"]["rpc"]) == (1, "", error)
    assert f"Invalid params ({reason}) [code -32602]{named or '.'}" in err
    assert "Its parameters: " in err
    assert err.count(". Correct ") + err.count(". Add ") == 1
    assert named or ". Correct it." in err


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"error": 1}', b""])
def test_a_server_that_is_not_a_node_is_an_error_with_exit_code_5(body: bytes) -> None:
    """Exit with 5 and a hint where the address answers with something else than JSON-RPC."""
    with serving(lambda request: body) as url:
        code, _, err = run("rpc", "system_health", "--url", url)
    assert code == 5
    assert "check that it is a node" in err


def test_both_kinds_of_parameters_at_once_are_a_usage_error() -> None:
    """Refuse parameters by position and by name in one call."""
    code, _, err = run("rpc", "m", "1", "--named", "{}")
    assert (code, err) == (2, "Error: give parameters by position or by --named, not both\n")


def test_wait_goes_on_until_the_node_is_synced() -> None:
    """Ask until the node is no longer syncing, and not once more."""
    answers = iter([True, True, False])

    def health(request: dict[str, Any]) -> bytes:
        return result({"peers": 3, "isSyncing": next(answers), "shouldHavePeers": True})

    with serving(health) as url:
        assert run("wait", "--synced", "--timeout", "10", "--url", url) == (0, "", "")
    assert next(answers, "all asked") == "all asked"


def test_wait_without_flags_prints_the_condition() -> None:
    """Print after the first answer that more conditions can be waited for."""
    health = result({"peers": 0, "isSyncing": True, "shouldHavePeers": True})
    with serving(lambda request: health) as url:
        answers = f"{url} answers; --synced, --block and --finalized wait for more\n"
        assert run("wait", "--timeout", "10", "--url", url) == (0, "", answers)


def test_wait_prints_the_unmet_condition_after_the_timeout() -> None:
    """Print after the timeout what was still missing, with the number of peers, and exit with 5."""
    health = result({"peers": 0, "isSyncing": True, "shouldHavePeers": True})
    with serving(lambda request: health) as url:
        code, _, err = run("wait", "--synced", "--timeout", "0.3", "--url", url)
    assert (code, err) == (
        5,
        "Error: after 0.3 s: the node is still syncing, with 0 peers; raise --timeout to wait longer\n",
    )


def test_wait_without_a_node_ends_with_the_reason() -> None:
    """Print the address and the reason where no node answers, and exit with 5."""
    code, _, err = run("wait", "--timeout", "0", "--url", "http://127.0.0.1:9")
    assert code == 5
    assert "no answer from http://127.0.0.1:9" in err


def test_no_list_of_commands_is_cut_short() -> None:
    """Describe each command in the lists of --help without an ellipsis."""
    for arguments in ([], ["key"], ["dev"], ["swap"]):
        output = CliRunner().invoke(cli, [*arguments, "--help"]).output
        assert "..." not in output.partition("Commands:")[2]
