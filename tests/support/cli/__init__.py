"""Shared parts of the tests of the commands."""
