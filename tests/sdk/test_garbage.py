"""Whatever a node, a broker or the swap service answers, a caller sees a result or an error of the SDK."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.assets import CHAINS
from cfnode.sdk import FillOrKillParams, Options, Quote, SdkError
from cfnode.sdk.calls import Call
from cfnode.sdk.calls.infos import (
    GetAssets,
    GetBoostLiquidity,
    GetChains,
    GetChannelOpeningFees,
    GetRequiredBlockConfirmations,
    GetSwapLimits,
)
from cfnode.sdk.calls.quotes import GetQuote, GetQuoteV2
from cfnode.sdk.calls.statuses import GetStatus, GetStatusV2
from cfnode.sdk.exchange import HttpAnswer, SdkHttpCall
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.recovery import (
    CheckContracts,
    FailedCall,
    FetchFailedCall,
    FetchReceipt,
    FindCallsOf,
    FindFailedCalls,
    Payload,
    PrepareTransaction,
    SendTransaction,
    SimulateCall,
)
from tests.lengths import examples
from tests.sdk.scripted import Script, session
from tests.support.sdk.deposits import OPENED, request_v1, request_v2
from tests.support.sdk.payloads import NAMES, payload_of, raw, vector

PAIR = ("Bitcoin", "BTC", "Ethereum", "ETH")
WORDS = sorted(
    {*OPENED, *CHAINS, "BTC", "ETH", "USDC", "ingress_egress", "swapping", "minimum_deposit_amounts"}
    | {"maximum_swap_amounts", "channel_opening_fees", "witness_safety_margins", "egress_dust_limits"}
    | {"chain", "asset", "tier", "available_amount", "state", "type", "srcAsset", "destAsset", "quotes"}
    | {"depositAmount", "egressAmount", "estimatedPrice", "message", "number", "specVersion", "contract"}
    | {"data", "chain_id", "gas_limit", "baseFeePerGas", "deposit", "swap", "boostQuote", "calldata", "to"}
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["0x", "0x0", "0xff", "0x" + "11" * 20, "0x" + "ff" * 64, "Infinity", "1e999", *WORDS]),
    st.integers(0, 2**130).map(hex),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**260),
    st.floats(),
    TEXTS,
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=12,
)
BODIES = st.one_of(JSON.map(lambda value: json.dumps(value).encode()), st.binary(max_size=40))


class Garbage(Script):
    """Answers each exchange with what was drawn: the results of JSON-RPC, or whole bodies."""

    def __init__(self, data: st.DataObject, sensible: dict[str, Any]) -> None:
        super().__init__(sensible)
        self.data = data

    def answer(self, call: SdkHttpCall) -> HttpAnswer:
        """Answer with garbage, or sensibly, as the data says."""
        sane = self.data.draw(st.integers(0, 5))
        if sane == 0 or not call.body or not call.body.startswith(b"["):
            return HttpAnswer(self.data.draw(st.sampled_from([200, 201, 400, 500])), self.data.draw(BODIES))
        return super().answer(call)

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["method"] in self.results and self.data.draw(st.integers(0, 3)):
            return super()._reply(request)
        return {"id": request["id"], "result": self.data.draw(JSON)}


def failed() -> FailedCall:
    """Return a failed call with a payload of the vectors."""
    test_vector = vector(NAMES[0])
    payload: Payload = payload_of(test_vector)
    manager = raw(test_vector["inputs"]["key_manager"])
    return FailedCall(payload, raw(test_vector["agg_key"]["compressed"]), manager, 6, 6, None)


CALLS: dict[str, Any] = {
    "assets": GetAssets,
    "boost": GetBoostLiquidity,
    "chains": GetChains,
    "fees": GetChannelOpeningFees,
    "confirmations": GetRequiredBlockConfirmations,
    "limits": GetSwapLimits,
    "quote": lambda: GetQuote(*PAIR, 10**8),
    "quotes": lambda: GetQuoteV2(*PAIR, 10**8),
    "status": lambda: GetStatusV2("5-Bitcoin-6"),
    "old status": lambda: GetStatus("5-Bitcoin-6"),
    "deposit V1": request_v1,
    "deposit V2": request_v2,
    "failed call": lambda: FetchFailedCall("ethereum", 7),
    "failed calls": lambda: FindFailedCalls("arbitrum"),
    "calls of a swap": lambda: FindCallsOf("ethereum", 7),
    "calls of a channel": lambda: FindCallsOf("ethereum", "5-Bitcoin-6"),
    "contracts": lambda: CheckContracts(failed(), "http://evm.test"),
    "simulation": lambda: SimulateCall(failed(), "http://evm.test"),
    "transaction": lambda: PrepareTransaction(failed(), "http://evm.test", b"\x11" * 20),
    "send": lambda: SendTransaction(b"\x02", "http://evm.test"),
    "receipt": lambda: FetchReceipt("0x12", "http://evm.test"),
}
SENSIBLE = {
    "broker_request_swap_deposit_address": OPENED,
    "chain_getBlockHash": "0x" + "ab" * 32,
    "chain_getHeader": {"number": "0x9"},
    "eth_chainId": hex(31337),
    "eth_getCode": "0x60",
    "eth_call": "0x" + "00" * 64,
    "eth_estimateGas": "0x13880",
    "eth_feeHistory": {"reward": [["0x1"]]},
    "eth_gasPrice": "0x1",
    "eth_getBlockByNumber": {"baseFeePerGas": "0x1", "gasLimit": "0x1c9c380"},
    "eth_maxPriorityFeePerGas": "0x1",
    "eth_getTransactionCount": "0x1",
}


@pytest.mark.parametrize("name", list(CALLS))
@settings(max_examples=examples(40))
@given(data=st.data())
def test_no_answer_makes_a_call_raise_anything_else(name: str, data: st.DataObject) -> None:
    """Raise nothing but the SDK's errors, and ask for one channel at most, whatever comes back."""
    call: Call[Any] = CALLS[name]()
    script = Garbage(data, SENSIBLE)
    with suppress(SdkError):
        script.run(call, session())
    opening = [call for call in script.calls if call.opens_channel]
    assert len(opening) <= 1


@settings(max_examples=examples(200))
@given(document=JSON)
def test_no_document_makes_a_record_raise_anything_else(document: Any) -> None:
    """Raise nothing but the SDK's errors for any document, and write what was read as JSON."""
    for record in (Quote, DepositAddress, Options, FillOrKillParams):
        with suppress(SdkError):
            json.dumps(record.from_json(document).to_json())
