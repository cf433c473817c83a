"""JSON-RPC methods of the local EVM chain: those that wallets and `cfnode recover` call.

A method's function gets the chain and the parameters by position. Missing parameters at the end are None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from cfnode import __version__
from cfnode.core.jsonrpc import ErrorCode, InvalidParams, RpcError
from cfnode.devchain.evm.chain import EvmChain, EvmRefusal, SimulationReverted
from cfnode.devchain.evm.forms import (
    block_json,
    log_topics,
    logs_json,
    quantity,
    receipt_json,
    text,
    transaction_json,
)
from cfnode.devchain.evm.reading import (
    address_in,
    block_in,
    bytes_in,
    hash_in,
    log_filter,
    number_in,
    simulated_in,
)

__all__ = ["METHODS", "called"]

TIP: Final = 10**9
"""Tip that the chain proposes, wei per gas; it demands none."""
MAX_RETURNED_LOGS: Final = 10_000
MAX_FEE_BLOCKS: Final = 1_024
_EXECUTION_ERROR: Final = 3
"""Code of a simulation that has reverted, as other nodes have it."""
_REASON: Final = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`."""

Parameters = list[Any]
Method = Callable[[EvmChain, Parameters], Any]


def called(chain: EvmChain, method: str, arguments: list[Any] | dict[str, Any]) -> Any:
    """Return the result of a method. Raises RpcError."""
    entry = METHODS.get(method)
    if entry is None:
        known = "the methods of this chain are those of wallets: eth_call, eth_sendRawTransaction, …"
        raise RpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", known)
    function, count = entry
    if not isinstance(arguments, list):
        raise InvalidParams("params takes an array")
    if len(arguments) > count:
        raise InvalidParams(f"{method} takes at most {count} parameters, not {len(arguments)}")
    with _as_rpc_errors():
        return function(chain, arguments + [None] * (count - len(arguments)))


@contextmanager
def _as_rpc_errors() -> Iterator[None]:
    try:
        yield
    except EvmRefusal as error:
        raise RpcError(ErrorCode.CALL_FAILED, str(error)) from None
    except SimulationReverted as error:
        reason = _text_of(error.data) or error.reason
        message = f"execution reverted: {reason}" if error.data else reason
        raise RpcError(_EXECUTION_ERROR, message, text(error.data)) from None


def _text_of(data: bytes) -> str:
    """Return a contract's own text, "" if it has none."""
    if data[:4] != _REASON or len(data) < 68:
        return ""
    size = int.from_bytes(data[36:68], "big")
    return data[68 : 68 + min(size, len(data))].decode("utf-8", "replace")


def _known_block(chain: EvmChain, value: Any) -> int:
    """Return the number of a block that a state is read at; None is the latest one."""
    number = chain.height if value is None else block_in(value, chain)
    if number is None:
        raise RpcError(ErrorCode.CALL_FAILED, f"header not found: the latest block is {chain.height}")
    return number


def _balance(chain: EvmChain, parameters: Parameters) -> str:
    account, block = parameters
    return quantity(chain.state(_known_block(chain, block)).get_balance(address_in(account)))


def _count(chain: EvmChain, parameters: Parameters) -> str:
    account, block = parameters
    return quantity(chain.state(_known_block(chain, block)).get_nonce(address_in(account)))


def _code(chain: EvmChain, parameters: Parameters) -> str:
    account, block = parameters
    return text(chain.state(_known_block(chain, block)).get_code(address_in(account)))


def _storage(chain: EvmChain, parameters: Parameters) -> str:
    account, slot, block = parameters
    state = chain.state(_known_block(chain, block))
    word = state.get_storage(address_in(account), number_in(slot, "slot"))
    return text(word.to_bytes(32, "big"))


def _call(chain: EvmChain, parameters: Parameters) -> str:
    transaction, block = parameters
    return text(chain.call(simulated_in(transaction), _known_block(chain, block)))


def _estimate(chain: EvmChain, parameters: Parameters) -> str:
    transaction, block = parameters
    return quantity(chain.estimate(simulated_in(transaction), _known_block(chain, block)))


def _send(chain: EvmChain, parameters: Parameters) -> str:
    return text(chain.send(bytes_in(parameters[0], "the transaction")).transaction.hash)


def _block_by_number(chain: EvmChain, parameters: Parameters) -> Any:
    block, is_full = parameters
    number = block_in(block, chain)
    return None if number is None else block_json(chain.block(number), is_full=is_full is True)


def _block_by_hash(chain: EvmChain, parameters: Parameters) -> Any:
    block_hash, is_full = parameters
    number = chain.number_of(hash_in(block_hash))
    return None if number is None else block_json(chain.block(number), is_full=is_full is True)


def _transaction(chain: EvmChain, parameters: Parameters) -> Any:
    mined = chain.mined(hash_in(parameters[0]))
    return None if mined is None else transaction_json(mined.block, mined.transaction)


def _receipt(chain: EvmChain, parameters: Parameters) -> Any:
    mined = chain.mined(hash_in(parameters[0]))
    return None if mined is None else receipt_json(mined)


def _logs(chain: EvmChain, parameters: Parameters) -> list[dict[str, Any]]:
    wanted, logs = log_filter(parameters[0], chain), list[dict[str, Any]]()
    for mined in chain.between(wanted.first, wanted.last):
        entries = zip(mined.receipt.logs, logs_json(mined), strict=True)
        logs += [entry for log, entry in entries if wanted.matches(log.address, log_topics(log))]
        if len(logs) > MAX_RETURNED_LOGS:
            raise RpcError(
                ErrorCode.CALL_FAILED, f"more than {MAX_RETURNED_LOGS} logs match: ask for fewer blocks"
            )
    return logs


def _fee_history(chain: EvmChain, parameters: Parameters) -> dict[str, Any]:
    count, newest, percentiles = parameters
    last = _known_block(chain, newest)
    wanted = min(count if isinstance(count, int) else number_in(count, "blockCount"), MAX_FEE_BLOCKS)
    headers = [chain.block(number).header for number in range(max(last - wanted + 1, 0), last + 1)]
    fees = [header.base_fee_per_gas for header in headers] + [chain.base_fee]
    history = {
        "oldestBlock": quantity(last - len(headers) + 1),
        "baseFeePerGas": [*map(quantity, fees)],
        "gasUsedRatio": [header.gas_used / header.gas_limit for header in headers],
    }
    if isinstance(percentiles, list) and percentiles:
        history["reward"] = [[quantity(TIP)] * len(percentiles[:100]) for _ in headers]
    return history


METHODS: Final[Mapping[str, tuple[Method, int]]] = {
    "eth_accounts": (lambda chain, _: [], 0),
    "eth_blockNumber": (lambda chain, _: quantity(chain.height), 0),
    "eth_call": (_call, 2),
    "eth_chainId": (lambda chain, _: quantity(chain.chain_id), 0),
    "eth_estimateGas": (_estimate, 2),
    "eth_feeHistory": (_fee_history, 3),
    "eth_gasPrice": (lambda chain, _: quantity(chain.base_fee + TIP), 0),
    "eth_getBalance": (_balance, 2),
    "eth_getBlockByHash": (_block_by_hash, 2),
    "eth_getBlockByNumber": (_block_by_number, 2),
    "eth_getCode": (_code, 2),
    "eth_getLogs": (_logs, 1),
    "eth_getStorageAt": (_storage, 3),
    "eth_getTransactionByHash": (_transaction, 1),
    "eth_getTransactionCount": (_count, 2),
    "eth_getTransactionReceipt": (_receipt, 1),
    "eth_maxPriorityFeePerGas": (lambda chain, _: quantity(TIP), 0),
    "eth_sendRawTransaction": (_send, 1),
    "eth_syncing": (lambda chain, _: False, 0),
    "net_version": (lambda chain, _: str(chain.chain_id), 0),
    "web3_clientVersion": (lambda chain, _: f"cfnode/{__version__}", 0),
}
"""The function of each method, and the most parameters that it takes."""
