"""Tests of readers of hostile answers."""
