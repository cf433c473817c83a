"""Tests of requests to peers."""
