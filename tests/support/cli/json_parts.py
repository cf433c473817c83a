"""Parts of the schemas of `--json`: amounts, blocks, orders, the documents of a swap, rows of the books."""

from __future__ import annotations

from tests.support.cli.json_shapes import Foreign

AMOUNTS = {"*": "amount"}
NUMBERS = {"*": "number"}
POOL = {"asset": "text", "quote": "text", "side": "text", "id": "number"}
LIMIT = {**POOL, "tick": "number", "price": "decimal", "amount": "amount"}
RANGE = {**POOL, "lower": "number", "upper": "number", "liquidity": "count"}
ORDER = {
    **POOL,
    "tick?": "number",
    "price?": "decimal",
    "amount?": "amount",
    "lower?": "number",
    "upper?": "number",
    "liquidity?": "count",
}
BLOCK = {"blockHash": "hash", "blockNumber": "number"}
HEAD = {"number": "number", "hash": "hash", "time?": "time", "ageSeconds?": "seconds"}
LEVELS = [{"tick": "number", "price": "decimal", "amount": "amount"}]
PRICE = {"decimal", "null"}
KEY = {"type": "text", "account": "account", "publicKey": "hex"}
FILL = {
    **POOL,
    "ticks": ["number"],
    "sold": AMOUNTS,
    "bought": AMOUNTS,
    "fees": AMOUNTS,
    "left": "amount",
}
TRANSACTION = {"transaction": "hash"}
PAIR = {"secret_key": "digits", "public_key": "digits"}

# The documents of the SDK and of the swap service, whose times are Unix milliseconds

FEE = {"type": "text", "chain": "text", "asset": "text", "amount": "amount"}
ASSET = {"chain": "text", "asset": "text"}
POOL_INFO = {"baseAsset": ASSET, "quoteAsset": ASSET, "fee": {**ASSET, "amount": "amount"}}
DURATIONS = {"deposit": "seconds", "swap": "seconds", "egress": "seconds"}
SWAP = {"srcChain": "text", "srcAsset": "text", "destChain": "text", "destAsset": "text"}
BROKER = {"account": "account", "commissionBps": "number"}
FILL_OR_KILL = {
    "refundAddress": "text",
    "retryDurationBlocks": "number",
    "slippageTolerancePercent?": "decimal",
    "minPrice?": "decimal",
}
QUOTE = {
    "type": "text",
    "srcAsset": ASSET,
    "destAsset": ASSET,
    "depositAmount": "amount",
    "egressAmount": "amount",
    "estimatedPrice": "decimal",
    "intermediateAmount?": "amount",
    "isVaultSwap": "bool",
    "isOnChain": "bool",
    "includedFees": [FEE],
    "poolInfo": [POOL_INFO],
    "lowLiquidityWarning": "bool",
    "estimatedDurationsSeconds": DURATIONS,
    "estimatedDurationSeconds": "seconds",
    "recommendedSlippageTolerancePercent": "percent",
    "recommendedRetryDurationMinutes": "number",
    "recommendedLivePriceSlippageTolerancePercent?": "percent",
    "dcaParams?": {"numberOfChunks": "number", "chunkIntervalBlocks": "number"},
    "estimatedBoostFeeBps?": "percent",
    "maxBoostFeeBps?": "percent",
}
QUOTE_OR_BOOSTED = {**QUOTE, "boostQuote?": QUOTE}
CHANNEL = {
    "id": "text",
    "createdAt": "milliseconds",
    "depositAddress": "text",
    "srcChainExpiryBlock": "count",
    "estimatedExpiryTime": "milliseconds",
    "isExpired": "bool",
    "openedThroughBackend": "bool",
    "expectedDepositAmount": "amount",
    "brokerCommissionBps": "number",
    "affiliateBrokers": [BROKER],
}
EGRESS = {
    "amount": "amount",
    "txRef?": "text",
    "witnessedAt?": "milliseconds",
    "witnessedBlockIndex?": "text",
    "scheduledAt": "milliseconds",
    "scheduledBlockIndex": "text",
}
CHUNK = {
    "inputAmount": "amount",
    "scheduledAt": "milliseconds",
    "scheduledBlockIndex": "text",
    "retryCount": "number",
    "intermediateAmount?": "amount",
    "outputAmount?": "amount",
    "executedAt?": "milliseconds",
    "executedBlockIndex?": "text",
}
STATUS = {
    "state": "text",
    "swapId?": "text",
    **SWAP,
    "destAddress": "text",
    "srcChainRequiredBlockConfirmations": "number",
    "estimatedDurationsSeconds": DURATIONS,
    "estimatedDurationSeconds": "seconds",
    "brokers": [BROKER],
    "fees": [FEE],
    "depositChannel": CHANNEL,
    "deposit?": {
        "amount": "amount",
        "txRef?": "text",
        "witnessedAt": "milliseconds",
        "witnessedBlockIndex": "text",
    },
    "swap?": {
        "originalInputAmount": "amount",
        "remainingInputAmount": "amount",
        "swappedInputAmount": "amount",
        "swappedIntermediateAmount": "amount",
        "swappedOutputAmount": "amount",
        "regular": CHUNK,
    },
    "swapEgress?": EGRESS,
    "fillOrKillParams": FILL_OR_KILL,
    "lastStatechainUpdateAt": "milliseconds",
}

# The books, whose columns have the same names in SQL, CSV and Parquet

ROW = {"block": "number", "time": "time"}
MAYBE = {"text", "null"}
LINE = Foreign(
    {
        **ROW,
        "event": "number",
        "line": "text",
        "kind": "text",
        "state": MAYBE,
        "account": MAYBE,
        "request": {"number", "null"},
        "swap": {"number", "null"},
        "chain": MAYBE,
        "channel": {"number", "null"},
        "channel_id": MAYBE,
        "egress": {"number", "null"},
        "destination": MAYBE,
        "asset": "text",
        "amount": "amount",
        "units": "decimal",
        "to_asset": MAYBE,
        "to_amount": {"amount", "null"},
        "to_units": PRICE,
        "value": PRICE,
        "currency": "text",
        "valued_by": MAYBE,
    }
)
TOTAL = Foreign(
    {
        "line": "text",
        "kind": "text",
        "state": MAYBE,
        "count": "number",
        "asset": "text",
        "amount": "amount",
        "units": "decimal",
        "to_asset": MAYBE,
        "to_amount": {"amount", "null"},
        "to_units": PRICE,
        "value": PRICE,
        "currency": "text",
    }
)
NUMBER = {"number", "null"}
REPORTS = {
    "fees": Foreign(
        {
            **ROW,
            "kind": "text",
            "account": "account",
            "asset": "text",
            "amount": "amount",
            "request": NUMBER,
            "chain": MAYBE,
            "channel": NUMBER,
            "channel_id": MAYBE,
        }
    ),
    "swaps": Foreign(
        {
            **ROW,
            "request": "number",
            "kind": "text",
            "account": MAYBE,
            "chain": MAYBE,
            "channel": NUMBER,
            "channel_id": MAYBE,
            "source": "text",
            "target": "text",
            "input": "amount",
            "output": "amount",
            "chunks": "number",
            "state": "text",
            "paid": "amount",
            "refunded": "amount",
            "network_fee": "amount",
            "broker_fee": "amount",
            "egress_fee": "amount",
            "refund_fee": "amount",
            "destination": MAYBE,
        }
    ),
    "channels": Foreign(
        {
            **ROW,
            "kind": "text",
            "chain": "text",
            "channel": "number",
            "channel_id": "text",
            "account": "account",
            "address": MAYBE,
            "source": "text",
            "target": MAYBE,
            "destination": MAYBE,
            "commission_bps": NUMBER,
            "boost_bps": NUMBER,
            "opening_fee": {"amount", "null"},
            "expiry_block": NUMBER,
            "deposits": "number",
        }
    ),
    "commissions": Foreign(
        {
            **ROW,
            "account": "account",
            "broker": "account",
            "asset": "text",
            "amount": "amount",
            "request": "number",
            "swap": "number",
        }
    ),
    "payouts": Foreign(
        {
            **ROW,
            "kind": "text",
            "chain": "text",
            "egress": "number",
            "request": NUMBER,
            "account": MAYBE,
            "asset": "text",
            "amount": "amount",
            "state": "text",
            "destination": MAYBE,
            "broadcast": NUMBER,
            "transaction": MAYBE,
            "recovery": NUMBER,
            "reason": MAYBE,
        }
    ),
}
"""Records of `ledger show`, by report."""

SPECIFICATION = Foreign(
    {
        "name": "text",
        "id": "text",
        "chainType": "text",
        "bootNodes": ["text"],
        "protocolId": MAYBE,
        "telemetryEndpoints": "any",
        "properties": "any",
        "codeSubstitutes": {"*": "any"},
        "genesis": "any",
        "grandpaAuthorities?": "any",
        "genesisHash?": "hash",
        "forkBlocks?": "any",
        "badBlocks?": "any",
        "lightSyncState?": "any",
        "consensusEngine?": "any",
    }
)
