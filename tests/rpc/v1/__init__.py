"""Tests of Substrate's newer methods."""
