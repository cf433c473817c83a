"""Key pairs of the chain's three signature schemes: derivation, signing and verification.

The chain knows three schemes (Polkadot spec, "Cryptographic algorithms"): sr25519 for accounts and block
authors, ed25519 for finality votes and node identities, ecdsa over secp256k1. A key pair comes from a
32-byte seed or from a secret URI, whose junctions each scheme follows in its own way:

- sr25519: hard junctions by Merlin's `SchnorrRistrettoHDKD`, soft ones by the same over the public key;
- ed25519 and ecdsa: hard junctions only, BLAKE2b-256 over scheme name ‖ seed ‖ chain code.

sr25519 signs in the context `substrate`; ecdsa signs the BLAKE2b-256 of the message and gives 65 bytes
whose last is the recovery id (0..3).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Literal, NoReturn, SupportsIndex, get_args

import coincurve
import sr25519
from nacl.bindings import crypto_sign, crypto_sign_BYTES, crypto_sign_seed_keypair

from cfnode.core import deterministic_signing, ed25519
from cfnode.core.hashing import blake2_256
from cfnode.core.merlin import Transcript
from cfnode.core.suri import Junction, SuriError, parse

__all__ = ["SCHEMES", "SEED_LENGTH", "Keypair", "Scheme", "account_id", "derived_public", "verify"]

Scheme = Literal["sr25519", "ed25519", "ecdsa"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
SEED_LENGTH = 32
ECDSA_SIGNATURE_LENGTH = 65


class Keypair:
    """A key pair that signs. Neither repr, str, comparison nor pickling gives the secret away.

    `public` has 32 bytes (ecdsa: 33, compressed). `seed` is the 32-byte seed, or None behind a soft junction,
    which has none; it is a secret.
    """

    __slots__ = ("_repeats", "_secret", "_seed", "public", "scheme")

    scheme: Scheme
    public: bytes

    def __init__(self, scheme: Scheme, public: bytes, secret: bytes, seed: bytes | None) -> None:
        self.scheme = scheme
        self.public = public
        self._secret = secret
        self._seed = seed
        self._repeats = False

    @classmethod
    def from_seed(cls, seed: bytes, scheme: Scheme = "sr25519") -> Keypair:
        """Return the pair of a 32-byte seed. Raises SuriError."""
        if len(seed) != SEED_LENGTH:
            raise SuriError(f"a seed has 32 bytes, not {len(seed)}")
        public, secret = _EXPAND[scheme](seed)
        return cls(scheme, public, secret, seed)

    @classmethod
    def from_suri(cls, text: str, scheme: Scheme = "sr25519", *, password: str | None = None) -> Keypair:
        """Return the pair of a secret URI. `password` overrides the URI's own. Raises SuriError."""
        uri = parse(text)
        return reduce(_follow, uri.junctions, cls.from_seed(uri.seed(password), scheme))

    @property
    def seed(self) -> bytes | None:
        """The 32-byte seed, a secret; None behind a soft junction."""
        return self._seed

    @property
    def account(self) -> bytes:
        """The account id, 32 bytes."""
        return account_id(self.public)

    def repeatable(self) -> Keypair:
        """Return a copy of the pair whose signatures of a message are the same each time.

        For development chains only.
        """
        keypair = Keypair(self.scheme, self.public, self._secret, self._seed)
        keypair._repeats = True
        return keypair

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message: 64 bytes, for ecdsa 65."""
        if self._repeats and self.scheme == "sr25519":
            return deterministic_signing.sign(self.public, self._secret, message)
        return _SIGN[self.scheme](self.public, self._secret, message)

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether this pair made `signature` for `message`."""
        return verify(self.scheme, self.public, message, signature)

    def soft(self, chain_code: bytes) -> Keypair:
        """Return the child at a soft junction, for sr25519 only. Raises SuriError for other schemes."""
        if self.scheme != "sr25519":
            raise SuriError(
                f"{self.scheme} has no soft junctions: write // in front of each name of the path"
            )
        _, public, secret = sr25519.derive_keypair((chain_code, self.public, self._secret), b"")
        return Keypair(self.scheme, public, secret, None)

    def hard(self, chain_code: bytes) -> Keypair:
        """Return the child at a hard junction. It has a seed only if this pair has one."""
        child = Keypair.from_seed(_hard_seed(self, chain_code, self._secret), self.scheme)
        if self._seed is None:
            child._seed = None
        return child

    def __eq__(self, other: object) -> bool:
        """Compare by scheme and public key, so that no comparison reads the secret."""
        return isinstance(other, Keypair) and (self.scheme, self.public) == (other.scheme, other.public)

    def __hash__(self) -> int:
        """Hash the scheme and the public key, without the secret."""
        return hash((self.scheme, self.public))

    def __repr__(self) -> str:
        """Return the scheme and the public key in hex, without the secret."""
        return f"Keypair({self.scheme}, public=0x{self.public.hex()})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise TypeError: a copy or a pickle would contain the secret."""
        raise TypeError("a key pair holds a secret: it is neither pickled nor copied")


def account_id(public: bytes) -> bytes:
    """Return the account (32 bytes) of a public key.

    It is the key itself, or the BLAKE2b-256 of an ecdsa key (33 bytes).
    """
    return public if len(public) == 32 else blake2_256(public)


def derived_public(public: bytes, path: str, scheme: Scheme = "sr25519") -> bytes:
    """Return the public key below another one at `/soft/…`; the empty path is the key itself.

    Soft junctions take no secret. Raises SuriError for a hard junction, and for a scheme without soft ones.
    """
    junctions = parse(path).junctions
    if junctions and scheme != "sr25519":
        raise SuriError(f"{scheme} has no soft junctions: only a secret leads to other keys")
    if any(junction.hard for junction in junctions):
        raise SuriError(
            "only the secret leads through a hard junction (//): write soft ones (/) after an address"
        )
    return reduce(_soft_public, junctions, public)


def _soft_public(public: bytes, junction: Junction) -> bytes:
    _, child = sr25519.derive_pubkey((junction.chain_code, public), b"")
    return bytes(child)


def verify(scheme: Scheme, public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether `signature` by `public` covers `message`; False for malformed keys and signatures."""
    return _VERIFY[scheme](public, message, signature)


def _follow(pair: Keypair, junction: Junction) -> Keypair:
    return pair.hard(junction.chain_code) if junction.hard else pair.soft(junction.chain_code)


def _hard_seed(pair: Keypair, chain_code: bytes, secret: bytes) -> bytes:
    if pair.scheme == "sr25519":
        transcript = Transcript(b"SchnorrRistrettoHDKD")
        transcript.append(b"sign-bytes", b"")
        transcript.append(b"chain-code", chain_code)
        transcript.append(b"secret-key", secret[:32])  # the scalar, without the nonce half
        return transcript.challenge(b"HDKD-hard", SEED_LENGTH)
    name = b"Ed25519HDKD" if pair.scheme == "ed25519" else b"Secp256k1HDKD"
    return blake2_256(bytes([len(name) << 2]) + name + secret + chain_code)


def _expand_sr25519(seed: bytes) -> tuple[bytes, bytes]:
    public, secret = sr25519.pair_from_seed(seed)
    return bytes(public), bytes(secret)


def _expand_ed25519(seed: bytes) -> tuple[bytes, bytes]:
    return crypto_sign_seed_keypair(seed)[0], seed


def _expand_ecdsa(seed: bytes) -> tuple[bytes, bytes]:
    try:
        return coincurve.PrivateKey(seed).public_key.format(), seed
    except ValueError:
        raise SuriError("this seed is not a secp256k1 secret: it is zero or too large") from None


def _sign_sr25519(public: bytes, secret: bytes, message: bytes) -> bytes:
    return bytes(sr25519.sign((public, secret), message))


def _sign_ed25519(public: bytes, secret: bytes, message: bytes) -> bytes:
    return crypto_sign(message, secret + public)[:crypto_sign_BYTES]


def _sign_ecdsa(public: bytes, secret: bytes, message: bytes) -> bytes:
    return coincurve.PrivateKey(secret).sign_recoverable(blake2_256(message), hasher=None)


def _verify_sr25519(public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        return bool(sr25519.verify(signature, message, public))
    except ValueError:  # the library's answer to a malformed key or signature
        return False


def _verify_ecdsa(public: bytes, message: bytes, signature: bytes) -> bool:
    if len(signature) != ECDSA_SIGNATURE_LENGTH:
        return False
    try:
        signer = coincurve.PublicKey.from_signature_and_message(signature, blake2_256(message), hasher=None)
    except ValueError:
        return False
    return bool(signer.format() == public)


_EXPAND: dict[Scheme, Callable[[bytes], tuple[bytes, bytes]]] = {
    "sr25519": _expand_sr25519,
    "ed25519": _expand_ed25519,
    "ecdsa": _expand_ecdsa,
}
_SIGN: dict[Scheme, Callable[[bytes, bytes, bytes], bytes]] = {
    "sr25519": _sign_sr25519,
    "ed25519": _sign_ed25519,
    "ecdsa": _sign_ecdsa,
}
_VERIFY: dict[Scheme, Callable[[bytes, bytes, bytes], bool]] = {
    "sr25519": _verify_sr25519,
    "ed25519": ed25519.verify,
    "ecdsa": _verify_ecdsa,
}
