"""Tests of the swap service."""
