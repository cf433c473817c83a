"""Tests of finality proofs and votes."""
