"""Services of a running node: chain, pool, sync, signed calls, informant, metrics."""
