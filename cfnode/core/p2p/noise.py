"""Noise handshake, which proves the peer's node key, and the encrypted channel after it.

The handshake is `Noise_XX_25519_ChaChaPoly_SHA256` (noiseprotocol.org, revision 34) with the payload of
libp2p's "noise-libp2p": each side proves its node key by a signature over the static key of the handshake.
Three messages:

1. dialer: e
2. listener: e, ee, s, es, payload
3. dialer: s, se, payload

Every message has its length in front (u16, big-endian). Afterwards a `SecureChannel` encrypts and decrypts
messages of up to 65,535 bytes; a nonce is a counter, and a connection that has used all of them ends. Only
ed25519 node keys are accepted.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import LocalError, RemoteError
from cfnode.core.p2p.protobuf import Message, bytes_field
from cfnode.core.peer_id import peer_id

__all__ = ["MAX_PLAINTEXT", "NoiseHandshake", "SecureChannel", "key_message", "public_key"]

NOISE_PROTOCOL = b"Noise_XX_25519_ChaChaPoly_SHA256"
SIGNED = b"noise-libp2p-static-key:"
KEY_PREFIX = bytes.fromhex("08011220")
"""The protobuf message PublicKey {type: ed25519, data: 32 bytes} up to the key."""

TAG = 16
MAX_NOISE_MESSAGE_BYTES = 65_535
MAX_PLAINTEXT = MAX_NOISE_MESSAGE_BYTES - TAG
MAX_NOISE_HANDSHAKE_BYTES = 4096
"""Bytes of a handshake message. Real ones have less than 300; extensions may come."""
MAX_NONCE = (1 << 64) - 2
"""The last counter that may be used; the one above is reserved."""
IDENTITY_KEY, IDENTITY_SIGNATURE = 1, 2


def key_message(public: bytes) -> bytes:
    """Return the protobuf form of an ed25519 public key."""
    return KEY_PREFIX + public


def public_key(message: bytes) -> bytes:
    """Return the ed25519 key (32 bytes) in its protobuf form; raise RemoteError."""
    fields = Message.decode(message, max_fields=16)
    key = fields.data(2)
    if fields.uint(1) != 1 or key is None or len(key) != 32:
        raise RemoteError("noise: the node key is not an ed25519 key")
    return key


class _Cipher:
    """A key with its counter."""

    __slots__ = ("_aead", "_nonce")

    def __init__(self, key: bytes) -> None:
        self._aead = ChaCha20Poly1305(key)
        self._nonce = 0

    def _next(self) -> bytes:
        nonce = self._nonce
        if nonce > MAX_NONCE:
            raise RemoteError("noise: the connection has used all its nonces")
        self._nonce = nonce + 1
        return bytes(4) + nonce.to_bytes(8, "little")

    def seal(self, plaintext: bytes, bound: bytes | None = None) -> bytes:
        return self._aead.encrypt(self._next(), plaintext, bound)

    def open(self, sealed: bytes | memoryview, bound: bytes | None = None) -> bytes:
        try:
            return self._aead.decrypt(self._next(), sealed, bound)
        except InvalidTag:
            raise RemoteError("noise: a message was forged, altered or cut") from None


class _Symmetric:
    """The Noise `SymmetricState`: the hash of all messages so far, and the keys derived from them."""

    def __init__(self) -> None:
        self._hash = self._chain = NOISE_PROTOCOL
        self._cipher: _Cipher | None = None
        self.mix_hash(b"")  # the empty prologue

    def mix_hash(self, data: bytes) -> None:
        self._hash = hashlib.sha256(self._hash + data).digest()

    def mix_key(self, secret: X25519PrivateKey, public: bytes) -> None:
        try:
            shared = secret.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise RemoteError("noise: a key of the handshake is a point of low order") from None
        self._chain, key = self._derive(shared)
        self._cipher = _Cipher(key)

    def seal(self, plaintext: bytes) -> bytes:
        sealed = self._keyed().seal(plaintext, self._hash)
        self.mix_hash(sealed)
        return sealed

    def open(self, sealed: bytes) -> bytes:
        plaintext = self._keyed().open(sealed, self._hash)
        self.mix_hash(sealed)
        return plaintext

    def split(self) -> tuple[_Cipher, _Cipher]:
        first_key, second_key = self._derive(b"")
        return _Cipher(first_key), _Cipher(second_key)

    def _keyed(self) -> _Cipher:
        if self._cipher is None:
            raise LocalError("noise: no key has been derived yet")
        return self._cipher

    def _derive(self, material: bytes) -> tuple[bytes, bytes]:
        """Return the two outputs of HKDF (Noise, section 4.3)."""
        temp_key = hmac.digest(self._chain, material, "sha256")
        first_output = hmac.digest(temp_key, b"\x01", "sha256")
        return first_output, hmac.digest(temp_key, first_output + b"\x02", "sha256")


class _Messages:
    """A byte stream that is cut into messages at their u16 lengths."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.buffer = bytearray()

    def next(self) -> bytes | None:
        """Return the next complete message, None while it is incomplete; raise RemoteError."""
        if len(self.buffer) < 2:
            return None
        length = int.from_bytes(self.buffer[:2], "big")
        if length > self.limit:
            raise RemoteError(f"noise: a handshake message of {length} bytes, {self.limit} are allowed")
        if len(self.buffer) < 2 + length:
            return None
        message = bytes(memoryview(self.buffer)[2 : 2 + length])
        del self.buffer[: 2 + length]
        return message


class SecureChannel:
    """The secured connection, which encrypts sent messages and decrypts received ones."""

    def __init__(self, sending: _Cipher, receiving: _Cipher, unread: bytes) -> None:
        self._sending, self._receiving = sending, receiving
        self._buffer = bytearray(unread)

    def seal(self, plaintext: bytes) -> bytes:
        """Return one encrypted message with its length in front.

        Raises LocalError above MAX_PLAINTEXT bytes of plaintext.
        """
        if len(plaintext) > MAX_PLAINTEXT:
            raise LocalError(f"noise: a message of {len(plaintext)} bytes, {MAX_PLAINTEXT} are allowed")
        sealed = self._sending.seal(plaintext)
        return len(sealed).to_bytes(2, "big") + sealed

    def receive_data(self, data: bytes) -> list[bytes]:
        """Return the plaintexts of the messages that are now complete; raise RemoteError."""
        return list(self.messages(data))

    def messages(self, data: bytes) -> Iterator[bytes]:
        """Yield the plaintexts of complete messages, each decrypted when the caller asks for it.

        The caller has to iterate to the end, where the received bytes are released. Raises RemoteError.
        """
        self._buffer += data
        start = 2
        with memoryview(self._buffer) as view:
            while start <= len(view):
                end = start + int.from_bytes(view[start - 2 : start], "big")
                if end > len(view):
                    break
                yield self._receiving.open(view[start:end])
                start = end + 2
        del self._buffer[: start - 2]


class NoiseHandshake:
    """One side of the handshake. `static` and `ephemeral` are 32 fresh random bytes each.

    `expected` is the node key (32 bytes) that the dialed address names. When `finished`, `remote` is the node
    key of the other side, proven, and `channel()` returns the secured connection.
    """

    def __init__(
        self,
        identity: Keypair,
        *,
        dialer: bool,
        static: bytes,
        ephemeral: bytes,
        expected: bytes | None = None,
    ) -> None:
        if identity.scheme != "ed25519":
            raise LocalError("noise: a node key is an ed25519 key")
        self._identity, self._dialer, self._expected = identity, dialer, expected
        self._static = X25519PrivateKey.from_private_bytes(static)
        self._ephemeral = X25519PrivateKey.from_private_bytes(ephemeral)
        self._state = _Symmetric()
        self._messages = _Messages(MAX_NOISE_HANDSHAKE_BYTES)
        self._out = bytearray()
        self._theirs = b""
        self.remote = b""
        self.finished = False
        if dialer:
            self._send(self._ephemeral_part() + self._plain_part(b""))

    def bytes_to_send(self) -> bytes:
        """Return the bytes to send now; each is returned once."""
        pending = bytes(self._out)
        self._out.clear()
        return pending

    def receive_data(self, data: bytes) -> None:
        """Read received bytes; raise RemoteError. Bytes after the handshake are kept for the channel."""
        self._messages.buffer += data
        while not self.finished and (message := self._messages.next()) is not None:
            self._on_message(message)

    def channel(self) -> SecureChannel:
        """Return the secured connection; to be called once.

        Raises LocalError before the handshake has finished.
        """
        if not self.finished:
            raise LocalError("noise: the handshake has not finished")
        first_cipher, second_cipher = self._state.split()
        sending, receiving = (first_cipher, second_cipher) if self._dialer else (second_cipher, first_cipher)
        return SecureChannel(sending, receiving, bytes(self._messages.buffer))

    def _on_message(self, message: bytes) -> None:
        if self._dialer:
            self._read_answer(message)
            self._send(self._static_part(self._theirs))
            self.finished = True
        elif not self._theirs:
            self._read_hello(message)
            ephemeral = self._ephemeral_part()
            self._state.mix_key(self._ephemeral, self._theirs)
            self._send(ephemeral + self._static_part(self._theirs))
        else:
            self._read_static(message)
            self.finished = True

    def _read_hello(self, message: bytes) -> None:
        self._theirs = self._read_ephemeral(message)
        self._state.mix_hash(message[32:])

    def _read_answer(self, message: bytes) -> None:
        self._theirs = self._read_ephemeral(message)
        self._state.mix_key(self._ephemeral, self._theirs)
        self._read_static(message[32:])

    def _read_ephemeral(self, message: bytes) -> bytes:
        if len(message) < 32:
            raise RemoteError(f"noise: a message of {len(message)} bytes holds no key")
        self._state.mix_hash(message[:32])
        return message[:32]

    def _read_static(self, message: bytes) -> None:
        if len(message) < 32 + 2 * TAG:
            raise RemoteError(f"noise: {len(message)} bytes hold neither static key nor payload")
        static = self._state.open(message[: 32 + TAG])
        self._state.mix_key(self._ephemeral, static)
        self._check(self._state.open(message[32 + TAG :]), static)

    def _check(self, payload: bytes, static: bytes) -> None:
        """Check that the node key signed the static key, and that it is the expected one.

        Raises RemoteError.
        """
        fields = Message.decode(payload, max_fields=64)
        node, signature = public_key(fields.data(IDENTITY_KEY) or b""), fields.data(IDENTITY_SIGNATURE) or b""
        try:
            Ed25519PublicKey.from_public_bytes(node).verify(signature, SIGNED + static)
        except (InvalidSignature, ValueError):
            raise RemoteError("noise: the node key did not sign the handshake's key") from None
        if self._expected is not None and node != self._expected:
            raise RemoteError(
                f"the node's id is {peer_id(node)}, but its address names {peer_id(self._expected)}"
            )
        self.remote = node

    def _ephemeral_part(self) -> bytes:
        public = self._ephemeral.public_key().public_bytes_raw()
        self._state.mix_hash(public)
        return public

    def _plain_part(self, payload: bytes) -> bytes:
        self._state.mix_hash(payload)
        return payload

    def _static_part(self, theirs: bytes) -> bytes:
        """Return our static key and payload, both encrypted.

        Between the two, a key exchange of our static and their ephemeral key changes the cipher's key.
        """
        public = self._static.public_key().public_bytes_raw()
        sealed = self._state.seal(public)
        self._state.mix_key(self._static, theirs)
        signature = self._identity.sign(SIGNED + public)
        payload = bytes_field(IDENTITY_KEY, key_message(self._identity.public))
        return sealed + self._state.seal(payload + bytes_field(IDENTITY_SIGNATURE, signature))

    def _send(self, message: bytes) -> None:
        self._out += len(message).to_bytes(2, "big") + message
