"""The JSON-RPC server: method table, sessions and limits, HTTP and WebSocket."""
