"""Vault swaps read back: what each chain's transaction was made of, and that no bytes break the reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.assets import ASSETS, CHAINS, ForeignAsset
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import (
    SentSwap,
    SolanaSwap,
    VaultSwapTerms,
    cf_parameters,
    decode_cf_parameters,
    decode_evm_calldata,
    decode_instruction_data,
    decode_token_transfer,
    decode_tron_note,
    evm_calldata,
    instruction_data,
    native_accounts,
    token_accounts,
    token_transfer,
    tron_note,
)
from tests.conftest import shared

u8, u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
u128 = st.integers(0, 2**128 - 1)
TOKEN = b"\x44" * 20
KEYS = {
    name: bytes([position]) * 32
    for position, name in enumerate(
        (
            "vault_program",
            "vault_program_data_account",
            "usdc_token_mint_pubkey",
            "usdc_token_vault_ata",
            "swap_endpoint_program",
            "swap_endpoint_program_data_account",
        ),
        start=1,
    )
}
CCM = st.fixed_dictionaries(
    {"message": st.binary(max_size=50), "gas_budget": u64, "ccm_additional_data": st.binary(max_size=20)}
)
DCA = st.fixed_dictionaries({"number_of_chunks": u32, "chunk_interval": u32})


def terms(refund_size: int) -> st.SearchStrategy[VaultSwapTerms]:
    """Return a strategy for terms whose refund address has this size."""
    refund = st.fixed_dictionaries(
        {
            "retry_duration": u32,
            "refund_address": st.binary(min_size=refund_size, max_size=refund_size),
            "min_price": st.integers(0, 2**256 - 1),
            "refund_ccm_metadata": st.none() | CCM,
            "max_oracle_price_slippage": st.none() | u16,
        }
    )
    affiliates = st.lists(st.tuples(u8, u8), max_size=5).map(tuple)
    broker = st.binary(min_size=32, max_size=32)
    return st.builds(VaultSwapTerms, refund, broker, u16, u8, st.none() | CCM, st.none() | DCA, affiliates)


@st.composite
def targets(draw: st.DrawFn) -> tuple[ForeignAsset, tuple[str, bytes]]:
    """Draw a destination: an asset and an address of its chain."""
    asset = draw(st.sampled_from(list(ASSETS.values())))
    variant = CHAINS[asset.chain].address
    size = {"Dot": 32, "Sol": 32, "Hub": 32}.get(variant, 20)
    return asset, (variant, draw(st.binary(min_size=size, max_size=size)))


@given(terms(20), targets(), st.booleans(), u128)
@settings(max_examples=60)
def test_a_call_of_the_vault_reads_back(
    given_: VaultSwapTerms, target: Any, is_token: bool, amount: int
) -> None:
    """Read back a call of the vault with its terms, token and amount."""
    token = TOKEN if is_token else None
    data = evm_calldata(*target, cf_parameters(given_), ccm=given_.ccm, token=token, amount=amount)
    assert decode_evm_calldata(data) == SentSwap(*target, given_, token, amount if is_token else None)


@given(terms(20), targets())
@settings(max_examples=40)
def test_a_note_reads_back(given_: VaultSwapTerms, target: Any) -> None:
    """Read back a Tron note with its terms, and the transfer that goes with it."""
    note = tron_note(*target, cf_parameters(given_), given_.ccm)
    assert decode_tron_note(note) == SentSwap(*target, given_)
    assert decode_token_transfer(token_transfer(TOKEN, 7)) == (TOKEN, 7)


@given(terms(32), targets(), st.booleans(), u64, st.binary(max_size=32))
@settings(max_examples=30)
def test_an_instruction_reads_back(
    given_: VaultSwapTerms, target: Any, is_token: bool, amount: int, seed: bytes
) -> None:
    """Read back a Solana instruction, with payer, seed and accounts."""
    payer, source = b"\x99" * 32, b"\x98" * 32
    accounts = (
        token_accounts(KEYS, payer, seed, "usdc", source) if is_token else native_accounts(KEYS, payer, seed)
    )
    data = instruction_data(
        *target, cf_parameters(given_), amount=amount, seed=seed, ccm=given_.ccm, is_token=is_token
    )
    mint = KEYS["usdc_token_mint_pubkey"] if is_token else None
    event = accounts[4 if is_token else 3]["pubkey"]
    sent = SentSwap(*target, given_, mint, amount)
    expected = SolanaSwap(sent, payer, seed, event, source if is_token else None)
    assert decode_instruction_data(data, accounts) == expected


def test_an_instruction_is_byte_for_byte_the_chains() -> None:
    """Write a Solana instruction byte for byte as the chain's example, with the flags of its accounts."""
    example = json.loads(
        shared("rpc-examples", "broker_request_swap_parameter_encoding.solana.json").read_text()
    )
    ccm = {"message": bytes.fromhex("7c1d0f07"), "gas_budget": 0, "ccm_additional_data": b""}
    data = instruction_data(
        ASSETS["SolUsdc"],
        ("Sol", b"\xf1" * 32),
        bytes(range(6)),
        amount=1_000_000,
        seed=b"\xf3" * 32,
        ccm=ccm,
    )
    assert f"0x{data.hex()}" == example["data"]
    flags = [(account["is_signer"], account["is_writable"]) for account in example["accounts"]]
    mine = native_accounts(KEYS, b"\x99" * 32, b"\xf3" * 32)
    assert [(account["is_signer"], account["is_writable"]) for account in mine] == flags


READERS: list[Callable[[bytes], Any]] = [
    decode_evm_calldata,
    decode_token_transfer,
    decode_tron_note,
    lambda data: decode_instruction_data(data, [{"pubkey": bytes(32)}] * 6),
    lambda data: decode_cf_parameters(data, 20, None),
]
SELECTORS = ("dd687345", "04fc7da0", "a9059cbb", "a3265ce2f3698dc4")
BEGINNINGS = [b"", b"\1", *map(bytes.fromhex, SELECTORS)]


@pytest.mark.parametrize("read", READERS)
@given(st.sampled_from(BEGINNINGS), st.binary(max_size=300))
@settings(max_examples=40)
def test_no_bytes_raise_anything_but_their_own_error(
    read: Callable[[bytes], Any], begin: bytes, rest: bytes
) -> None:
    """Answer any bytes, also behind a known selector, with a value or a ScaleError."""
    with suppress(ScaleError):
        read(begin + rest)


def test_what_fits_no_type_is_refused() -> None:
    """Refuse amounts, addresses, chains and lists that do not fit their types, and say which."""
    terms_ = VaultSwapTerms(
        {
            "retry_duration": 1,
            "refund_address": b"\x22" * 20,
            "min_price": 0,
            "refund_ccm_metadata": None,
            "max_oracle_price_slippage": None,
        },
        bytes(32),
        0,
    )
    sol = ASSETS["Sol"], ("Sol", b"\x33" * 32)
    data = evm_calldata(*sol, cf_parameters(terms_), token=TOKEN, amount=2**128 - 1)
    assert decode_evm_calldata(data).amount == 2**128 - 1
    word = (2**128 - 1).to_bytes(32, "big")
    with pytest.raises(ScaleError, match="the amount is more than 128 bits"):
        decode_evm_calldata(data.replace(word, b"\1" * 32))
    with pytest.raises(ScaleError, match="does not fit in its type address"):
        decode_evm_calldata(data.replace(bytes(12) + TOKEN, b"\1" * 12 + TOKEN))
    with pytest.raises(ScaleError, match="ends before its arguments"):
        decode_evm_calldata(data[:-32])
    with pytest.raises(ScaleError, match="6 affiliates"):
        many = cf_parameters(terms_)[:-1] + bytes([6 << 2]) + bytes(12)
        decode_cf_parameters(many, 20, None)
    with pytest.raises(ScaleError, match="unknown chain 99"):
        decode_evm_calldata(data[:4] + (99).to_bytes(32, "big") + data[36:])
    with pytest.raises(ScaleError, match="kind Sol has 32 bytes, not 20"):
        decode_evm_calldata(evm_calldata(sol[0], ("Sol", bytes(20)), cf_parameters(terms_)))
