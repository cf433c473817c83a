"""The identify message: name, addresses and protocols of a node.

It belongs to `/ipfs/id/1.0.0` (libp2p specs, "identify"): the listener of the substream sends it and ends.
Everything in it but the key is unverified, and the key has to be the one that the connection proved.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.noise import key_message, public_key
from cfnode.core.p2p.protobuf import Message, bytes_field
from cfnode.core.safe_text import printable

__all__ = ["MAX_IDENTIFY", "PROTOCOL", "Identify"]

PROTOCOL = "/ipfs/id/1.0.0"
PROTOCOL_VERSION = "/substrate/1.0"
MAX_IDENTIFY = 65_536
"""Bytes of the message, the bound of Substrate's libp2p backend."""
MAX_IDENTIFY_ADDRESSES = 30
MAX_PROTOCOLS = 128
MAX_IDENTIFY_TEXT = 256
"""Characters that we keep of a peer's texts."""


@dataclass(frozen=True, slots=True)
class Identify:
    """The identify message of a node; `observed`: the address at which the node sees its peer."""

    public: bytes
    agent: str
    listen: tuple[Multiaddr, ...] = ()
    protocols: tuple[str, ...] = ()
    observed: Multiaddr | None = None
    version: str = PROTOCOL_VERSION

    def encode(self) -> bytes:
        """Return the protobuf message, without its length prefix."""
        fields = [bytes_field(1, key_message(self.public))]
        fields += (bytes_field(2, address.encode()) for address in self.listen)
        fields += (bytes_field(3, name.encode()) for name in self.protocols)
        if self.observed is not None:
            fields.append(bytes_field(4, self.observed.encode()))
        return b"".join((*fields, bytes_field(5, self.version.encode()), bytes_field(6, self.agent.encode())))

    @classmethod
    def decode(cls, data: bytes) -> Identify:
        """Return the message in these bytes; raise RemoteError. Addresses of unknown kinds are left out."""
        message = Message.decode(data, max_fields=1024)
        observed = _addresses([message.data(4) or b""])
        return cls(
            public=public_key(message.data(1) or b""),
            agent=_text(message.data(6)),
            listen=_addresses(message.repeated(2)[:MAX_IDENTIFY_ADDRESSES]),
            protocols=tuple(_text(name) for name in message.repeated(3)[:MAX_PROTOCOLS]),
            observed=observed[0] if observed else None,
            version=_text(message.data(5)),
        )


def _addresses(items: list[bytes]) -> tuple[Multiaddr, ...]:
    addresses = []
    for item in items:
        try:
            address = Multiaddr.decode(item)
        except RemoteError:
            continue
        if address.parts:
            addresses.append(address)
    return tuple(addresses)


def _text(data: bytes | None) -> str:
    """Return text that is safe to print on a terminal: printable characters, limited length."""
    return printable((data or b"").decode("utf-8", "replace"), MAX_IDENTIFY_TEXT)
