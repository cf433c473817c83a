"""Shared parts of the tests of the swap service."""
