"""Tests of the protocol as pure functions."""
