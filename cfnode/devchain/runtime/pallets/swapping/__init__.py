"""Brokers, the channels they open, and swaps."""
