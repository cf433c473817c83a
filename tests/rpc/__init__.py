"""Tests of JSON-RPC."""
