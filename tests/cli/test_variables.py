"""The variable of each flag of each command: its name, its effect, and that it belongs to one flag."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import click
import pytest

from cfnode.cli import cli
from cfnode.cli.settings.names import SHARED, commands_below, key_of, options_of, variables_of
from cfnode.cli.settings.secrets import takes_secret
from tests.support.cli.shell import Shell

WRITTEN = {
    "checkpoint": f"0x{'ab' * 32}:1",
    "listen-addr": "/ip4/0.0.0.0/tcp/1",
    "public-addr": "/ip4/0.0.0.0/tcp/1",
}
"""Values of flags that are checked by a function of their own."""


@pytest.fixture
def cfnode(tmp_path: Path) -> Shell:
    """Return the program in a home of its own."""
    return Shell(tmp_path)


def flags() -> list[tuple[tuple[str, ...], click.Option]]:
    """Return each option that `--help` lists, with its command."""
    with click.Context(cli) as ctx:
        options = [
            (path, option) for path, command in commands_below(cli, ctx) for option in options_of(command)
        ]
    return [(path, option) for path, option in options if not option.hidden]


def value_of(option: click.Option) -> str | None:
    """Return a value that the option accepts, None if this cannot be known."""
    if key_of(option) in WRITTEN:
        return WRITTEN[key_of(option)]
    if option.is_bool_flag:
        return "true"
    if isinstance(option.type, click.Choice):
        return str(option.type.choices[-1])
    if isinstance(option.type, click.IntRange):
        return str(option.type.max or 1_000)
    if isinstance(option.default, (str, int, float)):
        return str(option.default)
    return "text" if isinstance(option.type, type(click.STRING)) and option.callback is None else None


def test_each_flag_has_a_variable_that_sets_it(cfnode: Shell) -> None:
    """All at once: every flag whose type allows to make up a value is read from its variable."""
    expected = dict[str, tuple[str, str]]()
    for path, option in flags():
        value = value_of(option)
        if value is not None:
            name = "_".join(("CFNODE", *path, key_of(option))).replace("-", "_").upper()
            cfnode.variables[name] = value
            expected[name] = " ".join(path), key_of(option)
    assert len(expected) > 200
    code, out, err = cfnode("config", "show", "--json")
    assert (code, err) == (0, "")
    variables = {
        row["variable"]: (path, row["key"])
        for path, rows in json.loads(out)["commands"].items()
        for row in rows
    }
    assert variables == expected


def test_no_variable_belongs_to_two_flags() -> None:
    """Keep each variable for one flag, except those that are declared as shared."""
    owners = defaultdict(set)
    for path, option in flags():
        for name in variables_of(path, option):
            owners[name].add((path, key_of(option)))
    several = {name: places for name, places in owners.items() if len(places) > 1}
    assert several.keys() == SHARED.keys()
    for name, places in several.items():
        assert {key for _, key in places} == {SHARED[name]}


@pytest.mark.parametrize(
    ("variable", "value", "path", "key", "expected"),
    [
        ("CFNODE_BASE_PATH", "/x", "run", "base-path", "/x"),
        ("CFNODE_BASE_PATH", "/x", "purge-chain", "base-path", "/x"),
        ("CFNODE_PURGE_CHAIN_BASE_PATH", "/x", "purge-chain", "base-path", "/x"),
        ("CFNODE_LOG", "info grandpa=off", "run", "log", ["info", "grandpa=off"]),
        ("CFNODE_PRIVATE_IP", "false", "run", "allow-private-ip", False),
        ("CFNODE_ALLOW_PRIVATE_IP", "yes", "run", "allow-private-ip", True),
        ("CFNODE_DEV", "1", "run", "dev", True),
        ("CFNODE_NETWORK", "dev", "swap quote", "network", "dev"),
        ("CFNODE_URL", "ws://127.0.0.1:1", "dev seal", "node", "ws://127.0.0.1:1"),
        ("CFNODE_DEV_SEAL_NODE", "http://127.0.0.1:1", "dev seal", "node", "http://127.0.0.1:1"),
    ],
)
def test_the_longer_the_shorter_and_the_shared_variables(
    cfnode: Shell, variable: str, value: str, path: str, key: str, expected: object
) -> None:
    """Read a flag from its long, its short and its shared variable."""
    cfnode.variables[variable] = value
    row = cfnode.in_force(*path.split())[key]
    assert row == {"value": expected, "source": "variable", "variable": variable}


def test_the_variable_of_a_command_precedes_the_shared_one(cfnode: Shell) -> None:
    """Let the command's own variable precede the shared one, and leave other commands to that."""
    cfnode.variables = {"CFNODE_URL": "http://127.0.0.1:1", "CFNODE_WAIT_NODE": "http://127.0.0.1:2"}
    assert cfnode.in_force("wait")["node"]["variable"] == "CFNODE_WAIT_NODE"
    assert cfnode.in_force("status")["node"]["variable"] == "CFNODE_URL"


def test_what_takes_a_secret_is_known_by_its_name() -> None:
    """Know the flags that take a secret, and none that only names a file or an account of a contract."""
    secret = {(" ".join(path), key_of(option)) for path, option in flags() if takes_secret(option)}
    assert secret >= {
        ("run", "node-key"),
        ("run", "dev-broker"),
        ("run", "dev-authorities"),
        ("key insert", "suri"),
        ("key insert", "password"),
        ("key inspect", "password"),
        ("key generate", "seed-phrase"),
        ("build-spec", "dev-authorities"),
    }
    keys = {key for _, key in secret}
    assert keys.isdisjoint({"node-key-file", "password-filename", "key-type", "dev-evm-key-manager", "key"})


@pytest.mark.parametrize(
    ("flag", "metavar", "expected"),
    [
        ("--rpc-auth-token", "TEXT", True),
        ("--rpc-tokens", None, True),
        ("--rpc-api-key", None, True),
        ("--rpc-keys", "KEY,KEY", True),
        ("--rpc-keys-file", None, False),
        ("--rpc-secrets", "FILE", False),
        ("--rpc-token-dir", None, False),
        ("--rpc-access", "SECRET|FILE", True),
        ("--rpc-keyring", None, False),
    ],
)
def test_a_new_flag_is_secret_by_its_words(flag: str, metavar: str | None, expected: bool) -> None:
    """Know a secret by the words of a new flag, and exempt files, folders and switches."""
    assert takes_secret(click.Option([flag], metavar=metavar)) is expected
    assert not takes_secret(click.Option([flag], is_flag=True))
