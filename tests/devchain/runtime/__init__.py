"""Tests of the development chain's runtime."""
