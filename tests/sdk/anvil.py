"""A local EVM chain (anvil, from npm) with contracts that take the State Chain's signatures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT

PEERS = Path(os.environ.get("CFNODE_TEST_PEERS", ROOT / ".cache" / "peers"))
MODULES = PEERS / "node" / "node_modules"
HERE = Path(__file__).parent / "contracts"
START_LIMIT = 30.0
DEPLOYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
USER_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
KEY_MANAGER = "0x5fbdb2315678afecb367f032d93f642f64180aa3"
VAULT = "0xe7f1725e7734ce288f8367e1bb143e90bb3f0512"
STORAGE_SLOTS = 8
"""Slots of a new contract of the test bed that may not be empty."""


def require_eth_account() -> Any:
    """Require eth-account, or skip the test; its import must not raise the recursion limit of later ones."""
    limit = sys.getrecursionlimit()
    try:
        return pytest.importorskip("eth_account")
    finally:
        sys.setrecursionlimit(limit)


def require_anvil() -> Path:
    """Return the anvil binary; skip the test where it or the compiler is missing."""
    binary = MODULES / ".bin" / "anvil"
    if shutil.which("node") is None or not binary.exists() or not (MODULES / "solc").exists():
        pytest.skip("anvil and solc are not here: scripts/peers installs them (needs node and npm)")
    return binary


@cache
def contracts() -> dict[str, str]:
    """Return creation code of each contract of the test bed, hex."""
    done = subprocess.run(
        ["node", str(HERE / "compile.cjs")],
        env={**os.environ, "NODE_PATH": str(MODULES)},
        capture_output=True,
        text=True,
        check=True,
    )
    document: dict[str, str] = json.loads(done.stdout)
    return document


class Evm:
    """A running chain and what tests do with it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.Client()

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call to the chain."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.client.post(self.url, json=body, timeout=30).json()
        assert "result" in answer, answer
        return answer["result"]

    def send(self, data: str, to: str | None = None, value: int = 0) -> dict[str, Any]:
        """Send a transaction of the deployer; return its receipt."""
        fields = {
            "from": DEPLOYER,
            "data": data,
            "value": hex(value),
            "gas": hex(3_000_000),
            "gasPrice": hex(10**10),
        }
        return self.submit(fields | ({"to": to} if to else {}))

    def submit(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Send a transaction of one of the chain's own accounts; return its receipt."""
        identity = self.call("eth_sendTransaction", fields)
        deadline = time.monotonic() + START_LIMIT
        while (receipt := self.call("eth_getTransactionReceipt", identity)) is None:
            assert time.monotonic() < deadline, "no receipt"
            time.sleep(0.01)
        assert receipt["status"] == "0x1", receipt
        result: dict[str, Any] = receipt
        return result

    def balance(self, address: str) -> int:
        """Return the balance of an address in wei."""
        return int(self.call("eth_getBalance", address, "latest"), 16)

    def deploy(self, name: str, *words: int, value: int = 0) -> str:
        """Deploy a contract of the tests; return its address."""
        code = contracts()[name] + "".join(f"{word:064x}" for word in words)
        return str(self.send("0x" + code, value=value)["contractAddress"])

    def deploy_bed(self, key: bytes, held: int) -> None:
        """Deploy key manager and vault, at the addresses of a new chain's first two contracts."""
        manager = self.deploy("KeyManager", int.from_bytes(key[1:], "big"), key[0] - 2)
        vault = self.deploy("Vault", int(manager, 16), value=held)
        assert (manager, vault) == (KEY_MANAGER, VAULT)

    def deploy_bed_at(self, manager: str, vault: str, key: bytes, held: int) -> None:
        """Place key manager and vault at addresses that a chain has in its configuration."""
        made = self.deploy("KeyManager", int.from_bytes(key[1:], "big"), key[0] - 2)
        self._move(made, manager)
        self._move(self.deploy("Vault", int(manager, 16)), vault)
        self.call("anvil_setBalance", vault, hex(held))

    def _move(self, made: str, target: str) -> None:
        """Give an address the code and the storage of a contract."""
        self.call("anvil_setCode", target, self.call("eth_getCode", made, "latest"))
        for slot in range(STORAGE_SLOTS):
            place = f"0x{slot:064x}"
            self.call(
                "anvil_setStorageAt", target, place, self.call("eth_getStorageAt", made, place, "latest")
            )


@contextmanager
def evm_chain(chain_id: int, log: Path, *flags: str) -> Iterator[Evm]:
    """Yield a fresh chain that seals a block for each transaction; `flags` are more of anvil's."""
    binary = require_anvil()
    with log.open("w") as stream:
        process = subprocess.Popen(
            [str(binary), "--port", "0", "--chain-id", str(chain_id), *flags],
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield Evm(_listening(process, log))
    finally:
        process.terminate()
        process.wait(timeout=30)


def _listening(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if match := re.search(r"Listening on ([0-9.]+:\d+)", log.read_text()):
            return f"http://{match[1]}"
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    raise AssertionError(f"anvil does not listen: {log.read_text()}")
