"""js-libp2p and py-libp2p, written by others, meet our network; each calls the other."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network import RequestLimits
from tests.conftest import PEERS
from tests.network.conftest import GENESIS, address_of, running, service, until

SCRIPT = Path(__file__).parent / "libp2p.mjs"
SYNC = f"/{GENESIS.hex()}/sync/2"
LIMITS = RequestLimits(request=4 << 20, response=32 << 20)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The peer's program, in a folder with its packages."""
    modules = PEERS / "node" / "node_modules"
    if shutil.which("node") is None or not (modules / "@libp2p" / "websockets").exists():
        pytest.skip("js-libp2p is not here: scripts/peers installs it (needs node and npm)")
    (tmp_path / "node_modules").symlink_to(modules)
    return Path(shutil.copy(SCRIPT, tmp_path))


class Peer:
    """The running peer, and what it prints: one JSON object a line."""

    def __init__(self, process: trio.Process) -> None:
        self._process, self._read = process, bytearray()

    async def report(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while b"\n" not in self._read:
            data = await self._process.stdout.receive_some()
            assert data, "the peer has ended"
            self._read += data
        first, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        report: dict[str, Any] = json.loads(first)
        return report

    async def say(self, line: str) -> None:
        """A line for its standard input."""
        assert self._process.stdin is not None
        await self._process.stdin.send_all(f"{line}\n".encode())


@asynccontextmanager
async def peer_process(script: Path, *arguments: str, program: str = "node") -> AsyncIterator[Peer]:
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            run = partial(trio.run_process, stdin=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
            process = await nursery.start(run, [program, str(script), *arguments])
            yield Peer(process)
            nursery.cancel_scope.cancel()


async def backwards(peer: str, data: bytes) -> bytes | None:
    return data[::-1]


@pytest.mark.parametrize("layer", ["", "/ws"])
async def test_js_libp2p_calls_us(script: Path, layer: str) -> None:
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
    """The interpreter that has py-libp2p."""
    path = PEERS / "libp2p" / "bin" / "python"
    if not path.exists():
        pytest.skip("py-libp2p is not here: scripts/peers installs it (needs gcc and the headers of GMP)")
    return str(path)


async def test_py_libp2p_calls_us(python: str) -> None:
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
