"""Rows of the method table: parameters as the official node reads them, errors, and values in JSON."""
