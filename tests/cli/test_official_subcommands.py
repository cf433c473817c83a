"""The subcommands of the official node: the same ones, or a sentence that says what to do instead."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.official.flags import Takes, Treatment
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.official.subcommands import MISSING, SUBCOMMANDS, Subcommand
from cfnode.core import ss58
from cfnode.core.keys import Keypair, derived_public
from cfnode.core.suri import SuriError
from tests.process import running_node
from tests.support.cli.official import spellings

ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"


def run(*arguments: str, name: str = "cfnode") -> Result:
    """Run the program under a name."""
    return CliRunner().invoke(cli, arguments, prog_name=name)


def test_each_subcommand_exists_or_says_what_to_do_instead() -> None:
    """Have each official subcommand, or a sentence that says what to use instead."""
    for subcommand in SUBCOMMANDS:
        result = run(*subcommand.name.split(), "--help")
        if subcommand.name in MISSING:
            assert result.exit_code == 2
            assert f"cfnode has no command '{subcommand.name}': {subcommand.here}." in result.stderr
        else:
            assert (result.exit_code, result.stderr) == (0, ""), subcommand.name


def command_of(name: str) -> ClapCommand:
    """Return the command at a path of words."""
    command: click.Command = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        child = command.get_command(click.Context(command), word)
        assert child is not None
        command = child
    assert isinstance(command, ClapCommand)
    return command


NEEDED = {"build-spec": ["--chain=live.json"]}
"""What a command does not go without."""


@pytest.mark.parametrize(
    "subcommand",
    [subcommand for subcommand in SUBCOMMANDS if subcommand.flags],
    ids=lambda subcommand: subcommand.name,
)
def test_each_flag_of_a_subcommand_is_taken_in_every_spelling(subcommand: Subcommand) -> None:
    """Accept each flag of each subcommand in each spelling, and refuse it without its value."""
    command = command_of(subcommand.name)
    for flag in subcommand.flags:
        needed = [] if flag.name == "--chain" else NEEDED.get(subcommand.name, [])
        if flag.treatment is Treatment.REFUSED and flag.name == "--dev":
            with pytest.raises(click.UsageError, match=re.escape(flag.note)):
                command.make_context(subcommand.name, [flag.name])
            continue
        for arguments, values in spellings(flag):
            ctx = command.make_context(subcommand.name, [*needed, *arguments])
            value = ctx.params.get(flag.name.lstrip("-").replace("-", "_"))
            if flag.values and value is not None:
                assert value == values[0].lower(), arguments
        if flag.takes is not Takes.NOTHING:
            with pytest.raises(click.BadOptionUsage, match=f"'{flag.name}' requires an argument"):
                command.make_context(subcommand.name, [*needed, flag.name, "--json"])


def test_the_flags_of_subcommands_are_many_and_written_in_many_ways() -> None:
    """Count more than 530 spellings, so that the test above says something."""
    assert sum(1 for subcommand in SUBCOMMANDS for flag in subcommand.flags for _ in spellings(flag)) > 530


def test_a_missing_subcommand_says_so_whatever_follows() -> None:
    """Print the sentence for a missing subcommand, whatever arguments follow."""
    for name in MISSING:
        for arguments in (["--dev", "5"], ["--chain=dev", "--base-path", "/nowhere", "out.bin"]):
            result = run(name, *arguments)
            assert (result.exit_code, f"cfnode has no command '{name}'" in result.stderr) == (2, True)


def test_help_before_a_command_is_help_after_it() -> None:
    """Print by `help COMMAND` what `COMMAND --help` prints, under both names of the program."""
    for name in ("cfnode", "chainflip-node"):
        for before, after in (([], []), (["key"], ["key"]), (["key", "inspect"], ["key", "inspect"])):
            assert run("help", *before, name=name).stdout == run(*after, "--help", name=name).stdout
    assert run("key", "help", "insert").stdout == run("key", "insert", "--help").stdout


@pytest.mark.parametrize("arguments", [["--dev"], ["--chain", "dev"], ["--chain=berghain", "--raw"]])
def test_to_build_a_built_in_chain_specification_names_the_command_that_prints_it(
    arguments: list[str],
) -> None:
    """Name `export-chain-spec` to who wants to build a specification that is built in."""
    result = run("build-spec", *arguments)
    assert (result.exit_code, "`cfnode export-chain-spec --chain " in result.stderr) == (2, True)


def test_a_public_key_is_not_compared_with_another_one() -> None:
    """Refuse to compare a public key with an expected one."""
    result = run("key", "inspect", "--public", "0x00", "--expect-public", ALICE)
    assert (result.exit_code, "cannot be used with --public" in result.stderr) == (2, True)


def test_the_sentences_name_commands_that_exist() -> None:
    """Name in the sentences only commands that exist."""
    named = {word for sentence in MISSING.values() for word in re.findall("`cfnode ([a-z-]+)", sentence)}
    assert len(named) >= 3
    for word in named:
        assert run(word, "--help").exit_code == 0, word


def test_chain_info_prints_what_the_node_has(tmp_path: Path) -> None:
    """Print best, final and first block of a running node's database, and name one that is missing."""
    base = f"--base-path={tmp_path}/base"
    with running_node(tmp_path, base, "--dev", "--dev-seal=manual") as node:
        head = node.call("dev_newBlock")
        final = node.call("chain_getFinalizedHead")
        info = json.loads(run("chain-info", "--dev", base).stdout)
        assert list(info) == [
            "best_hash",
            "best_number",
            "genesis_hash",
            "finalized_hash",
            "finalized_number",
        ]
        assert (info["best_hash"], info["best_number"]) == (head, 1)
        assert info["genesis_hash"] == node.call("chain_getBlockHash", 0)
        assert info["finalized_hash"] == final
    absent = run("chain-info", "--dev", f"--base-path={tmp_path}/nothing")
    assert (absent.exit_code, "does not exist" in absent.stderr) == (1, True)


def test_what_other_flags_of_a_subcommand_have_no_meaning_is_said(tmp_path: Path) -> None:
    """Name the official flags that the command ignores."""
    result = run("purge-chain", "--dev", "-y", "-d", str(tmp_path), "--db", "RocksDb", "-l", "info")
    assert result.exit_code == 0
    assert "Ignoring --database, which has no meaning for this command.\n" in result.stderr


def test_a_subcommand_does_not_take_a_flag_for_a_value() -> None:
    """`-y` was the base path, and the command asked."""
    result = run("purge-chain", "--dev", "--base-path", "-y")
    assert (result.exit_code, "'--base-path' requires an argument" in result.stderr) == (2, True)


# keys


def inspected(*arguments: str) -> dict[str, Any]:
    """Return what `key inspect` prints as JSON."""
    result = run("key", "inspect", *arguments, "--output-type", "Json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("path", ["/soft", "/0/polkadot", "/" + "long" * 20])
def test_an_address_leads_to_the_keys_below_it(path: str) -> None:
    """Derive the public keys of soft junctions from an address, without its secret."""
    below = Keypair.from_suri(f"//Alice{path}")
    key_document = inspected(ALICE + path)
    assert key_document["publicKey"] == "0x" + below.public.hex()
    assert key_document["ss58Address"] == ss58.encode(below.account, 42)
    assert key_document["publicKeyUri"] == ALICE + path
    assert derived_public(Keypair.from_suri("//Alice").public, path) == below.public


def test_only_the_secret_leads_through_a_hard_junction() -> None:
    """Refuse a hard junction below a public key, and any below ed25519."""
    result = run("key", "inspect", f"{ALICE}//hard")
    assert (result.exit_code, "only the secret leads through a hard junction" in result.stderr) == (1, True)
    with pytest.raises(SuriError, match="ed25519 has no soft junctions"):
        derived_public(bytes(32), "/soft", "ed25519")


@pytest.mark.parametrize("scheme", ["Sr25519", "ED25519", "ecdsa"])
def test_one_key_of_any_scheme_is_generated_as_the_official_node_does(scheme: str) -> None:
    """Print a new key of each scheme as `key inspect` prints it, with its password and network."""
    flags = ("--scheme", scheme, "-n", "Polkadot", "--password", "12345", "--output-type", "Json", "-w", "24")
    made = json.loads(run("key", "generate", *flags).stdout)
    assert len(made["secretPhrase"].split()) == 24
    key_document = inspected(
        made["secretPhrase"], "--scheme", scheme, "-n", "polkadot", "--password", "12345"
    )
    assert made == key_document
    assert made["networkId"] == "polkadot"


def test_under_the_official_name_a_key_is_printed_in_the_official_form() -> None:
    """Scripts read the line `Secret seed`."""
    lines = run("key", "generate", name="chainflip-node").stdout.splitlines()
    labels = [line.partition(":")[0].strip() for line in lines]
    assert labels == ["Secret phrase", "Network ID", "Secret seed", "Public key (hex)", "Account ID",
                      "Public key (SS58)", "SS58 Address"]  # fmt: skip
    assert json.loads(run("key", "generate").stdout).keys() >= {"seed_phrase", "node_key", "ethereum_key"}
