"""Tests of signed transactions of broker and liquidity provider."""
