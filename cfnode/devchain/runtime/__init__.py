"""The development runtime: the State Chain's pallets, written in Python on a small FRAME of its own."""
