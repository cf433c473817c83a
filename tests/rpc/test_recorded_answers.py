"""Answers of the development chain against those of runtime 2.2.9, for 500 recorded calls.

What is not equal must be in DIFFERENT, with its reason. A parameter that cannot be read is refused by the
node, not by the runtime, so of those errors only code and message are compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import trio

from cfnode.store.keystore import Keystore
from tests.conftest import shared
from tests.rpc.conftest import MakeServed, Served

INVALID_PARAMS: Final = -32602
EQUAL: Final = 496
"""Calls with the recorded answer."""

DIFFERENT: Final[dict[str, tuple[str, str, int]]] = {
    "no address can be derived under their programs on Solana; ours are valid": (
        "cf_request_swap_parameter_encoding",
        "DispatchError: Failed to derive supported token account",
        1,
    ),
    "a seed over 32 bytes is refused before the runtime is asked": (
        "cf_request_swap_parameter_encoding",
        "Bad input data provided to cf_request_swap_parameter_encoding: Codec error.",
        3,
    ),
}
"""Reason: method, a part of the recorded error, and how many there are."""


async def chain_in_the_recorded_state(path: Path, make_served: MakeServed) -> Served:
    """Return a chain whose block 1 makes Alice, whose key is in the keystore, a broker."""
    Keystore(path / "chains" / "dev" / "keystore").insert("brok", "//Alice")
    served = await make_served(broker=False, runtime="2.2.9")
    broker = served.node.broker
    assert broker is not None
    with served.node.pool.arrivals() as arrivals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.register_account)
            await anext(aiter(arrivals))
            await served.call("dev_newBlock")
    assert await served.call("cf_account_info", "cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9")
    return served


def compared(answer: dict[str, Any]) -> tuple[Any, Any]:
    """Return result and error; of parameters that cannot be read, not where and why."""
    error = answer.get("error")
    if error is not None and error["code"] == INVALID_PARAMS:
        error = {"code": error["code"], "message": error["message"]}
    return answer.get("result"), error


def reason_for(recorded: dict[str, Any]) -> str | None:
    """Return why an answer may differ."""
    text = recorded["error"]["message"] if "error" in recorded else ""
    for reason, (method, part, _) in DIFFERENT.items():
        if recorded["method"] == method and part in text:
            return reason
    return None


async def test_every_recorded_call_is_answered_alike_but_for_those_with_a_reason(
    tmp_path: Path, make_served: MakeServed
) -> None:
    """Answer 500 recorded calls as runtime 2.2.9 did, but for four with a documented reason."""
    recorded = json.loads(shared("vectors", "chainflip", "runtime-20209-answers.json").read_text())
    served = await chain_in_the_recorded_state(tmp_path, make_served)
    unequal, reasons = [], dict.fromkeys(DIFFERENT, 0)
    for call in recorded:
        answer = await served.http.call(call["method"], *call["params"])
        if compared(answer) == compared(call):
            continue
        reason = reason_for(call)
        if reason is None:
            unequal.append((call, answer))
        else:
            reasons[reason] += 1
    assert unequal == []
    assert reasons == {reason: count for reason, (_, _, count) in DIFFERENT.items()}
    assert (len(recorded), len(recorded) - sum(reasons.values())) == (500, EQUAL)
