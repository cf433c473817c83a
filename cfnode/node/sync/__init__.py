"""Sync with peers: downloading the chain, following it, exchanging transactions, and serving peers."""
