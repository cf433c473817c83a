"""Tests of the clients of other programs."""
