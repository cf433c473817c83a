"""Time of the SDK's import, and its own share of a deposit-address request.

The share is measured without a network: the exchanges are answered at once, so what is timed is checking,
price arithmetic, JSON and reading the answer. CFNODE_TEST_REFERENCE names the folder of the vectors.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.sdk.calls.deposits import RequestDepositAddressV2
from cfnode.sdk.exchange import HttpAnswer
from cfnode.sdk.options import ClientSession, Options
from cfnode.sdk.price import minimum_price, price_to_x128

ROOT = Path(__file__).resolve().parents[2]
IMPORTS, REQUESTS = 15, 500
IMPORT_LIMIT, SHARE_LIMIT = 0.150, 0.001

Row = tuple[str, str, str, bool | None]
"""Row of the table: name, figure, target, whether it is met."""


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    reference = Path(os.environ.get("CFNODE_TEST_REFERENCE", ROOT.parent / "shared" / "reference"))
    loading, share = _import_seconds(), _request_seconds()
    return [
        (
            f"import cfnode.sdk (median of {IMPORTS} fresh interpreters)",
            f"{loading * 1000:.0f} ms",
            f"≤ {IMPORT_LIMIT * 1000:.0f} ms",
            loading <= IMPORT_LIMIT,
        ),
        (
            f"deposit-address request without network (median of {REQUESTS})",
            f"{share * 1000:.2f} ms",
            f"≤ {SHARE_LIMIT * 1000:.0f} ms",
            share <= SHARE_LIMIT,
        ),
        _prices(reference / "sdk-examples" / "price-vectors.json"),
    ]


def _import_seconds() -> float:
    program = "from time import perf_counter as t; a = t(); import cfnode.sdk; print(t() - a)"
    timed = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
        for _ in range(IMPORTS)
    ]
    return statistics.median(float(process.stdout) for process in timed)


_EVM = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
_BTC = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
_REQUEST: dict[str, Any] = {
    "quote": {
        "type": "REGULAR",
        "srcAsset": {"chain": "Bitcoin", "asset": "BTC"},
        "destAsset": {"chain": "Ethereum", "asset": "ETH"},
        "depositAmount": "100000000",
        "egressAmount": "25025000000000000000",
        "estimatedPrice": "25.0292253865522370",
    },
    "destAddress": _EVM,
    "fillOrKillParams": {"refundAddress": _BTC, "retryDurationBlocks": 100, "slippageTolerancePercent": 1.5},
}
_RESULTS = {
    "cf_environment": {"ingress_egress": {}, "swapping": {}},
    "broker_request_swap_deposit_address": {
        "address": _BTC,
        "issued_block": 1,
        "channel_id": 2,
        "source_chain_expiry_block": 3,
        "channel_opening_fee": "0x0",
    },
    "state_getStorage": None,
}


def _request_seconds() -> float:
    options = Options(network="mainnet").replaced({"broker": {"url": "http://x"}, "rpc_url": "http://x"})
    session = ClientSession(options, now_ms=lambda: 0, monotonic=perf_counter, random_bytes=os.urandom)
    return statistics.median(_one_request(session) for _ in range(REQUESTS))


def _one_request(session: ClientSession) -> float:
    started = perf_counter()
    steps = RequestDepositAddressV2.from_json(_REQUEST).steps(session)
    answering = 0.0
    try:
        call = next(steps)
        while True:
            began = perf_counter()
            requests = json.loads(call.body or b"")
            replies = [
                {"jsonrpc": "2.0", "id": request["id"], "result": _RESULTS[request["method"]]}
                for request in requests
            ]
            answer = HttpAnswer(200, json.dumps(replies).encode())
            answering += perf_counter() - began
            call = steps.send(answer)
    except StopIteration:
        return perf_counter() - started - answering


def _prices(vectors: Path) -> Row:
    name = "prices equal to the JavaScript SDK's"
    if not vectors.exists():
        return name, "the reference vectors are not here", "all", None
    rows = json.loads(vectors.read_text())
    equal = sum(_price(row) == row["minPriceX128"] for row in rows)
    return name, f"{equal} of {len(rows)}", "all", equal == len(rows)


def _price(row: dict[str, str]) -> str:
    source, destination = ASSETS[row["src"]], ASSETS[row["dest"]]
    minimum = row["minPrice"]
    if "slippageTolerancePercent" in row:
        minimum = minimum_price(row["estimatedPrice"], row["slippageTolerancePercent"], destination)
    return str(price_to_x128(minimum, source, destination))
