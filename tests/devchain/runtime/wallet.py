"""Wallets of other chains that sign calls of this one, with keys of their own."""

from __future__ import annotations

from typing import Any

from coincurve import PrivateKey
from nacl.signing import SigningKey

from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.extrinsic import bare_extrinsic
from cfnode.core.hashing import keccak_256
from cfnode.core.wallets import SOLANA_PREFIX, WalletCall, account_of
from tests.devchain.runtime.world import World

Signed = tuple[str, dict[str, Any]]


def to_be_signed(
    world: World, call: Any, nonce: int = 0, expiry: int = 100, version: int | None = None
) -> WalletCall:
    """Return a call as a wallet gets it, by the metadata alone."""
    registry = world.metadata.registry
    (type_id,) = (row.id for row in registry.types if row.path[-1:] == ("ChainflipExtrinsic",))
    bounds = {"nonce": nonce, "expiry_block": expiry}
    extrinsic = {"call": call, "transaction_metadata": bounds}
    version = version or world.runtime.composition.release.spec_version
    return WalletCall(registry, type_id, extrinsic, "Development", version)


class EthereumWallet:
    """An Ethereum key."""

    def __init__(self, secret: bytes = b"\x01" * 32) -> None:
        self._secret = secret
        self.signer = EthereumKey.from_secret(secret).address
        self.account = account_of(("Ethereum", {"signer": self.signer}))

    def sign(self, call: WalletCall, form: str = "Eip712") -> Signed:
        """Return the signature of a call: of a typed message, or of the text."""
        text = call.text()
        personal = f"\x19Ethereum Signed Message:\n{len(text)}{text}".encode()
        payload = call.typed_data().payload() if form == "Eip712" else personal
        made = PrivateKey(self._secret).sign_recoverable(keccak_256(payload), hasher=None)
        signature = made[:64] + bytes([27 + made[64]])
        return "Ethereum", {"signature": signature, "signer": self.signer, "sig_type": form}


class SolanaWallet:
    """A Solana key."""

    def __init__(self, secret: bytes = b"\x02" * 32) -> None:
        self._key = SigningKey(secret)
        self.account = bytes(self._key.verify_key)

    def sign(self, call: WalletCall, form: str = "Domain") -> Signed:
        """Return the signature of a call's text."""
        signature = self._key.sign((SOLANA_PREFIX + call.text()).encode()).signature
        return "Solana", {"signature": signature, "signer": self.account, "sig_type": form}


def submitted(world: World, call: WalletCall, signature: Signed) -> bytes:
    """Return the extrinsic with which anyone hands a signed call in."""
    arguments = {"chainflip_extrinsic": call.extrinsic, "signature_data": signature}
    return bare_extrinsic(world.call("Environment", "non_native_signed_call", **arguments))
