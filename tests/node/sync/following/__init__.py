"""Tests of following the best chain."""
