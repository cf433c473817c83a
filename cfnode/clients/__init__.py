"""Clients of other programs over HTTP and WebSocket, with limits on what they accept. Imports `core` only."""
