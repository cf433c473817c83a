"""Tests of addresses of foreign chains."""
