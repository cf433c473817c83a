"""The `lp_*` methods: extrinsics that the node signs with its liquidity provider's key (Chainflip's LP RPC).

They are in the table only if the keystore holds exactly one such key.
"""
