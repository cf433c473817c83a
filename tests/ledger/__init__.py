"""Tests of the books of a chain."""
