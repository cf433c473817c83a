"""Tests of the engine, which plays swaps in a chain's own runtime."""
