"""Shared parts of the tests of the development chain."""
