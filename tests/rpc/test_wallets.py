"""A wallet of Ethereum, written by others, uses the chain with nothing but JSON-RPC."""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58
from cfnode.core.extrinsic import bare_extrinsic
from tests.rpc.conftest import Served
from tests.sdk.anvil import require_eth_account

ON_CHAIN = bytes(12) + bytes.fromhex("1a642f0e3c3af545e7acbd38b07251b3990914f1")
NAME = ss58.encode(ON_CHAIN, 2112)
REMARK = "0x00001468656c6c6f"  # System.remark("hello")


async def shown(served: Served, call: str, form: str) -> tuple[Any, dict[str, int]]:
    ((told, bounds),) = [await served.call("cf_encode_non_native_call", call, 50, NAME, {"Eth": form})]
    ((_, content),) = told.items()
    return content, bounds


async def test_a_call_is_shown_signed_and_done(instant: Served) -> None:
    await instant.call("dev_fundAccount", NAME, hex(10**19))
    data, bounds = await shown(instant, REMARK, "Eip712")
    remark = next(iter(data["message"]["call"].values()))
    assert remark == {"remark": "0x68656c6c6f"}
    assert data["domain"] == {"name": "Chainflip-Development", "version": "20203"}
    assert data["message"]["transaction_metadata"] == {
        "nonce": "0",
        "expiry_block": str(bounds["expiry_block"]),
    }
    wallet = require_eth_account().Account.from_key(b"\x01" * 32)
    signature = bytes(wallet.sign_typed_data(full_message=data).signature)
    runtime = await instant.node.chain.runtime_at(instant.node.chain.best.hash)
    signed = {
        "chainflip_extrinsic": {
            "call": ("System", ("remark", {"remark": b"hello"})),
            "transaction_metadata": bounds,
        },
        "signature_data": (
            "Ethereum",
            {"signature": signature, "signer": ON_CHAIN[12:], "sig_type": "Eip712"},
        ),
    }
    call = runtime.metadata.call_codec.encode(("Environment", ("non_native_signed_call", signed)))
    extrinsic = "0x" + bare_extrinsic(call).hex()
    before = instant.node.chain.best.number
    await instant.call("author_submitExtrinsic", extrinsic)
    with instant.node.chain.subscribe() as events:
        while instant.node.chain.best.number == before:
            await anext(aiter(events))
    assert await instant.call("system_accountNextIndex", NAME) == 1
    again = await instant.error("author_submitExtrinsic", extrinsic)
    assert again["code"] == 1012  # it is in a block


async def test_a_line_of_text_is_shown_where_a_wallet_shows_text(instant: Served) -> None:
    text, bounds = await shown(instant, REMARK, "PersonalSign")
    end = f"/nonce:0/expiry_block:{bounds['expiry_block']}"
    assert text == f"/network:Chainflip-Development/version:20203/call:{REMARK[2:]}{end}"
    solana = await instant.call("cf_encode_non_native_call", REMARK, 50, 7, {"Sol": "Domain"})
    assert solana[0] == {"String": "chainflip offchain" + text.replace("nonce:0", "nonce:7")}


async def test_what_is_no_call_is_refused(instant: Served) -> None:
    error = await instant.error("cf_encode_non_native_call", "0xffff", 50, 0, {"Eth": "Eip712"})
    assert error == {
        "code": -32021,
        "message": "DispatchError: Failed to deserialize into a RuntimeCall",
    }
