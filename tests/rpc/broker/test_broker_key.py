"""A broker without a key ceremony, the log of its first swap, and the advice where there is no key."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from cfnode.core.keys import Keypair
from cfnode.devchain import registration
from cfnode.devchain.chain import ADVICE
from cfnode.devchain.registration import BROKER_ROLE as BROKER_ROLE
from cfnode.devchain.registration import PROVIDER_ROLE as PROVIDER_ROLE
from cfnode.devchain.registration import AccountRole, Registration, store_key
from cfnode.node.config import Config
from cfnode.node.signing.key import BROKER_KEY, PROVIDER_KEY, GivenKey, find_signing_key
from cfnode.store.keystore import BROKER, Keystore
from tests.rpc.conftest import MakeServed, Served, first_block

ETH, BTC = {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Bitcoin", "asset": "BTC"}
RECEIVER = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
REFUND = {"retry_duration": 10, "refund_address": "0x" + "02" * 20, "min_price": "0x0"}
NO_KEY = (
    "this node has no broker key. Insert one (cfnode key insert --chain dev --suri-file FILE) and start the "
    "node again, or start the node with --dev-broker //Alice"
)


async def events_in(served: Served, block: str) -> list[str]:
    """Return the names of a block's events."""
    return [event["name"] for event in await served.call("dev_events", block)]


async def test_the_first_block_registers_the_named_broker_and_a_swap_is_logged_step_by_step(
    make_served: MakeServed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Register the named broker in the first block, once, and log its first swap step by step."""
    with caplog.at_level(logging.INFO, "cfnode"):
        options = {"seal": "instant", "runtime": "2.2.3", "broker_suri": "//Broker"}
        served = await first_block(await make_served(broker=False, **options))
        assert Keystore(tmp_path / "chains" / "dev" / "keystore").signer(BROKER) == Keypair.from_suri(
            "//Broker"
        )
        first = await served.call("chain_getBlockHash", 1)
        assert (await events_in(served, first)).count("AccountRoleRegistered") == 1
        address = await swap(served)
    assert (await events_in(served, await served.call("dev_newBlock"))).count("AccountRoleRegistered") == 0
    lines = [record.message for record in caplog.records if record.name == "cfnode.dev"]
    assert lines == [
        f"📬 Channel 2-Ethereum-1 opened: ETH sent to {address} becomes BTC for {RECEIVER}",
        f"💰 Deposit of 1 ETH at {address}",
        "❌ Deposit of 0.000000001 ETH refused: BelowMinimumDeposit",
        "🔁 Swapped 0.999895 ETH for 0.03228249 BTC (swap request 1)",
        "📤 Payout of 0.03227369 BTC has arrived on Bitcoin",
    ]
    assert not any("Prepared block" in record.message for record in caplog.records)


async def swap(served: Served) -> str:
    """Make a swap from its channel to its payout, and a deposit that is too small; return the address."""
    channel = await served.call(
        "broker_request_swap_deposit_address", ETH, BTC, RECEIVER, 10, None, None, None, REFUND
    )
    address: str = channel["address"]
    await served.call("dev_deposit", address, ETH, hex(10**18))
    assert "BelowMinimumDeposit" in (await served.error("dev_deposit", address, ETH, hex(10**9)))["message"]
    for _ in range(5):
        await served.call("dev_newBlock")
    return address


async def test_a_node_without_a_broker_key_logs_how_to_insert_one(
    make_served: MakeServed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Say how to insert a missing broker key, in the log and in answers, and list no broker methods."""
    with caplog.at_level(logging.INFO, "cfnode.service"):
        served = await make_served(broker=False)
    methods = (await served.call("rpc_methods"))["methods"]
    assert not [name for name in methods if name.startswith("broker_")]
    for method in ("broker_register_account", "broker_registerAccount", "broker_subscribe_ingress_events"):
        error = await served.error(method)
        assert error == {"code": -32601, "message": "Method not found", "data": NO_KEY}
    assert await served.error("broker_sing") == {"code": -32601, "message": "Method not found"}
    command = (
        f"(cfnode key insert --chain dev --keystore-path {tmp_path}/chains/dev/keystore --suri-file FILE)"
    )
    assert command in caplog.text


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"chain": "berghain"}, "Insert one (cfnode key insert --chain berghain --suri-file FILE) and start"),
        ({"chain": "/home/me/spec.json"}, "--chain SPECIFICATION --suri-file FILE"),
        ({"temporary": True, "dev": True}, "To have one, start the node with --dev-broker //Alice"),
        ({"temporary": True}, "To have one, start the node without --tmp"),
    ],
)
def test_the_advice_fits_the_command_line(tmp_path: Path, options: dict[str, Any], advice: str) -> None:
    """Fit the advice to the command line: a node with --tmp would lose an inserted key."""
    further = ADVICE[BROKER_ROLE] if options.get("dev") else ""
    options = {name: value for name, value in options.items() if name != "dev"}
    signing_key = find_signing_key(
        BROKER_KEY, Keystore(tmp_path / "keys"), Config(tmp_path, **options), GivenKey(advice=further)
    )
    assert signing_key.pair is None
    assert advice in signing_key.missing
    assert str(tmp_path) not in signing_key.missing


@pytest.mark.parametrize(
    ("wanted", "role", "attempts", "reason"),
    [
        (BROKER_ROLE, None, 3, "3 blocks have rejected it"),
        (BROKER_ROLE, "Unregistered", 3, "3 blocks have rejected it"),
        (BROKER_ROLE, "LiquidityProvider", 0, "it is a LiquidityProvider"),
        (PROVIDER_ROLE, "Broker", 0, "it is a Broker"),
    ],
)
async def test_an_account_that_cannot_be_registered_is_given_up_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    wanted: AccountRole,
    role: str | None,
    attempts: int,
    reason: str,
) -> None:
    """Give up an account that cannot be registered, after three blocks or at once, with one warning."""

    async def role_at(chain: Any, block: bytes, account: bytes) -> str | None:
        return role

    async def signed(registration: Registration, parent: bytes) -> bytes:
        return b"signed"

    monkeypatch.setattr(registration, "role_at", role_at)
    monkeypatch.setattr(Registration, "_signed", signed)
    chain: Any = None
    registering = Registration(chain, Keypair.from_suri("//Alice"), wanted)
    blocks = [await registering.transactions(b"") for _ in range(6)]
    assert blocks == [[b"signed"]] * attempts + [[]] * (6 - attempts)
    assert [record.message.rpartition(": ")[2] for record in caplog.records] == [reason]


def test_several_keys_are_counted_and_the_given_one_outranks_them(tmp_path: Path) -> None:
    """Prefer the given key to those in the keystore, and refuse to choose among several."""
    keystore, config = Keystore(tmp_path / "keys"), Config(tmp_path)
    assert store_key(BROKER_ROLE, keystore, "//Alice") == Keypair.from_suri("//Alice")
    other = store_key(BROKER_ROLE, keystore, "//Bob")
    assert keystore.keys(BROKER) == [Keypair.from_suri("//Alice").public]
    assert find_signing_key(BROKER_KEY, keystore, config, GivenKey(other)).pair == other
    keystore.insert(BROKER, "//Bob")
    assert "has 2 broker keys: remove all but one" in find_signing_key(BROKER_KEY, keystore, config).missing
    advice = "cfnode key insert --chain berghain --key-type lqpr --suri-file FILE"
    missing = find_signing_key(PROVIDER_KEY, keystore, config).missing
    assert (
        missing == f"this node has no liquidity provider key. Insert one ({advice}) and start the node again"
    )
