"""Attacks on a running node, and the figures that it has to hold meanwhile."""
