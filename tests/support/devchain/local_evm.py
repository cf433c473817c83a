"""The local EVM chain of `cfnode dev evm`: in the test's own process, and as a program next to a node."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from cfnode.core import schnorr
from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.vault_calls import NATIVE_TOKEN, ReplayProtection, VaultCall, selector
from tests.process import command

if TYPE_CHECKING:
    from cfnode.devchain.evm.chain import EvmChain

ETHER = 10**18
CHAIN_ID = 10_997
PAYER = EthereumKey.from_secret(b"\x51" * 32)
# The first secret of its kind whose x is below half the order
AGGREGATE = EthereumKey.from_secret(
    next(
        secret
        for number in count(1)
        if int.from_bytes(EthereumKey.from_secret(secret := number.to_bytes(32, "big")).public[1:], "big")
        < schnorr.ORDER // 2
    )
)
KEY_MANAGER, VAULT, USDC = b"\xa1" * 20, b"\xb7" * 20, b"\xc0" * 20
GWEI = 10**9


def require_py_evm() -> None:
    """Require py-evm and eth-account, or skip the test; their import must not raise the recursion limit."""
    limit = sys.getrecursionlimit()
    try:
        pytest.importorskip("eth", reason="py-evm is not here: pip install 'cfnode[evm]'")
        pytest.importorskip("eth_account", reason="eth-account is not here: pip install 'cfnode[evm]'")
    finally:
        sys.setrecursionlimit(limit)


@dataclass
class LocalEvm:
    """A chain, and what tests do with it."""

    chain: EvmChain
    vault: bytes = VAULT
    key_manager: bytes = KEY_MANAGER
    nonces: Iterator[int] = field(default_factory=lambda: count(1))

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a method; raise RpcError."""
        from cfnode.devchain.evm.methods import called

        return called(self.chain, method, list(params))

    def send(self, to: bytes | None, data: bytes = b"", **fields: Any) -> dict[str, Any]:
        """Send a transaction of the payer; return its receipt."""
        identity = self.call("eth_sendRawTransaction", self.raw(to, data, **fields))
        receipt: dict[str, Any] = self.call("eth_getTransactionReceipt", identity)
        return receipt

    def raw(self, to: bytes | None, data: bytes = b"", **fields: Any) -> str:
        """Return a signed transaction of the payer; a field that is None is left out."""
        from eth_account import Account

        filled = {
            "chainId": self.chain.chain_id,
            "nonce": int(self.call("eth_getTransactionCount", hexed(PAYER.address), "latest"), 16),
            "gas": 2_000_000,
            "maxFeePerGas": 3 * GWEI,
            "maxPriorityFeePerGas": GWEI,
            "value": 0,
            "data": hexed(data),
            "to": "" if to is None else to,
        }
        present = {name: value for name, value in (filled | fields).items() if value is not None}
        return hexed(bytes(Account.sign_transaction(present, PAYER.secret).raw_transaction))

    def signed(self, call: VaultCall, nonce: int | None = None, *, by: EthereumKey = AGGREGATE) -> bytes:
        """Return the data of a call of the vault, with a signature."""
        used = next(self.nonces) if nonce is None else nonce
        at = self.key_manager if call.signature.startswith("setAgg") else self.vault
        bound = ReplayProtection(used, self.chain.chain_id, self.key_manager, at)
        one_time = (7_000 + used).to_bytes(32, "big")
        return call.data(used, schnorr.sign(by.secret, one_time, call.message_hash(bound)))

    def balance(self, account: bytes, token: bytes = NATIVE_TOKEN) -> int:
        """Return an account's balance."""
        if token == NATIVE_TOKEN:
            return int(self.call("eth_getBalance", hexed(account), "latest"), 16)
        data = selector("balanceOf(address)") + account.rjust(32, b"\0")
        return int(self.call("eth_call", {"to": hexed(token), "data": hexed(data)}, "latest"), 16)

    def deploy(self, code: bytes) -> bytes:
        """Return the address of a contract with this code."""
        # PUSH2 size, DUP1, PUSH1 11, PUSH0, CODECOPY, PUSH0, RETURN: it returns what follows
        head = b"\x61" + len(code).to_bytes(2, "big") + bytes.fromhex("80600a5f395ff3")
        created = self.send(None, head + code)
        assert created["status"] == "0x1"
        return bytes.fromhex(created["contractAddress"][2:])


def local_evm(
    key: bytes = AGGREGATE.public,
    chain_id: int = CHAIN_ID,
    key_manager: bytes = KEY_MANAGER,
    vault: bytes = VAULT,
    token: bytes = USDC,
) -> LocalEvm:
    """Return a new chain whose clock stands still."""
    from cfnode.devchain.evm.chain import EvmChain
    from cfnode.devchain.evm.deployed import Contracts
    from cfnode.devchain.evm.genesis import accounts

    contracts = Contracts(chain_id, key_manager, vault, key, {"Eth": NATIVE_TOKEN, "Usdc": token})
    chain = EvmChain(chain_id, accounts(contracts, [PAYER.address]), lambda: 1_800_000_000)
    return LocalEvm(chain, vault, key_manager)


def hexed(data: bytes) -> str:
    """Return the bytes as hex with `0x`."""
    return "0x" + data.hex()


@dataclass
class RunningEvm:
    """`cfnode dev evm` in a process of its own; `started` is what it printed."""

    process: subprocess.Popen[str]
    started: dict[str, Any]

    @property
    def url(self) -> str:
        """The address of the chain."""
        return str(self.started["url"])

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a method."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(self.url, json=body, timeout=60).json()
        assert "result" in answer, answer
        return answer["result"]

    def balance(self, account: str) -> int:
        """Return an account's balance in wei."""
        return int(self.call("eth_getBalance", account, "latest"), 16)

    def send(self, data: str, to: str) -> None:
        """Send a call from the payer's account; it succeeds."""
        from eth_account import Account

        payer = Account.from_key(Path(self.started["keyFile"]).read_text().strip())
        fields = {
            "chainId": self.started["chainId"],
            "nonce": int(self.call("eth_getTransactionCount", payer.address, "latest"), 16),
            "gas": 1_000_000,
            "gasPrice": int(self.call("eth_gasPrice"), 16),
            "to": bytes.fromhex(to.removeprefix("0x")),
            "data": data,
        }
        raw = payer.sign_transaction(fields).raw_transaction
        receipt = self.call(
            "eth_getTransactionReceipt", self.call("eth_sendRawTransaction", hexed(bytes(raw)))
        )
        assert receipt["status"] == "0x1", receipt

    def next_event(self, name: str) -> dict[str, Any]:
        """Return the next line that it prints about an event of this name."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == name:
                return event
        raise AssertionError(f"it ended without {name}")


@contextmanager
def running_evm(folder: Path, node: str, *flags: str, **more: Any) -> Iterator[RunningEvm]:
    """Yield `cfnode dev evm` next to a node, until it is stopped."""
    line = command("dev", "evm", "--port=0", "--json", f"--node={node}", f"--key={folder}/payer.key", *flags)
    with started_evm(line, folder, **more) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, process.stderr and process.stderr.read()
        yield RunningEvm(process, json.loads(first))


@contextmanager
def started_evm(line: Sequence[str], folder: Path, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Yield the process of a command line, which ends with code 0 at SIGTERM."""
    process = subprocess.Popen(
        line,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        **{"stderr": subprocess.PIPE, **more},
    )
    try:
        yield process
    finally:
        process.terminate()
        code = process.wait(timeout=60)
        if process.stdout is not None:
            process.stdout.close()
        errors = process.stderr.read() if process.stderr is not None else ""
        if process.stderr is not None:
            process.stderr.close()
    assert code == 0, errors
