"""Blocks of the operators' pages, word for word: only names of files, of chains and of ports are put in."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import httpx
import pytest

from cfnode.cli.client import CallRefused
from tests.deploy.programs import program
from tests.documentation import block
from tests.e2e.shell import Shell, started_by

pytestmark = pytest.mark.world

ALICE = "e5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"
OPERATING = "docs/guide/operating.md"


def of_a_development_chain(commands: str) -> str:
    """Return a command of the page that ends with `…`, for `cfnode run` on a development chain."""
    return commands.replace(" …", " --dev --dev-broker //Alice --tmp")


def test_the_official_command_lines(tmp_path: Path) -> None:
    """Start by the official command lines of the operators' page."""
    shell = Shell(tmp_path)
    shell.run("cfnode export-chain-spec --dev --light -o spec.json")
    (tmp_path / "signing_key_file").write_text(ALICE)
    commands = block(OPERATING, "cfnode key insert --chain=S").replace("=S ", "=spec.json ")
    with started_by(tmp_path, commands.replace("=B ", "=base ")) as node:
        assert "Broker key found in the keystore" in node.log
        assert node.call("system_chain") == "Chainflip-Dev"
        assert node.stop() == 0
    assert list((tmp_path / "base" / "chains").iterdir())


def test_a_configuration_file(tmp_path: Path) -> None:
    """Write, check, show and use a configuration file by the page's block."""
    commands = block(OPERATING, "cfnode config example run")
    *before, run = commands.splitlines(keepends=True)
    example, check, show = before
    shell = Shell(tmp_path)
    shell.run(example)
    file = tmp_path / "node.toml"
    assert "# rpc-port = 9944" in file.read_text()
    file.write_text(file.read_text().replace("# rpc-port = 9944", "rpc-port = 0\ndev = true"))
    assert shell.run(check) == "node.toml is correct: 2 values\n"
    line = file.read_text().splitlines().index("rpc-port = 0") + 1
    assert re.search(rf"^rpc-port +0 +node\.toml:{line}$", shell.run(show), re.MULTILINE)
    with started_by(tmp_path, run) as node:
        assert node.call("system_chain") == "Chainflip-Dev"


def test_completion_for_each_shell(tmp_path: Path) -> None:
    """Write the completion of three shells, which bash accepts."""
    shell = Shell(tmp_path)
    for folder in (".local/share/bash-completion/completions", ".config/fish/completions", "functions"):
        (tmp_path / folder).mkdir(parents=True)
    commands = block(OPERATING, "cfnode completion bash")
    shell.run(f'fpath=("" functions)\n{commands}')
    for path in (
        ".local/share/bash-completion/completions/cfnode",
        "functions/_cfnode",
        ".config/fish/completions/cfnode.fish",
    ):
        assert "_CFNODE_COMPLETE" in (tmp_path / path).read_text()
    completions = tmp_path / ".local/share/bash-completion/completions/cfnode"
    shell.run(f"source {completions}; complete -p cfnode")


def test_tokens(tmp_path: Path) -> None:
    """Require the token of the page's block, and give it by its command."""
    commands = block(OPERATING, "(umask 077; echo")
    create, run, ask, status = commands.splitlines(keepends=True)
    with started_by(tmp_path, create + of_a_development_chain(run)) as node:
        assert stat.S_IMODE((tmp_path / "tokens").stat().st_mode) == 0o600
        with pytest.raises(CallRefused):
            node.call("broker_register_account")
        token = (tmp_path / "tokens").read_text().split()[-1]
        body = '{"jsonrpc": "2.0", "id": 1, "method": "broker_get_open_deposit_channels", "params": ["All"]}'
        request = f"{node.url} -s -H 'content-type: application/json' -d '{body}'"
        printed = Shell(tmp_path).run(f"TOKEN={token}\n{ask.replace('…', request)}")
        assert '"error"' not in printed
        assert '"result"' in printed
        (tmp_path / "shop.token").touch(mode=0o600)
        (tmp_path / "shop.token").write_text(token)
        assert "role" in Shell(tmp_path, node.url).run(status)


def test_a_node_behind_a_proxy(tmp_path: Path) -> None:
    """Trust the proxy's header for the listed client, and refuse another host name."""
    commands = of_a_development_chain(block(OPERATING, "cfnode run --rpc-trusted-proxies"))
    with started_by(tmp_path, commands) as node:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "broker_get_open_deposit_channels", "params": ["All"]}
        statuses = {
            client: httpx.post(
                node.url, json=asked, headers={"host": "node.example", "x-forwarded-for": client}
            ).json()
            for client in ("10.0.0.7", "192.0.2.7")
        }
        assert ("error" in statuses["10.0.0.7"], "error" in statuses["192.0.2.7"]) == (False, True)
        other = httpx.post(node.url, json=asked, headers={"host": "other.example"})
        assert other.status_code == 403


def test_a_backup_is_encrypted_and_restored(tmp_path: Path) -> None:
    """Encrypt a backup and restore it byte for byte, private."""
    program("gpg", "gnupg")
    shell = Shell(tmp_path)
    home = tmp_path / ".gnupg"
    home.mkdir(mode=0o700)
    (tmp_path / "passphrase").write_text("of the test\n")
    (home / "gpg.conf").write_text(f"batch\npinentry-mode loopback\npassphrase-file {tmp_path}/passphrase\n")
    (tmp_path / "NEW_BASE").mkdir()
    shell.run("cfnode key insert --chain berghain --base-path BASE --suri //Alice")
    shell.run("mkdir BASE/chains/Chainflip-Berghain/network")
    shell.run("cfnode key generate-node-key --file BASE/chains/Chainflip-Berghain/network/secret_ed25519")
    try:
        shell.run(block("docs/guide/moving-over.md", "tar --create"))
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=os.environ | {"GNUPGHOME": str(home)}, check=False)
    assert b"//Alice" not in (tmp_path / "cfnode-keys.tar.gpg").read_bytes()
    files = [path.relative_to(tmp_path / "BASE") for path in (tmp_path / "BASE").rglob("*") if path.is_file()]
    assert len(files) == 2
    for file in files:
        old, new = tmp_path / "BASE" / file, tmp_path / "NEW_BASE" / file
        assert new.read_bytes() == old.read_bytes()
        assert stat.S_IMODE(new.stat().st_mode) == 0o600


def test_the_folders_of_the_container(tmp_path: Path) -> None:
    """Make the container's folders with the owner that the image has."""
    fakeroot = f"ulimit -n 1024; {program('fakeroot')}"  # which closes as many descriptors as there may be
    shell = Shell(tmp_path)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "signing_key_file").write_text(ALICE)
    shell.program("sudo", f'{fakeroot} -s owners -- "$@"')
    shell.run(block("docs/guide/deployment.md", "docker build"))
    owners = shell.run(
        f"{fakeroot} -i owners -- stat -c '%u:%g' chainflip chainflip/keys/broker/signing_key_file"
    )
    assert owners.split() == ["10110:10110"] * 2
    assert (tmp_path / "chainflip" / "chaindata").is_dir()
