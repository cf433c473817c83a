"""Tests of listening ports."""
