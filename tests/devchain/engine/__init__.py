"""Tests of the engine of the development chain, which runs any runtime."""
