"""Tests of the pools' arithmetic."""
