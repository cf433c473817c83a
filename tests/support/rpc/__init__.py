"""Shared parts of the tests of JSON-RPC."""
