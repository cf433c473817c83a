"""Broadcasts: transactions that are signed and sent to the foreign chains."""
