"""The pages on recovery, word for word, on a development chain and an EVM chain that the page sets up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation import block
from tests.e2e.shell import Shell, started_by
from tests.process import NodeProcess
from tests.support.devchain.local_evm import RunningEvm, require_py_evm, running_evm
from tests.support.sdk.failed_swaps import RECEIVER, fail_a_transfer, failed_swap

pytestmark = pytest.mark.world

# The second account of other local chains, as the page for programmers has it
USER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
USER_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
PAGE = "docs/guide/recover.md"
PROGRAMS = "docs/guide/recover-programs.md"
EXIT_KEY_ROTATED = 15


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield the State Chain of the page for programmers, with a broker."""
    require_py_evm()
    home = tmp_path_factory.mktemp("home")
    Shell(home).run("cfnode key insert --dev --suri //Alice")
    with started_by(home, block(PROGRAMS, "cfnode run --dev --dev-seal instant")) as node:
        node.call("broker_register_account")
        yield node


@pytest.fixture(scope="module")
def evm(node: NodeProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEvm]:
    """Yield an EVM chain whose contracts have the addresses that the State Chain was started with."""
    with running_evm(tmp_path_factory.mktemp("evm"), node.url, f"--fund={USER}", "--keep-key") as chain:
        yield chain


@pytest.fixture
def shell(node: NodeProcess, tmp_path: Path) -> Shell:
    """Return a shell whose commands look up failures at the node."""
    names = ("CFNODE_SWAP_STATUS_BACKEND", "CFNODE_RECOVER_BACKEND")
    return Shell(tmp_path, node.url, CFNODE_NETWORK="dev", **dict.fromkeys(names, node.url))


def test_from_a_failed_payout_to_the_receivers_balance(
    node: NodeProcess, evm: RunningEvm, shell: Shell, tmp_path: Path
) -> None:
    """Recover a failed payout by the page's blocks, to the receiver's balance."""
    number, channel = failed_swap(node, "Ethereum")
    call = f"ethereum {number}"

    def run(start_of_block: str) -> str:
        return shell.run(start_of_block.replace("ethereum 123", call).replace("https://…", evm.url))

    looked = shell.run(block(PAGE, "cfnode swap status 6739624").replace("6739624-Bitcoin-34009", channel))
    assert "Recover it:\ncfnode recover" in looked
    assert "ETH on Ethereum" in looked
    checked = run(block(PAGE, "cfnode recover ethereum 123 --eth-rpc https://…"))
    assert "The contracts on the chain accept the signature, and it has not been used." in checked

    printed = run(block(PAGE, "cfnode recover ethereum 123 --unsigned"))
    for name in ("to", "data"):
        assert f'"{name}": "0x' in printed
    with_gas = block(PAGE, "cfnode recover ethereum 123 --unsigned --eth-rpc")
    complete = run(with_gas.replace("0x…", USER))
    for name in ("to", "data", "nonce", "gas", "maxFeePerGas"):
        assert f'"{name}": "0x' in complete

    (tmp_path / "key.json").write_text(USER_KEY)
    before = evm.balance(RECEIVER)
    sent = run(f"{{ {block(PAGE, 'chmod 600 key.json')} }} <<< y")
    assert "Done" in sent
    assert evm.balance(RECEIVER) > before


def test_the_call_for_a_wallet_of_tron(node: NodeProcess, shell: Shell) -> None:
    """Print the call for a Tron wallet by the page's block."""
    number = fail_a_transfer(node, "Tron", "USDT", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")
    printed = shell.run(block(PAGE, "cfnode recover tron 7").replace("tron 7", f"tron {number}"))
    for name in ("contract_address", "function_selector", "parameter"):
        assert name in printed


def test_a_rotation_between_the_failure_and_its_recovery(
    node: NodeProcess, evm: RunningEvm, shell: Shell, tmp_path: Path
) -> None:
    """Recover after a rotation: the old signature is refused with its exit code, the new one is valid."""
    number = fail_a_transfer(node, "Ethereum")
    commands = block("docs/guide/development-chain.md", "cfnode dev rotate --json > rotation.json")
    rotate, by_hand, refused, seal, valid = (
        commands.replace("--eth-rpc …", f"--eth-rpc {evm.url}").replace("ethereum 2", f"ethereum {number}")
    ).splitlines()
    shell.run(rotate)
    assert by_hand.startswith("# send rotation.json's")
    rotation = json.loads((tmp_path / "rotation.json").read_text())
    (transaction,) = (
        transaction for transaction in rotation["transactions"] if transaction["chain"] == "Ethereum"
    )
    evm.send(transaction["data"], to=transaction["contract"])
    shell.run(f"set +e; {refused}\n[ $? = {EXIT_KEY_ROTATED} ]")
    shell.run(seal)
    assert "ETH on Ethereum" in shell.run(valid)
