"""Tests of the broker methods."""
