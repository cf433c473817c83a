"""Tests of Substrate's older methods."""
