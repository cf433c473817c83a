"""Tests of the peer-to-peer network."""
