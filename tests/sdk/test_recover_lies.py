"""What a person reads if a node of the EVM chain lies: each row of the guide's table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.exits import ExitCode
from tests.conftest import ROOT
from tests.sdk.anvil import Evm
from tests.support.sdk.providers import Liar, error, lying, provider, transfer
from tests.support.sdk.recover_command import recover, state_chain

PAGE = "docs/guide/recover.md"
GWEI = 10**9


def block_with(**members: Any) -> Callable[[Any], Any]:
    """Return a lie that changes members of a block."""
    return lambda block: block | members


def unused(result: Any) -> Any:
    """Return the answer of the key manager for a nonce that it has not seen."""
    return "0x" + "00" * 32 if result == "0x" + "00" * 31 + "01" else result


def without_base_fee(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block as of a chain without EIP-1559."""
    return {name: value for name, value in block.items() if name != "baseFeePerGas"}


def replaced(receipt: Any) -> Any:
    """Return the receipt with another block's hash."""
    return receipt and receipt | {"blockHash": "0x" + "ab" * 32}


LIES: dict[str, Callable[[Evm], dict[str, Any]]] = {
    "names a high tip": lambda evm: {"eth_maxPriorityFeePerGas": hex(10**15)},
    "names a high base fee": lambda evm: {
        "eth_getBlockByNumber": block_with(baseFeePerGas=hex(10**6 * GWEI))
    },
    "estimates less gas than any such call takes": lambda evm: {"eth_estimateGas": hex(21_000)},
    "estimates more gas than a block holds": lambda evm: {"eth_estimateGas": hex(10**10)},
    "returns something else than a number": lambda evm: {"eth_getBalance": "much"},
    "names no base fee, as chains without EIP-1559": lambda evm: {"eth_getBlockByNumber": without_base_fee},
    "keeps the transaction for itself": lambda evm: {"eth_sendRawTransaction": lambda _: "0x" + "00" * 32},
    "has a receipt of a transaction that no block contains": lambda evm: Liar(evm).lies(),
    "has a receipt, and counts the transaction, which no block contains": lambda evm: Liar(
        evm, ("nonce",)
    ).lies(),
    "has a receipt of a failure of a transaction that no block contains": lambda evm: Liar(
        evm, succeeded=False
    ).lies(),
    "has a receipt of a block that a fork has replaced": lambda evm: {"eth_getTransactionReceipt": replaced},
    "has a receipt, but the contract has not accepted the signature": lambda evm: {"eth_call": unused},
    "serves another chain": lambda evm: {"eth_chainId": "0x1"},
    "has no contract of Chainflip there": lambda evm: {"eth_getCode": "0x"},
}
USED = "says that the call was sent already, in a simulation"


def rows() -> dict[str, str]:
    """Return the guide's texts, by what the node does."""
    text = (ROOT / PAGE).read_text().partition("| the node | what you read |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:3]] for line in text.splitlines()[2:]]
    return {lie: words.strip("`") for lie, words in cells}


def test_each_row_is_played() -> None:
    """Play each row of the guide's table, and none besides."""
    assert rows().keys() == {*LIES, USED}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_reads_as_the_guide_says(lie: str, evm: Evm, key: Path) -> None:
    """Print the guide's words for a lie, and say "Done" only where the call costs no more than it may."""
    receiver, test_vector = transfer()
    with state_chain(test_vector) as server, lying(evm, **LIES[lie](evm)) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--timeout=1")
    assert rows()[lie] in result.output, result.output
    is_done = rows()[lie] == "costs at most"
    assert (result.exit_code == ExitCode.OK, "Done" in result.output) == (is_done, is_done), result.output
    assert is_done is (evm.balance(receiver) > 0) or "receipt" in lie


def test_a_simulation_that_knows_the_payment_reads_as_the_guide_says(evm: Evm, key: Path) -> None:
    """Print the guide's words where the simulation claims that the call was sent, and send nothing."""
    receiver, test_vector = transfer()

    def refuses(document: Any) -> Any:
        is_simulation = document["method"] == "eth_call" and "from" in document["params"][0]
        reverts = error(3, "execution reverted: KeyManager: nonce already used")
        return {"id": document["id"], "jsonrpc": "2.0"} | reverts if is_simulation else None

    with state_chain(test_vector) as server, provider(evm, refuses) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes")
    assert rows()[USED] in result.output, result.output
    assert (result.exit_code, evm.balance(receiver)) == (ExitCode.PENDING, 0)
