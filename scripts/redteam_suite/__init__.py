"""Attacks on a running node, and the limits that it has to keep meanwhile."""
