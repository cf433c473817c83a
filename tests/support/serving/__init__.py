"""Listening ports under test, and the clients that attack them."""
