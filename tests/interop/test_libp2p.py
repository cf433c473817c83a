"""js-libp2p and py-libp2p, written by others, meet our network; each calls the other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network import RequestLimits
from tests.conftest import PEERS
from tests.network.conftest import GENESIS, address_of, running, service
from tests.support.interop.libp2p import peer_process
from tests.support.waiting import until

pytestmark = pytest.mark.world

SCRIPT = Path(__file__).parent / "libp2p.mjs"
SYNC = f"/{GENESIS.hex()}/sync/2"
LIMITS = RequestLimits(request=4 << 20, response=32 << 20)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return the peer's program, in a folder with its packages."""
    modules = PEERS / "node" / "node_modules"
    if shutil.which("node") is None or not (modules / "@libp2p" / "websockets").exists():
        pytest.skip("js-libp2p is not here: scripts/peers installs it (needs node and npm)")
    (tmp_path / "node_modules").symlink_to(modules)
    return Path(shutil.copy(SCRIPT, tmp_path))


async def backwards(peer: str, data: bytes) -> bytes | None:
    """Return the data backwards."""
    return data[::-1]


@pytest.mark.parametrize("layer", ["", "/ws"])
async def test_js_libp2p_calls_us(script: Path, layer: str) -> None:
    """Answer js-libp2p's identify, ping and request when it dials us."""
    node = service(1, listen=(Multiaddr.parse(f"/ip4/127.0.0.1/tcp/0{layer}"),))
    node.serve_requests("sync/2", backwards, LIMITS)
    async with running(node), peer_process(script, SYNC, str(address_of(node))) as peer:
        await peer.report()
        report = await peer.report()
        assert report["peer"] == node.peer_id
        assert report["pinged"] is True
        assert (report["encryption"], report["multiplexer"]) == ("/noise", "/yamux/1.0.0")
        assert (report["agent"], report["version"]) == ("node 1", "/substrate/1.0")
        assert {SYNC, "/ipfs/ping/1.0.0", f"/{GENESIS.hex()}/kad"} <= set(report["protocols"])
        assert str(address_of(node).without_peer) in report["listen"]
        assert (report["answer"], report["begins"]) == (2_000_000, "baba")


@pytest.mark.parametrize("websocket", [False, True])
async def test_we_call_js_libp2p(script: Path, websocket: bool) -> None:
    """Dial js-libp2p, and get small and large answers."""
    node = service(1)
    node.serve_requests("sync/2", None, LIMITS)
    async with running(node), peer_process(script, SYNC) as peer:
        report = await peer.report()
        address = next(text for text in report["addresses"] if ("/ws/" in text) == websocket)
        identity = await node.connect(Multiaddr.parse(address))
        await until(lambda: node.peers[identity].agent)
        assert "js-libp2p" in node.peers[identity].agent
        assert SYNC in node.peers[identity].protocols
        assert await node.request(identity, "sync/2", b"hello") == b"olleh"
        large = bytes(range(256)) * 20_000
        assert await node.request(identity, "sync/2", large) == large[::-1]


@pytest.fixture
def python() -> str:
    """Return the interpreter that has py-libp2p."""
    path = PEERS / "libp2p" / "bin" / "python"
    if not path.exists():
        pytest.skip("py-libp2p is not here: scripts/peers installs it (needs gcc and the headers of GMP)")
    return str(path)


async def test_py_libp2p_calls_us(python: str) -> None:
    """Answer py-libp2p's identify, ping and request when it dials us."""
    node = service(1)
    node.serve_requests("sync/2", backwards, LIMITS)
    script = SCRIPT.with_name("libp2p_peer.py")
    async with running(node), peer_process(script, SYNC, str(address_of(node)), program=python) as peer:
        await peer.report()
        report = await peer.report()
        assert (report["peer"], report["pinged"]) == (node.peer_id, 2)
        assert (report["agent"], report["version"]) == ("node 1", "/substrate/1.0")
        assert {SYNC, "/ipfs/ping/1.0.0", f"/{GENESIS.hex()}/kad"} <= set(report["protocols"])
        assert str(address_of(node).without_peer) in report["listen"]
        assert (report["answer"], report["begins"]) == (200_000, "baba")


async def test_we_call_py_libp2p(python: str) -> None:
    """Dial py-libp2p, and get small and large answers."""
    node = service(1)
    node.serve_requests("sync/2", None, LIMITS)
    script = SCRIPT.with_name("libp2p_peer.py")
    async with running(node), peer_process(script, SYNC, program=python) as peer:
        identity = await node.connect(Multiaddr.parse((await peer.report())["addresses"][0]))
        await until(lambda: node.peers[identity].agent)
        assert "py-libp2p" in node.peers[identity].agent
        assert SYNC in node.peers[identity].protocols
        assert await node.request(identity, "sync/2", b"hello") == b"olleh"
        large = bytes(range(256)) * 800
        assert await node.request(identity, "sync/2", large) == large[::-1]
