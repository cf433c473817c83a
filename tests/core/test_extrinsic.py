"""Signed extrinsics for the real metadata, for metadata with other extensions, and their decoding."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import (
    Era,
    ExtrinsicError,
    bare_extrinsic,
    decode_extrinsic,
    extrinsic_hash,
    payload_to_sign,
    sign_extrinsic,
)
from cfnode.core.hashing import blake2_256
from cfnode.core.keys import SCHEMES, Keypair, Scheme, verify
from cfnode.core.scale import ScaleError, Tuple, encode_compact
from cfnode.core.scale.metadata import Metadata, TransactionExtension, decode_metadata, encode_metadata

Remark = Callable[[bytes], bytes]
ALICE = Keypair.from_suri("//Alice")
ERA_HASH, GENESIS_HASH = b"\x0e" * 32, b"\x06" * 32
STATED: dict[str, Any] = {
    "nonce": 5,
    "era": Era.mortal(64, 42),
    "era_hash": ERA_HASH,
    "genesis_hash": GENESIS_HASH,
    "spec_version": 20203,
    "transaction_version": 13,
}
IMPLICIT = (20203).to_bytes(4, "little") + (13).to_bytes(4, "little") + GENESIS_HASH + ERA_HASH + b"\0"


@pytest.fixture(scope="module")
def metadata(metadata_v15: bytes) -> Metadata:
    """Decode the real chain's metadata."""
    return decode_metadata(metadata_v15)


@pytest.fixture(scope="module")
def remark(metadata: Metadata) -> Remark:
    """Return a function that encodes System.remark."""
    return lambda text: metadata.call_codec.encode(("System", ("remark", {"remark": text})))


def parts(extrinsic: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what is before the signature of an sr25519 extrinsic below 16 KiB, the signature, the rest."""
    return extrinsic[:37], extrinsic[37:101], extrinsic[101:]


def test_a_short_payload_is_signed_as_it_stands(metadata: Metadata, remark: Remark) -> None:
    """Sign a short payload as it stands, with every extension in the metadata's order."""
    call = remark(b"hi")
    head, signature, tail = parts(sign_extrinsic(metadata, call, ALICE, **STATED))
    explicit = bytes.fromhex("a502140000")  # era, nonce, tip, metadata hash: none
    assert head.hex() == "b501" + "84" + "00" + ALICE.public.hex() + "01"
    assert tail == explicit + call
    assert verify("sr25519", ALICE.public, call + explicit + IMPLICIT, signature)


def test_a_payload_over_256_bytes_is_hashed_first(metadata: Metadata, remark: Remark) -> None:
    """Sign the hash of a payload over 256 bytes, and not the payload."""
    call = remark(b"x" * 300)
    _, signature, tail = parts(sign_extrinsic(metadata, call, ALICE, **STATED))
    payload = call + tail[:5] + IMPLICIT
    assert verify("sr25519", ALICE.public, blake2_256(payload), signature)
    assert not verify("sr25519", ALICE.public, payload, signature)


def test_the_limit_is_256_bytes_exactly() -> None:
    """Hash from 257 bytes on, as Substrate does: one byte off and no node accepts the signature."""
    assert payload_to_sign(bytes(200), bytes(6), bytes(50)) == bytes(256)
    assert payload_to_sign(bytes(200), bytes(6), bytes(51)) == blake2_256(bytes(257))


def test_an_immortal_extrinsic_signs_the_genesis_hash(metadata: Metadata, remark: Remark) -> None:
    """Sign the genesis hash in place of the era's block for an immortal extrinsic."""
    call = remark(b"")
    _, signature, tail = parts(sign_extrinsic(metadata, call, ALICE, **{**STATED, "era": IMMORTAL}))
    implicit = IMPLICIT[:8] + GENESIS_HASH + GENESIS_HASH + b"\0"
    assert tail == bytes.fromhex("00140000") + call
    assert verify("sr25519", ALICE.public, call + tail[:4] + implicit, signature)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_scheme_signs_under_its_own_account(metadata: Metadata, remark: Remark, scheme: Scheme) -> None:
    """Sign by each scheme, under the account of that scheme's key."""
    pair = Keypair.from_suri("//Alice", scheme)
    call = remark(b"hi")
    signed = decode_extrinsic(metadata, sign_extrinsic(metadata, call, pair, **STATED)).signed
    assert signed is not None
    name, signature = signed.signature
    assert (signed.address, name.lower()) == (pair.account, scheme)
    assert pair.verify(call + signed.explicit + IMPLICIT, signature)


@given(
    text=st.binary(max_size=400),
    nonce=st.integers(0, 2**32 - 1),
    tip=st.integers(0, 2**128 - 1),
    period=st.integers(4, 65536),
    current=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_signed_can_be_decoded(
    metadata: Metadata, remark: Remark, text: bytes, nonce: int, tip: int, period: int, current: int
) -> None:
    """Decode call, era, nonce and tip of any extrinsic that was signed."""
    era = Era.mortal(period, current)
    stated = {**STATED, "nonce": nonce, "tip": tip, "era": era}
    decoded = decode_extrinsic(metadata, sign_extrinsic(metadata, remark(text), ALICE, **stated))
    assert (decoded.era, decoded.nonce, decoded.tip) == (era, nonce, tip)
    assert decoded.call == ("System", ("remark", {"remark": text}))
    assert decoded.call_bytes == remark(text)
    assert decoded.version == 4


@pytest.mark.parametrize("version", [4, 5])
def test_a_bare_extrinsic_has_a_call_and_nothing_else(metadata: Metadata, version: int) -> None:
    """Encode a bare extrinsic of version 4 and 5: a call, no signer, no extensions."""
    call = metadata.call_codec.encode(("Timestamp", ("set", {"now": 1_700_000_000_000})))
    extrinsic = bare_extrinsic(call, version)
    decoded = decode_extrinsic(metadata, extrinsic)
    assert (decoded.version, decoded.signed, decoded.extensions) == (version, None, {})
    assert (decoded.era, decoded.nonce, decoded.tip) == (None, None, None)
    assert decoded.call == ("Timestamp", ("set", {"now": 1_700_000_000_000}))
    assert extrinsic_hash(extrinsic) == blake2_256(extrinsic)


def test_a_general_extrinsic_states_extensions_without_a_signer(metadata: Metadata, remark: Remark) -> None:
    """Decode a general extrinsic of version 5, which has extensions and no signer."""
    body = b"\x45\x00" + bytes.fromhex("a502140000") + remark(b"hi")
    decoded = decode_extrinsic(metadata, bytes([len(body) << 2]) + body)
    assert (decoded.version, decoded.signed, decoded.nonce) == (5, None, 5)


def with_extensions(metadata: Metadata, *extra: TransactionExtension) -> Metadata:
    """Return metadata with further extensions in front."""
    extrinsic = metadata.extrinsic
    return replace(metadata, extrinsic=replace(extrinsic, extensions=(*extra, *extrinsic.extensions)))


def unit_and_u32(metadata: Metadata) -> tuple[int, int]:
    """Return the ids of the unit type and of u32."""
    types = metadata.registry.types
    unit = next(kind.id for kind in types if kind.definition == Tuple(()))
    return unit, metadata.extrinsic.extensions[2].additional  # CheckSpecVersion's implicit part


def test_an_unknown_extension_passes_if_it_takes_no_bytes(metadata: Metadata, remark: Remark) -> None:
    """Accept an unknown extension that adds no bytes: it changes nothing that is signed."""
    unit, _ = unit_and_u32(metadata)
    changed = with_extensions(metadata, TransactionExtension("CheckWeather", unit, unit))
    tail = parts(sign_extrinsic(changed, remark(b"hi"), ALICE, **STATED))[2]
    assert tail == bytes.fromhex("a502140000") + remark(b"hi")


@pytest.mark.parametrize("implicit", [True, False])
def test_an_unknown_extension_with_data_is_named(metadata: Metadata, remark: Remark, implicit: bool) -> None:
    """Name an unknown extension that has data: a guess would give an invalid signature."""
    unit, u32 = unit_and_u32(metadata)
    types = (unit, u32) if implicit else (u32, unit)
    changed = with_extensions(metadata, TransactionExtension("CheckWeather", *types))
    with pytest.raises(ExtrinsicError, match=r"CheckWeather.*a newer version is needed"):
        sign_extrinsic(changed, remark(b"hi"), ALICE, **STATED)


def test_the_order_of_the_metadata_is_kept(metadata: Metadata, remark: Remark) -> None:
    """Write explicit and implicit parts in the order of the metadata, whatever it is."""
    backwards = tuple(reversed(metadata.extrinsic.extensions))
    changed = replace(metadata, extrinsic=replace(metadata.extrinsic, extensions=backwards))
    _, signature, tail = parts(sign_extrinsic(changed, remark(b"hi"), ALICE, **STATED))
    explicit = bytes.fromhex("000014a502")
    implicit = b"\0" + ERA_HASH + GENESIS_HASH + IMPLICIT[4:8] + IMPLICIT[:4]
    assert tail == explicit + remark(b"hi")
    assert verify("sr25519", ALICE.public, remark(b"hi") + explicit + implicit, signature)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "offset 0"),
        (b"\x08\x04", "length|offset"),
        (b"\x04\x04\x00", "length prefix"),
        (b"\x04\x86", "0x86"),
        (b"\x04\x85", "0x85"),
        (b"\x04\x44", "0x44"),
        (b"\x08\x45\x01", "version 1 of the extensions"),
    ],
)
def test_malformed_extrinsics_are_refused(metadata: Metadata, data: bytes, words: str) -> None:
    """Refuse malformed extrinsics and name the wrong byte."""
    with pytest.raises(ScaleError, match=words):
        decode_extrinsic(metadata, data)


@given(data=st.binary(max_size=200), first=st.sampled_from([0x04, 0x05, 0x45, 0x84]))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_raise_anything_but_a_scale_error(metadata: Metadata, data: bytes, first: int) -> None:
    """Answer any bytes with an extrinsic or a ScaleError."""
    body = bytes([first]) + data
    with contextlib.suppress(ScaleError):
        decode_extrinsic(metadata, encode_compact(len(body)) + body)


READER = """
import json, sys
from scalecodec.base import RuntimeConfigurationObject, ScaleBytes
from scalecodec.type_registry import load_type_registry_preset
metadata, extrinsic = sys.stdin.read().split()
config = RuntimeConfigurationObject()
config.update_type_registry(load_type_registry_preset("core"))
decoded = config.create_scale_object("MetadataVersioned", ScaleBytes(metadata))
decoded.decode()
config.add_portable_registry(decoded)
reader = config.create_scale_object("Extrinsic", ScaleBytes(extrinsic), metadata=decoded)
print(json.dumps(reader.decode()))
"""


def test_py_scale_codec_reads_the_same(metadata: Metadata, remark: Remark, substrate_interface: Path) -> None:
    """The SCALE library of substrate-interface, in an environment of its own."""
    extrinsic = sign_extrinsic(metadata, remark(b"hi"), ALICE, **STATED, tip=7)
    given_text = f"0x{encode_metadata(replace(metadata, version=14)).hex()} 0x{extrinsic.hex()}"
    run = subprocess.run(
        [substrate_interface, "-c", READER], input=given_text, capture_output=True, text=True, check=True
    )
    read = json.loads(run.stdout)
    assert (read["address"], read["nonce"], read["tip"]) == (f"0x{ALICE.public.hex()}", 5, 7)
    assert read["extrinsic_hash"] == f"0x{extrinsic_hash(extrinsic).hex()}"
    assert (read["call"]["call_module"], read["call"]["call_function"]) == ("System", "remark")
    assert read["signature"] == {"Sr25519": f"0x{parts(extrinsic)[1].hex()}"}
    assert read["era"] == [64, 42]
