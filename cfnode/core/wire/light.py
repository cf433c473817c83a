"""Requests and answers of state values and runtime calls with proof: protocol `light/2`.

Substrate, light client requests, `light.v1.proto`. The answer is a list of trie nodes and values
(`cfnode.core.trie.ProofState` reads it), or nothing if the server does not know.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.p2p.protobuf import Message, bytes_field
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import decode_proof, encode_proof
from cfnode.core.wire.errors import WireError, reading

__all__ = [
    "MAX_LIGHT_KEYS",
    "SUFFIX",
    "LightResponse",
    "RemoteCall",
    "RemoteRead",
    "decode_call",
    "decode_read",
    "decode_request",
    "encode_answer",
    "is_call",
]

SUFFIX = "light/2"

MAX_LIGHT_KEYS = 1_024
"""Keys of one read. Our own nodes ask for 256 at a time."""

MAX_METHOD = 512
"""Bytes of a runtime function's name."""

_CALL, _READ, _READ_CHILD = 1, 2, 4
_BLOCK = 2
_METHOD, _DATA = 3, 4
_KEYS, _CHILD, _CHILD_KEYS = 3, 3, 6
_PROOF = 2


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A call of a runtime function on the state after a block."""

    block: bytes
    method: str
    data: bytes = b""

    def encode(self) -> bytes:
        """Return the protobuf of the request."""
        parts = (_BLOCK, self.block), (_METHOD, self.method.encode()), (_DATA, self.data)
        return bytes_field(_CALL, b"".join(bytes_field(number, part) for number, part in parts))


@dataclass(frozen=True, slots=True)
class RemoteRead:
    """Keys of the state after a block; `child`: the name of a child trie, without its prefix."""

    block: bytes
    keys: tuple[bytes, ...]
    child: bytes = b""

    def encode(self) -> bytes:
        """Return the protobuf of the request, for keys of the state or of a child trie."""
        block = bytes_field(_BLOCK, self.block)
        if not self.child:
            return bytes_field(_READ, block + b"".join(bytes_field(_KEYS, key) for key in self.keys))
        name = bytes_field(_CHILD, CHILD_STORAGE_PREFIX + self.child)
        keys = b"".join(bytes_field(_CHILD_KEYS, key) for key in self.keys)
        return bytes_field(_READ_CHILD, block + name + keys)


def decode_request(data: bytes) -> RemoteCall | RemoteRead:
    """Return the request in these bytes; raise WireError."""
    with reading("light request"):
        message = Message.decode(data, max_fields=8)
        for number, read in ((_CALL, _read_call), (_READ, _read_keys), (_READ_CHILD, _read_child)):
            inner = message.data(number)
            if inner is not None:
                return read(Message.decode(inner, max_fields=MAX_LIGHT_KEYS + 8))
    raise WireError("light request: neither a call nor a read")


def decode_call(data: bytes) -> RemoteCall:
    """Return the call that the request asks for; raise WireError, also for another request."""
    request = decode_request(data)
    if not isinstance(request, RemoteCall):
        raise WireError("light request: a read in place of a call")
    return request


def decode_read(data: bytes) -> RemoteRead:
    """Return the keys that the request asks for; raise WireError, also for another request."""
    request = decode_request(data)
    if not isinstance(request, RemoteRead):
        raise WireError("light request: a call in place of a read")
    return request


def is_call(data: bytes) -> bool:
    """Return whether a request asks for a call; raise WireError. Cheap, whatever the request contains."""
    with reading("light request"):
        return Message.decode(data, max_fields=8).data(_CALL) is not None


def _block(message: Message) -> bytes:
    block = message.data(_BLOCK)
    if block is None or len(block) != 32:
        raise WireError("light request: it must name a block by a hash of 32 bytes")
    return block


def _read_call(message: Message) -> RemoteCall:
    method = message.data(_METHOD) or b""
    if not 0 < len(method) <= MAX_METHOD:
        raise WireError(f"light request: a function's name of {len(method)} bytes")
    return RemoteCall(_block(message), method.decode("ascii"), message.data(_DATA) or b"")


def _read_keys(message: Message) -> RemoteRead:
    return RemoteRead(_block(message), _keys(message, _KEYS))


def _read_child(message: Message) -> RemoteRead:
    name = message.data(_CHILD) or b""
    child = name.removeprefix(CHILD_STORAGE_PREFIX)
    if not child or child == name:
        raise WireError("light request: a child trie is named by its whole key in the top trie")
    return RemoteRead(_block(message), _keys(message, _CHILD_KEYS), child)


def _keys(message: Message, number: int) -> tuple[bytes, ...]:
    keys = tuple(message.repeated(number))
    if not 0 < len(keys) <= MAX_LIGHT_KEYS:
        raise WireError(f"light request: {len(keys)} keys, from 1 to {MAX_LIGHT_KEYS} can be read at once")
    return keys


def encode_answer(proof: bytes, *, call: bool = False) -> bytes:
    """Return the answer to a read, or to a call, with a proof that is encoded already."""
    return bytes_field(_CALL if call else _READ, bytes_field(_PROOF, proof))


@dataclass(frozen=True, slots=True)
class LightResponse:
    """The nodes and values of a proof; None: the server does not know."""

    proof: tuple[bytes, ...] | None

    def encode(self, *, call: bool = False) -> bytes:
        """Return the bytes of the answer to a read, or with `call` to a call."""
        if self.proof is not None:
            return encode_answer(encode_proof(self.proof), call=call)
        return bytes_field(_CALL if call else _READ, b"")

    @classmethod
    def decode(cls, data: bytes) -> LightResponse:
        """Return the answer in these bytes; raise WireError."""
        with reading("light answer"):
            message = Message.decode(data, max_fields=8)
            inner = message.data(_CALL) or message.data(_READ)
            proof = Message.decode(inner, max_fields=8).data(_PROOF) if inner else None
            return cls(None if proof is None else tuple(decode_proof(proof)))
