"""The configuration file: what it sets, what is refused in it, and how `cfnode config` prints both."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from tests.documentation import block
from tests.support.cli.shell import Shell

SEED = "0x" + "5c" * 32
PHRASE = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"


@pytest.fixture
def cfnode(tmp_path: Path) -> Shell:
    """Return the program in a home of its own."""
    return Shell(tmp_path)


def test_the_command_line_precedes_a_variable_which_precedes_the_file(cfnode: Shell) -> None:
    """Take a value from the flag, else the command's variable, the shared one, the file, the default."""
    file = cfnode.file("[run]\nrpc-port = 1\n")
    as_file = {"value": 1, "source": "file", "file": file, "line": 2}
    assert cfnode.in_force("run", "--config", file)["rpc-port"] == as_file
    cfnode.variables["CFNODE_RPC_PORT"] = "2"
    assert cfnode.in_force("run", "--config", file)["rpc-port"] == {
        "value": 2, "source": "variable", "variable": "CFNODE_RPC_PORT"}  # fmt: skip
    cfnode.variables["CFNODE_RUN_RPC_PORT"] = "3"
    assert cfnode.in_force("run", "--config", file)["rpc-port"]["variable"] == "CFNODE_RUN_RPC_PORT"
    row = cfnode.in_force("run", "--rpc-port=4", "--config", file)["rpc-port"]
    assert row == {"value": 4, "source": "flag"}
    assert cfnode.in_force("run")["pool-limit"] == {"value": 8192, "source": "default"}


def test_a_command_uses_what_the_file_sets(cfnode: Shell) -> None:
    """The nearest section counts: that of the command, that of its group, what is above all sections."""
    nowhere = "http://127.0.0.1:{}"
    file = cfnode.file(f'node = "{nowhere.format(1)}"\n[wait]\ntimeout = 0.1\njson = true\n')
    code, out, _ = cfnode("wait", "--config", file)
    assert (code, json.loads(out)["error"]["code"]) == (5, "UNREACHABLE")
    assert "after 0.1 s: no answer from http://127.0.0.1:1" in json.loads(out)["error"]["message"]
    file = cfnode.file(
        f'node = "{nowhere.format(1)}"\n'
        f'[dev]\nnode = "{nowhere.format(2)}"\n[dev.seal]\nnode = "{nowhere.format(3)}"\n'
    )
    for line, port in (("rpc m", 1), ("dev epoch", 2), ("dev seal", 3)):
        code, _, err = cfnode(*line.split(), "--config", file)
        assert (code, f"no answer from {nowhere.format(port)}:" in err) == (5, True), err
    cfnode.variables["CFNODE_URL"] = nowhere.format(4)
    assert nowhere.format(4) in cfnode("dev", "seal", "--config", file)[2]


def test_the_file_is_named_by_a_flag_a_variable_or_lies_in_its_place(cfnode: Shell) -> None:
    """Take the file of --config first, then of CFNODE_CONFIG, of XDG_CONFIG_HOME, of ~/.config."""
    cfnode.file("[wait]\ntimeout = 1\n", ".config/cfnode/config.toml")
    cfnode.file("[wait]\ntimeout = 2\n", "xdg/cfnode/config.toml")
    third, fourth = (cfnode.file(f"[wait]\ntimeout = {n}\n", f"{n}.toml") for n in (3, 4))
    assert cfnode.in_force("wait")["timeout"]["value"] == 1
    cfnode.variables["XDG_CONFIG_HOME"] = str(cfnode.home / "xdg")
    assert cfnode.in_force("wait")["timeout"]["value"] == 2
    cfnode.variables["CFNODE_CONFIG"] = third
    assert cfnode.in_force("wait")["timeout"]["value"] == 3
    assert cfnode.in_force("wait", "--config", fourth)["timeout"]["value"] == 4
    out = cfnode("--config", fourth, "config", "show")[1]
    assert out.splitlines()[0] == f"configuration file: {fourth}"
    assert cfnode.in_force("wait", "--config", os.devnull)["timeout"]["value"] == 60


def test_the_flag_may_precede_the_command_and_flags_alone_mean_run(cfnode: Shell) -> None:
    """Accept --config before the command, where flags without a command mean `run`; name a missing file."""
    wrong = cfnode.file("[run]\ncheckpont = 1\n[wait]\ntimeot = 1\n")
    for line in (("--config", wrong), (f"--config={wrong}", "--dev"), ("--dev", "--config", wrong)):
        assert cfnode(*line)[2] == f"Error: {wrong}:2: run.checkpont: unknown key. Did you mean checkpoint?\n"
    assert "wait.timeot" in cfnode("--config", wrong, "wait")[2]
    missing = str(cfnode.home / "missing.toml")
    assert cfnode("--config", missing, "wait") == (
        *(3, ""),
        f"Error: cannot read {missing}: No such file or directory; check the path\n",
    )


def test_a_malformed_variable_of_json_is_refused(cfnode: Shell) -> None:
    """Refuse a variable for --json that is neither true nor false, and name the variable."""
    cfnode.variables["CFNODE_WAIT_JSON"] = "maybe"
    code, out, err = cfnode("wait")
    assert (code, out) == (2, "")
    assert "Invalid value for '--json'" in err and "(--json comes from CFNODE_WAIT_JSON)" in err


def test_a_mistake_in_the_section_of_another_command_stops_only_that_command(cfnode: Shell) -> None:
    """Run other commands of a file with a fault in one command's section, and refuse only that one."""
    file = cfnode.file("[swap.quote]\ncommision = 1\n[wait]\ntimeout = 2\n")
    assert cfnode.in_force("wait", "--config", file)["timeout"]["value"] == 2
    code, _, err = cfnode("swap", "quote", "btc", "eth", "1", "--config", file)
    assert (code, err) == (
        3,
        f"Error: {file}:2: swap.quote.commision: unknown key. Did you mean commission?\n",
    )


FAULTS = {
    "chian = 'dev'": "1: chian: unknown key. Did you mean chain?",
    "rpc-port = 1": "1: rpc-port: unknown key. Above all sections there may be base-path, chain, eth-rpc, "
    "lp-account, network, token-file, node; flags are in sections, as [run].",
    "[runn]": "1: runn: unknown section [runn]. Did you mean run?",
    "\n[swap.qoute]": "2: swap.qoute: unknown section [swap.qoute]. Did you mean quote?",
    "[[run]]": "1: run: this is a section: write [run] and its keys below it",
    "[run.rpc]\nport = 1": "1: run.rpc: unknown section [run.rpc].",
    "[config.show]\njson = true": "1: config: unknown section [config].",
    "[run]\ncheckpont = 1": "2: run.checkpont: unknown key. Did you mean checkpoint?",
    "[wait]\nurl = 'http://x'": "2: wait.url: unknown key. Write node",
    "[run]\nno-private-ip = true": "2: run.no-private-ip: unknown key. Write allow-private-ip = false",
    "run.rpc-port = 'x'": "1: run.rpc-port: give an integer, not a text",
    "[run]\ndev = 'yes'": "2: run.dev: give true or false, not a text",
    "[run]\nlog = 'info'": '2: run.log: give a list, as in ["…"], not a text',
    "[run]\nname = 2026-01-31": "2: run.name: give a text in quotes or a number, not a date or time",
    "[run]\nrpc-port = 70000": "2: run.rpc-port: 70000 is too large: give a whole number from 0 to 65535",
    "[run]\nbootnodes = [\n '/ip4/1.2.3.4/tcp/1']": "2: run.bootnodes: '/ip4/1.2.3.4/tcp/1' lacks",
    "[run]\nblocks-pruning = 0": "2: run.blocks-pruning: '0' is neither a number of blocks",
    "[swap]\nnetwork = 'main'": "2: swap.network: Unknown value 'main'. Did you mean mainnet?",
    "[wait]\ntimeout = nan": "2: wait.timeout: 'nan' is not a number of seconds",
    "[run]\nbob = true": "2: run.bob: --bob: the keys of a development chain are those of",
    "[run]\nrpc-port = ": "2: not TOML: Invalid value",
    "[run]\ndev = true\ndev = true": "3: not TOML: Cannot overwrite a value",
}


@pytest.mark.parametrize("text", FAULTS)
def test_each_mistake_is_refused_with_file_line_and_key(cfnode: Shell, text: str) -> None:
    """Name file, line and key of each mistake, and what to write instead."""
    file = cfnode.file(f"{text}\n")
    code, out, err = cfnode("config", "check", file)
    assert (code, out) == (3, "")
    assert err.startswith(f"Error: {file}:{FAULTS[text]}"), err


def test_all_mistakes_are_reported_at_once_and_as_json(cfnode: Shell) -> None:
    """Report all mistakes of a file at once, as lines or as one JSON object."""
    file = cfnode.file("[run]\ncheckpont = 1\ndev = 1\n[wiat]\n")
    assert cfnode("config", "check", file)[2].count("\n") == 3
    error = json.loads(cfnode("config", "check", file, "--json")[1])["error"]
    assert (error["code"], error["file"]) == ("CONFIGURATION", file)
    assert [(problem["line"], problem["key"]) for problem in error["errors"]] == [
        *((2, "run.checkpont"), (3, "run.dev"), (4, "wiat"))
    ]


def test_a_file_that_is_no_text_or_too_large_is_refused(cfnode: Shell) -> None:
    """Refuse a file that is not UTF-8, is above 1 MiB or is a folder."""
    file = cfnode.file("")
    Path(file).write_bytes(b"[run]\nname = '\xff'\n")
    assert f"{file}:2: this is not UTF-8 text" in cfnode("config", "check", file)[2]
    Path(file).write_bytes(b"#" * (1 << 20) + b"\n")
    assert f"{file} is larger than 1048576 bytes" in cfnode("config", "check", file)[2]
    assert cfnode("config", "check", str(cfnode.home))[2].endswith("Is a directory; check the path\n")


@pytest.mark.parametrize(
    ("section", "key", "value", "instead"),
    [
        ("run", "node-key", "5c" * 32, "write node-key-file"),
        ("run", "dev-broker", PHRASE, "write its name as dev-broker"),
        ("run", "dev-broker", "//Alice///hunter2", "write its name as dev-broker"),
        ("run", "dev-authorities", f"//Alice,{SEED}", "write its name as dev-authorities"),
        ("key.insert", "suri", SEED, "write suri-file"),
        ("key.insert", "suri", SEED[2:], "write suri-file"),
        ("key.insert", "password", "hunter2", "write password-filename"),
        ("key.inspect", "password", "hunter2", "write password-filename"),
        ("key.generate", "seed-phrase", PHRASE, "write its name as seed-phrase"),
        ("build-spec", "dev-authorities", PHRASE, "use the variable CFNODE_BUILD_SPEC_DEV_AUTHORITIES"),
        ("recover", "eth-rpc", "https://me:hunter2@node.example", "use the variable CFNODE_RECOVER_ETH_RPC"),
    ],
)
def test_a_secret_is_refused_and_not_repeated(
    cfnode: Shell, section: str, key: str, value: str, instead: str
) -> None:
    """Refuse a secret in the file without printing it, and name the file or variable to use."""
    file = cfnode.file(f'[{section}]\n{key} = "{value}"\n')
    code, out, err = cfnode("config", "check", file)
    assert code == 3
    reason = f"{file}:2: {section}.{key}: a secret must not be in a configuration file: "
    assert reason in err and instead in err
    assert value not in out + err and "hunter2" not in err


def test_names_of_secret_files_and_public_development_keys_are_no_secrets(cfnode: Shell) -> None:
    """Accept names of key files and the keys of development accounts, which everyone knows."""
    file = cfnode.file(
        '[run]\ndev-broker = "//Alice"\ndev-authorities = 3\nnode-key-file = "~/node_key"\n'
        '[key.insert]\nsuri = "keys/signing_key_file"\n[build-spec]\ndev-authorities = "//Alice,//Bob"\n'
    )
    assert cfnode("config", "check", file) == (0, f"{file} is correct: 5 values\n", "")
    assert cfnode.in_force("run", "--config", file)["node-key-file"]["value"] == f"{cfnode.home}/node_key"


def test_secrets_are_hidden_in_what_is_in_force(cfnode: Shell) -> None:
    """Print stars for secrets from variables, addresses and arguments, as lines and as JSON."""
    cfnode.variables |= {
        "CFNODE_NODE_KEY": "5c" * 32,
        "CFNODE_RUN_DEV_BROKER": PHRASE,
        "CFNODE_KEY_INSERT_PASSWORD": "hunter2",
        "CFNODE_URL": "http://me:hunter2@127.0.0.1:1",
    }
    for form in ((), ("--json",)):
        code, out, err = cfnode("config", "show", *form)
        assert code == 0
        for variable, secret in cfnode.variables.items():
            assert variable in out
            assert secret not in out + err
        assert "hunter2" not in out
        assert "********" in out
    assert PHRASE not in "".join(cfnode("config", "show", "key", "insert", "--suri", PHRASE)[1:])


def test_lines_name_the_value_and_its_source(cfnode: Shell) -> None:
    """Print each value with its variable, its file and line, or its flag; defaults only for one command."""
    file = cfnode.file('[run]\nlog = [\n "info",\n "grandpa=off",\n]\n\n[wait]\ntimeout = 5\n')
    cfnode.variables = {"CFNODE_CONFIG": file, "CFNODE_RPC_METHODS": "safe", "CFNODE_DB_CACHE": "1"}
    code, out, _ = cfnode("config", "show")
    assert code == 0
    rows = [re.split(r" {2,}", line) for line in out.splitlines()]
    assert rows == [
        [f"configuration file: {file}"],
        ["run rpc-methods", "safe", "CFNODE_RPC_METHODS"],
        ["run log", "info grandpa=off", f"{file}:2"],
        ["wait timeout", "5.0", f"{file}:8"],
    ]
    out = cfnode("config", "show", "run", "--dev", "--sync=full")[1]
    rows = [re.split(r" {2,}", line) for line in out.splitlines()]
    assert ["dev", "true", "flag"] in rows and ["sync", "full", "flag"] in rows
    assert ["chain", "(berghain; dev with --dev)", "default"] in rows


def test_the_example_of_the_guide_is_correct(cfnode: Shell) -> None:
    """Check the guide's example of a file: all nine of its values are accepted."""
    file = cfnode.file(block("docs/guide/operating.md", 'chain = "berghain"'))
    assert cfnode("config", "check", file) == (0, f"{file} is correct: 9 values\n", "")


def test_values_that_the_command_would_refuse_are_refused(cfnode: Shell) -> None:
    """Refuse in `config show` what the command itself would refuse, and suggest the command's name."""
    cfnode.variables = {"CFNODE_RPC_PORT": "many"}
    for line in (("config", "show", "run"), ("run",)):
        code, _, err = cfnode(*line)
        assert code == 2
        assert "Invalid value for '--rpc-port'" in err
        assert "(--rpc-port comes from CFNODE_RPC_PORT)." in err
    assert "No such option '--rcp-port'" in cfnode("config", "show", "run", "--rcp-port", "1")[2]
    assert "Did you mean 'run'?" in cfnode("config", "show", "runn")[2]


def test_the_command_line_overrides_what_it_excludes(cfnode: Shell) -> None:
    """A base path in the file does not forbid --tmp; two in the same place do exclude each other."""
    cfnode.variables = {"CFNODE_CONFIG": cfnode.file("[run]\nbase-path = '/no/such'\nchain = '/no/spec'\n")}
    assert "/no/spec: no such file, and not a built-in chain" in cfnode("run", "--tmp")[2]
    assert "--tmp creates its own base path" in cfnode("run", "--tmp", "--base-path=x")[2]
    cfnode.variables = {"CFNODE_CONFIG": cfnode.file("node = 'http://127.0.0.1:1'\n")}
    assert "/no/file" in cfnode("inspect-runtime", "--chain=/no/file")[2]


def test_the_example_has_each_flag_and_is_correct(cfnode: Shell) -> None:
    """Print an example with each flag commented out, but no secrets; as a file it is correct."""
    code, text, _ = cfnode("config", "example")
    assert code == 0
    file = cfnode.file(text)
    assert cfnode("config", "check", file) == (0, f"{file} is correct: 0 values\n", "")
    for section, key in (("run", "rpc-port"), ("swap.quote", "broker"), ("dev.seal", "timeout")):
        assert f"# {key} = " in text.partition(f"\n[{section}]\n")[2]
    assert "# node-key = " not in text and "# password = " not in text
    assert tomllib.loads(text).keys() >= {"run", "wait", "swap", "key", "dev", "recover"}
    example = cfnode("config", "example", "wait")[1]
    assert re.findall(r"^\[(.*)\]$", example, re.MULTILINE) == ["wait"]


def test_each_default_of_the_example_is_accepted_as_a_value(cfnode: Shell) -> None:
    """All defaults and one-of values with the # removed; placeholders are in capitals."""
    text = cfnode("config", "example")[1]
    default = re.compile(r'^# ([a-z-]+ = (?:[0-9.]+|true|false|"[^A-Z…]*"|\["[^A-Z…]*"\]))$', re.MULTILINE)
    assert len(default.findall(text)) > 150
    file = cfnode.file(default.sub(r"\1", text))
    assert cfnode("config", "check", file)[::2] == (0, "")
