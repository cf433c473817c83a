"""Swaps whose payout fails, on a development chain."""

from __future__ import annotations

import json
from typing import Any

import httpx

from cfnode.sdk import SwapSDK
from cfnode.sdk.recovery import FindFailedCalls
from tests.process import NodeProcess
from tests.sdk.loopback import Loopback, Request, page, serving

RECEIVER = "0x00000000000000000000000000000000000000aa"
REFUND = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
BTC = {"chain": "Bitcoin", "asset": "BTC"}

NO_SERVER = "http://127.0.0.1:1"

BLOCKS = 30
"""Far more than a swap and its payout take."""


def fail_a_transfer(node: NodeProcess, chain: str, symbol: str = "ETH", receiver: str = RECEIVER) -> int:
    """Swap a bitcoin to a receiver that rejects it; return the broadcast id of the fallback."""
    return failed_swap(node, chain, symbol, receiver)[0]


def failed_swap(
    node: NodeProcess, chain: str, symbol: str = "ETH", receiver: str = RECEIVER
) -> tuple[int, str]:
    """Fail a transfer as `fail_a_transfer` does; return the broadcast id and the id of the channel."""
    asset = {"chain": chain, "asset": symbol}
    terms = {"retry_duration": 10, "refund_address": REFUND, "min_price": "0x0"}
    node.call("dev_failReceiver", receiver, asset)
    channel = node.call(
        "broker_request_swap_deposit_address", BTC, asset, receiver, 0, None, None, None, terms
    )
    with client(node) as sdk:
        before = {failed_call.broadcast_id for failed_call in sdk.call(FindFailedCalls(chain))}
        node.call("dev_deposit", channel["address"], BTC, 10**8)
        for _ in range(BLOCKS):
            node.call("dev_newBlock")
            if (
                broadcast_ids := {
                    failed_call.broadcast_id for failed_call in sdk.call(FindFailedCalls(chain))
                }
                - before
            ):
                return broadcast_ids.pop(), f"{channel['issued_block']}-Bitcoin-{channel['channel_id']}"
    raise AssertionError("no transfer failed")


def client(node: NodeProcess | Loopback) -> SwapSDK:
    """Return a client of the node, without a swap service."""
    return SwapSDK(network="dev", rpc_url=node.url, backend_url=NO_SERVER)


def forgetful(node: NodeProcess, known_since: int) -> Any:
    """Return the node as one that has no states of earlier blocks."""

    def forgotten(call: dict[str, Any]) -> bool:
        place = {"state_getStorage": 1, "state_getRuntimeVersion": 0, "state_getMetadata": 0}
        at = call["params"][place[call["method"]]] if call["method"] in place else None
        return at is not None and int(node.call("chain_getHeader", at)["number"], 16) < known_since

    def answered(call: dict[str, Any]) -> dict[str, Any]:
        if forgotten(call):
            text = f"Client error: UnknownBlock: State already discarded for {call['params'][-1]}"
            return {"error": {"code": 4003, "message": text}}
        return {"result": node.call(call["method"], *call["params"])}

    def handle(request: Request) -> bytes:
        if request.line.startswith("GET"):
            answer = httpx.get(node.url + request.line.split()[1])
            return page(answer.status_code, answer.content)
        replies = [{"jsonrpc": "2.0", "id": call["id"], **answered(call)} for call in request.calls]
        return page(200, json.dumps(replies).encode())

    return serving(handle)
