"""The `broker_*` methods: calls that the node signs with its broker's key."""
