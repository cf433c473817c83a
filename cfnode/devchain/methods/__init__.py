"""The `dev_*` methods: a test steers the development chain through the JSON-RPC port."""
