"""Tests of the local EVM chain."""
