"""The application of the JSON-RPC port: the rights of a request, and its way to an answer."""
