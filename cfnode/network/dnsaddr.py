"""Resolution of `/dnsaddr/<name>` addresses by DNS.

Each TXT record of `_dnsaddr.<name>` holds `dnsaddr=<multiaddress>` (multiformats.io/multiaddr, "dnsaddr");
such an address may again be a `/dnsaddr`. The owner of the name chooses what we dial, so both depth and
number have a limit; the node at each address still has to prove its key.
"""

from __future__ import annotations

import trio

from cfnode.core.p2p.multiaddr import Multiaddr, MultiaddrError
from cfnode.network.transport import DialError

__all__ = ["resolve"]

PREFIX = "dnsaddr="
LOOKUP = 10.0
"""Seconds over all look-ups for one address."""
MAX_LOOKUPS = 8
MAX_FOUND = 16


async def resolve(address: Multiaddr) -> list[Multiaddr]:
    """Return the addresses to dial: `address` itself, or those in the records of its name.

    Raise DialError.
    """
    if address.dnsaddr_name is None:
        return [address]
    waiting, asked = [address], 0
    found: list[Multiaddr] = []
    try:
        with trio.fail_after(LOOKUP):
            while waiting and asked < MAX_LOOKUPS and len(found) < MAX_FOUND:
                name, asked = waiting.pop(0).dnsaddr_name or "", asked + 1
                for other in _of_the_same_node(await _records(name), address.peer):
                    (found if other.dnsaddr_name is None else waiting).append(other)
    except trio.TooSlowError:
        raise DialError(f"{address}: no answer of the name server within {LOOKUP:.0f} s") from None
    if not found:
        raise DialError(f"{address}: the name has no dnsaddr records of that node")
    return found[:MAX_FOUND]


def _of_the_same_node(texts: list[str], peer: str | None) -> list[Multiaddr]:
    found = []
    for text in texts:
        try:
            other = Multiaddr.parse(text)
        except MultiaddrError:  # a transport that we do not know, or a malformed address
            continue
        if peer is None or other.peer in (None, peer):
            found.append(other)
    return found


async def _records(name: str) -> list[str]:
    """Return the addresses in the TXT records of a name. Raise DialError."""
    await trio.to_thread.run_sync(_load)
    import dns.asyncresolver
    import dns.exception
    import dns.rdtypes.ANY.TXT

    try:
        answer = await dns.asyncresolver.resolve(f"_dnsaddr.{name}", "TXT", lifetime=LOOKUP)
    except dns.exception.DNSException as error:
        raise DialError(f"/dnsaddr/{name}: {error}") from error
    records = [record for record in answer if isinstance(record, dns.rdtypes.ANY.TXT.TXT)]
    texts = [b"".join(record.strings).decode("ascii", "replace") for record in records[:MAX_FOUND]]
    return [text.removeprefix(PREFIX) for text in texts if text.startswith(PREFIX)]


def _load() -> None:
    """Import the DNS library in a thread: only nodes with such an address need it, and the import is slow."""
    import dns.asyncresolver  # noqa: F401
