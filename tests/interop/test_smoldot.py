"""smoldot, a light client written by others, takes our network for a Substrate node's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import trio

from cfnode.core.p2p.protobuf import Message
from cfnode.network import Opened, Received
from tests.interop.conftest import PEERS
from tests.interop.test_libp2p import peer_process
from tests.network.conftest import GENESIS, address_of, running, service

HERE = Path(__file__).parent
AT_GENESIS = bytes(4) + GENESIS + GENESIS
FULL, LIGHT = b"\x01", b"\x02"
NEIGHBOUR = bytes.fromhex("0201" + "0100000000000000" + "0000000000000000" + "e8030000")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The light client's program beside its package."""
    modules = PEERS / "node" / "node_modules"
    if shutil.which("node") is None or not (modules / "smoldot").exists():
        pytest.skip("smoldot is not here: scripts/peers installs it (needs node and npm)")
    (tmp_path / "node_modules").symlink_to(modules)
    return Path(shutil.copy(HERE / "smoldot.mjs", tmp_path))


async def test_smoldot_opens_its_protocols_and_asks_for_proofs(script: Path, berghain_spec: Path) -> None:
    node = service(1)
    best = FULL + (1000).to_bytes(4, "little") + bytes([7]) * 32 + GENESIS
    announces = node.notifications("block-announces/1", lambda: best)
    transactions = node.notifications("transactions/1", lambda: FULL)
    grandpa = node.notifications("grandpa/1", lambda: FULL)
    asked, ask = trio.open_memory_channel[tuple[str, bytes]](100)

    def note(protocol: str) -> None:
        async def handler(peer: str, data: bytes) -> bytes | None:
            asked.send_nowait((protocol, data))
            await trio.sleep_forever()  # a refusal would cost us its favour

        node.serve_requests(protocol, handler)

    for protocol in ("sync/2", "sync/warp", "light/2"):
        note(protocol)
    async with running(node), peer_process(script, str(berghain_spec), str(address_of(node))):
        opened = await announces.events.receive()
        assert isinstance(opened, Opened)
        assert opened.inbound
        assert opened.handshake == LIGHT + AT_GENESIS
        assert isinstance(await transactions.events.receive(), Opened)
        assert isinstance(await grandpa.events.receive(), Opened)
        assert node.peers[opened.peer_id].opened == {"block-announces/1", "transactions/1", "grandpa/1"}
        for _ in range(2):
            assert grandpa.send(opened.peer_id, NEIGHBOUR)
        neighbour = await grandpa.events.receive()
        assert isinstance(neighbour, Received)
        assert neighbour.data[:2] == NEIGHBOUR[:2]
        requests = dict([await ask.receive()])
        while "sync/warp" not in requests:
            protocol, data = await ask.receive()
            requests[protocol] = data
        assert requests["sync/warp"] == GENESIS
        if "sync/2" in requests:
            assert Message.decode(requests["sync/2"]).uint(6) > 0
