"""Calls as wallets of other chains sign them: the chain's own vectors, and wallets written by others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.signing import SigningKey

from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.hashing import keccak_256
from cfnode.core.scale import (
    Composite,
    Field,
    PortableType,
    Primitive,
    ScaleError,
    Sequence,
    Tuple,
    TypeRegistry,
    Variant,
    Variants,
)
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.schnorr import ORDER
from cfnode.core.wallets import TypedData, WalletCall, account_of
from cfnode.core.wallets.rendering import Renderer
from tests.sdk.anvil import require_eth_account

HIGHEST = 2**256 - 1
SWAP = {
    "amount": 12_345,
    "input_asset": "Sol",
    "output_asset": "Btc",
    "retry_duration": 543,
    "price_limits": {"min_price": HIGHEST, "max_oracle_price_slippage": 98},
    "dca_params": None,
}


def seen(byte: int, amount: int, asset: str) -> dict[str, Any]:
    """Return a witnessed deposit."""
    details = ("Channel", bytes(32))
    return {
        "deposit_address": bytes([byte]) * 32,
        "amount": amount,
        "asset": asset,
        "deposit_details": details,
    }


# Hashes that the tests of the chain's own node assert, for runtime 2.2 (custom-rpc, tests/eip712.rs).
KNOWN = [
    (
        ("LiquidityProvider", ("schedule_swap", SWAP)),
        "d613a823c65a8c2c2f283b979f14da0cb66451efdf47bb23cb23016e1575a8a6",
    ),
    (
        ("SolanaIngressEgress", ("process_deposits", {"deposit_witnesses": [], "block_height": 6})),
        "789c70f8d5c2330d73911bd034de3dcf5fb1e199437c27d71d081ca90f2458b4",
    ),
    (
        (
            "SolanaIngressEgress",
            (
                "process_deposits",
                {
                    "deposit_witnesses": [seen(3, 5_000, "Sol"), seen(4, 6_000, "SolUsdc")],
                    "block_height": 6,
                },
            ),
        ),
        "5e1c1cfb8456606615e323b994053074a3fc0c4a4ae22e5c073729303ecd69a8",
    ),
]


@pytest.fixture(scope="module")
def metadata(metadata_v15: bytes) -> Metadata:
    """Decode the metadata of runtime 2.2.3."""
    return decode_metadata(metadata_v15)


def to_be_signed(metadata: Metadata, call: Any, nonce: int = 1, network: str = "Mainnet") -> WalletCall:
    """Return a call with its nonce and expiry for a wallet to sign."""
    (type_id,) = (row.id for row in metadata.registry.types if row.path[-1:] == ("ChainflipExtrinsic",))
    bounds = {"nonce": nonce, "expiry_block": 1_000}
    return WalletCall(metadata.registry, type_id, {"call": call, "transaction_metadata": bounds}, network, 1)


@pytest.mark.parametrize(("call", "digest"), KNOWN)
def test_the_hash_is_the_chains_own(metadata: Metadata, call: Any, digest: str) -> None:
    """Compute the hashes that the chain's own tests assert."""
    assert keccak_256(to_be_signed(metadata, call).typed_data().payload()).hex() == digest


def in_json(data: TypedData) -> dict[str, Any]:
    """Return typed data as an Ethereum wallet takes it."""
    types = {
        name: [{"name": member, "type": kind} for member, kind in data.types[name]] for name in data.types
    }
    domain = [{"name": "name", "type": "string"}, {"name": "version", "type": "string"}]
    return {
        "domain": {"name": data.name, "version": data.version},
        "types": types | {"EIP712Domain": domain},
        "primaryType": data.primary_type,
        "message": dict(data.message),
    }


def test_an_independent_wallet_signs_the_expected_payload(metadata: Metadata) -> None:
    """Verify what an independent Ethereum wallet signs."""
    account = require_eth_account().Account.from_key(b"\x01" * 32)
    batch = ("Environment", ("batch", {"calls": [KNOWN[0][0], ("System", ("remark", {"remark": b"hello"}))]}))
    for call in (KNOWN[0][0], KNOWN[2][0], batch):
        signed = to_be_signed(metadata, call)
        made = account.sign_typed_data(full_message=in_json(signed.typed_data()))
        assert signed.is_signed(ethereum(account, made.signature, "Eip712"))


def ethereum(account: Any, signature: bytes, form: str) -> tuple[str, dict[str, Any]]:
    """Return a signature in the runtime's type."""
    signer = bytes.fromhex(account.address[2:])
    return "Ethereum", {"signature": bytes(signature), "signer": signer, "sig_type": form}


def test_one_line_is_signed_by_wallets_that_show_text(metadata: Metadata) -> None:
    """Verify the one-line text that Ethereum and Solana wallets display, for its nonce only."""
    account = require_eth_account().Account.from_key(b"\x01" * 32)
    messages = pytest.importorskip("eth_account.messages")
    signed = to_be_signed(metadata, ("System", ("remark", {"remark": b"hello"})), 7, "Testnet")
    text = "/network:Chainflip-Testnet/version:1/call:00001468656c6c6f/nonce:7/expiry_block:1000"
    assert signed.text() == text
    made = account.sign_message(messages.encode_defunct(text=text))
    assert signed.is_signed(ethereum(account, made.signature, "PersonalSign"))
    assert not signed.is_signed(ethereum(account, made.signature, "Eip712"))

    key = SigningKey(b"\x02" * 32)
    offchain = key.sign(("chainflip offchain" + text).encode()).signature
    solana = {"signature": offchain, "signer": bytes(key.verify_key), "sig_type": "Domain"}
    assert signed.is_signed(("Solana", solana))
    assert not signed.is_signed(("Solana", solana | {"signature": bytes(64)}))
    assert not to_be_signed(metadata, signed.extrinsic["call"], 8, "Testnet").is_signed(("Solana", solana))


def test_a_signature_has_one_form_only(metadata: Metadata) -> None:
    """Accept one form of a signature only: a mirrored one would make a second hash of one transaction."""
    account = require_eth_account().Account.from_key(b"\x01" * 32)
    signed = to_be_signed(metadata, KNOWN[0][0])
    made = bytes(account.sign_typed_data(full_message=in_json(signed.typed_data())).signature)
    counted_from_zero = made[:64] + bytes([made[64] - 27])
    assert signed.is_signed(ethereum(account, counted_from_zero, "Eip712"))
    s = ORDER - int.from_bytes(made[32:64], "big")
    mirrored = made[:32] + s.to_bytes(32, "big") + bytes([55 - made[64]])
    for wrong in (mirrored, made[:64] + b"\x1f", made[:64] + b"\xff", bytes(65), b"\xff" * 65):
        assert not signed.is_signed(ethereum(account, wrong, "Eip712"))


def test_an_account_is_the_key_or_the_address_behind_zeros() -> None:
    """Read the account of an Ethereum signer behind twelve zeros, and of a Solana signer as the key."""
    key = EthereumKey.from_secret(b"\x01" * 32)
    assert account_of(("Ethereum", {"signer": key.address})) == bytes(12) + key.address
    assert account_of(("Solana", {"signer": b"\x05" * 32})) == b"\x05" * 32


def registry(*rows: tuple[tuple[str, ...], Any]) -> TypeRegistry:
    """Return a registry of types numbered in their order."""
    return TypeRegistry([PortableType(number, path, (), body) for number, (path, body) in enumerate(rows)])


def test_an_empty_part_is_the_word_empty() -> None:
    """And what is in a list is counted; an enum is the variant at hand."""
    colour = Variants((Variant("Red", (), 0), Variant("Rgb", (Field(None, 0), Field(None, 0)), 1)))
    types = registry(
        ((), Primitive("u8")),
        (("app", "Colour"), colour),
        ((), Sequence(1)),
        (("app", "Nothing"), Composite(())),
        (("app", "All"), Composite((Field("colours", 2), Field("nothing", 3)))),
    )
    lists: tuple[list[Any], ...] = ([], ["Red"], ["Red", ("Rgb", (1, 2))])
    values = [Renderer(types).render(4, {"colours": colours, "nothing": ()}).value for colours in lists]
    assert values == [
        {"colours": "Empty", "nothing": "Empty"},
        {"colours": {"0": "Red"}, "nothing": "Empty"},
        {"colours": {"0": "Red", "1": {"uint8_0": 1, "uint8_1": 2}}, "nothing": "Empty"},
    ]


def test_a_type_without_a_name_cannot_be_rendered() -> None:
    """Refuse to render a type without a name: typed data needs one."""
    with pytest.raises(ScaleError, match="has no name"):
        Renderer(registry(((), Primitive("u8")), ((), Composite((Field("a", 0),))))).render(1, {"a": 1})


# Every kind of type, each in terms of those before it.
KINDS = registry(
    ((), Primitive("u8")),
    ((), Primitive("i128")),
    ((), Primitive("bool")),
    ((), Primitive("str")),
    ((), Sequence(0)),
    (("primitive_types", "H160"), Composite((Field(None, 4),))),
    (("primitive_types", "U256"), Composite((Field(None, 0),))),
    (
        ("app", "Either"),
        Variants((Variant("No", (), 0), Variant("Yes", (Field("why", 3), Field("n", 1)), 1))),
    ),
    (("Option",), Variants((Variant("None", (), 0), Variant("Some", (Field(None, 7),), 1)))),
    ((), Tuple((0, 8, 2))),
    ((), Sequence(9)),
    ((), Sequence(7)),
    (("app", "Pair"), Composite((Field(None, 5), Field(None, 6)))),
    (
        ("app", "All"),
        Composite(
            tuple(
                Field(name, kind)
                for name, kind in {"a": 4, "b": 10, "c": 11, "d": 12, "e": 1, "f": 3, "g": 8}.items()
            )
        ),
    ),
)
TEXT = st.text(max_size=8)
SIGNED = st.integers(-(2**127), 2**127 - 1)
EITHER = st.just("No") | st.fixed_dictionaries({"why": TEXT, "n": SIGNED}).map(lambda value: ("Yes", value))
VALUES = st.fixed_dictionaries(
    {
        "a": st.binary(max_size=8),
        "b": st.lists(st.tuples(st.integers(0, 255), st.none() | EITHER, st.booleans()), max_size=3),
        "c": st.lists(EITHER, max_size=3),
        "d": st.tuples(st.binary(min_size=20, max_size=20), st.integers(0, HIGHEST)),
        "e": SIGNED,
        "f": TEXT,
        "g": st.none() | EITHER,
    }
)


@settings(max_examples=60)
@given(VALUES)
def test_whatever_is_rendered_has_the_hash_that_others_give_it(value: dict[str, Any]) -> None:
    """Hash any rendered value as an independent library does."""
    require_eth_account()
    encode = pytest.importorskip("eth_account.messages").encode_typed_data
    renderer = Renderer(KINDS)
    rendered = renderer.render(13, value)
    data = TypedData("Chainflip-Mainnet", "1", renderer.types, rendered.type, rendered.value)
    theirs = encode(full_message=in_json(data))
    assert data.payload() == b"\x19" + theirs.version + theirs.header + theirs.body
