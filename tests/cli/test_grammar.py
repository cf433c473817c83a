"""Options, names, errors and suggestions, which are the same in each command that has them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from cfnode import __version__
from cfnode.cli import cli
from cfnode.cli.values import Seconds, Units
from cfnode.sdk.names import Networks
from tests.support.cli.commands import commands, option, run
from tests.support.cli.servers import echo, result, serving

NOWHERE = "http://127.0.0.1:1"


def test_each_shared_option_reads_the_same_wherever_it_is() -> None:
    """Declare --node, --network and the times alike in each command that has them."""
    by_path = dict(commands())
    nodes = [declared for command in by_path.values() if (declared := option(command, "--node"))]
    assert len(nodes) > 25
    assert {(node.envvar[-1], tuple(node.opts)) for node in nodes} == {("CFNODE_URL", ("--node", "--url"))}
    assert not [
        path
        for path, command in by_path.items()
        if option(command, "--url") and not option(command, "--node")
    ]
    for name in ("--timeout", "--every"):
        types = {
            type(declared.type).__name__
            for command in by_path.values()
            if (declared := option(command, name))
        }
        assert types == {"Seconds"}
    networks = {tuple(declared.type.choices) for c in by_path.values()
                if (declared := option(c, "--network")) and "CFNODE_NETWORK" in declared.envvar}  # fmt: skip
    assert networks == {tuple(Networks)}


def test_each_command_knows_json() -> None:
    """Offer --json with each command."""
    assert [path for path, command in commands() if not option(command, "--json")] == []


def test_what_follows_a_swap_needs_no_broker() -> None:
    """Offer --commission only where a swap is priced or a partner's share is set."""
    by_path = dict(commands())
    assert [path for path, command in by_path.items() if option(command, "--commission")] == [
        "swap quote",
        "swap request",
        "ledger partner add",
        "ledger partner change",
    ]


def test_the_node_is_named_once_for_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the node from CFNODE_URL, from ws:// as from http://, and from --node before both."""
    with serving(echo) as url:
        monkeypatch.setenv("CFNODE_URL", url)
        assert json.loads(run("rpc", "m")[1]) == ["m", []]
        assert json.loads(run("rpc", "m", "--node", url.replace("http", "ws"))[1]) == ["m", []]
        code, _, err = run("rpc", "m", "--node", NOWHERE)
        assert (code, "no answer from http://127.0.0.1:1" in err) == (5, True)


@pytest.mark.parametrize(
    "wrong", ["localhost:9944", "ftp://host", "http://", "http://host:port", "http://[::1"]
)
def test_a_malformed_node_address_is_refused_at_once(wrong: str) -> None:
    """Refuse a node's address without scheme or host, with another scheme or a bad port, in each command."""
    for line in (("rpc", "m"), ("wait",), ("dev", "seal"), ("swap", "status", "1"), ("inspect-runtime",)):
        code, _, err = run(*line, "--node", wrong)
        assert (code, "Invalid value for '--node' / '--url'" in err) == (2, True), err


def test_the_command_line_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database or a file that is named on the command line is read, whatever CFNODE_URL says."""
    monkeypatch.setenv("CFNODE_URL", NOWHERE)
    code, _, err = run("inspect-runtime", "--chain", "/no/such/file")
    assert (code, "/no/such/file" in err) == (3, True)
    code, _, err = run("export-state", "--dev", "--base-path", "/no/such/folder")
    assert (code, "/no/such/folder" in err) == (1, True)
    assert run("inspect-runtime")[0] == 5
    for line in (("inspect-runtime", "--chain=x"), ("export-state", "--base-path=x")):
        code, _, err = run(*line, "--node", NOWHERE)
        assert (code, "--node exclude each other" in err) == (2, True)


@pytest.mark.parametrize("wrong", ["nan", "inf", "0", "-1", "1e9", "soon", "1,5"])
def test_no_command_waits_without_a_bound(wrong: str) -> None:
    """Refuse times that are no number, not finite, zero, or above a day."""
    for line in (("rpc", "m", "--timeout"), ("dev", "seal", "--timeout"), ("swap", "watch", "1", "--every")):
        code, _, err = run(*line, wrong)
        assert (code, "is not a number of seconds: " in err) == (2, True), err
        assert ("give one from 0.1 to 86400" in err) == ("," not in wrong), err
    assert "instead of the comma, such as 1.5" in run("wait", "--timeout", "1,5")[2]


@pytest.mark.parametrize(
    ("line", "code", "name", "words"),
    [
        (("rpc", "m", "--node", NOWHERE), 5, "UNREACHABLE", "no answer from"),
        (("rpc", "m", "--named={"), 2, "USAGE", "--named: '{' is not JSON: write parameters by name"),
        (("rpc", "m", "--timeout", "x"), 2, "USAGE", "not a number of seconds"),
        (("dev", "seal", "--node", NOWHERE), 5, "UNREACHABLE", "no answer from"),
        (("dev", "saele"), 2, "USAGE", "Did you mean 'seal'?"),
        (("dev", "price", "Etc", "1"), 2, "USAGE", "Unknown asset 'Etc'. Did you mean"),
        (("inspect-runtime",), 2, "USAGE", "give --chain or --node"),
        (("inspect-runtime", "--chain=/no/such/file"), 3, "CONFIGURATION", "/no/such/file"),
        (("swap", "quote", "BTC", "Etc", "1"), 2, "USAGE", "Unknown asset 'Etc'"),
        (("swap", "quote", "BTC", "ETH", "1", "--network=main"), 2, "USAGE", "Did you mean mainnet?"),
        (("export-chain-spec", "--chain=/no/such/file"), 3, "CONFIGURATION", "/no/such/file"),
        (("key", "inspect", "no phrase"), 1, "FAILURE", "Invalid phrase/URI given"),
        (("purge-chain", "--chain=/no/such/file"), 3, "CONFIGURATION", "/no/such/file"),
    ],
)
def test_an_error_is_an_object_where_json_is_asked_for(
    line: tuple[str, ...], code: int, name: str, words: str
) -> None:
    """Print one JSON object with a code on standard output, or one text on standard error."""
    exit_code, out, err = run(*line, "--json")
    error = json.loads(out)["error"]
    assert (exit_code, err, error["code"]) == (code, "", name)
    assert words in error["message"]
    exit_code, out, err = run(*line)
    assert (exit_code, out) == (code, "")
    assert words in err


def types(kind: click.ParamType[Any]) -> Sequence[Any]:
    """Return the types of the values that a parameter takes."""
    return kind.types if isinstance(kind, click.Tuple) else [kind]


def test_no_number_is_read_from_more_than_digits() -> None:
    """Python itself reads `1_0` as 10, and digits of any script."""
    all_commands = [*commands(), ("run", cli.get_command(click.Context(cli), "run"))]
    numbers: list[tuple[str, Any]] = [
        (f"{path} {param.name}", kind)
        for path, command in all_commands
        if command is not None
        for param in command.params
        for kind in types(param.type)
        if isinstance(kind, click.types.IntParamType | click.types.FloatParamType | Units | Seconds)
    ]
    assert len(numbers) > 60
    for name, kind in numbers:
        for wrong in ("1_0", "١٠", "1 0", "0x10", ""):
            with pytest.raises(click.BadParameter):
                pytest.fail(f"{name} reads {wrong!r} as {kind.convert(wrong, None, None)}")


METHODS = {"methods": ["system_health", "cf_account_info", "cf_accounts"], "version": 1}


@pytest.mark.parametrize(
    ("method", "hint"),
    [
        ("system_helth", " Did you mean system_health?"),
        ("CF_Account_Info", " Did you mean cf_account_info or cf_accounts?"),
        ("system_health", ""),
        ("zzz", ""),
    ],
)
def test_a_method_that_the_node_lacks_is_answered_with_those_like_it(method: str, hint: str) -> None:
    """Suggest methods of the node that are spelled or begin like the unknown one."""

    def answer(request: dict[str, Any]) -> bytes:
        if request["method"] == "rpc_methods":
            return result(METHODS)
        return b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'

    with serving(answer) as url:
        assert run("rpc", method, "--node", url) == (
            *(1, ""),
            f"Error: {method}: Method not found [code -32601]{hint}\n",
        )
        error = json.loads(run("rpc", method, "--node", url, "--json")[1])["error"]
    assert error["rpc"] == {"code": -32601, "message": "Method not found"}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (("purge",), " Did you mean 'purge-chain'?"),
        (("RPCC",), " Did you mean 'rpc'?"),
        (("swap", "qoute"), " Did you mean 'quote'?"),
        (("quote",), " Did you mean 'cfnode swap quote'?"),
        (("seal",), " Did you mean 'cfnode dev seal'?"),
        (("key", "insrt"), " Did you mean 'insert' or 'list' or 'inspect'?"),
        (("xyzzy",), None),
    ],
)
def test_an_unknown_command_is_answered_with_those_like_it(line: tuple[str, ...], hint: str | None) -> None:
    """Suggest commands that are spelled alike, also from other groups."""
    done = CliRunner().invoke(cli, line, prog_name="cfnode")
    assert done.exit_code == 2
    step = "; `cfnode --help` lists the commands" if hint is None else f".{hint}"
    assert done.stderr.splitlines()[-1] == f"Error: No such command {line[-1]!r}{step}"


@pytest.mark.parametrize("name", ["cfnode", "chainflip-node"])
def test_the_program_has_the_name_that_it_was_started_by(name: str) -> None:
    """Print the name of the executable that was started, in version, usage and advice."""

    def printed(*arguments: str) -> str:
        program = str(Path(sys.executable).with_name(name))
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    assert printed("--version") == f"{name} {__version__}\n"
    assert printed("key", "--help").startswith(f"Usage: {name} key ")
    assert f"Try '{name} run --help' for help." in printed("--no-such-flag")
