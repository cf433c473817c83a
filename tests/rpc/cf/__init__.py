"""Tests of the `cf_` methods."""
