"""Signed calls for a local EVM chain, and providers before it that refuse or lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

from click.testing import Result

from cfnode.core import schnorr
from cfnode.core.vault_calls import (
    NATIVE_TOKEN,
    ReplayProtection,
    TransferParams,
    VaultCall,
    execute_x_swap_and_call,
)
from cfnode.core.vault_calls import transfer_fallback as fallback
from tests.sdk.anvil import KEY_MANAGER, VAULT, Evm
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.support.sdk.payloads import raw, vector
from tests.support.sdk.recover_command import ETHER

LIMIT = 190_005
NONCES = count(100)
Answer = dict[str, Any] | None


def offered(call: VaultCall, **changes: Any) -> dict[str, Any]:
    """Return a State Chain's answer with a signed call, each with a nonce of its own."""
    test_vector, nonce = vector("native-ethereum-even-key"), next(NONCES)
    protection = ReplayProtection(nonce, 31337, raw(KEY_MANAGER), raw(VAULT))
    secret = raw(test_vector["inputs"]["agg_secret"])
    signature = schnorr.sign(secret, nonce.to_bytes(32, "big"), call.message_hash(protection))
    result = test_vector["rpc_result"] | {"data": call.data(nonce, signature).hex()} | changes
    return test_vector | {"rpc_result": result}


def transfer(amount: int = ETHER, token: bytes = NATIVE_TOKEN) -> tuple[str, dict[str, Any]]:
    """Return a receiver that has nothing yet, and a call that pays it."""
    receiver = f"0x{next(NONCES):040x}"
    return receiver, offered(fallback(TransferParams(token, raw(receiver), amount)))


def message(receiver: str, amount: int, limit: int | None = LIMIT) -> dict[str, Any]:
    """Return the answer that offers a message, with a gas limit."""
    call = execute_x_swap_and_call(TransferParams(NATIVE_TOKEN, raw(receiver), amount), 3, b"", b"hello")
    return offered(call, gas_limit=limit and hex(limit))


def report(result: Result) -> dict[str, Any]:
    """Return the JSON that a command printed."""
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def provider(
    evm: Evm, refuses: Callable[[Any], Answer], sends: Callable[[Answer], Answer] = lambda answer: answer
) -> AbstractContextManager[Loopback]:
    """Return a provider before the chain: `refuses` may answer a request, `sends` changes a send's answer."""

    def handle(request: Request) -> bytes | None:
        document = json.loads(request.body)
        if (refusal := refuses(document)) is not None:
            return page(200, json.dumps({"jsonrpc": "2.0", "id": None} | refusal).encode())
        answer = evm.client.post(evm.url, json=document).json()
        if not isinstance(document, list) and document["method"] == "eth_sendRawTransaction":
            answer = sends(answer)
        return None if answer is None else page(200, json.dumps(answer).encode())

    return serving(handle)


def error(code: int, text: str) -> dict[str, Any]:
    """Return a JSON-RPC error."""
    return {"error": {"code": code, "message": text}}


def nothing(document: Any) -> Answer:
    """Return None: the provider answers as the chain does."""
    return None


def lying(evm: Evm, **lies: Any) -> AbstractContextManager[Loopback]:
    """Return a provider with results of its own, by method; a function gets the chain's and returns another.

    A function for `eth_sendRawTransaction` keeps the transaction from the chain.
    """

    def lie(document: Any) -> Answer:
        if document["method"] not in lies:
            return None
        result = lies[document["method"]]
        if document["method"] == "eth_sendRawTransaction":
            result = result(None)  # the chain does not get it
        elif callable(result):
            result = result(evm.client.post(evm.url, json=document).json().get("result"))
        return {"id": document["id"], "result": result}

    return provider(evm, lie)


class Liar:
    """The lies of a provider that keeps a transaction, and says that it is in a block."""

    def __init__(self, evm: Evm, also: tuple[str, ...] = (), *, succeeded: bool = True) -> None:
        self.block = evm.call("eth_getBlockByNumber", "latest", False)
        self.also = also
        self.status = hex(succeeded)
        self.sent = False

    def keep(self, _: Any) -> str:
        """Keep that a transaction was sent; return a false hash."""
        self.sent = True
        return "0x" + "00" * 32

    def receipt(self, _: Any) -> dict[str, str]:
        """Return a receipt of success in the given block."""
        number, at = self.block["number"], self.block["hash"]
        return {"status": self.status, "blockNumber": number, "blockHash": at, "gasUsed": "0x13880"}

    def nonce(self, offered_nonce: str) -> str:
        """Return the next nonce, as if the transaction had counted."""
        return hex(int(offered_nonce, 16) + 1) if self.sent and "nonce" in self.also else offered_nonce

    def lies(self) -> dict[str, Any]:
        """Return the false answers by method."""
        return {
            "eth_sendRawTransaction": self.keep,
            "eth_getTransactionReceipt": self.receipt,
            "eth_getTransactionCount": self.nonce,
        }
