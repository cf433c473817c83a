"""What does the node ask about calls that wallets of other chains are to sign? (`CustomRuntimeApi`)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfnode.core.scale import ScaleError
from cfnode.core.wallets import DOMAIN, SOLANA_PREFIX, TypedData, Types, WalletCall

from .frame import RuntimeApi, method
from .pallets.environment import Environment
from .pallets.system import System

__all__ = ["WalletsApi"]

U32_MAX = 2**32 - 1


class WalletsApi(RuntimeApi):
    """Calls in the form in which they are signed."""

    api = "CustomRuntimeApi"

    @method(
        "Result<(EncodedNonNativeCallGeneric<TypedData>, TransactionMetadata), DispatchErrorWithMessage>",
        call="Bytes",
        blocks_to_expiry="u32",
        nonce_or_account="NonceOrAccount",
        encoding="EncodingType",
    )
    def cf_encode_non_native_call(
        self, call: bytes, blocks_to_expiry: int, nonce_or_account: tuple[str, Any], encoding: tuple[str, str]
    ) -> Any:
        """A call as a wallet signs it, with the nonce and the expiry that are part of it."""
        try:
            decoded, _ = self.runtime.call_codec.decode_from(call, 0)
            self.runtime.check_bounds(decoded)
        except ScaleError:
            return _refused("Failed to deserialize into a RuntimeCall")
        bounds = {
            "nonce": self._nonce(*nonce_or_account),
            "expiry_block": min(self.other(System).Number.get() + blocks_to_expiry, U32_MAX),
        }
        wallet_call = self.other(Environment).wallet_call({"call": decoded, "transaction_metadata": bounds})
        try:
            return "Ok", (_FORMS[encoding](wallet_call), bounds)
        except ScaleError:
            return _refused("Failed to build eip712 typed data")

    def _nonce(self, kind: str, value: Any) -> int:
        nonce: int = value if kind == "Nonce" else self.other(System).nonce(value)
        return nonce


def _refused(text: str) -> tuple[str, Any]:
    return "Err", ("RawMessage", text.encode())


_FORMS: dict[tuple[str, str], Callable[[WalletCall], tuple[str, Any]]] = {
    ("Eth", "PersonalSign"): lambda call: ("String", call.text()),
    ("Eth", "Eip712"): lambda call: ("Eip712", _shown(call)),
    ("Sol", "Domain"): lambda call: ("String", SOLANA_PREFIX + call.text()),
}


def _shown(call: WalletCall) -> dict[str, Any]:
    """The value of `TypedData` for a call."""
    data: TypedData = call.typed_data()
    types = sorted([("EIP712Domain", DOMAIN), *data.types.items()])
    absent = dict.fromkeys(("chain_id", "verifying_contract", "salt"))
    return {
        "domain": {"name": data.name, "version": data.version, **absent},
        "types": [
            (name, [{"name": member, "r#type": kind} for member, kind in members]) for name, members in types
        ],
        "primary_type": data.primary_type,
        "message": _message(data.types, data.primary_type, data.message),
    }


def _message(types: Types, kind: str, value: Any) -> tuple[str, Any]:
    """A value as `MinimizedScaleValue`: bytes in hexadecimal, and what 128 bits may not hold in decimal."""
    if kind in types:
        return "NamedStruct", [(name, _message(types, inner, value[name])) for name, inner in types[kind]]
    if isinstance(value, bytes):
        return "Primitive", ("String", "0x" + value.hex())
    if isinstance(value, bool):
        return "Primitive", ("Bool", value)
    if isinstance(value, str) or kind == "uint256":
        return "Primitive", ("String", str(value))
    return "Primitive", ("U128" if kind.startswith("u") else "I128", value)
