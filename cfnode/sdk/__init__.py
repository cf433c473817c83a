"""The client library: swap SDK, node client, recovery. Imports `core` only."""
