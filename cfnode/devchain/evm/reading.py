"""Parameters of an EVM node's methods: numbers, bytes, addresses, blocks, transactions and filters of logs.

Each reader raises InvalidParams, whose text names the parameter and what it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.foreign import ForeignError, hex_bytes, hex_number
from cfnode.core.jsonrpc import InvalidParams
from cfnode.devchain.evm.chain import BLOCK_GAS, MAX_TRANSACTION, EvmChain, Simulated

__all__ = [
    "LogFilter",
    "address_in",
    "block_in",
    "bytes_in",
    "hash_in",
    "log_filter",
    "number_in",
    "simulated_in",
]

_ADDRESS: Final = 20
_WORD: Final = 32
_TAGS: Final = ("latest", "pending", "safe", "finalized")
MAX_LOG_CHOICES: Final = 100
"""Addresses of a filter, and choices of each topic."""
MAX_TOPICS: Final = 4


def number_in(value: Any, name: str, bits: int = 256) -> int:
    """Return a number of 0x hex."""
    try:
        return hex_number(value, bits)
    except ForeignError as error:
        raise InvalidParams(f"{name} {error}") from None


def bytes_in(value: Any, name: str, most: int = MAX_TRANSACTION) -> bytes:
    """Return bytes of 0x hex."""
    try:
        return hex_bytes(value, most)
    except ForeignError as error:
        raise InvalidParams(f"{name} {error}") from None


def address_in(value: Any, name: str = "address") -> bytes:
    """Return an address, 20 bytes."""
    return _exactly(value, name, _ADDRESS)


def hash_in(value: Any, name: str = "hash") -> bytes:
    """Return a hash, 32 bytes."""
    return _exactly(value, name, _WORD)


def _exactly(value: Any, name: str, size: int) -> bytes:
    data = bytes_in(value, name, size)
    if len(data) != size:
        raise InvalidParams(f"{name} takes {size} bytes in 0x hex, not {len(data)}")
    return data


def block_in(value: Any, chain: EvmChain, name: str = "block") -> int | None:
    """Return the number of a block; None if the chain has none of this number or hash.

    A block is a tag, a number, or an object with `blockNumber` or `blockHash` (EIP-1898).
    """
    if value in _TAGS:
        return chain.height
    if value == "earliest":
        return 0
    if isinstance(value, Mapping):
        if "blockHash" in value:
            return chain.number_of(hash_in(value["blockHash"], f"{name}.blockHash"))
        value = value.get("blockNumber")
    try:
        number = hex_number(value)
    except ForeignError:
        tags = ", ".join(("earliest", *_TAGS))
        raise InvalidParams(f"{name} takes a number in 0x hex, or one of {tags}") from None
    return number if number <= chain.height else None


def simulated_in(value: Any) -> Simulated:
    """Return the transaction of eth_call and eth_estimateGas; its fees are ignored."""
    if not isinstance(value, Mapping):
        raise InvalidParams("the transaction takes an object")
    data = value.get("input", value.get("data"))
    gas = value.get("gas")
    return Simulated(
        sender=bytes(_ADDRESS) if value.get("from") is None else address_in(value["from"], "from"),
        to=b"" if value.get("to") is None else address_in(value["to"], "to"),
        value=0 if value.get("value") is None else number_in(value["value"], "value"),
        data=b"" if data is None else bytes_in(data, "data"),
        gas=BLOCK_GAS if gas is None else min(number_in(gas, "gas"), BLOCK_GAS),
    )


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Logs that a client asks for. An empty set matches all; `topics` are by position."""

    first: int
    last: int
    addresses: frozenset[bytes]
    topics: tuple[frozenset[bytes], ...]

    def matches(self, address: bytes, topics: Sequence[bytes]) -> bool:
        """Return whether a log has one of the addresses, and one of the choices of each topic."""
        if self.addresses and address not in self.addresses:
            return False
        if len(self.topics) > len(topics):
            return False
        return all(not wanted or topic in wanted for wanted, topic in zip(self.topics, topics, strict=False))


def log_filter(value: Any, chain: EvmChain) -> LogFilter:
    """Return the filter of eth_getLogs; without blocks it is for the latest one."""
    if not isinstance(value, Mapping):
        raise InvalidParams("the filter takes an object")
    addresses, topics = value.get("address"), value.get("topics") or []
    if not isinstance(topics, list) or len(topics) > MAX_TOPICS:
        raise InvalidParams(f"topics takes a list of at most {MAX_TOPICS}")
    if value.get("blockHash") is not None:
        first = last = block_in({"blockHash": value["blockHash"]}, chain)
    else:
        first, last = (block_in(value.get(name, "latest"), chain, name) for name in ("fromBlock", "toBlock"))
        last = chain.height if last is None else last
    wanted = _choices(addresses, "address", _ADDRESS)
    places = tuple(_choices(topic, "topic", _WORD) for topic in topics)
    return LogFilter(
        chain.height + 1 if first is None else first, -1 if last is None else last, wanted, places
    )


def _choices(value: Any, name: str, size: int) -> frozenset[bytes]:
    if value is None:
        return frozenset()
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_LOG_CHOICES:
        raise InvalidParams(f"{name} takes at most {MAX_LOG_CHOICES} values")
    return frozenset(_exactly(choice, name, size) for choice in values)
