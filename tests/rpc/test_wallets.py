"""A wallet of Ethereum, written by others, uses the chain with nothing but JSON-RPC."""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58
from cfnode.core.extrinsic import bare_extrinsic
from tests.rpc.conftest import Served
from tests.sdk.anvil import require_eth_account

ON_CHAIN = bytes(12) + bytes.fromhex("1a642f0e3c3af545e7acbd38b07251b3990914f1")
NAME = ss58.encode(ON_CHAIN, 2112)
REFUND = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
REMARK = "0x00001468656c6c6f"  # System.remark("hello")


async def payload_of(served: Served, call: str, form: str) -> tuple[Any, dict[str, int]]:
    """Return what a wallet is to sign, and the bounds that were filled in."""
    ((payload, bounds),) = [await served.call("cf_encode_non_native_call", call, 50, NAME, {"Eth": form})]
    ((_, content),) = payload.items()
    return content, bounds


async def test_a_call_is_encoded_signed_and_executed(instant: Served) -> None:
    """Execute a call that an Ethereum wallet has signed as typed data, once."""
    await instant.call("dev_fundAccount", NAME, hex(10**19))
    data, bounds = await payload_of(instant, REMARK, "Eip712")
    remark = next(iter(data["message"]["call"].values()))
    assert remark == {"remark": "0x68656c6c6f"}
    assert data["domain"] == {"name": "Chainflip-Development", "version": "20300"}
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


async def test_a_text_message_is_encoded_for_a_wallet_that_displays_text(instant: Served) -> None:
    """Encode a call as text for wallets that display text, of Ethereum and of Solana."""
    text, bounds = await payload_of(instant, REMARK, "PersonalSign")
    end = f"/nonce:0/expiry_block:{bounds['expiry_block']}"
    assert text == f"/network:Chainflip-Development/version:20300/call:{REMARK[2:]}{end}"
    solana = await instant.call("cf_encode_non_native_call", REMARK, 50, 7, {"Sol": "Domain"})
    assert solana[0] == {"String": "chainflip offchain" + text.replace("nonce:0", "nonce:7")}


async def test_what_is_no_call_is_refused(instant: Served) -> None:
    """Refuse bytes that are not a call."""
    error = await instant.error("cf_encode_non_native_call", "0xffff", 50, 0, {"Eth": "Eip712"})
    assert error == {
        "code": -32021,
        "message": "DispatchError: Failed to deserialize into a RuntimeCall",
    }


async def account_channel(served: Served, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Return method and parameters that open a channel for the wallet's account, with unsigned changes."""
    remark = "0x000054" + "00" + REFUND[2:]  # System.remark of the SCALE form of Eth(address)
    ((payload, bounds),) = [await served.call("cf_encode_non_native_call", remark, 100, 0, {"Eth": "Eip712"})]
    wallet = require_eth_account().Account.from_key(b"\x01" * 32)
    signature = bytes(wallet.sign_typed_data(full_message=payload["Eip712"]).signature)
    named = {
        "signature_data": {
            "Ethereum": {
                "signature": "0x" + signature.hex(),
                "signer": "0x" + ON_CHAIN[12:].hex(),
                "sig_type": "Eip712",
            }
        },
        "transaction_metadata": bounds,
        "asset": {"chain": "Ethereum", "asset": "ETH"},
        "boost_fee": None,
        "refund_address": REFUND,
    }
    return "broker_request_account_creation_deposit_address", named | changes


async def test_a_broker_creates_an_account_for_a_user_without_flip(instant: Served) -> None:
    """Create an account for a user without FLIP, and fund it from the deposit."""
    await instant.call("broker_register_account")
    method, named = await account_channel(instant)
    channel = await instant.call(method, *named.values())
    assert channel == {
        "issued_block": channel["issued_block"],
        "channel_id": 1,
        "address": channel["address"],
        "requested_for": NAME,
        "deposit_chain_expiry_block": channel["deposit_chain_expiry_block"],
        "channel_opening_fee": "0x0",
        "refund_address": REFUND,
    }
    broker = ss58.encode(instant.node.broker.account, 2112)  # type: ignore[union-attr]
    open_now = await instant.call("broker_all_open_deposit_channels")
    assert [broker, "LiquidityProvision"] in [[owner, kind] for owner, kind, _ in open_now]
    await instant.call("dev_deposit", channel["address"], named["asset"], hex(10**18))
    info = await instant.call("cf_account_info", NAME)
    assert (info["role"], info["refund_addresses"]["Ethereum"]) == ("liquidity_provider", REFUND)
    assert int(info["flip_balance"], 16) == 10**16
    assert await instant.call("system_accountNextIndex", NAME) == 1
    for _ in range(2):
        await instant.call("dev_newBlock")
    info = await instant.call("cf_account_info", NAME)
    assert int(info["flip_balance"], 16) > 9 * 10**17
    method, named = await account_channel(instant)
    error = await instant.error(method, *named.values())
    assert (error["code"], 'name: "AccountAlreadyExists"' in error["message"]) == (-32024, True)


async def test_a_refused_request_takes_no_nonce_and_opens_nothing(instant: Served) -> None:
    """Refuse a request whose signature does not fit without using a nonce."""
    await instant.call("broker_register_account")
    broker = ss58.encode(instant.node.broker.account, 2112)  # type: ignore[union-attr]
    nonce = await instant.call("system_accountNextIndex", broker)
    other = {"refund_address": "0x" + "11" * 20}
    for changes, name in (
        (other, "InvalidUserSignatureData"),
        ({"transaction_metadata": {"nonce": 0, "expiry_block": 0}}, "InvalidTransactionMetadata"),
        ({"transaction_metadata": {"nonce": 1, "expiry_block": 1_000}}, "InvalidTransactionMetadata"),
        ({"asset": {"chain": "Arbitrum", "asset": "ETH"}}, "InvalidUserSignatureData"),
    ):
        method, named = await account_channel(instant, **changes)
        error = await instant.error(method, *named.values())
        assert (error["code"], f'pallet: "Swapping", name: "{name}"' in error["message"]) == (-32024, True)
    for wrong in ({"Ethereum": {}}, {"Tron": {}}, "0x00"):
        method, named = await account_channel(instant, signature_data=wrong)
        assert (await instant.error(method, *named.values()))["code"] == -32602
    assert await instant.call("system_accountNextIndex", broker) == nonce
    assert await instant.call("broker_all_open_deposit_channels") == []
