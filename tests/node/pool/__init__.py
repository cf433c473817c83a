"""Tests of the transaction pool."""
