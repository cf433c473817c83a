"""The owner of what a swap is: whose channel, which state, how long, which address, which limits.

The swap service, the ledger, the SDK, the page and the development chain ask here. It is a wing on `core`
alone, without I/O.
"""
