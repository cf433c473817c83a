"""Values of the chain's types are what their declarations say: dataclasses, or the dicts that clients see."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from cfnode.core.scale import PortableType, ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame.table import TypeTable
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from cfnode.devchain.runtime.runtime import DevRuntime

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.world
def test_the_classes_and_the_types_of_storage_are_those_of_the_declarations() -> None:
    """Keep the generated classes equal to the declarations, by the script's own check."""
    command = [sys.executable, str(ROOT / "scripts" / "chain_values.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "release",
    [pytest.param(name, marks=[pytest.mark.world] * (name != DEFAULT_RELEASE)) for name in RELEASES],
)
def test_classes_and_dicts_are_the_same_bytes(release: str) -> None:
    """Of every type that the runtime uses: its zero, and each variant of an enum with zeros."""
    table: TypeTable = DevRuntime(RELEASES[release]).composition.types
    own, described = table.registry, table.described
    class_names = set()
    for row in table.types:
        if not row.path or "MultiAddress" in row.path:  # an index of an account has no bytes at all
            continue
        for encoded in zeros(table, row):
            value = own.codec(row.id).decode(encoded)
            assert own.codec(row.id).encode(value) == encoded
            assert described.codec(row.id).encode(described.codec(row.id).decode(encoded)) == encoded
            class_names.add(type(value).__name__)
    assert {
        "SwapRequest",
        "SwapRequestStateUserSwap",
        "DepositChannelDetails",
        "BoostStatusBoosted",
    } <= class_names


def zeros(table: TypeTable, row: PortableType) -> list[bytes]:
    """Return encoded values of a type, made of zeros."""
    variants = getattr(row.definition, "variants", None)
    if not variants:
        return [table.zero(row.id)]
    return [
        bytes([variant.index]) + b"".join(table.zero(field.type) for field in variant.fields)
        for variant in variants
    ]


def test_a_value_cannot_be_changed_in_place() -> None:
    """Refuse to change a value in place: a kept value is shared."""
    params = values.DcaParameters(number_of_chunks=2, chunk_interval=3)
    with pytest.raises(FrozenInstanceError):
        params.number_of_chunks = 4  # type: ignore[misc]
    assert not hasattr(params, "__dict__")


def test_a_dict_is_no_value_of_a_class_and_a_class_none_of_a_client() -> None:
    """Refuse a dict where the runtime's class is expected and the reverse; both encode to the same bytes."""
    table = DevRuntime().composition.types
    type_id = table.id("DcaParameters")
    fields = {"number_of_chunks": 2, "chunk_interval": 3}
    own = values.DcaParameters(**fields)
    with pytest.raises(ScaleError, match="expected DcaParameters, not dict"):
        table.registry.codec(type_id).encode(fields)
    with pytest.raises(ScaleError, match="expected a dict of fields"):
        table.described.codec(type_id).encode(own)
    assert table.described.codec(type_id).encode(fields) == table.registry.codec(type_id).encode(own)


def test_an_error_names_the_field_and_the_variant_that_lacks_bytes() -> None:
    """Name in an error the field that lacks bytes, and the variant that does not exist."""
    codec = DevRuntime().composition.codec_of("DcaParameters")
    with pytest.raises(ScaleError, match=r"^DcaParameters\.chunk_interval: "):
        codec.decode(bytes(5))
    with pytest.raises(ScaleError, match="there is no case 9"):
        DevRuntime().composition.codec_of("RedemptionAmount<u128>").decode(b"\x09")
