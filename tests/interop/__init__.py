"""Tests with programs and libraries by others."""
