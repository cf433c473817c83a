"""Tests of the executor of the runtime."""
