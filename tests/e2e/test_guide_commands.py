"""Blocks of the guide that no other test runs, word for word: keys, and calls of a development node."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.documentation import block
from tests.e2e.shell import Shell
from tests.process import NodeProcess, running_node

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a node with a broker."""
    flags = ["--dev", "--dev-broker=//Alice", "--dev-seal=instant"]
    with running_node(tmp_path_factory.mktemp("node"), *flags) as process:
        yield process


@pytest.fixture
def shell(tmp_path: Path, node: NodeProcess) -> Shell:
    """Return a shell whose commands call the node."""
    return Shell(tmp_path, node.url)


def test_the_quick_start_over_json_rpc(shell: Shell, node: NodeProcess) -> None:
    """Open a channel by the quick start's JSON-RPC call."""
    shell.run("cfnode wait --synced --block 1 --timeout 30")
    printed = shell.run(block("docs/guide/quick-start.md", "cfnode rpc broker_request_swap_deposit_address"))
    assert re.search(r'"address": "0x[0-9a-f]{40}"', printed)
    assert len(node.call("cf_all_open_deposit_channels")) == 1


def test_governance(shell: Shell, node: NodeProcess) -> None:
    """Change a minimum deposit and a pool's fee by the page's block."""
    shell.run(block("docs/guide/development-chain.md", "cfnode rpc dev_govern"))
    minimum = node.call("cf_ingress_egress_environment")["minimum_deposit_amounts"]["Bitcoin"]["BTC"]
    assert int(minimum, 16) == 1_000
    pool = node.call(
        "cf_pool_info", {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Ethereum", "asset": "USDC"}
    )
    assert pool["range_order_fee_hundredth_pips"] == 500


def test_a_transaction_that_is_held(shell: Shell) -> None:
    """Hold a transaction by the page's block."""
    printed = shell.run(block("docs/guide/development-chain.md", "cfnode dev hold Ethereum"))
    assert re.search(r"jumped by 300 seconds: block \d+", printed)
    assert re.search(r"added 1 block: block \d+", printed)


def test_a_rotation_of_keys(shell: Shell, node: NodeProcess) -> None:
    """Rotate the keys by the page's block."""
    before = node.call("cf_eth_vault")
    shell.run(block("docs/guide/development-chain.md", "cfnode dev rotate --json          #"))
    assert node.call("cf_eth_vault")[0] != before[0]


def test_the_swap_service(shell: Shell, node: NodeProcess) -> None:
    """Quote, follow and ask the swap service by its page's blocks."""
    quotes = shell.run(block("docs/guide/swap-service.md", "curl"))
    answer = httpx.get(
        f"{node.url}/v2/quote",
        params={
            "amount": "10000000",
            "srcChain": "Bitcoin",
            "srcAsset": "BTC",
            "destChain": "Ethereum",
            "destAsset": "ETH",
        },
    )
    assert '"egressAmount"' in quotes
    assert answer.status_code == 200
    shell.run(block("docs/guide/swap-service.md", "cfnode ledger run"))
    source = block("docs/guide/swap-service.md", "from cfnode.sdk import SwapSDK").replace(
        "http://127.0.0.1:9944", node.url
    )
    names: dict[str, object] = {}
    exec(compile(source, "swap-service.md", "exec"), names)
    assert "QuotesResponse" in type(names["answer"]).__name__


def test_keys(tmp_path: Path) -> None:
    """Generate, insert and inspect keys by the page's blocks, and print no phrase."""
    shell = Shell(tmp_path)
    shell.run(block("docs/guide/keys.md", "cfnode key generate --path keys"))
    keystore = tmp_path / ".local/share/cfnode/chains/Chainflip-Berghain/keystore"
    assert len(list(keystore.iterdir())) == 1
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    shell.program("pass", 'echo "0x$(cat keys/signing_key_file)"')
    by_file, by_pipe, prompt = block("docs/guide/keys.md", "cfnode key insert --suri-file keys").splitlines()[
        :3
    ]
    assert prompt.startswith("cfnode key insert  ")
    shell.run(f"{by_file}\n{by_pipe}")
    assert len(list(keystore.iterdir())) == 1
    phrase = shell.run("""python3 -c 'import json; print(json.load(open("keys.json"))["seed_phrase"])'""")
    (tmp_path / "phrase").write_text(phrase)
    inspected = shell.run(block("docs/guide/keys.md", "cfnode key inspect keys/signing_key_file"))
    assert "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9" in inspected
    assert phrase.strip() not in shell.run(
        "cfnode key inspect cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9"
    )
