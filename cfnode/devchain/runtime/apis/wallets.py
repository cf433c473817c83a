"""`CustomRuntimeApi` method that encodes calls for wallets of other chains to sign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from cfnode.core.scale import ScaleError
from cfnode.core.wallets import DOMAIN, SOLANA_PREFIX, TypedData, Types, WalletCall
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, method
from cfnode.devchain.runtime.frame.calls import RuntimeCall
from cfnode.devchain.runtime.frame.item import Decoder
from cfnode.devchain.runtime.pallets.environment import Environment
from cfnode.devchain.runtime.pallets.system import System

from .answers import Answer

__all__ = ["WalletsApi"]

U32_MAX = 2**32 - 1
Encoded = values.EncodedNonNativeCall[values.TypedData]


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
        self,
        call: bytes,
        blocks_to_expiry: int,
        nonce_or_account: values.NonceOrAccount,
        encoding: tuple[str, str],
    ) -> Answer[tuple[Encoded, values.TransactionMetadata]]:
        """Return a call as a wallet signs it, with the nonce and the expiry that are part of it."""
        try:
            decoder: Decoder[RuntimeCall] = self.runtime.call_codec
            decoded, _ = decoder.decode_from(call, 0)
            self.runtime.check_bounds(decoded)
        except ScaleError:
            return _refused("Failed to deserialize into a RuntimeCall")
        bounds = values.TransactionMetadata(
            nonce=self._nonce(nonce_or_account),
            expiry_block=min(self.other(System).Number.get() + blocks_to_expiry, U32_MAX),
        )
        extrinsic = values.ChainflipExtrinsic(call=decoded, transaction_metadata=bounds)
        wallet_call = self.other(Environment).wallet_call(extrinsic)
        try:
            return "Ok", (_FORMS[encoding](wallet_call), bounds)
        except ScaleError:
            return _refused("Failed to build eip712 typed data")

    def _nonce(self, nonce_or_account: values.NonceOrAccount) -> int:
        if isinstance(nonce_or_account, values.NonceOrAccountNonce):
            return nonce_or_account.value
        return self.other(System).nonce(nonce_or_account.value)


def _refused(text: str) -> tuple[Literal["Err"], tuple[str, bytes]]:
    return "Err", ("RawMessage", text.encode())


_FORMS: dict[tuple[str, str], Callable[[WalletCall], Encoded]] = {
    ("Eth", "PersonalSign"): lambda call: values.EncodedNonNativeCallString(call.text()),
    ("Eth", "Eip712"): lambda call: values.EncodedNonNativeCallEip712(_typed_data(call)),
    ("Sol", "Domain"): lambda call: values.EncodedNonNativeCallString(SOLANA_PREFIX + call.text()),
}


def _typed_data(call: WalletCall) -> values.TypedData:
    """Return the value of `TypedData` for a call."""
    data: TypedData = call.typed_data()
    types = sorted([("EIP712Domain", DOMAIN), *data.types.items()])
    return values.TypedData(
        domain=values.EIP712Domain(
            name=data.name, version=data.version, chain_id=None, verifying_contract=None, salt=None
        ),
        types=[
            (name, [values.Eip712DomainType(name=member, type=kind) for member, kind in members])
            for name, members in types
        ],
        primary_type=data.primary_type,
        message=_message(data.types, data.primary_type, data.message),
    )


def _message(types: Types, kind: str, value: object) -> values.MinimizedScaleValue:
    """Return a value as `MinimizedScaleValue`: bytes in hex, and numbers of 256 bits in decimal."""
    if kind in types:
        assert isinstance(value, Mapping)
        members = [(name, _message(types, inner, value[name])) for name, inner in types[kind]]
        return values.MinimizedScaleValueNamedStruct(members)
    return values.MinimizedScaleValuePrimitive(_primitive(kind, value))


def _primitive(kind: str, value: object) -> values.MinimizedPrimitive:
    if isinstance(value, bytes):
        return values.MinimizedPrimitiveString("0x" + value.hex())
    if isinstance(value, bool):
        return values.MinimizedPrimitiveBool(value)
    if isinstance(value, str) or kind == "uint256":
        return values.MinimizedPrimitiveString(str(value))
    assert isinstance(value, int)
    if kind.startswith("u"):
        return values.MinimizedPrimitiveU128(value)
    return values.MinimizedPrimitiveI128(value)
