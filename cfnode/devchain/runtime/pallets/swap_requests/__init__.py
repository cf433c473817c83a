"""Swap requests of other pallets: parameters, prices, fees and checks."""
