"""Attacks of a peer in the protocols of the chain: announcements, votes, requests, silence."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

import trio

from cfnode.core.aura import pre_runtime_item, seal_item
from cfnode.core.grandpa import COMMIT, Commit, CommitMessage, Precommit, read_authorities
from cfnode.core.header import DigestItem, DigestKind, Header
from cfnode.core.scale import ByteCursor
from cfnode.core.trie import ordered_root
from cfnode.core.wire.announces import BlockAnnounce
from cfnode.core.wire.blocks import Attributes, BlockData, BlockRequest, BlockResponse
from cfnode.core.wire.light import RemoteRead
from cfnode.core.wire.state import StateRequest
from cfnode.network.interface import RequestHandler
from scripts.redteam_suite.peers import SOURCE, Stranger, in_turns, sources, use_source_addresses
from scripts.redteam_suite.rpc_wire import WebSocket
from scripts.redteam_suite.target import Target

INVENTED = 256
SILENT_PEERS, FAKE_PEERS, VOTERS, DIGEST_PEERS, SYBILS = 4, 2, 3, 3, 50
FAR_AWAY = 4_000_000_000
FAKE_CHAIN = 4_000
FAKE_BODY = 1_500_000
"""Bytes of each invented body: the largest answers would be 8 MiB."""
DIGEST_ITEMS = 16_384
PAUSE_S = 0.05
REQUESTS_AT_ONCE = 10
LIGHT_KEYS = 4_096
SLOT_MS = 6_000
SPARE_SLOTS = 100_000

Attack = Callable[[Target], Awaitable[None]]


class Author:
    """Honest author, over its public JSON-RPC."""

    def __init__(self, target: Target) -> None:
        self._socket = WebSocket(target.author_rpc)

    def header(self, final: bool = False) -> tuple[int, bytes]:
        """Return number and hash of the best block, or of the final one."""
        block = self._socket.call("chain_getFinalizedHead" if final else "chain_getBlockHash")
        return int(self._socket.call("chain_getHeader", block)["number"], 16), bytes.fromhex(block[2:])

    def set_id(self) -> int:
        """Return the id of the present authority set."""
        answer = self._socket.call("state_call", "GrandpaApi_current_set_id", "0x")
        return int.from_bytes(bytes.fromhex(answer[2:]), "little")

    def authorities(self) -> list[bytes]:
        """Return the keys of the finality authorities."""
        answer = self._socket.call("state_call", "GrandpaApi_grandpa_authorities", "0x")
        return [key for key, _ in read_authorities(ByteCursor(bytes.fromhex(answer[2:])))]


async def never(peer: str, data: bytes) -> bytes | None:
    """Accept a request, and never answer it."""
    await trio.sleep_forever()
    return None


SILENT: dict[str, RequestHandler] = dict.fromkeys(("sync/2", "sync/warp", "state/2", "light/2"), never)


@asynccontextmanager
async def taking_part(
    target: Target, source: str, *, gossip: bool = False, answers: dict[str, RequestHandler] | None = None,
    best: tuple[int, bytes] | None = None,
) -> AsyncIterator[Stranger]:  # fmt: skip
    """Connect a new peer at this address, until the node accepts it. Raise TooSlowError."""
    SOURCE.set(source)
    stranger = Stranger(target, secrets.token_bytes(32), gossip=gossip, answers=answers, best=best)
    async with stranger.connected():
        if not await stranger.joined():
            raise trio.TooSlowError("the node does not take us as a peer")
        yield stranger


def slot_after(number: int) -> int:
    """Return a plausible slot of the block: later than any on the chain, whose clock is a year back."""
    return int(time.time() * 1000) // SLOT_MS - SPARE_SLOTS + number


def invented_header(number: int, parent: bytes, digest: tuple[DigestItem, ...] = ()) -> Header:
    """Return a header that is well-formed, and has a slot and a seal."""
    items = (pre_runtime_item(slot_after(number)), *digest, seal_item(os.urandom(64)))
    return Header(parent, number, os.urandom(32), os.urandom(32), items)


async def invented_heads(target: Target) -> None:
    """Announce 256 invented headers above the head, again and again; never answer `sync/2` (row 2)."""
    author, source = Author(target), sources()

    async def task() -> None:
        best = author.header()
        async with taking_part(target, source(), answers=SILENT, best=best) as stranger:
            while stranger.is_connected:
                number, block = author.header()
                for step in range(INVENTED):
                    parent = block if step == 0 else os.urandom(32)
                    announced = BlockAnnounce(invented_header(number + 1 + step, parent), best=False)
                    if not stranger.say("block-announces/1", announced.encode()):
                        return
                    await trio.sleep(0.002)

    await in_turns([task] * SILENT_PEERS)


def fake_chain(below: int) -> tuple[dict[bytes, Header], Header, bytes]:
    """Return connected headers that do not lead to the chain, the highest of them, and the common body."""
    body = b"\x04" + os.urandom(FAKE_BODY)
    root, parent = ordered_root([body], 0), os.urandom(32)
    headers: dict[bytes, Header] = {}
    for number in range(below, below + FAKE_CHAIN):
        items = (pre_runtime_item(slot_after(number)), seal_item(bytes(64)))
        header = Header(parent, number, bytes(32), root, items)
        parent = header.hash
        headers[parent] = header
    return headers, headers[parent], body


async def fake_ancestors(target: Target) -> None:
    """Announce a block far above the final one, and return one ancestor in each answer (row 3)."""
    author, source = Author(target), sources()

    async def task() -> None:
        headers, top, body = fake_chain(author.header(final=True)[0] + 2)

        async def one(peer: str, data: bytes) -> bytes | None:
            request = BlockRequest.decode(data)
            header = headers.get(request.start) if isinstance(request.start, bytes) else None
            if header is None:
                return BlockResponse(()).encode()
            bodies = (body,) if Attributes.BODY in request.attributes else ()
            assert isinstance(request.start, bytes)
            return BlockResponse((BlockData(request.start, header, bodies),)).encode()

        best = author.header()
        async with taking_part(target, source(), answers={**SILENT, "sync/2": one}, best=best) as stranger:
            while stranger.is_connected:
                stranger.say("block-announces/1", BlockAnnounce(top, best=False).encode())
                await trio.sleep(1)

    await in_turns([task] * FAKE_PEERS)


async def sybils(target: Target) -> None:
    """Let fifty peers claim block 4,000,000,000, and never answer (row 6)."""
    source = sources()

    async def task() -> None:
        async with taking_part(target, source(), answers=SILENT, best=(FAR_AWAY, os.urandom(32))) as stranger:
            while stranger.is_connected:  # noqa: ASYNC110 - only visible from outside
                await trio.sleep(0.2)

    await in_turns([task] * SYBILS)


async def low_votes(target: Target) -> None:
    """Send commits with votes for the best and for a low block, and unknown signatures (row 7).

    Every second commit has votes for block 0 by invented authorities; the others name a true authority, and
    numbers that an honest commit could have.
    """
    author, source = Author(target), sources()
    genesis, set_id = bytes.fromhex(target.genesis), author.set_id()
    true = author.authorities()

    async def task() -> None:
        async with taking_part(target, source(), gossip=True, best=author.header()) as stranger:
            if not await stranger.joined(protocol="grandpa/1"):
                return
            for number in count(1):
                if number % 20 == 1:
                    (head, block), (final, final_block) = author.header(), author.header(final=True)
                if number % 2:
                    votes = [_vote(block, head, os.urandom(32)), _vote(genesis, 0, os.urandom(32))]
                else:
                    votes = [_vote(block, head, key) for key in true] + [_vote(final_block, final, true[0])]
                commit = CommitMessage(number, set_id, Commit(block, head, tuple(votes)))
                if not stranger.say("grandpa/1", bytes((COMMIT,)) + commit.encode()):
                    return
                await trio.sleep(PAUSE_S)

    await in_turns([task] * VOTERS)


def _vote(block: bytes, number: int, authority: bytes) -> Precommit:
    return Precommit(block, number, os.urandom(64), authority)


async def long_digests(target: Target) -> None:
    """Announce headers with 16,384 digest items (row 11)."""
    author, source = Author(target), sources()
    kinds = [DigestItem(DigestKind.OTHER), DigestItem(DigestKind.CONSENSUS, b"FRNK", b"")]

    async def task() -> None:
        async with taking_part(target, source(), best=author.header()) as stranger:
            for number in count():
                items = (kinds[number % 2],) * (DIGEST_ITEMS - 2)
                header = invented_header(author.header()[0] + 1 if number % 4 else 1, os.urandom(32), items)
                if not stranger.say("block-announces/1", BlockAnnounce(header, best=False).encode()):
                    return
                await trio.sleep(PAUSE_S * 2)

    await in_turns([task] * DIGEST_PEERS)


async def large_reads(target: Target) -> None:
    """Let two peers read the state, ten ranges at a time, and a third request 4,096 keys (row 10)."""
    author, source = Author(target), sources()

    async def ask_on(stranger: Stranger, request: Callable[[bytes], tuple[str, bytes]]) -> None:
        block = author.header(final=True)[1]
        while stranger.is_connected:
            try:
                await stranger.ask(*request(block), seconds=30)
            except Exception:
                block = author.header(final=True)[1]
                await trio.sleep(0.1)

    def state(block: bytes) -> tuple[str, bytes]:
        return "state/2", StateRequest(block, (os.urandom(32),)).encode()

    def light(block: bytes) -> tuple[str, bytes]:
        return "light/2", RemoteRead(block, tuple(os.urandom(32) for _ in range(LIGHT_KEYS))).encode()

    def reading(request: Callable[[bytes], tuple[str, bytes]]) -> Callable[[], Awaitable[None]]:
        async def task() -> None:
            async with taking_part(target, source()) as stranger, trio.open_nursery() as nursery:
                for _ in range(REQUESTS_AT_ONCE):
                    nursery.start_soon(ask_on, stranger, request)

        return task

    await in_turns([reading(state), reading(state), reading(light)])


ATTACKS: dict[str, Attack] = {
    "2": invented_heads,
    "3": fake_ancestors,
    "6": sybils,
    "7": low_votes,
    "10": large_reads,
    "11": long_digests,
}


def run(attack: Attack, target: Target) -> None:
    """Run an attack from source addresses of its own."""
    use_source_addresses()
    trio.run(attack, target)
