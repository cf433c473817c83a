"""Deposit channels and deposits of the foreign chains, and egress to them."""
