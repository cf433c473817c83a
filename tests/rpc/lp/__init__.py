"""Tests of the liquidity provider's methods."""
