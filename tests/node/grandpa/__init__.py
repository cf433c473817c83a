"""Tests of the node's finality."""
