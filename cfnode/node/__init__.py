"""Services of a running node: chain, pool, author, broker client, informant, metrics."""
