"""Calls signed by Solana and Ethereum wallets: what they sign, and whether a signature is valid.

Such a call has a nonce and an expiry block, and is bound to a network and a spec version. There are three
forms (pallet_cf_environment of runtime 2.2, `submit_runtime_call`):

- Solana, `Domain`: "chainflip offchain", then the text of the call; ed25519.
- Ethereum, `PersonalSign`: the same text after Ethereum's prefix for messages (EIP-191).
- Ethereum, `Eip712`: the call as structured data, so that the wallet can display it.

The account of a Solana wallet is its key, that of an Ethereum wallet its address after twelve zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import coincurve

from cfnode.core.ethereum_key import address_of
from cfnode.core.hashing import keccak_256
from cfnode.core.keys import verify
from cfnode.core.scale import Composite, TypeRegistry
from cfnode.core.schnorr import ORDER

from .rendering import Renderer
from .typed_data import TypedData

__all__ = ["SOLANA_PREFIX", "WalletCall", "account_of"]

SOLANA_PREFIX: Final = "chainflip offchain"
ETHEREUM_PREFIX: Final = "\x19Ethereum Signed Message:\n"
_FIRST_V: Final = 27
"""Ethereum counts recovery ids from here; the chain also accepts them from zero."""


def account_of(signature_data: tuple[str, Mapping[str, Any]]) -> bytes:
    """Return the account (32 bytes) of a `SignatureData`."""
    _, signed = signature_data
    signer: bytes = signed["signer"]
    return signer.rjust(32, b"\0")


@dataclass(frozen=True, slots=True)
class WalletCall:
    """A call in the forms that wallets sign.

    `type_id` is that of `ChainflipExtrinsic<RuntimeCall>` in the registry, `extrinsic` a value of it;
    `network` is a `ChainflipNetwork`.
    """

    registry: TypeRegistry
    type_id: int
    extrinsic: Mapping[str, Any]
    network: str
    spec_version: int

    def text(self) -> str:
        """Return the call as text on one line."""
        bounds = self.extrinsic["transaction_metadata"]
        return (
            f"/network:{self._network_name}/version:{self.spec_version}/call:{self._encoded_call().hex()}"
            f"/nonce:{bounds['nonce']}/expiry_block:{bounds['expiry_block']}"
        )

    def typed_data(self) -> TypedData:
        """Return the call as structured data. Raises ScaleError if part of it has no form in EIP-712."""
        renderer = Renderer(self.registry)
        call = renderer.render(self.type_id, self.extrinsic)
        return TypedData(self._network_name, str(self.spec_version), renderer.types, call.type, call.value)

    def is_signed(self, signature_data: tuple[str, Mapping[str, Any]]) -> bool:
        """Return whether a `SignatureData` is valid for this call.

        Raises ScaleError if structured data was signed and part of the call has no form in EIP-712.
        """
        chain, signed = signature_data
        payload = _PAYLOADS[chain, signed["sig_type"]](self)
        signer: bytes = signed["signer"]
        if chain == "Solana":
            return verify("ed25519", signer, payload, signed["signature"])
        return _recovered(keccak_256(payload), signed["signature"]) == signer

    @property
    def _network_name(self) -> str:
        return f"Chainflip-{self.network}"

    def _encoded_call(self) -> bytes:
        definition = self.registry.type(self.type_id).definition
        assert isinstance(definition, Composite)
        return self.registry.codec(definition.fields[0].type).encode(self.extrinsic["call"])


def _offchain(call: WalletCall) -> bytes:
    return (SOLANA_PREFIX + call.text()).encode()


def _personal(call: WalletCall) -> bytes:
    text = call.text()
    return f"{ETHEREUM_PREFIX}{len(text)}{text}".encode()


_PAYLOADS: Final[dict[tuple[str, str], Callable[[WalletCall], bytes]]] = {
    ("Solana", "Domain"): _offchain,
    ("Ethereum", "PersonalSign"): _personal,
    ("Ethereum", "Eip712"): lambda call: call.typed_data().payload(),
}


def _recovered(digest: bytes, signature: bytes) -> bytes | None:
    """Return the address that signed a digest, or None.

    Of each two signatures of a digest only the one with the low s is accepted.
    """
    number = signature[64] - _FIRST_V if signature[64] >= _FIRST_V else signature[64]
    if int.from_bytes(signature[32:64], "big") > ORDER // 2:
        return None
    try:
        return address_of(
            coincurve.PublicKey.from_signature_and_message(
                signature[:64] + bytes([number]), digest, hasher=None
            )
        )
    except ValueError:
        return None
