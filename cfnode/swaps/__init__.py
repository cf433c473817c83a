"""Rules of swaps: identity of channels, states, times, addresses and limits, stated once.

The swap service, the ledger, the SDK, the page and the development chain use them. The package depends on
`core` alone, and does no I/O.
"""
