"""Tests of the development chain."""
