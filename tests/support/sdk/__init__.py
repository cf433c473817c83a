"""Shared parts of the tests of the client library."""
