"""Tests of the liquidity provider's client."""
