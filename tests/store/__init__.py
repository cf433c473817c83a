"""Tests of the database and the key files."""
