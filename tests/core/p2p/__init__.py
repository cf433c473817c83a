"""Tests of the connection machines."""
