"""`cfnode dev evm` that does not start: each reason with what to do."""

from __future__ import annotations

import json
import socket
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.core.ethereum_key import EthereumKey
from cfnode.devchain.runtime.config import CONTRACTS
from cfnode.devchain.runtime.keys import evm_secret
from cfnode.sdk.recovery.storage import storage_key
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.support.devchain.local_evm import require_py_evm

ETHEREUM = CONTRACTS["Ethereum"]
DEV_KEY = EthereumKey.from_secret(evm_secret()).public.hex()
LIVE_KEY = EthereumKey.from_secret(b"\x05" * 32).public.hex()


def node(key: str = DEV_KEY) -> Loopback:
    """Return a node with the contracts of Ethereum, and this aggregate key."""
    stored = {
        storage_key("Environment", "EthereumChainId"): "0x" + ETHEREUM.chain_id.to_bytes(8, "little").hex(),
        storage_key("Environment", "EthereumKeyManagerAddress"): "0x" + ETHEREUM.key_manager.hex(),
        storage_key("Environment", "EthereumVaultAddress"): "0x" + ETHEREUM.vault.hex(),
    }

    def handle(request: Request) -> bytes:
        (call,) = request.calls
        results = {"cf_eth_vault": [key, 1], "cf_current_epoch": 3}
        method, params = call["method"], call["params"]
        result = stored.get(params[0]) if method == "state_getStorage" else results[method]
        return page(200, json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode())

    return serving(handle)


def started(server: Loopback, tmp_path: Path, *flags: str) -> Result:
    """Run `dev evm` against a node, with a payer's key in a temporary folder."""
    require_py_evm()
    line = ["dev", "evm", "--node", server.url, "--key", str(tmp_path / "payer.key"), *flags]
    return CliRunner().invoke(cli, line)


def ended(result: Result, code: ExitCode, text: str) -> None:
    """Assert the exit code and a part of the output."""
    assert (result.exit_code, text in result.output) == (code, True), result.output


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the package to install where py-evm is missing."""
    monkeypatch.delitem(sys.modules, "cfnode.devchain.evm.chain", raising=False)
    monkeypatch.setitem(sys.modules, "eth.abc", None)
    with node() as server:
        result = CliRunner().invoke(cli, ["dev", "evm", "--node", server.url])
    ended(result, ExitCode.USAGE, "dev evm needs py-evm: pip install 'cfnode[evm]'")


def test_a_chain_whose_keys_are_secret_gets_none(tmp_path: Path) -> None:
    """Refuse a chain whose aggregate key is no development key, and create no payer."""
    with node(LIVE_KEY) as server:
        result = started(server, tmp_path)
    ended(
        result,
        ExitCode.CONFIGURATION,
        "are not those of a development chain: start one with `cfnode run --dev`",
    )
    assert not (tmp_path / "payer.key").exists()


def test_a_chain_without_contracts_is_named(tmp_path: Path) -> None:
    """Name the chain that has no contracts, and suggest another."""
    with node() as server:
        ended(
            started(server, tmp_path, "--chain=bsc"),
            ExitCode.FAILURE,
            "has no contracts on Bsc: choose another --chain",
        )


def test_a_taken_port_is_named_and_the_new_key_is_the_users_alone(tmp_path: Path) -> None:
    """Name the taken port; the new payer's key is for its owner alone, and not printed."""
    with node() as server, socket.create_server(("127.0.0.1", 0)) as taken:
        result = started(server, tmp_path, f"--port={taken.getsockname()[1]}")
    ended(result, ExitCode.NETWORK, "is in use; choose another with --port")
    path = tmp_path / "payer.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() not in result.output


@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        ("no key", ExitCode.CONFIGURATION, "is neither a keystore JSON nor a key in hex"),
        ('{"version": 3, "crypto": {}}', ExitCode.FAILURE, "does not name its address: give it by --fund"),
    ],
)
def test_a_file_without_a_usable_key_is_named(
    tmp_path: Path, content: str, code: ExitCode, text: str
) -> None:
    """Refuse a key file that holds no key, and one whose keystore names no address."""
    (tmp_path / "payer.key").write_text(content)
    with node() as server:
        ended(started(server, tmp_path), code, text)


@pytest.mark.parametrize("address", ["0x12", "0xFCd3C82b154CB4717Ac98718D0Fd13EEBA3D2754", "vault.eth"])
def test_an_account_to_fund_is_an_address(tmp_path: Path, address: str) -> None:
    """Refuse an account that is malformed, whose checksum is wrong, or that is a name."""
    with node() as server:
        ended(
            started(server, tmp_path, "--fund", address),
            ExitCode.USAGE,
            "--fund takes an address of 0x and 40 hex digits",
        )
