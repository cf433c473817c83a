"""The `dev_*` methods, by which a test steers the development chain over JSON-RPC."""
