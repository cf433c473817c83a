"""Prices become the same bytes as in the JavaScript SDK."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.assets import ASSETS
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.price import minimum_price, price_from_x128, price_to_x128
from tests.conftest import shared


def test_every_vector_of_the_javascript_library() -> None:
    """Give minimum price, fixed-point number and price back as the JavaScript library does."""
    vectors = json.loads(shared("sdk-examples", "price-vectors.json").read_text())
    assert len(vectors) == 146
    for vector in vectors:
        source, destination = ASSETS[vector["src"]], ASSETS[vector["dest"]]
        minimum = vector.get("minPrice")
        if "slippageTolerancePercent" in vector:
            tolerance = vector["slippageTolerancePercent"]
            assert minimum_price(vector["estimatedPrice"], tolerance, destination) == minimum, vector
        x128 = price_to_x128(minimum, source, destination)
        assert str(x128) == vector["minPriceX128"], vector
        assert hex(x128) == vector["hex"], vector
        assert price_from_x128(x128, source, destination) == vector["backToPrice"], vector


@pytest.mark.parametrize("tolerance", ["x", "", True, None, [], float("nan"), "1e999999999"])
def test_a_tolerance_that_is_no_number(tolerance: object) -> None:
    """Refuse a tolerance that is no finite number."""
    with pytest.raises(ValidationError, match=r"slippage_tolerance_percent: expected a decimal number, not"):
        minimum_price("1", tolerance, ASSETS["Btc"])  # type: ignore[arg-type]


@pytest.mark.parametrize("tolerance", [-0.1, "100.1", 101])
def test_a_tolerance_out_of_range(tolerance: float | str) -> None:
    """Refuse a tolerance below 0 or above 100 percent."""
    with pytest.raises(ValidationError, match=r"slippage_tolerance_percent: give a percentage"):
        minimum_price("1", tolerance, ASSETS["Btc"])


@pytest.mark.parametrize("price", ["-1", "abc", "1e80", "9" * 200, "1e999999999", None])
def test_a_price_that_the_chain_cannot_hold(price: object) -> None:
    """Refuse a price that is negative, no number or too large for 256 bits."""
    with pytest.raises(ValidationError) as caught:
        price_to_x128(price, ASSETS["Usdc"], ASSETS["Eth"])  # type: ignore[arg-type]
    assert caught.value.field == "fill_or_kill_params.min_price"


@settings(max_examples=60)
@given(st.decimals(0, 10**9, places=6), st.sampled_from(sorted(ASSETS)), st.sampled_from(sorted(ASSETS)))
def test_a_price_survives_the_way_there_and_back(price: Decimal, source: str, destination: str) -> None:
    """Convert a price to fixed point and back, up to the digits that the division keeps."""
    src, dest = ASSETS[source], ASSETS[destination]
    back = Decimal(price_from_x128(price_to_x128(price, src, dest), src, dest))
    # Division keeps 20 decimals of the ratio in base units.
    assert abs(back - price) <= Decimal(10) ** (src.decimals - dest.decimals - 20) * 2**1 + Decimal("1e-19")
