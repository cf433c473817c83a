"""A py-libp2p node: listens over TCP, answers SYNC by the request reversed, and with a second argument dials.

Usage: libp2p_peer.py SYNC_PROTOCOL [MULTIADDR]. Prints one JSON line when it listens and one when it has
dialed; ends with its standard input. Runs in an interpreter of its own, not the project's.
"""

import json
import sys

import trio
from libp2p import new_host
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.host.ping import PingService
from libp2p.identity.identify.identify import ID as IDENTIFY
from libp2p.identity.identify.identify import parse_identify_response
from libp2p.peer.peerinfo import info_from_p2p_addr
from multiaddr import Multiaddr


async def receive(stream):
    """Return one message with its length (LEB128) in front."""
    size = shift = 0
    while True:
        byte = (await stream.read(1))[0]
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    data = b""
    while len(data) < size:
        data += await stream.read(size - len(data))
    return data


async def send(stream, data):
    """Write a message after its length as a varint."""
    head, rest = b"", len(data)
    while rest > 127:
        head, rest = head + bytes([rest & 127 | 128]), rest >> 7
    await stream.write(head + bytes([rest]) + data)


def say(report):
    """Print a report as a line of JSON."""
    print(json.dumps(report), flush=True)


async def dial(host, protocol, address):
    """Connect to an address, ask for its identity, and send it requests."""
    peer = info_from_p2p_addr(Multiaddr(address))
    await host.connect(peer)
    identify = await host.new_stream(peer.peer_id, [IDENTIFY])
    about = parse_identify_response(await receive(identify))
    await identify.close()
    round_trips = await PingService(host).ping(peer.peer_id, 2)
    stream = await host.new_stream(peer.peer_id, [protocol])
    await send(stream, b"ab" * 100_000)
    answer = await receive(stream)
    await stream.close()
    say({
        "peer": str(peer.peer_id), "pinged": len(round_trips), "agent": about.agent_version,
        "version": about.protocol_version, "protocols": list(about.protocols),
        "listen": [str(Multiaddr(listening)) for listening in about.listen_addrs],
        "answer": len(answer), "begins": answer[:4].decode(),
    })  # fmt: skip


async def main(protocol, *addresses):
    """Answer requests at a port, and dial the given addresses."""
    host = new_host(key_pair=create_new_key_pair())

    async def answer(stream):
        await send(stream, (await receive(stream))[::-1])
        await stream.close()

    host.set_stream_handler(protocol, answer)
    async with host.run([Multiaddr("/ip4/127.0.0.1/tcp/0")]), trio.open_nursery() as nursery:
        say({"addresses": [str(address) for address in host.get_addrs()]})
        for address in addresses:
            nursery.start_soon(dial, host, protocol, address)
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        nursery.cancel_scope.cancel()


trio.run(main, *sys.argv[1:])
