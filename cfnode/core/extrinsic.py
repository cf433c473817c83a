"""Extrinsics: encoding, signing and decoding by the metadata.

Polkadot spec, "Extrinsics", format 4: length ‖ 84 ‖ address ‖ signature ‖ explicit parts ‖ call, where the
first byte joins kind (10 signed, 01 general, 00 bare) and format version. The signature covers

    call ‖ explicit part of each extension ‖ implicit part of each extension

or the BLAKE2b-256 of that if it is longer than 256 bytes. The extensions, their order and their types are
read from the metadata of the block: after a runtime upgrade, a list fixed here would give invalid signatures.
An unknown extension is skipped if it takes no bytes; otherwise the error names it. Formats 4 and 5 are
decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.core.era import Era
from cfnode.core.hashing import blake2_256
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor, ScaleError, Variants, encode_compact
from cfnode.core.scale.metadata import Metadata, TransactionExtension

__all__ = [
    "Era",
    "Extrinsic",
    "ExtrinsicError",
    "SignedPart",
    "bare_extrinsic",
    "decode_extrinsic",
    "extrinsic_hash",
    "payload_to_sign",
    "sign_extrinsic",
]

MAX_PLAIN_PAYLOAD = 256
KIND_MASK, VERSION_MASK = 0b1100_0000, 0b0011_1111
BARE, GENERAL, SIGNED = 0b0000_0000, 0b0100_0000, 0b1000_0000
ERA_EXTENSIONS = ("CheckMortality", "CheckEra")
"""The extension with the era: its current name and its old one."""
SIGNATURE_VARIANTS = {"sr25519": "Sr25519", "ed25519": "Ed25519", "ecdsa": "Ecdsa"}


class ExtrinsicError(ScaleError):
    """The bytes are not an extrinsic of this runtime, or it requires one that cannot be built here."""


@dataclass(frozen=True, slots=True)
class SignedPart:
    """The signed part. `address` is the account id (32 bytes), or another form of address.

    `signature` is (scheme as the metadata names it, 64 or 65 bytes); `explicit` are the bytes of the
    extensions that are part of the extrinsic, one after the other.
    """

    address: Any
    signature: Any
    explicit: bytes


@dataclass(frozen=True, slots=True)
class Extrinsic:
    """A decoded extrinsic.

    `signed` is None for a bare or general one; `extensions` maps each extension to its explicit value,
    empty for a bare one; `call` is the value of the metadata's RuntimeCall and `call_bytes` its encoding.
    """

    version: int
    signed: SignedPart | None
    extensions: dict[str, Any]
    call: Any
    call_bytes: bytes

    @property
    def era(self) -> Era | None:
        """The era, if it states one."""
        for name in ERA_EXTENSIONS:
            if name in self.extensions:
                return Era.from_value(self.extensions[name])
        return None

    @property
    def nonce(self) -> int | None:
        """The nonce, if it states one."""
        return self.extensions.get("CheckNonce")

    @property
    def tip(self) -> int | None:
        """The tip in the chain's smallest unit, if it states one."""
        return self.extensions.get("ChargeTransactionPayment")


def sign_extrinsic(
    metadata: Metadata,
    call: bytes,
    keypair: Keypair,
    *,
    nonce: int,
    era: Era,
    era_hash: bytes,
    genesis_hash: bytes,
    spec_version: int,
    transaction_version: int,
    tip: int = 0,
) -> bytes:
    """Return a signed extrinsic of format 4 with its length prefix.

    `era_hash` is the hash of block `era.birth(…)`; for an immortal era the genesis hash is used instead.
    """
    explicit = _explicit_parts(metadata, era, nonce, tip)
    birth_hash = genesis_hash if era.is_immortal else era_hash
    implicit = _implicit_parts(metadata, birth_hash, genesis_hash, spec_version, transaction_version)
    signature = keypair.sign(payload_to_sign(call, explicit, implicit))
    signer = _encode_signer(metadata, keypair, signature)
    return _with_length(bytes([SIGNED | 4]) + signer + explicit + call)


def bare_extrinsic(call: bytes, version: int = 4) -> bytes:
    """Return an unsigned extrinsic with its length prefix, as inherents are."""
    return _with_length(bytes([BARE | version]) + call)


def payload_to_sign(call: bytes, explicit: bytes, implicit: bytes) -> bytes:
    """Return the bytes that the signature covers: the payload, or its BLAKE2b-256 above 256 bytes."""
    payload = call + explicit + implicit
    return blake2_256(payload) if len(payload) > MAX_PLAIN_PAYLOAD else payload


def extrinsic_hash(extrinsic: bytes) -> bytes:
    """Return the hash (32 bytes) of an extrinsic, which is given with its length prefix."""
    return blake2_256(extrinsic)


def decode_extrinsic(metadata: Metadata, data: bytes) -> Extrinsic:
    """Return the parts of an extrinsic with its length prefix; no bytes may follow it. Raises ScaleError."""
    cursor = ByteCursor(data)
    if cursor.count() != cursor.remaining:
        raise ExtrinsicError(f"the length prefix does not fit the {len(data)} bytes of the extrinsic")
    first_byte = cursor.u8()
    kind, version = first_byte & KIND_MASK, first_byte & VERSION_MASK
    if (kind, version) == (SIGNED, 4):
        return _decode_signed(metadata, data, cursor.offset)
    if kind == BARE and version in (4, 5):
        return _finish(metadata, data, cursor.offset, version, {}, None)
    if (kind, version) == (GENERAL, 5):
        return _decode_general(metadata, data, cursor)
    raise ExtrinsicError(
        f"unknown format of an extrinsic that begins with 0x{first_byte:02x}: formats 4 and 5 are known"
    )


def _decode_signed(metadata: Metadata, data: bytes, offset: int) -> Extrinsic:
    address, offset = metadata.registry.codec(metadata.extrinsic.address).decode_from(data, offset)
    signature, offset = metadata.registry.codec(metadata.extrinsic.signature).decode_from(data, offset)
    extensions, end = _decode_extensions(metadata, data, offset)
    match address:
        case ("Id", account):
            address = account
    return _finish(metadata, data, end, 4, extensions, SignedPart(address, signature, data[offset:end]))


def _decode_general(metadata: Metadata, data: bytes, cursor: ByteCursor) -> Extrinsic:
    if (extension_version := cursor.u8()) != 0:
        raise ExtrinsicError(f"unknown version {extension_version} of the extensions")
    extensions, end = _decode_extensions(metadata, data, cursor.offset)
    return _finish(metadata, data, end, 5, extensions, None)


def _finish(
    metadata: Metadata,
    data: bytes,
    offset: int,
    version: int,
    extensions: dict[str, Any],
    signed: SignedPart | None,
) -> Extrinsic:
    call_bytes = data[offset:]
    return Extrinsic(version, signed, extensions, metadata.call_codec.decode(call_bytes), call_bytes)


def _decode_extensions(metadata: Metadata, data: bytes, offset: int) -> tuple[dict[str, Any], int]:
    values = {}
    for extension in metadata.extrinsic.extensions:
        codec = metadata.registry.codec(extension.type)
        values[extension.identifier], offset = codec.decode_from(data, offset)
    return values, offset


def _explicit_parts(metadata: Metadata, era: Era, nonce: int, tip: int) -> bytes:
    """Return the bytes that the extensions put into the extrinsic, in the order of the metadata."""
    values = {
        **dict.fromkeys(ERA_EXTENSIONS, era.value),
        "CheckNonce": nonce,
        "ChargeTransactionPayment": tip,
        "CheckMetadataHash": {"mode": "Disabled"},
    }
    extensions = metadata.extrinsic.extensions
    return b"".join(_part(metadata, extension, extension.type, values) for extension in extensions)


def _implicit_parts(
    metadata: Metadata, born: bytes, genesis_hash: bytes, spec_version: int, transaction_version: int
) -> bytes:
    """Return the bytes of the extensions that are signed without being sent.

    `born` is the hash of the era's first block.
    """
    values = {
        **dict.fromkeys(ERA_EXTENSIONS, born),
        "CheckSpecVersion": spec_version,
        "CheckTxVersion": transaction_version,
        "CheckGenesis": genesis_hash,
        "CheckMetadataHash": None,
    }
    extensions = metadata.extrinsic.extensions
    return b"".join(_part(metadata, extension, extension.additional, values) for extension in extensions)


def _part(metadata: Metadata, extension: TransactionExtension, type_id: int, values: dict[str, Any]) -> bytes:
    codec = metadata.registry.codec(type_id)
    if extension.identifier in values:
        return codec.encode(values[extension.identifier])
    try:
        codec.decode(b"")  # a type that decodes from no bytes takes none
    except ScaleError:
        raise ExtrinsicError(
            f"the runtime requires the transaction extension {extension.identifier}, which carries data that "
            "this cfnode does not know: a newer version is needed to sign for this runtime"
        ) from None
    return b""


def _encode_signer(metadata: Metadata, keypair: Keypair, signature: bytes) -> bytes:
    registry, extrinsic = metadata.registry, metadata.extrinsic
    account: Any = keypair.account
    if isinstance(registry.type(extrinsic.address).definition, Variants):
        account = ("Id", account)
    signed = (SIGNATURE_VARIANTS[keypair.scheme], signature)
    address = registry.codec(extrinsic.address).encode(account)
    return address + registry.codec(extrinsic.signature).encode(signed)


def _with_length(body: bytes) -> bytes:
    return encode_compact(len(body)) + body
