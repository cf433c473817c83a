"""The trio shell over the connection machines of `core`: dial, listen, peers."""
