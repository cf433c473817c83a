"""Shared parts of the tests of the page."""
