"""Shared parts of the tests with programs by others."""
