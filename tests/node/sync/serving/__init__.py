"""Tests of answers to peers."""
