"""Tests of the owner of a swap."""
