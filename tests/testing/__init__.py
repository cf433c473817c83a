"""Tests of the test tools for other projects."""
