"""Request handlers for peers that sync from this node: blocks, states, and both kinds of proofs.

All four request protocols are answered from the store (calls with proof by the executor), with Substrate's
limits and rules of refusal. Data that the node lacks (a pruned state, blocks before an imported state) is
refused, which costs the peer nothing but another request. Reading and packing happen in threads, few and in
fair turns (`serve_limits.py`): an answer may be megabytes.
"""

from __future__ import annotations

import logging

from cfnode.core.trie import MissingNode, TrieError
from cfnode.core.wire import WireError, blocks, light, state, warp
from cfnode.network.interface import PeerNetwork, RequestHandler, RequestLimits
from cfnode.node.asking import reputation
from cfnode.node.chain.chain import NodeChain
from cfnode.node.sync.serving.repeats import Repeats
from cfnode.node.sync.serving.serve_blocks import BlockServer
from cfnode.node.sync.serving.serve_limits import RequestQueue, ServingRefused, WorkerThreads
from cfnode.node.sync.serving.serve_state import read_proof, state_range
from cfnode.node.sync.serving.serve_warp import warp_proof
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, Store, UnknownBlock

__all__ = ["SERVED_REQUEST_LIMITS", "SyncServer"]

log = logging.getLogger("cfnode.sync")

KIB = 1 << 10
MIB = 1 << 20
SERVED_REQUEST_LIMITS = {
    blocks.SUFFIX: RequestLimits(request=KIB, response=16 * MIB, timeout=20, window=8 * MIB),
    warp.SUFFIX: RequestLimits(request=32, response=32 * MIB, timeout=24, window=16 * MIB),
    state.SUFFIX: RequestLimits(request=130 * KIB, response=32 * MIB, timeout=40, window=8 * MIB),
    light.SUFFIX: RequestLimits(request=MIB, response=16 * MIB, timeout=15, window=4 * MIB),
}
"""Substrate's limits; the time of a warp request is smoldot's, for slow servers. Requests for blocks have
less than 100 bytes, those for states two keys at most: Substrate allows a megabyte, which we would have to
buffer."""

MAX_PEER_CALLS = 1
"""Runtime calls of all peers together in the executor at a time: our own clients come first, and wait for one
such call at most."""


class SyncServer:
    """The server of requests about the chain. `declare` it before the network runs."""

    def __init__(self, network: PeerNetwork, chain: NodeChain, store: Store) -> None:
        self._network = network
        self._chain = chain
        self._store = store
        threads = WorkerThreads()
        self._calls = RequestQueue(threads, MAX_PEER_CALLS)
        self._warps, self._states, self._reads = (RequestQueue(threads) for _ in range(3))
        self._repeats = Repeats()
        self._blocks = BlockServer(network, chain, self._repeats, RequestQueue(threads))

    def declare(self) -> None:
        """Register the protocols and their handlers with the network."""
        answers: dict[str, RequestHandler] = {
            blocks.SUFFIX: self._blocks.answer,
            warp.SUFFIX: self._warp,
            state.SUFFIX: self._state,
            light.SUFFIX: self._light,
        }
        for suffix, answer in answers.items():
            self._network.serve_requests(suffix, self._guarded(suffix, answer), SERVED_REQUEST_LIMITS[suffix])

    def _guarded(self, suffix: str, answer: RequestHandler) -> RequestHandler:
        """Return the handler with its errors mapped: a malformed request is charged, missing data refused."""

        async def guarded(peer: str, data: bytes) -> bytes | None:
            try:
                return await answer(peer, data)
            except WireError as error:
                self._network.report(peer, reputation.BAD_MESSAGE, str(error))
            except (
                UnknownBlock,
                StateDiscarded,
                TrieError,
                MissingNode,
                RuntimeCallError,
                ServingRefused,
            ) as error:
                log.debug("%s request of %s is refused: %s", suffix, peer, error)
            return None

        return guarded

    async def _warp(self, peer: str, data: bytes) -> bytes | None:
        start = warp.read_begin(data)
        return await self._warps.run(peer, lambda: warp_proof(self._store, start))

    async def _state(self, peer: str, data: bytes) -> bytes | None:
        request = state.StateRequest.decode(data)
        if self._repeats.exhausted(peer, data):
            self._network.report(peer, reputation.FATAL, "the same state request a third time")
            return None
        with self._repeats.answering(peer, data) as answering:
            answer = await self._states.run(peer, lambda: state_range(self._store, request).encode())
            answering.useful = True
        return answer

    async def _light(self, peer: str, data: bytes) -> bytes | None:
        if light.is_call(data):
            request = light.decode_call(data)
            async with self._calls.turn(peer):
                call = self._chain.states.prove_call(request.block, request.method, request.data)
                return light.encode_answer(await call, call=True)
        return await self._reads.run(peer, lambda: self._read(data))

    def _read(self, data: bytes) -> bytes:
        return light.LightResponse(tuple(read_proof(self._store, light.decode_read(data)))).encode()
