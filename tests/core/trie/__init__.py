"""Tests of the state trie."""
