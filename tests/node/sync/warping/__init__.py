"""Tests of the warp sync and the state download."""
