"""Signatures of a development chain's aggregate keys, for the three schemes that the engine knows.

The key of an epoch is derived from the epoch's number (`devchain.runtime.keys`), so its secret is found from
the public key that the state names, without a key store. One-time scalars are hashes of secret and payload:
equal states give equal signatures.

    EVM         Schnorr over secp256k1, checked by `ecrecover`  (core.schnorr)
    Bitcoin     BIP 340, one signature for each input
    Polkadot    sr25519 in the context `substrate`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

from coincurve import PrivateKey

from cfnode.core import schnorr
from cfnode.core.hashing import keccak_256
from cfnode.devchain.runtime import keys

__all__ = ["SCHEMES", "Scheme", "UnknownKey"]

MAX_CACHED_SECRETS = 256
EPOCHS_TRIED = 8
"""Epochs before and after the expected one whose keys are tried: a handover names the key before."""


class UnknownKey(LookupError):
    """A key that no epoch near the expected one has: the engine cannot sign with it."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A signature scheme of aggregate keys.

    `generated` gives the key of an epoch as a value of the chain's type; `handed_over` the one after a
    handover from the present key, where the chain asks for one; `sign` takes the key in the state, the epoch
    in which it is expected, and the payload. Raises UnknownKey.
    """

    name: str
    generated: Callable[[int], Any]
    handed_over: Callable[[Any, Any], Any]
    sign: Callable[[Any, int, Any], Any]


def _near(epoch: int) -> Iterator[int]:
    yield epoch
    for distance in range(1, EPOCHS_TRIED + 1):
        yield epoch + distance
        if epoch - distance > 0:
            yield epoch - distance
    yield keys.GENESIS_EPOCH


def _evm_generated(epoch: int) -> dict[str, Any]:
    return asdict(keys.evm_key(epoch))


def _sign_evm(key: dict[str, Any], epoch: int, payload: bytes) -> dict[str, bytes]:
    secret = _evm_secret(key["pub_key_x"], key["pub_key_y_parity"], epoch)
    signature = schnorr.sign(secret, keccak_256(secret + payload), payload)
    return {"s": signature.s, "k_times_g_address": signature.k_times_g_address}


@lru_cache(maxsize=MAX_CACHED_SECRETS)
def _evm_secret(public_x: bytes, parity: str, epoch: int) -> bytes:
    for candidate in _near(epoch):
        key = keys.evm_key(candidate)
        if (key.pub_key_x, key.pub_key_y_parity) == (public_x, parity):
            return keys.evm_secret(candidate)
    raise UnknownKey(f"no epoch near {epoch} has the EVM key 0x{public_x.hex()}")


def _bitcoin_generated(epoch: int) -> dict[str, Any]:
    return {"previous": None, "current": keys.bitcoin_public_key(epoch)}


def _sign_bitcoin(key: dict[str, Any], epoch: int, payload: list[tuple[str, bytes]]) -> list[bytes]:
    signatures = []
    for which, message in payload:
        public_x = key["previous"] if which == "Previous" else key["current"]
        secret = _bitcoin_secret(public_x or b"", epoch)
        signatures.append(PrivateKey(secret).sign_schnorr(message, keccak_256(secret + message)))
    return signatures


@lru_cache(maxsize=MAX_CACHED_SECRETS)
def _bitcoin_secret(public_x: bytes, epoch: int) -> bytes:
    for candidate in _near(epoch):
        if keys.bitcoin_public_key(candidate) == public_x:
            return keys.bitcoin_secret(candidate)
    raise UnknownKey(f"no epoch near {epoch} has the Bitcoin key 0x{public_x.hex()}")


@lru_cache(maxsize=MAX_CACHED_SECRETS)
def _polkadot_epoch(public: bytes, epoch: int) -> int:
    for candidate in _near(epoch):
        if keys.polkadot_public_key(candidate) == public:
            return candidate
    raise UnknownKey(f"no epoch near {epoch} has the Polkadot key 0x{public.hex()}")


def _sign_polkadot(key: bytes, epoch: int, payload: bytes) -> bytes:
    return keys.polkadot_pair(_polkadot_epoch(key, epoch)).sign(payload)


SCHEMES: Final = {
    scheme.name: scheme
    for scheme in (
        Scheme("Evm", _evm_generated, lambda _old, new: new, _sign_evm),
        Scheme(
            "Bitcoin",
            _bitcoin_generated,
            lambda old, new: {"previous": old["current"], "current": new["current"]},
            _sign_bitcoin,
        ),
        Scheme("Polkadot", keys.polkadot_public_key, lambda _old, new: new, _sign_polkadot),
    )
}
