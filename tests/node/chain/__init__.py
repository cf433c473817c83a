"""Tests of the chain: blocks, finality and calls."""
