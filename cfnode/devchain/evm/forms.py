"""JSON of an EVM node: blocks, transactions, receipts and logs.

Numbers are 0x hex without leading zeros, bytes are 0x hex. (Ethereum JSON-RPC specification,
ethereum/execution-apis.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import rlp
from eth.abc import BlockAPI, LogAPI, SignedTransactionAPI

from cfnode.core.hashing import keccak_256
from cfnode.devchain.evm.chain import Mined

__all__ = ["block_json", "log_topics", "logs_json", "quantity", "receipt_json", "text", "transaction_json"]

_INDEX: Final = "0x0"
"""The index of the one transaction of a block."""
_LEGACY: Final = 0
_DYNAMIC_FEES: Final = 2


def quantity(number: int) -> str:
    """Return a number."""
    return hex(number)


def text(data: bytes) -> str:
    """Return bytes."""
    return "0x" + data.hex()


def block_json(block: BlockAPI, *, is_full: bool) -> dict[str, Any]:
    """Return a block, with whole transactions or their hashes."""
    header = block.header
    transactions = [
        transaction_json(block, transaction) if is_full else text(transaction.hash)
        for transaction in block.transactions
    ]
    return {
        "number": quantity(header.block_number),
        "hash": text(header.hash),
        "parentHash": text(header.parent_hash),
        "nonce": text(header.nonce),
        "sha3Uncles": text(header.uncles_hash),
        "logsBloom": _bloom(header.bloom),
        "transactionsRoot": text(header.transaction_root),
        "stateRoot": text(header.state_root),
        "receiptsRoot": text(header.receipt_root),
        "miner": text(header.coinbase),
        "difficulty": quantity(header.difficulty),
        "totalDifficulty": quantity(0),
        "extraData": text(header.extra_data),
        "mixHash": text(header.mix_hash),
        "size": quantity(len(rlp.encode(block))),
        "gasLimit": quantity(header.gas_limit),
        "gasUsed": quantity(header.gas_used),
        "timestamp": quantity(header.timestamp),
        "baseFeePerGas": quantity(header.base_fee_per_gas),
        "withdrawals": [],
        "withdrawalsRoot": text(header.withdrawals_root),
        "blobGasUsed": quantity(header.blob_gas_used),
        "excessBlobGas": quantity(header.excess_blob_gas),
        "parentBeaconBlockRoot": text(header.parent_beacon_block_root),
        "transactions": transactions,
        "uncles": [],
    }


def transaction_json(block: BlockAPI, transaction: SignedTransactionAPI) -> dict[str, Any]:
    """Return the transaction of a block."""
    kind = _type(transaction)
    members: dict[str, Any] = {
        "type": quantity(kind),
        "hash": text(transaction.hash),
        "blockHash": text(block.hash),
        "blockNumber": quantity(block.number),
        "transactionIndex": _INDEX,
        "from": text(transaction.sender),
        "to": text(transaction.to) if transaction.to else None,
        "nonce": quantity(transaction.nonce),
        "value": quantity(transaction.value),
        "gas": quantity(transaction.gas),
        "input": text(transaction.data),
        "gasPrice": quantity(_paid_price(block, transaction)),
        "r": quantity(transaction.r),
        "s": quantity(transaction.s),
        "chainId": quantity(transaction.chain_id or 0),
    }
    if kind == _LEGACY:
        return members | {"v": quantity(transaction.v)}
    members |= {
        "v": quantity(transaction.y_parity),
        "yParity": quantity(transaction.y_parity),
        "accessList": [
            {"address": text(address), "storageKeys": [text(slot.to_bytes(32, "big")) for slot in slots]}
            for address, slots in transaction.access_list
        ],
    }
    if kind == _DYNAMIC_FEES:
        members["maxFeePerGas"] = quantity(transaction.max_fee_per_gas)
        members["maxPriorityFeePerGas"] = quantity(transaction.max_priority_fee_per_gas)
    return members


def receipt_json(mined: Mined) -> dict[str, Any]:
    """Return the receipt of a transaction."""
    block, transaction, receipt = mined.block, mined.transaction, mined.receipt
    return {
        "type": quantity(_type(transaction)),
        "transactionHash": text(transaction.hash),
        "transactionIndex": _INDEX,
        "blockHash": text(block.hash),
        "blockNumber": quantity(block.number),
        "from": text(transaction.sender),
        "to": text(transaction.to) if transaction.to else None,
        "contractAddress": None if transaction.to else text(_created(transaction)),
        "cumulativeGasUsed": quantity(receipt.gas_used),
        "gasUsed": quantity(receipt.gas_used),
        "effectiveGasPrice": quantity(_paid_price(block, transaction)),
        "status": quantity(int(mined.has_succeeded)),
        "logsBloom": _bloom(receipt.bloom),
        "logs": list(logs_json(mined)),
    }


def logs_json(mined: Mined) -> Iterator[dict[str, Any]]:
    """Yield the logs of a transaction."""
    for index, log in enumerate(mined.receipt.logs):
        yield {
            "address": text(log.address),
            "topics": [*map(text, log_topics(log))],
            "data": text(log.data),
            "blockNumber": quantity(mined.block.number),
            "blockHash": text(mined.block.hash),
            "blockTimestamp": quantity(mined.block.header.timestamp),
            "transactionHash": text(mined.transaction.hash),
            "transactionIndex": _INDEX,
            "logIndex": quantity(index),
            "removed": False,
        }


def log_topics(log: LogAPI) -> list[bytes]:
    """Return the topics of a log, 32 bytes each."""
    return [topic.to_bytes(32, "big") for topic in log.topics]


def _type(transaction: SignedTransactionAPI) -> int:
    return int(transaction.type_id or _LEGACY)


def _paid_price(block: BlockAPI, transaction: SignedTransactionAPI) -> int:
    """Return what the sender has paid, wei per gas."""
    if _type(transaction) < _DYNAMIC_FEES:
        return int(transaction.gas_price)
    base = block.header.base_fee_per_gas
    return int(min(transaction.max_fee_per_gas, base + transaction.max_priority_fee_per_gas))


def _created(transaction: SignedTransactionAPI) -> bytes:
    """Return the address of the contract that a transaction creates."""
    return keccak_256(rlp.encode([transaction.sender, transaction.nonce]))[12:]


def _bloom(bloom: int) -> str:
    return text(bloom.to_bytes(256, "big"))
