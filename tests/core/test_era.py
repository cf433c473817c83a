"""Eras against the values of Substrate's own tests, and over their whole range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.era import IMMORTAL, MAX_PERIOD, MIN_PERIOD, Era
from cfnode.core.scale import ScaleError

PERIODS = st.integers(2, 16).map(lambda exponent: 1 << exponent)


@pytest.mark.parametrize(
    ("period", "current", "era", "encoded"),
    [
        (64, 42, Era(64, 42), "a502"),
        (32768, 20000, Era(32768, 20000), "4e9c"),
        (200, 513, Era(256, 1), "1700"),
        (2, 1, Era(4, 1), "1100"),
        (4, 5, Era(4, 1), "1100"),
        (1_000_000, 5, Era(65536, 0), "0f00"),
        (64, 10260723, Era(64, 51), "3503"),
        (2048, 10260723, Era(2048, 243), "3a0f"),
    ],
)
def test_known_eras_have_their_known_bytes(period: int, current: int, era: Era, encoded: str) -> None:
    """Encode the eras of Substrate's own tests in their known bytes, and read them back."""
    assert Era.mortal(period, current) == era
    assert era.encode().hex() == encoded
    assert Era.decode(bytes.fromhex(encoded)) == (era, 2)


def test_an_immortal_era_is_one_byte_and_never_ends() -> None:
    """Encode an immortal era as one byte; it is born at 0 and never dies."""
    assert IMMORTAL.encode() == b"\0"
    assert Era.decode(b"\xff\0\xff", 1) == (IMMORTAL, 2)
    assert IMMORTAL.birth(10) == 0
    assert IMMORTAL.death(10) is None
    assert Era.from_value(IMMORTAL.value) == IMMORTAL


def test_a_life_covers_exactly_its_period() -> None:
    """Let an era live for exactly its period, then begin the next."""
    era = Era.mortal(4, 6)
    assert [era.birth(block) for block in (6, 7, 8, 9)] == [6, 6, 6, 6]
    assert era.birth(10) == 10
    assert era.death(9) == 10


def test_a_block_before_the_first_phase_belongs_to_the_first_life() -> None:
    """Count a block before the first phase to the first life."""
    assert Era(256, 100).birth(5) == 100


@given(PERIODS, st.integers(0, 2**32 - 1))
def test_every_era_survives_both_ways_of_writing_it(period: int, current: int) -> None:
    """Write any era as bytes and as a value, and read both back."""
    era = Era.mortal(period, current)
    assert Era.decode(era.encode()) == (era, 2)
    assert Era.from_value(era.value) == era
    assert era.encode()[0] != 0


@given(st.integers(0, 200_000), st.integers(0, 2**32 - 1))
def test_an_era_covers_the_block_it_was_created_for(period: int, current: int) -> None:
    """Cover the block that the era was created for, whatever period was asked."""
    era = Era.mortal(period, current)
    assert MIN_PERIOD <= era.period <= MAX_PERIOD
    death = era.death(current)
    assert death is not None
    assert era.birth(current) <= current < death


@given(st.binary(max_size=3))
def test_other_bytes_raise_a_scale_error(data: bytes) -> None:
    """Answer any other bytes with an era that encodes to them, or a ScaleError."""
    try:
        era, end = Era.decode(data)
    except ScaleError:
        return
    assert era.encode() == data[:end]


@pytest.mark.parametrize("value", [None, "Mortal", ("Mortal0", 1), ("Mortal256", 1), ("Mortal165", "2"), 7])
def test_other_values_are_no_era(value: object) -> None:
    """Refuse values that are not an era's: a wrong one would be signed."""
    with pytest.raises(ScaleError):
        Era.from_value(value)
