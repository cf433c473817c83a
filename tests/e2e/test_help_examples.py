"""The examples in the commands' help, which is the reference of the command line: each is run, word for word.

Most are lines of the guide too, whose tests run them. The others are here.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from cfnode.cli import cli
from tests.documentation import PAGES, blocks
from tests.e2e.shell import Shell, started_by
from tests.process import NodeProcess, running_node

pytestmark = pytest.mark.world

CODE = re.compile(r"`[^`]*`")
EXAMPLE = re.compile(r"(?:^|: | {2,})((?:[\w ]+ \| )?cfnode (?:(?! {2,}).)+)", re.MULTILINE)
NOT_RUN = {
    "cfnode status --node https://rpc.mainnet.chainflip.io --account cF… --json": "asks the main net",
    "cfnode key generate-node-key --chain berghain --base-path /var/lib/cfnode": "a folder of the system",
}
"""Each with the reason."""

KEYS = """
cfnode key generate --path keys > keys.json
cfnode key insert --chain berghain --suri keys/signing_key_file
cfnode key generate --output-type text
python3 -c 'import json; print(json.load(open("keys.json"))["seed_phrase"])' > phrase
mv keys before
cfnode key generate --seed-phrase - --path keys < phrase
cmp keys/signing_key_file before/signing_key_file
pass show broker | cfnode key insert --chain berghain --suri -
cfnode key insert --dev --suri //Alice
cfnode key list --chain berghain
cfnode key list --dev --json
cfnode key inspect //Alice --output-type json > alice.json
cfnode key inspect --public 0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d
cfnode key inspect cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9/soft
cfnode key generate --scheme ed25519 --network substrate
cfnode key generate-node-key --file node_key_file
"""
NODE_KEY = """
cfnode key inspect-node-key --file node_key_file
"""
CONFIGURATION = """
cfnode config example run > node.toml
cfnode config check node.toml
cfnode config show run --config node.toml
cfnode config show run
cfnode config show swap quote --network dev
"""
CALLS = """
cfnode rpc system_health
cfnode rpc chain_getBlockHash 0
cfnode rpc cf_account_info --named '{"account_id": "cF…"}'
cfnode inspect-runtime --node http://127.0.0.1:9944 --json
"""
LEDGER = """
cfnode ledger run --node http://127.0.0.1:9944 --once
cfnode ledger show swaps --from 2026-01-01
cfnode ledger statement --month 2026-11
cfnode ledger check
cfnode service run --node http://127.0.0.1:9944 --check
"""
SPECIFICATION = """
cfnode export-chain-spec --dev > dev.json
cfnode export-chain-spec --chain berghain.chainspec.json --light
"""
COPY = """
cfnode build-spec --chain berghain.chainspec.raw.json --dev-authorities //Alice,//Bob -o mine.json
cfnode run --chain mine.json --dev --dev-authorities //Alice,//Bob
"""
DEVELOPMENT = """
cfnode run --dev
"""
PURGE = """
cfnode chain-info --dev
cfnode purge-chain --dev -y
"""
MAIN_NET = (
    "cfnode run --chain berghain --sync=light-rpc --rpc-methods=safe",
    "cfnode run --chain berghain --sync=light-rpc",
    "cfnode run --sync=light-rpc --chain=berghain",
)
OWN_NODE_KEY = "cfnode run --node-key-file node_key_file"
RUN = (
    *(KEYS, NODE_KEY, CONFIGURATION, CALLS, LEDGER, SPECIFICATION, COPY, DEVELOPMENT, PURGE),
    *(*MAIN_NET, OWN_NODE_KEY),
)
PEER = "12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF"
ALICE = "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"


def commands_below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all below it, with their names."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands_below(below, f"{path} {name}")


def examples(command: click.Command) -> list[str]:
    """Return the command lines in a command's help, which are no part of a sentence."""
    text = CODE.sub("", f"{command.help or ''}\n{command.epilog or ''}")
    return [" ".join(match.split()) for match in EXAMPLE.findall(text)]


def lines_of_the_guide() -> set[str]:
    """Return the lines of all blocks, without comments; tests/test_documented_blocks.py finds their tests."""
    lines = (line for page in PAGES for block in blocks(page) for line in block.text.splitlines())
    return {" ".join(re.sub(r" +# .*", "", line).split()) for line in lines}


COMMANDS = {
    path: command_lines
    for path, command in commands_below(cli, "cfnode")
    if (command_lines := examples(command))
}


@pytest.mark.parametrize("path", COMMANDS)
def test_each_example_is_run_by_a_test(path: str) -> None:
    """Run each example of a command's help by some test, or state why not."""
    run = [line for session in RUN for line in session.splitlines()]
    known = {*lines_of_the_guide(), *NOT_RUN}
    missing = [
        example
        for example in COMMANDS[path]
        if example not in known and not any(line.startswith(example) for line in run)
    ]
    assert missing == [], "no test runs it: add it here"


def test_the_help_has_many_examples() -> None:
    """Find many examples in the help, those that are not run among them."""
    assert sum(map(len, COMMANDS.values())) > 40
    assert set(NOT_RUN) < {example for command_examples in COMMANDS.values() for example in command_examples}


def test_keys(tmp_path: Path) -> None:
    """Run the help's commands for keys."""
    shell = Shell(tmp_path)
    shell.program("pass", 'cat "$HOME/phrase"')
    printed = shell.run(KEYS)
    assert ALICE in printed
    assert json.loads((tmp_path / "alice.json").read_text())["ss58Address"] == ALICE
    keystores = tmp_path / ".local/share/cfnode/chains"
    for chain in ("Chainflip-Berghain", "dev"):
        assert len(list((keystores / chain / "keystore").iterdir())) == 1
    assert shell.run(NODE_KEY).startswith("12D3KooW")


def test_the_configuration(tmp_path: Path) -> None:
    """Run the help's commands for the configuration."""
    printed = Shell(tmp_path).run(CONFIGURATION)
    assert "node.toml is correct: 0 values" in printed
    assert re.search(r"^network +dev +flag$", printed, re.MULTILINE), printed


def test_calls_and_books(tmp_path: Path) -> None:
    """Run the help's calls and the books of a chain."""
    (tmp_path / "node").mkdir()
    with running_node(tmp_path / "node", "--dev", "--dev-broker=//Alice", "--dev-seal=instant") as node:
        until_registered(node)
        shell = Shell(tmp_path, node.url)
        printed = shell.run(CALLS.replace("cF…", ALICE))
        assert '"role": "broker"' in printed
        assert node.call("chain_getBlockHash", 0) in printed
        assert shell.run(LEDGER).endswith("books and chain agree\n")


def until_registered(node: NodeProcess) -> None:
    """Add the block with the broker's registration, and let it become final."""
    node.call("dev_newBlock", {"finalize": True})


def test_specifications(tmp_path: Path, berghain_spec: Path) -> None:
    """Run the help's exports of specifications."""
    (tmp_path / "berghain.chainspec.json").symlink_to(berghain_spec)
    light = json.loads(Shell(tmp_path).run(SPECIFICATION))
    assert light["genesis"]["stateRootHash"].startswith("0xceb969ab")
    assert json.loads((tmp_path / "dev.json").read_text())["id"] == "dev"


def test_a_copy_of_the_official_chain(tmp_path: Path, berghain_spec: Path) -> None:
    """Run the help's copy of the official chain."""
    (tmp_path / "berghain.chainspec.raw.json").symlink_to(berghain_spec)
    Shell(tmp_path)
    with started_by(tmp_path, COPY) as node:
        assert node.call("state_getRuntimeVersion")["specVersion"] == 100


def test_a_development_chain_that_is_purged(tmp_path: Path) -> None:
    """Purge the development chain's database, and keep the node's identity."""
    chain = tmp_path / ".local/share/cfnode/chains/dev"
    with started_by(tmp_path, DEVELOPMENT) as node:
        assert node.stop() == 0
    assert (chain / "db").exists()
    Shell(tmp_path).run(PURGE)
    assert not list((chain / "db").glob("*"))
    assert (chain / "network" / "secret_ed25519").exists()


@pytest.mark.parametrize("line", [*MAIN_NET, OWN_NODE_KEY])
def test_a_light_node_of_the_main_net(tmp_path: Path, line: str) -> None:
    """It may connect to one address only, where no node listens."""
    Shell(tmp_path).run("cfnode key generate-node-key --file node_key_file 2> identity")
    peer = (tmp_path / "identity").read_text().strip()
    with closing(socket.socket()) as closed:
        closed.bind(("127.0.0.1", 0))
        alone = {
            "CFNODE_LISTEN_ADDR": "/ip4/127.0.0.1/tcp/0",
            "CFNODE_RESERVED_ONLY": "true",
            "CFNODE_RESERVED_NODES": f"/ip4/127.0.0.1/tcp/{closed.getsockname()[1]}/p2p/{PEER}",
        }
        with started_by(tmp_path, line, **alone) as node:
            assert node.call("system_chain") == "Chainflip-Berghain"
            assert node.call("system_health")["isSyncing"] is True
            assert (node.call("system_localPeerId") == peer) == (line == OWN_NODE_KEY)
