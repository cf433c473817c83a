"""Each flag of the official node, in every spelling, between two other flags that must stay as they are."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import click
import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.cli.accepted import ignored_flags
from cfnode.cli.official.flags import BY_NAME, EXCLUDING, FLAGS, Flag, Takes, Treatment
from cfnode.cli.official.grammar import ClapOption
from tests.lengths import repeats
from tests.support.cli.official import RUN, parsed, spellings

BEFORE, AFTER = ("--rpc-port", "1234"), ("--rpc-max-connections", "77")


def option(flag: Flag) -> ClapOption:
    """Return the option of `run` that a flag of the official node names."""
    parameter = next(param for param in RUN.params if flag.name in (*param.opts, *param.secondary_opts))
    assert isinstance(parameter, ClapOption)
    return parameter


def given(ctx: click.Context, flag: Flag) -> Any:
    """Return the value of the option as text, as the test's samples have it."""
    value = ctx.params[option(flag).name or ""]
    return [str(item) for item in value] if isinstance(value, tuple) else str(value)


def test_each_flag_is_accepted_in_every_spelling_and_takes_nothing_from_its_neighbours() -> None:
    """Accept each official flag in each spelling, refuse those marked so, and leave the flags around it."""
    tried = 0
    for flag in FLAGS:
        for arguments, values in islice(spellings(flag), None, None, repeats(1, 3)):
            if flag.treatment is Treatment.REFUSED:
                with pytest.raises(click.UsageError, match=re.escape(f"{flag.name}: {flag.note}")):
                    parsed(*BEFORE, *arguments, *AFTER)
            else:
                check_accepted(flag, arguments, values)
            tried += 1
    assert tried > repeats(480, 160)


def check_accepted(flag: Flag, arguments: list[str], values: list[str]) -> None:
    """Assert that a flag has its value, and that the flags before and after it have theirs."""
    before = () if flag.name == BEFORE[0] else BEFORE
    after = () if flag.name == AFTER[0] else AFTER
    ctx = parsed(*before, *arguments, *after)
    assert not before or ctx.params["rpc_port"] == 1234
    assert not after or ctx.params["rpc_max_connections"] == 77
    assert ignored_flags(ctx) == ([flag.name] if flag.treatment is Treatment.IGNORED else [])
    if flag.treatment is not Treatment.SAME:
        return
    if flag.takes is Takes.NOTHING:
        assert ctx.params[option(flag).name or ""] is (flag.name not in option(flag).secondary_opts), (
            arguments
        )
    elif flag.values:
        assert given(ctx, flag) in flag.values
        assert given(ctx, flag) == values[0].lower(), arguments
    elif flag.name not in ("--blocks-pruning", "--state-pruning"):
        assert given(ctx, flag) == (values if flag.takes is Takes.SEVERAL else values[0]), arguments


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.takes in (Takes.ONE, Takes.SEVERAL)],
                         ids=lambda flag: flag.name)  # fmt: skip
def test_a_flag_without_its_value_does_not_take_the_next_flag(flag: Flag) -> None:
    """Refuse a flag that lacks its value instead of taking the next flag for it."""
    for name in flag.spellings:
        with pytest.raises(click.BadOptionUsage, match=f"'{name}' requires an argument"):
            parsed(name, "--rpc-methods=safe")
        with pytest.raises(click.BadOptionUsage, match=f"'{name}' requires an argument"):
            parsed("--rpc-methods=safe", name)


EXECUTION_PARTS = ("syncing", "import-block", "block-construction", "offchain-worker", "other")
SAMPLES = {
    "--execution": ["--execution", "Native"],
    **{f"--execution-{part}": [f"--execution-{part}=wasm"] for part in EXECUTION_PARTS},
    "--port": ["--port", "1"],
    "--listen-addr": ["--listen-addr=/ip4/127.0.0.1/tcp/0"],
    "--allow-private-ip": ["--allow-private-ipv4"],
    "--no-private-ip": ["--no-private-ip"],
    "--rpc-disable-batch-requests": ["--rpc_no_batch_requests"],
    "--rpc-max-batch-request-len": ["--rpc-max-batch-request-len=7"],
}


@pytest.mark.parametrize("group", EXCLUDING, ids="-".join)
def test_flags_that_exclude_each_other_are_refused_together(group: tuple[str, str]) -> None:
    """Refuse two flags that exclude each other, in either order."""
    for first, second in (group, group[::-1]):
        text = re.escape(f"{second} cannot be used with {first}: give one of them")
        with pytest.raises(click.UsageError, match=text):
            parsed(*SAMPLES[first], "--rpc-methods=safe", *SAMPLES[second])
        assert parsed(*SAMPLES[first], *SAMPLES[first])


def test_the_last_of_two_equal_flags_counts() -> None:
    """Take the last of two equal flags, as the official node does."""
    assert parsed("--rpc-port", "1", "--dev", "--dev", "--rpc-port=2").params["rpc_port"] == 2


@pytest.mark.parametrize("name", ["a.b@c", "https://node.example", "n" * 64])
def test_a_name_that_the_official_node_refuses_is_accepted(name: str) -> None:
    """Accept a node's name that the official node refuses, since nothing here depends on it."""
    assert parsed("--name", name).params["name"] == name


def test_a_flag_overrides_an_excluded_one_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a flag of the command line stand where a variable sets one that it excludes."""
    monkeypatch.setenv("CFNODE_PORT", "30444")
    address = "/ip4/127.0.0.1/tcp/0"
    ctx = RUN.make_context("run", [f"--listen-addr={address}"], auto_envvar_prefix="CFNODE")
    assert (ctx.params["port"], [str(address) for address in ctx.params["listen_addr"]]) == (30444, [address])


def test_warming_the_cache_does_not_start_an_unsafe_node() -> None:
    """It takes no value or one, and took the next flag for it: the node allowed unsafe methods."""
    for words in ([], ["blocking"], ["non-blocking"]):
        ctx = parsed("--warm-up-trie-cache", *words, "--rpc-methods=safe")
        assert ctx.params["rpc_methods"] == "safe"
        assert ignored_flags(ctx) == ["--warm-up-trie-cache"]


def test_values_that_the_official_node_compares_exactly_are_not_accepted_in_other_cases() -> None:
    """Refuse "Archive" in capitals where the official node compares the letters exactly."""
    for flag, value in (("--blocks-pruning", "Archive"), ("--state-pruning", "Archive-Canonical")):
        with pytest.raises(click.BadParameter):
            parsed(flag, value)


def test_a_value_in_any_case_may_come_from_a_variable_and_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Accept values in any case from a file and from a variable, and store them in lower case."""
    file = tmp_path / "node.toml"
    file.write_text('[run]\nsync = "Warp"\nrpc-methods = "SAFE"\nlog-format = "JSON"\n')
    printed = CliRunner().invoke(cli, ["config", "show", "run", "--config", str(file)], prog_name="cfnode")
    assert (printed.exit_code, printed.stderr) == (0, "")
    monkeypatch.setenv("CFNODE_RPC_METHODS", "Unsafe")
    ctx = RUN.make_context("run", [], auto_envvar_prefix="CFNODE")
    assert ctx.params["rpc_methods"] == "unsafe"


def test_a_file_with_another_name_of_a_flag_is_told_the_first_one(tmp_path: Any) -> None:
    """Name the first spelling of a flag where the file has another one."""
    file = tmp_path / "node.toml"
    file.write_text("[run]\npruning = 100\nno-private-ipv4 = true\n")
    refused = CliRunner().invoke(cli, ["config", "check", str(file)], prog_name="cfnode")
    assert refused.exit_code == 3
    assert "Write state-pruning" in refused.stderr
    assert "Write allow-private-ip = false" in refused.stderr


@pytest.mark.parametrize("name", ["--validator", "--alice"])
def test_what_makes_an_authority_needs_a_development_chain(name: str) -> None:
    """Refuse to author blocks of a live chain, where this node only follows."""
    refused = CliRunner().invoke(cli, ["run", name], prog_name="cfnode")
    assert (refused.exit_code, f"{name} needs --dev: cfnode follows" in refused.stderr) == (2, True)


def test_each_option_of_the_official_node_has_a_row() -> None:
    """An option of `cfnode run` whose name is an official one takes what its row says."""
    own = {name for param in RUN.params for name in (*param.opts, *param.secondary_opts)}
    assert [flag.name for flag in FLAGS if flag.name not in own] == []
    assert len(BY_NAME) == len(FLAGS)
    assert len({name for flag in FLAGS for name in flag.spellings}) == sum(len(f.spellings) for f in FLAGS)
