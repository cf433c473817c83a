"""Tests of what bounds a flow of work."""
