"""Random values of every type of the runtime 2.2.3, and of the kinds that it does not use, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from cfnode.core.scale import (
    Compact,
    ScaleError,
    Some,
    Tuple,
    TypeRegistry,
    Variants,
)
from cfnode.core.scale.metadata import (
    decode_metadata,
    encode_metadata,
)
from tests.core.scale_oracle import Oracle, oracle_form
from tests.core.scale_tables import hand_made, hand_made_metadata
from tests.core.scale_values import NEVER, Values


@dataclass(frozen=True)
class Sample:
    """A value of a type, with its encoding."""

    type_id: int
    value: Any
    encoded: bytes


def samples(registry: TypeRegistry, values: Values) -> list[Sample]:
    """Return two values of each type that has any, and one of each variant of each enum."""
    chosen: list[tuple[int, Any]] = []
    for row in registry.types:
        if values.inhabited(row.id):
            chosen += [(row.id, values.value(row.id)) for _ in range(2)]
            variants = row.definition.variants if isinstance(row.definition, Variants) else ()
            possible = [variant for variant in variants if values.variant_height(variant) < NEVER]
            chosen += [(row.id, values.of_variant(row, variant)) for variant in possible]
    return [Sample(type_id, value, registry.codec(type_id).encode(value)) for type_id, value in chosen]


def differences(
    registry: TypeRegistry, decoded: list[Any], expected: list[Sample]
) -> list[tuple[Sample, Any]]:
    """Return the samples that an independent decoder reads otherwise, with what it reads."""
    pairs = zip(expected, decoded, strict=True)
    return [(s, decoded) for s, decoded in pairs if oracle_form(registry, s.type_id, s.value) != decoded]


@pytest.fixture(scope="module")
def registry(metadata_v15: bytes) -> TypeRegistry:
    """Return the types of runtime 2.2.3."""
    return decode_metadata(metadata_v15).registry


@pytest.mark.parametrize("seed", range(3))
def test_values_of_every_type_survive(registry, seed):
    """Encode values of every type and variant, decode them, and refuse a byte more."""
    values = Values(registry, seed)
    all_samples = samples(registry, values)
    assert len({sample.type_id for sample in all_samples}) == 2310
    for sample in all_samples:
        codec = registry.codec(sample.type_id)
        assert codec.decode(sample.encoded) == sample.value
        with pytest.raises(ScaleError, match="1 bytes follow"):
            codec.decode(sample.encoded + b"\0")


def test_only_the_two_empty_enums_have_no_value(registry):
    """Find that only two enums have no value, and refuse to decode one."""
    values = Values(registry, 0)
    empty = [row for row in registry.types if not values.inhabited(row.id)]
    assert [row.path for row in empty] == [
        ("cf_chains", "dot", "SystemCall"),
        ("cf_chains", "hub", "SystemCall"),
    ]
    for row in empty:
        with pytest.raises(ScaleError, match="there is no variant 0"):
            registry.codec(row.id).decode(b"\0")


@pytest.mark.parametrize("seed", range(2))
def test_an_independent_decoder_reads_the_same_values(registry, metadata_v15, seed):
    """Read what an independent decoder reads, for values of every type."""
    # The oracle cannot decode Compact<()>, which takes no bytes (MultiAddress::Index of this runtime).
    units = frozenset(row.id for row in registry.types if row.definition == Compact(_unit(registry)))
    assert len(units) == 1
    all_samples = samples(registry, Values(registry, seed, without=units))
    assert len({sample.type_id for sample in all_samples}) == 2309
    decoded = Oracle(metadata_v15).decode([s.type_id for s in all_samples], [s.encoded for s in all_samples])
    assert differences(registry, decoded, all_samples) == []


def _unit(registry: TypeRegistry) -> int:
    return next(row.id for row in registry.types if row.definition == Tuple(()))


def test_cut_short_no_value_is_read(registry):
    """Refuse each value that is cut short."""
    for sample in samples(registry, Values(registry, 7))[::5]:
        for end in {0, len(sample.encoded) // 2, len(sample.encoded) - 1}:
            if 0 <= end < len(sample.encoded):
                with pytest.raises(ScaleError):
                    registry.codec(sample.type_id).decode(sample.encoded[:end])


@pytest.mark.parametrize("seed", range(20))
def test_kinds_that_the_runtime_does_not_use_agree_with_the_independent_decoder(seed):
    """Agree with the independent decoder about kinds of types that this runtime does not use."""
    metadata = hand_made_metadata()
    encoded = encode_metadata(metadata)
    assert decode_metadata(encoded) == metadata
    registry = metadata.registry
    all_samples = samples(registry, Values(registry, seed))
    decoded = Oracle(encoded).decode([s.type_id for s in all_samples], [s.encoded for s in all_samples])
    assert differences(registry, decoded, all_samples) == []


@pytest.mark.parametrize("seed", range(20))
def test_hand_made_values_survive(seed):
    """Encode and decode values of hand-made types."""
    registry = hand_made()
    for sample in samples(registry, Values(registry, seed)):
        assert registry.codec(sample.type_id).decode(sample.encoded) == sample.value


def test_an_option_of_an_option_tells_its_three_cases_apart():
    """Distinguish None, Some(None) and Some(5), and refuse a value of the wrong depth."""
    registry = hand_made()
    nested = [row.id for row in registry.types if row.path == ("Option",)][1]
    codec = registry.codec(nested)
    cases = {None: b"\0", Some(None): b"\1\0", Some(5): b"\1\1\5\0"}
    for value, encoded in cases.items():
        assert codec.encode(value) == encoded
        assert codec.decode(encoded) == value
    with pytest.raises(ScaleError, match=r"expected None or Some\(value\)"):
        codec.encode(5)
