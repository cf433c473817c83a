"""Vault swaps as EVM calls, as Tron notes and as Bitcoin payloads, compared with eth-abi and the types."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import (
    BitcoinSwap,
    VaultSwapTerms,
    cf_parameters,
    decode_nulldata,
    evm_calldata,
    nulldata,
    token_transfer,
    tron_note,
)
from cfnode.devchain.runtime.runtime import DevRuntime

REFUND: dict[str, Any] = {
    "retry_duration": 100,
    "refund_address": b"\x22" * 20,
    "min_price": 5 << 128,
    "refund_ccm_metadata": None,
    "max_oracle_price_slippage": 50,
}
BROKER = bytes(range(32))
CCM = {"message": b"hello", "gas_budget": 10**6, "ccm_additional_data": b"\x07"}
TERMS = VaultSwapTerms(REFUND, BROKER, 10, boost_fee=5, affiliates=((3, 20),))
SOL = ("Sol", b"\x33" * 32)


def decoded(data: bytes, *types: str) -> list[Any]:
    """Return values one after the other, by the runtime's types."""
    table, offset, values = DevRuntime().composition.types, 0, []
    ids = [table.id(name) for name in types]
    for type_id in ids:
        value, offset = table.described.codec(type_id).decode_from(data, offset)
        values.append(value)
    assert offset == len(data)
    return values


EVM_REFUND = "ChannelRefundParameters<H160, Option<CcmMetadata>>"
REST = (EVM_REFUND, "Option<DcaParameters>", "u8", "AccountId32", "u16", "Vec<(AffiliateShortId, u8)>")


def test_cf_parameters_are_the_types_one_after_the_other() -> None:
    """Write the swap's parameters as the runtime's types in their order, without separators."""
    dca = {"number_of_chunks": 3, "chunk_interval": 2}
    terms = replace(TERMS, dca=dca, refund=REFUND | {"refund_ccm_metadata": CCM})
    read = decoded(cf_parameters(terms), "u8", *REST)
    assert read == [1, terms.refund, dca, 5, BROKER, 10, [(3, 20)]]


def test_with_a_message_its_additional_data_comes_first() -> None:
    """Write a message's additional data before the refund parameters."""
    read = decoded(cf_parameters(replace(TERMS, ccm=CCM)), "u8", "Bytes", *REST)
    assert read[:3] == [1, b"\x07", REFUND]


SELECTORS = [
    (None, None, "dd687345", ["uint32", "bytes", "uint32", "bytes"]),
    (None, b"\x44" * 20, "04fc7da0", ["uint32", "bytes", "uint32", "address", "uint256", "bytes"]),
    (CCM, None, "07933dd2", ["uint32", "bytes", "uint32", "bytes", "uint256", "bytes"]),
    (
        CCM,
        b"\x44" * 20,
        "bbddc2fb",
        ["uint32", "bytes", "uint32", "bytes", "uint256", "address", "uint256", "bytes"],
    ),
]


@pytest.mark.parametrize(("ccm", "token", "selector", "types"), SELECTORS)
def test_a_vault_call_reads_back_with_eth_abi(ccm: Any, token: Any, selector: str, types: list[str]) -> None:
    """Encode each of the four vault calls under its selector, so that eth-abi reads it back."""
    abi = pytest.importorskip("eth_abi")
    data = evm_calldata(ASSETS["Sol"], SOL, b"terms", ccm=ccm, token=token, amount=77)
    assert data[:4].hex() == selector
    expected: list[Any] = [5, SOL[1], 9]
    expected += [b"hello", 10**6] if ccm else []
    expected += ["0x" + "44" * 20, 77] if token else []
    assert list(abi.decode(types, data[4:])) == [*expected, b"terms"]


def test_a_token_is_sent_to_the_vault_on_tron() -> None:
    """Send a token to the vault on Tron by the standard transfer call."""
    data = token_transfer(b"\x55" * 20, 9)
    assert data.hex() == "a9059cbb" + "00" * 12 + "55" * 20 + f"{9:064x}"


def test_a_tron_note_has_destination_message_and_terms() -> None:
    """Write destination, message and terms into a Tron note, as the runtime decodes it."""
    types = ("Asset", "EncodedAddress", "Option<(u128, Bytes)>", "Bytes")
    note = tron_note(ASSETS["Btc"], ("Btc", b"bc1q"), b"terms", CCM)
    assert decoded(note, *types) == ["Btc", ("Btc", b"bc1q"), (10**6, b"hello"), b"terms"]
    plain = tron_note(ASSETS["Sol"], SOL, b"terms")
    assert decoded(plain, *types) == ["Sol", SOL, None, b"terms"]


def test_a_bitcoin_payload_byte_by_byte() -> None:
    """Write a Bitcoin payload byte by byte, within the 80 bytes of a null-data output."""
    swap = BitcoinSwap(ASSETS["Eth"], ("Eth", b"\x11" * 20), 100, 10**18, None, 5)
    expected = "0101" + "11" * 20 + "6400" + (10**18).to_bytes(16, "little").hex() + "ff01000200000500"
    assert nulldata(swap).hex() == expected
    assert len(nulldata(swap)) <= 80


u8, u16 = st.integers(0, 255), st.integers(0, 2**16 - 1)


@st.composite
def swaps(draw: st.DrawFn) -> BitcoinSwap:
    """Draw a Bitcoin swap with any asset, address and terms."""
    asset = draw(st.sampled_from(list(ASSETS.values())))
    variant = CHAINS[asset.chain].address
    length = {"Dot": 32, "Sol": 32, "Hub": 32}.get(variant, 20)
    payload = draw(
        st.binary(max_size=40) if variant == "Btc" else st.binary(min_size=length, max_size=length)
    )
    dca = draw(
        st.none()
        | st.builds(lambda n, i: {"number_of_chunks": n, "chunk_interval": i}, st.integers(2, 99), u16)
    )
    return BitcoinSwap(
        asset,
        (variant, payload),
        draw(u16),
        draw(st.integers(0, 2**128 - 1)),
        draw(st.none() | st.integers(0, 254)),
        draw(u8),
        draw(u8),
        dca,
        tuple(draw(st.lists(st.tuples(u8, u8), max_size=2))),
    )


@given(swaps())
@settings(max_examples=60)
def test_a_bitcoin_payload_reads_back(swap: BitcoinSwap) -> None:
    """Read a Bitcoin payload back as the swap that it was written for."""
    assert decode_nulldata(nulldata(swap)) == swap


@given(st.binary(max_size=90))
def test_no_payload_does_more_than_be_refused(data: bytes) -> None:
    """Answer any payload with a swap or a ScaleError."""
    with suppress(ScaleError):
        decode_nulldata(data)
