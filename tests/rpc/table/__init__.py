"""Tests of the table of methods and its parameters."""
