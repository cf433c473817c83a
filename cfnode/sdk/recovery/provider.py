"""Calls to a node of an EVM chain, whose provider may lack methods or a pending block.

The node gets one call at a time: some providers accept no batches, others batches of three. An error names
the method and the host. Calls at the pending block fall back to the latest block if the provider has no
pending one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from cfnode.core.foreign import ForeignError, whole_number
from cfnode.core.hashing import keccak_256
from cfnode.sdk.errors import BadAnswer, RpcCallError, TransportError
from cfnode.sdk.exchange import Steps, origin_of, rpc_alone
from cfnode.sdk.options import ClientSession

__all__ = [
    "COUNT_BITS",
    "at_pending",
    "evm_call",
    "evm_number",
    "is_failed_execution",
    "is_revert",
    "optional_call",
    "read_number",
    "revert_reason",
    "unbelievable",
]

MAX_REASON = 1_000
"""Maximum characters of a contract's own text."""
COUNT_BITS = 64
"""Bits of an account's nonce (EIP-2681), of a block's number and of its gas."""
_EXECUTION_REVERTED = 3
"""The code of geth's error for a call that reverted."""
_ERROR = keccak_256(b"Error(string)")[:4].hex()
_ERROR_DATA = re.compile(rf"0x({_ERROR}[0-9a-fA-F]*)")
_EXECUTION_TEXT = re.compile(r"revert|execution|opcode|\be?vm\b|\bgas\b", re.IGNORECASE)
_REVERT_TEXT = re.compile(r"revert(?:ed)?(?: with reason string)?:? +'?([^']+)'?\Z", re.IGNORECASE)


def evm_call(session: ClientSession, url: str, method: str, params: Sequence[Any]) -> Steps[Any]:
    """Return the result of one call; its error names the method and the host."""
    try:
        return (yield from rpc_alone(session, url, method, params))
    except TransportError as error:
        _rename(error, f"{method}: {error.message}")
        raise
    except RpcCallError as error:
        _rename(error, f"{method} at {origin_of(url)}: {error.message}")
        raise


def evm_number(
    session: ClientSession, url: str, method: str, params: Sequence[Any], bits: int = 256
) -> Steps[int]:
    """Return the result of a call that returns a number of at most `bits` bits."""
    return read_number((yield from evm_call(session, url, method, params)), url, method, bits)


def optional_call(session: ClientSession, url: str, method: str, params: Sequence[Any]) -> Steps[Any]:
    """Return the result of one call; None if the provider refuses the method."""
    try:
        return (yield from evm_call(session, url, method, params))
    except RpcCallError:
        return None


def at_pending(session: ClientSession, url: str, method: str, params: Sequence[Any]) -> Steps[Any]:
    """Return the result at the pending block, else at the latest one; do not repeat a call that reverts."""
    try:
        return (yield from evm_call(session, url, method, [*params, "pending"]))
    except RpcCallError as error:
        if is_revert(error):
            raise
    try:
        return (yield from evm_call(session, url, method, [*params, "latest"]))
    except RpcCallError as error:
        if is_revert(error) or method != "eth_estimateGas":
            raise
    return (yield from evm_call(session, url, method, params))


def read_number(value: Any, url: str, what: str, bits: int = 256) -> int:
    """Read a JSON number, or a number in 0x hex, of at most `bits` bits.

    `what` names the method, and the member of its answer. Raises BadAnswer.
    """
    try:
        return whole_number(value, bits)
    except ForeignError:
        text = f"{value!r:.60}, which is not a whole number of at most {bits} bits"
        raise unbelievable(url, what, text) from None


def unbelievable(url: str, what: str, text: str) -> BadAnswer:
    """Return the error for an answer of the EVM node that cannot be true; `text` is what it returned."""
    message = f"the EVM node returned for {what} {text} ({origin_of(url)}); use another node"
    return BadAnswer(message, url=origin_of(url), sent=True, retryable=False)


def is_revert(error: RpcCallError) -> bool:
    """Return whether the contract reverted, as opposed to a refusal by the provider."""
    return "revert" in error.rpc_message.lower() or bool(revert_reason(error))


def is_failed_execution(error: RpcCallError) -> bool:
    """Return whether the node executed the call, which failed, as opposed to a refusal by the provider."""
    text = f"{error.rpc_message} {error.data if isinstance(error.data, str) else ''}"
    is_execution = error.rpc_code == _EXECUTION_REVERTED or _EXECUTION_TEXT.search(text)
    return bool(is_execution or revert_reason(error))


def revert_reason(error: RpcCallError) -> str:
    """Return the contract's own text of a failed simulation, "" without one."""
    match = _ERROR_DATA.search(json.dumps(error.data)) if error.data is not None else None
    if match and len(raw := bytes.fromhex(match[1][: len(match[1]) & ~1])) >= 68:
        length = int.from_bytes(raw[36:68], "big")
        return raw[68 : 68 + min(length, MAX_REASON)].decode("utf-8", "replace")
    text = _REVERT_TEXT.search(error.rpc_message)
    return text[1][:MAX_REASON] if text else ""


def _rename(error: TransportError | RpcCallError, message: str) -> None:
    error.message, error.args = message, (message,)
