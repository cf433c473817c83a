"""Errors with `--json`: one shape for every command, with the exit code that the command has without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import pytest

from cfnode.cli.rpc import MethodName
from cfnode.ledger.database import Database, sqlite_url
from tests.support.cli.commands import commands, option, run
from tests.support.cli.dead_node import ASKING, WAITING
from tests.support.cli.json_schemas import ERROR
from tests.support.cli.json_shapes import faults

NOWHERE = "http://127.0.0.1:1"
WRONG = "no such value"
COMMANDS = dict(commands())
FREE = (click.types.StringParamType, click.types.UnprocessedParamType, click.Path, MethodName)
"""Types that take every text."""


def error_of(*line: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and error of a command with --json: the only line of standard output."""
    code, out, err = run(*line, "--json")
    assert (err, out.count("\n")) == ("", 1), (line, out, err)
    document = json.loads(out)
    assert list(faults(document, ERROR, " ".join(line))) == []
    return code, document["error"]


@pytest.mark.parametrize("path", COMMANDS)
def test_an_unknown_option_is_an_error_as_json(path: str) -> None:
    """Print one JSON error with code USAGE for an option that the command lacks."""
    code, error = error_of(*path.split(), "--no-such-option")
    assert (code, error["code"]) == (2, "USAGE")
    wanted = "FLAGs need the COMMAND" if path == "config show" else "No such option '--no-such-option'"
    assert wanted in error["message"]


def values(command: click.Command) -> Iterator[tuple[str, list[str]]]:
    """Name of the first parameter of the command that does not take every text, and a wrong value for it."""
    for param in command.params:
        if not isinstance(param.type, FREE) and not getattr(param, "is_flag", False):
            wrong = [WRONG] * max(param.nargs, 1)
            yield param.name or "", wrong if isinstance(param, click.Argument) else [param.opts[0], *wrong]
            return


BOUNDED = {path: case for path, command in COMMANDS.items() for case in values(command)}


def test_most_commands_have_a_value_that_may_be_wrong() -> None:
    """Have a parameter with a bounded type in more than 50 commands, so that the next test says something."""
    assert len(BOUNDED) > 50


@pytest.mark.parametrize("path", BOUNDED)
def test_a_malformed_value_is_an_error_as_json(path: str) -> None:
    """Print one JSON error for a value outside the parameter's type, in each command."""
    name, words = BOUNDED[path]
    code, error = error_of(*path.split(), *words)
    assert (code, error["code"]) == (2, "USAGE"), name
    assert "value" in error["message"].lower(), name


NEEDING = [path for path, command in COMMANDS.items() if any(param.required for param in command.params)]


@pytest.mark.parametrize("path", NEEDING)
def test_a_missing_parameter_is_an_error_as_json(path: str) -> None:
    """Print one JSON error for a missing parameter, in each command that needs one."""
    code, error = error_of(*path.split())
    assert (code, error["code"]) == (2, "USAGE")
    assert "missing" in error["message"].lower()


def path_of(line: str) -> str:
    """Return the command that a line begins with."""
    return next(path for path in COMMANDS if f"{line} ".startswith(f"{path} "))


def test_each_command_that_asks_a_node_is_played_without_one() -> None:
    """Play below each command that has --node."""
    asking = {path for path, command in COMMANDS.items() if option(command, "--node")}
    assert {path_of(line) for line in (*ASKING, *WAITING)} == asking


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return URL of new books."""
    url = sqlite_url(tmp_path_factory.mktemp("books") / "ledger.sqlite")
    database = Database(url)
    database.migrate()
    database.close()
    return url


@pytest.mark.parametrize("line", ASKING)
def test_a_node_that_is_away_is_an_error_as_json(line: str, books: str) -> None:
    """Print UNREACHABLE with the address and the reason, as JSON and as text, where no node listens."""
    words = line.split()
    words += ["--node", NOWHERE, *([f"--database={books}"] if words[0] in ("ledger", "service") else [])]
    code, error = error_of(*words)
    assert (code, error["code"]) == (5, "UNREACHABLE")
    assert "Connection refused" in error["message"]
    assert NOWHERE in error["message"]
    code, out, err = run(*words)
    assert (code, out, error["message"] in err) == (5, "", True)


def test_a_variable_asks_for_json_as_the_option_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the command line is refused before its variables are read."""
    monkeypatch.setenv("CFNODE_DEV_SEAL_JSON", "true")
    for words in (("--no-such-option",), ("x",), ("--timeout",)):
        code, out, err = run("dev", "seal", *words)
        assert (code, json.loads(out)["error"]["code"], err) == (2, "USAGE", "")


@pytest.mark.parametrize("line", [("swap",), ("swap", "qoute"), ("nothing",), ("ledger", "partner", "ad")])
def test_an_unknown_command_is_an_error_as_json(line: tuple[str, ...]) -> None:
    """Print one JSON error for a group without a command, and for an unknown command."""
    code, error = error_of(*line)
    assert (code, error["code"]) == (2, "USAGE")
