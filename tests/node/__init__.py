"""Tests of the services of a running node."""
