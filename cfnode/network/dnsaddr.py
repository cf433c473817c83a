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

DNSADDR_PREFIX = "dnsaddr="
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
    pending, lookups = [address], 0
    resolved: list[Multiaddr] = []
    try:
        with trio.fail_after(LOOKUP):
            while pending and lookups < MAX_LOOKUPS and len(resolved) < MAX_FOUND:
                name, lookups = pending.pop(0).dnsaddr_name or "", lookups + 1
                for record in _of_the_same_node(await _records(name), address.peer):
                    (resolved if record.dnsaddr_name is None else pending).append(record)
    except trio.TooSlowError:
        raise DialError(f"{address}: no answer of the name server within {LOOKUP:.0f} s") from None
    if not resolved:
        raise DialError(f"{address}: the name has no dnsaddr records of that node")
    return resolved[:MAX_FOUND]


def _of_the_same_node(texts: list[str], peer: str | None) -> list[Multiaddr]:
    addresses = []
    for text in texts:
        try:
            record = Multiaddr.parse(text)
        except MultiaddrError:  # a transport that we do not know, or a malformed address
            continue
        if peer is None or record.peer in (None, peer):
            addresses.append(record)
    return addresses


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
    return [text.removeprefix(DNSADDR_PREFIX) for text in texts if text.startswith(DNSADDR_PREFIX)]


def _load() -> None:
    """Import the DNS library in a thread: only nodes with such an address need it, and the import is slow."""
    import dns.asyncresolver  # noqa: F401
