"""Tests of the sync."""
