"""Calls that wallets of other chains have signed: what is done, what is paid, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.wallets import WalletCall
from cfnode.devchain.runtime.config import FLIP
from cfnode.devchain.runtime.pallets.flip import Flip
from tests.devchain.runtime.broker import ccm, refund, request
from tests.devchain.runtime.wallet import EthereumWallet, SolanaWallet, submitted, to_be_signed
from tests.devchain.runtime.world import ALICE, World, bare_extrinsic

REGISTER = ("LiquidityProvider", "register_lp_account")
WALLETS = [(EthereumWallet(), "Eip712"), (EthereumWallet(), "PersonalSign"), (SolanaWallet(), "Domain")]
USUAL_EVENTS = [
    "AccountRoles.AccountRoleRegistered",
    "TransactionPayment.TransactionFeePaid",
    "Environment.NonNativeSignedCall",
    "System.ExtrinsicSuccess",
]


def funded(account: bytes, amount: int = 5 * FLIP) -> World:
    """Return a chain on which an account has been funded."""
    world = World()
    fund = world.call("Dev", "fund_account", account_id=account, amount=amount)
    assert world.block(bare_extrinsic(fund)) == [("Ok", ("Ok", ()))]
    return world


def outcome(world: World, call: WalletCall, signature: Any) -> Any:
    """Submit a wallet's call; return the outcome."""
    (result,) = world.block(submitted(world, call, signature))
    return result


@pytest.mark.parametrize(("wallet", "form"), WALLETS)
def test_a_wallet_registers_and_pays_for_it(wallet: Any, form: str) -> None:
    """Register an account by a wallet's signature: it pays the fee, and the signature is used up."""
    world = funded(wallet.account)
    call = to_be_signed(world, REGISTER)
    assert outcome(world, call, wallet.sign(call, form)) == ("Ok", ("Ok", ()))
    assert world.names(1) == USUAL_EVENTS
    (paid,) = [fields for _, _, name, fields in world.events() if name == "TransactionFeePaid"]
    assert paid["who"] == wallet.account
    left = world.stored("Flip", "Account", wallet.account)["balance"]
    assert left == 5 * FLIP - paid["actual_fee"]
    assert world.stored("AccountRoles", "AccountRoles", wallet.account) == "LiquidityProvider"
    assert world.api("AccountNonceApi_account_nonce", wallet.account) == 1
    # The same signature a second time.
    assert world.validate(submitted(world, call, wallet.sign(call, form))) == ("Err", ("Invalid", "Stale"))


@pytest.mark.parametrize(("wallet", "form"), WALLETS)
def test_the_encoding_that_the_node_returns_is_the_one_the_chain_verifies(wallet: Any, form: str) -> None:
    """Return from the node the very text or typed data whose signature the chain verifies."""
    world = funded(wallet.account)
    kind = "Sol" if form == "Domain" else "Eth"
    encoded = world.metadata.call_codec.encode(REGISTER)
    by_nonce, by_account = (
        world.api("CustomRuntimeApi_cf_encode_non_native_call", encoded, 99, whose, (kind, form))
        for whose in (("Nonce", 0), ("Account", wallet.account))
    )
    assert by_nonce == by_account
    _, ((shape, payload), bounds) = by_nonce
    assert bounds == {"nonce": 0, "expiry_block": world.header.number + 99}
    call = to_be_signed(world, REGISTER, expiry=bounds["expiry_block"])
    if shape == "String":
        assert payload == {"Domain": "chainflip offchain"}.get(form, "") + call.text()
        return
    data = call.typed_data()
    assert (payload["domain"]["name"], payload["domain"]["version"]) == ("Chainflip-Development", "20300")
    assert payload["primary_type"] == data.primary_type
    types = {
        name: [(member["name"], member["r#type"]) for member in members] for name, members in payload["types"]
    }
    assert types.pop("EIP712Domain") == [("name", "string"), ("version", "string")]
    assert types == {name: list(members) for name, members in data.types.items()}


def test_bytes_that_are_no_call_are_refused() -> None:
    """Refuse to encode bytes that are no call."""
    refused = ("Err", ("RawMessage", b"Failed to deserialize into a RuntimeCall"))
    asked = (100, ("Nonce", 0), ("Eth", "Eip712"))
    for nonsense in (b"", b"\xff\xff", b"\x00\x00"):
        assert World().api("CustomRuntimeApi_cf_encode_non_native_call", nonsense, *asked) == refused


def test_a_call_that_is_nested_too_deeply_is_neither_encoded_nor_verified() -> None:
    """Refuse a call nested too deeply for typed data, when encoding and when verifying."""
    wallet = EthereumWallet()
    world = funded(wallet.account)
    outcomes = []
    for depth in (8, 9, 15):
        call: Any = ("System", ("remark", {"remark": b"x"}))
        for _ in range(depth):
            call = ("Environment", ("batch", {"calls": [call]}))
        asked = (world.metadata.call_codec.encode(call), 100, ("Nonce", 0), ("Eth", "Eip712"))
        outcomes.append(world.api("CustomRuntimeApi_cf_encode_non_native_call", *asked)[0])
    assert outcomes == ["Ok", "Ok", "Err"]
    deep = to_be_signed(world, call)
    by_text = wallet.sign(deep, "PersonalSign")
    assert world.validate(submitted(world, deep, by_text))[0] == "Ok"
    claimed = ("Ethereum", by_text[1] | {"sig_type": "Eip712"})
    assert world.validate(submitted(world, deep, claimed)) == ("Err", ("Invalid", ("Custom", 0)))


def test_only_the_signed_call_is_done() -> None:
    """Refuse a signature for another call, expiry, nonce, version or signer."""
    wallet, stranger = EthereumWallet(), EthereumWallet(b"\x03" * 32)
    world = funded(wallet.account)
    signature = wallet.sign(to_be_signed(world, REGISTER))

    def refusal(call: WalletCall, signed: Any, source: str = "External") -> Any:
        return world.validate(submitted(world, call, signed), source)[1][1]

    other_call = to_be_signed(world, ("Swapping", "register_as_broker"))
    assert refusal(other_call, signature) == "BadProof"
    assert refusal(to_be_signed(world, REGISTER, expiry=101), signature) == "BadProof"
    assert refusal(to_be_signed(world, REGISTER, nonce=1), signature) == "BadProof"
    old_version = wallet.sign(to_be_signed(world, REGISTER, version=20_202))
    assert refusal(to_be_signed(world, REGISTER), old_version) == "BadProof"
    as_another = ("Ethereum", signature[1] | {"signer": stranger.signer})
    assert refusal(to_be_signed(world, REGISTER), as_another) == "BadSigner"
    late = to_be_signed(world, REGISTER, expiry=world.header.number + 1)
    assert refusal(late, wallet.sign(late)) == "Stale"


def test_a_call_waits_for_the_one_before_it() -> None:
    """Order a wallet's calls by their nonces in the pool and in blocks."""
    wallet = SolanaWallet()
    world = funded(wallet.account)
    first, second = (to_be_signed(world, ("System", ("remark", {"remark": b"a"})), nonce) for nonce in (0, 1))
    late = submitted(world, second, wallet.sign(second))
    (_, waits), (_, ready) = (
        world.validate(extrinsic) for extrinsic in (late, submitted(world, first, wallet.sign(first)))
    )
    assert (waits["requires"], ready["requires"]) == (ready["provides"], [])
    assert waits["provides"] != ready["provides"]
    journal = world.journal
    world.begin(journal)
    assert world.apply(journal, late) == ("Err", ("Invalid", "Stale"))
    done = world.block(submitted(world, first, wallet.sign(first)), late)
    assert done == [("Ok", ("Ok", ()))] * 2


def test_an_account_that_cannot_pay_is_refused() -> None:
    """Refuse a wallet whose account does not exist, and one without funds."""
    wallet, world = EthereumWallet(), World()
    call = to_be_signed(world, REGISTER)
    extrinsic = submitted(world, call, wallet.sign(call))
    assert world.validate(extrinsic) == ("Err", ("Invalid", "BadSigner"))
    world = funded(wallet.account)
    with world.runtime.composition.on(journal := world.journal):
        world.runtime.composition.pallet(Flip).burn(wallet.account, 5 * FLIP)
    world.state.apply(journal.changes())
    assert world.validate(extrinsic) == ("Err", ("Invalid", "Payment"))


def test_a_call_that_fails_uses_its_nonce_and_takes_its_fee_back() -> None:
    """Use the nonce of a wallet's call that fails, and charge no fee for it."""
    wallet = EthereumWallet()
    world = funded(wallet.account)
    call = to_be_signed(world, ("Swapping", "open_private_btc_channel"))
    assert outcome(world, call, wallet.sign(call)) == ("Ok", ("Err", "BadOrigin"))
    assert world.names(1) == ["System.ExtrinsicFailed"]
    assert world.stored("Flip", "Account", wallet.account)["balance"] == 5 * FLIP
    assert world.api("AccountNonceApi_account_nonce", wallet.account) == 1
    assert world.validate(submitted(world, call, wallet.sign(call))) == ("Err", ("Invalid", "Stale"))


def test_a_batch_is_signed_at_once_but_no_signed_call_in_a_batch() -> None:
    """Sign a batch at once, and refuse a signed call within a batch."""
    wallet = SolanaWallet()
    world = funded(wallet.account)
    batch = ("Environment", ("batch", {"calls": [REGISTER, ("System", ("remark", {"remark": b"b"}))]}))
    call = to_be_signed(world, batch)
    signature = wallet.sign(call)
    assert outcome(world, call, signature) == ("Ok", ("Ok", ()))
    assert "Environment.BatchCompleted" in world.names(1)
    inner = {"chainflip_extrinsic": call.extrinsic, "signature_data": signature}
    nested = world.call("Environment", "batch", calls=[("Environment", ("non_native_signed_call", inner))])
    ((_, result),) = world.block(world.sign(nested, ALICE))
    assert result[0] == "Err"


def test_an_unsigned_call_of_another_kind_is_none() -> None:
    """Refuse a bare call that carries no wallet's signature."""
    world = World()
    batch = bare_extrinsic(world.call("Environment", "batch", calls=[]))
    assert world.validate(batch) == ("Err", ("Invalid", "Call"))


CALLS = [
    REGISTER,
    ("System", ("remark", {"remark": b""})),
    ("Swapping", ("request_swap_deposit_address_with_affiliates", request())),
    (
        "Swapping",
        (
            "request_swap_deposit_address_with_affiliates",
            request(
                "Btc",
                "Eth",
                channel_metadata=ccm(),
                affiliate_fees=[{"account": b"\x07" * 32, "bps": 5}],
                refund_parameters=refund("Bitcoin", max_oracle_price_slippage=5),
                dca_parameters={"number_of_chunks": 2, "chunk_interval": 2},
            ),
        ),
    ),
    (
        "LiquidityPools",
        (
            "set_limit_order",
            {
                "base_asset": "Eth",
                "quote_asset": "Usdc",
                "side": "Buy",
                "id": 2**64 - 1,
                "option_tick": -5,
                "sell_amount": 2**128 - 1,
                "dispatch_at": None,
                "close_order_at": 77,
            },
        ),
    ),
    ("Environment", ("batch", {"calls": [REGISTER, REGISTER]})),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_looks_the_same_on_the_main_net(call: Any, metadata_v15: bytes) -> None:
    """Present a call to a wallet as the main net does: the user would see another text otherwise."""
    ours = to_be_signed(World(), call)
    theirs = decode_metadata(metadata_v15).registry
    (type_id,) = (row.id for row in theirs.types if row.path[-1:] == ("ChainflipExtrinsic",))
    there = WalletCall(theirs, type_id, ours.extrinsic, ours.network, ours.spec_version)
    assert ours.typed_data() == there.typed_data()
    assert ours.text() == there.text()
