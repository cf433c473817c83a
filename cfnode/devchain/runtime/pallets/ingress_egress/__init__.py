"""Deposit channels into the foreign chains, and what is sent out of them."""
