"""Pools of an asset against USDC, and the orders that fill them."""
