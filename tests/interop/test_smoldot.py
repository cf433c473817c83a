"""On a chain with the main net's own runtime, smoldot, written by others, and a light node of ours take part.

The chain is a copy of the official specification with authorities of ours, made by our node. After a change
of its GRANDPA set, both come as strangers who know nothing but the specification and one address.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.ss58 import encode
from tests.conftest import PEERS
from tests.process import NodeProcess, running_node, until
from tests.runtime.wasm.voters import change_of_voters
from tests.support.interop.libp2p import Peer, peer_process

pytestmark = pytest.mark.world

HERE = Path(__file__).parent
ALICE = Keypair.from_suri("//Alice")
ADDRESS = encode(ALICE.public)
ACCOUNT = f"0x{ALICE.public.hex()}"
LISTENING = re.compile(r"Listening for peers at (\S+)")
ENOUGH = 80
"""Final blocks from which on smoldot goes by the warp proof alone. Up to 32 it fetches one by one.

It asks for the last 64 meanwhile: if they reach back to genesis, it meets a justification of the second set
before it knows that set, and has nothing to do with us for 40 s.
"""


@dataclass(frozen=True)
class Authority:
    """The node that makes the chain."""

    node: NodeProcess
    spec: Path
    address: str
    metadata: Metadata
    genesis: bytes

    @property
    def final(self) -> int:
        """The number of the final block."""
        return int(self.node.call("chain_getHeader", self.node.call("chain_getFinalizedHead"))["number"], 16)

    @property
    def nonce(self) -> int:
        """The next nonce of //Alice."""
        return int(self.node.call("system_accountNextIndex", ADDRESS))

    def signed(self, call: tuple[str, object]) -> str:
        """Return an extrinsic of //Alice, in hex."""
        extrinsic = sign_extrinsic(
            self.metadata, self.metadata.call_codec.encode(call), ALICE, nonce=self.nonce, era=IMMORTAL,
            era_hash=self.genesis, genesis_hash=self.genesis, spec_version=100, transaction_version=10,
        )  # fmt: skip
        return f"0x{extrinsic.hex()}"

    def remark(self, text: bytes) -> str:
        """Return a signed remark, in hex."""
        return self.signed(("System", ("remark", {"remark": text})))


@pytest.fixture(scope="module")
def authority(berghain_spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """Yield the author of a copy of the official chain, after a change of its voters."""
    folder = tmp_path_factory.mktemp("berghain")
    spec = folder / "mine.json"
    built = CliRunner().invoke(cli, ["build-spec", "--chain", str(berghain_spec), "-o", str(spec)])
    assert built.exit_code == 0, built.output
    flags = ("--dev", "--dev-authorities=//Alice,//Bob", "--dev-block-time=600", "--no-prometheus")
    with running_node(folder, f"--chain={spec}", *flags, "--listen-addr=/ip4/127.0.0.1/tcp/0") as node:
        until(lambda: LISTENING.search(node.log) is not None)
        address = LISTENING.findall(node.log)[0]
        metadata = decode_metadata(bytes.fromhex(node.call("state_getMetadata")[2:]))
        genesis = bytes.fromhex(node.call("chain_getBlockHash", 0)[2:])
        made = Authority(node, spec, address, metadata, genesis)
        voters = [(Keypair.from_suri(name, "ed25519").public, 1) for name in ("//Bob", "//Alice")]
        soon = int(node.call("chain_getHeader")["number"], 16) + 5
        node.call("author_submitExtrinsic", made.signed(change_of_voters(metadata, soon, voters)))
        while made.final < ENOUGH:  # at once; later ones come at a pace that a slow machine can follow
            node.call("dev_newBlock")
        yield made


# --- smoldot


class Smoldot:
    """A conversation with the light client."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._ids = peer, itertools.count(1)
        self.logged: list[str] = []
        self.notifications: list[dict[str, Any]] = []

    async def _next(self) -> dict[str, Any]:
        while "log" in (message := await self._peer.report()):
            self.logged.append(message["log"])
        return message

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result; notifications that arrive meanwhile are kept in `notifications`."""
        request = next(self._ids)
        question = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
        await self._peer.say(json.dumps(question))
        while (message := await self._next()).get("id") != request:
            self.notifications.append(message)
        assert "error" not in message, message
        return message["result"]

    async def news(self, subscription: str) -> Any:
        """Return the next notification of a subscription."""
        while True:
            for message in self.notifications:
                if message["params"]["subscription"] == subscription:
                    self.notifications.remove(message)
                    return message["params"]["result"]
            self.notifications.append(await self._next())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return the light client's program, in a folder with its package."""
    modules = PEERS / "node" / "node_modules"
    if shutil.which("node") is None or not (modules / "smoldot").exists():
        pytest.skip("smoldot is not here: scripts/peers installs it (needs node and npm)")
    (tmp_path / "node_modules").symlink_to(modules)
    return Path(shutil.copy(HERE / "smoldot.mjs", tmp_path))


async def test_smoldot_proves_its_way_to_the_head_and_asks_by_proof(
    script: Path, authority: Authority
) -> None:
    """Prove the chain to smoldot, answer its reads with proofs, and include its transaction."""
    node = authority.node
    async with peer_process(script, str(authority.spec), authority.address) as peer:
        light = Smoldot(peer)
        subscription = await light.call("chain_subscribeFinalizedHeads")
        numbers = []
        for _ in range(4):
            header = await light.news(subscription)
            numbers.append(int(header["number"], 16))
            block = node.call("chain_getBlockHash", numbers[-1])
            assert node.call("chain_getHeader", block) == header
        assert numbers == list(range(numbers[0], numbers[0] + 4))
        assert any(line.startswith("GrandPa warp sync finished to #") for line in light.logged)
        peers = await light.call("system_peers")
        assert [(peer["peerId"], peer["roles"]) for peer in peers] == [
            (node.call("system_localPeerId"), "AUTHORITY")
        ]
        account = authority.metadata.storage("System", "Account").key(ALICE.public)
        for key in (f"0x{account.hex()}", "0x00"):
            assert await light.call("state_getStorage", key, block) == node.call(
                "state_getStorage", key, block
            )
        nonce = await light.call("state_call", "AccountNonceApi_account_nonce", ACCOUNT, block)
        assert nonce == node.call("state_call", "AccountNonceApi_account_nonce", ACCOUNT, block)
        before = authority.nonce
        await light.call("author_submitExtrinsic", authority.remark(b"by smoldot"))
        await trio.to_thread.run_sync(until, lambda: authority.nonce > before)
    assert "Banned" not in node.log, "its habits are not held against it"


# --- a light node of ours


def test_a_light_node_executes_the_blocks_of_the_official_runtime(
    authority: Authority, tmp_path: Path
) -> None:
    """Follow the official runtime as a light node, and submit through it."""
    flags = (f"--bootnodes={authority.address}", "--sync=light-rpc", "--no-prometheus")
    listen = "--listen-addr=/ip4/127.0.0.1/tcp/0"
    with running_node(tmp_path, f"--chain={authority.spec}", *flags, listen) as light:
        until(lambda: not light.call("system_health")["isSyncing"])
        assert re.search(r"Proven: block #\d+ \(.*\), set 1", light.log)
        assert light.call("system_health")["peers"] == 1
        before = authority.nonce
        block = follows(light, authority)
        light.call("author_submitExtrinsic", authority.remark(b"by a light node"))
        until(lambda: follows(light, authority) > block + 5 and authority.nonce > before)
        assert light.call("system_accountNextIndex", ADDRESS) == before + 1
        assert light.call("cf_flip_supply") == authority.node.call("cf_flip_supply")
        assert light.stop() == 0


def follows(light: NodeProcess, authority: Authority) -> int:
    """Return the number of its final block, which must be the chain's."""
    final = light.call("chain_getFinalizedHead")
    header = light.call("chain_getHeader", final)
    assert authority.node.call("chain_getBlockHash", int(header["number"], 16)) == final
    return int(header["number"], 16)
