"""The server behind each listening HTTP port, and its bounded connections.

JSON-RPC, the swap service with the operator's page, and the metrics are ASGI applications on top of it.
hypercorn reads HTTP/1.1 and WebSockets below. The package knows no node, and no application.
"""
