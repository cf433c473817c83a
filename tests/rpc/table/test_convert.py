"""What goes in as JSON comes out as bytes and numbers, or is refused with words; and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.assets import ASSETS
from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.table import broker_params as params
from cfnode.rpc.table import convert
from tests.conftest import shared

ALICE = "cFPdef3hF5zEwbWUG6ZaCJ3X7mTvEeAog7HxZ8QyFcCgDVGDM"


@given(st.binary(max_size=100))
def test_hex_comes_back(data: bytes) -> None:
    """Write bytes as hex and read them with and without 0x."""
    assert convert.read_hex(convert.to_hex(data)) == data
    assert convert.read_hex(data.hex()) == data
    assert convert.read_whole_bytes(data.hex()) == data


@pytest.mark.parametrize("value", [5, None, "0xzz", "0X00", "0x0_0", ["0x"]])
def test_what_is_no_hex_is_refused(value: Any) -> None:
    """Refuse what is not hex."""
    with pytest.raises(ValueError, match="invalid"):
        convert.read_hex(value)


@pytest.mark.parametrize("value", [5, None, "", "00", "0x0", "0xzz", "0x 00", "0x0 0", "0X00", ["0x"]])
def test_our_own_methods_take_whole_bytes_behind_0x(value: Any) -> None:
    """Demand whole bytes behind 0x in our own methods."""
    with pytest.raises(ValueError, match="expected"):
        convert.read_prefixed_hex(value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0),
        (2**64 - 1, 2**64 - 1),
        ("0x64", 100),
        ("100", 256),
        ("FF", 255),
        ("0x" + "f" * 64, 2**256 - 1),
    ],
)
def test_a_number_or_hex(value: Any, number: int) -> None:
    """Read a number, or hex with or without 0x, up to 256 bits."""
    assert convert.read_number_or_hex(value) == number


@pytest.mark.parametrize("value", [-1, 2**64, True, 1.5, None, "", "0x", "-1", "0x1_0", "0x" + "f" * 65, []])
def test_what_is_neither_is_refused(value: Any) -> None:
    """Refuse what is neither number nor hex, in the official words."""
    with pytest.raises(ValueError, match="untagged enum NumberOrHex"):
        convert.read_number_or_hex(value)


def test_small_numbers_are_written_as_numbers_and_large_ones_as_hex() -> None:
    """Write small numbers as numbers, and as hex from 2^53 on, where JavaScript loses digits."""
    assert convert.write_number_or_hex(2**53 - 1) == 2**53 - 1
    assert convert.write_number_or_hex(2**53) == "0x20000000000000"


def test_accounts_are_ss58_of_any_prefix_and_written_with_the_chains_own() -> None:
    """Read accounts of any SS58 prefix and write them with the chain's own."""
    public = convert.read_account("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY")
    assert convert.account(public).startswith("cF")
    assert convert.read_account(convert.account(public)) == public
    with pytest.raises(ValueError, match="Base 58 requirement is violated"):
        convert.read_account("0x" + public.hex())
    with pytest.raises(ValueError, match="Invalid checksum"):
        convert.read_account("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQZ")


def test_an_error_repeats_a_value_only_so_far() -> None:
    """Repeat only the beginning of a wrong value in an error."""
    with pytest.raises(ValueError, match="expected") as caught:
        convert.read_amount("z" * 10_000)
    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match="number out of range"):
        convert.U32.read(1 << 20_000)
    assert convert.excerpt(1 << 20_000) == "a huge number"


@pytest.mark.parametrize("asset", ASSETS.values(), ids=lambda asset: asset.name)
def test_every_asset_is_read_as_it_is_written(asset: Any) -> None:
    """Read every asset as it is written."""
    written = params.write_asset(asset.name)
    assert written == {"chain": asset.chain, "asset": asset.symbol}
    assert params.read_asset(written) == asset.name


def test_the_assets_of_the_reference_are_all_known() -> None:
    """Know all assets of the reference."""
    for name, asset in json.loads(shared("assets.json").read_text())["assets"].items():
        assert params.read_asset({"chain": asset["chain"], "asset": asset["symbol"]}) == name


@pytest.mark.parametrize(
    ("old", "name"), [("ETH", "Eth"), ("FLIP", "Flip"), ("USDC", "Usdc"), ("BTC", "Btc")]
)
def test_five_bare_symbols_are_still_read(old: str, name: str) -> None:
    """Read the five bare symbols that older clients still send."""
    assert params.read_asset(old) == name


@pytest.mark.parametrize(
    "value", ["SOL", "eth", {"chain": "Solana", "asset": "ETH"}, {"chain": "Solana"}, 5, None]
)
def test_anything_else_is_no_asset(value: Any) -> None:
    """Refuse anything else as an asset, in the official words."""
    with pytest.raises(ValueError, match=r"^Expected a valid asset specifier\. Assets should be specified"):
        params.read_asset(value)


CCM = {"message": "0x7c1d0f07", "gas_budget": "0x0", "ccm_additional_data": ""}
REFUND = {
    "retry_duration": 10,
    "refund_address": "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "min_price": "0x4d2",
}


def test_a_cross_chain_message_is_written_without_0x_as_the_official_node_does() -> None:
    """Write a cross-chain message without 0x, as the official node does."""
    read = params.read_ccm(CCM)
    assert read == {"message": bytes.fromhex("7c1d0f07"), "gas_budget": 0, "ccm_additional_data": b""}
    assert params.write_ccm(read) == {
        "message": "7c1d0f07",
        "gas_budget": "0x0",
        "ccm_additional_data": "",
    }


@pytest.mark.parametrize(
    ("additional", "read"),
    [
        ({}, b""),
        ({"cf_parameters": "0x0102"}, b"\x01\x02"),
        ({"ccm_additional_data": "0x03", "cf_parameters": "0x0102"}, b"\x03"),
    ],
)
def test_additional_data_may_be_left_out_or_have_its_older_name(
    additional: dict[str, Any], read: bytes
) -> None:
    """Read additional data under its older name too, and as empty where it is left out."""
    message = {"message": "0x7c1d0f07", "gas_budget": "0x0"}
    assert params.read_ccm(message | additional)["ccm_additional_data"] == read


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("message", "00" * 15_001, "invalid length 15001, expected 15000 bytes"),
        (
            "ccm_additional_data",
            "00" * 3_001,
            "invalid length 3001, expected 3000 bytes",
        ),
        ("gas_budget", "0x1" + "0" * 32, "Failed to deserialize number."),
        ("ccm_additional_data", None, "invalid type: null, expected a string"),
        ("gas_budget", -1, "data did not match any variant of untagged enum NumberOrHex"),
    ],
)
def test_a_bad_message_is_named_by_its_member(member: str, value: Any, reason: str) -> None:
    """Name the member of a message that is too long or of a wrong type."""
    with pytest.raises(ValueError, match=f"^{reason}"):
        params.read_ccm(CCM | {member: value})


@pytest.mark.parametrize("missing", ["message", "gas_budget"])
def test_no_other_member_of_a_message_may_be_missing(missing: str) -> None:
    """Demand the other members of a message."""
    with pytest.raises(ValueError, match=f"missing field `{missing}`"):
        params.read_ccm({name: value for name, value in CCM.items() if name != missing})


def test_refund_parameters_wait_for_the_chain_that_their_address_belongs_to() -> None:
    """Read a refund address only when its chain is known, and refuse one of another chain."""
    refund = params.read_refund(REFUND)
    value = refund.on("Ethereum")
    assert value["refund_address"] == ("Eth", bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266"))
    assert params.write_refund(value) == REFUND | {
        "refund_ccm_metadata": None,
        "max_oracle_price_slippage": None,
    }
    with pytest.raises(RpcError) as caught:
        refund.on("Solana")
    assert caught.value.code == -32020


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"min_price": 5}, "invalid type: integer `5`, expected a .*hex string"),
        ({"retry_duration": -1}, "invalid value: integer `-1`, expected u32"),
        ({"max_oracle_price_slippage": 70_000}, "invalid value: integer `70000`, expected u16"),
        ({"refund_ccm_metadata": {}}, "^missing field `message`$"),
    ],
)
def test_bad_refund_parameters_are_named(change: dict[str, Any], reason: str) -> None:
    """Name the wrong member of refund parameters."""
    with pytest.raises(ValueError, match=reason):
        params.read_refund(REFUND | change)


def test_affiliates_are_at_most_five() -> None:
    """Accept at most five affiliates."""
    affiliate = {"account": "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY", "bps": 10}
    read = params.AFFILIATES.read
    assert [affiliate["bps"] for affiliate in read([affiliate] * 5)] == [10] * 5
    with pytest.raises(ValueError, match="out of bounds"):
        read([affiliate] * 6)
    with pytest.raises(ValueError, match='string "10", expected u16'):
        read([affiliate | {"bps": "10"}])


@pytest.mark.parametrize(
    ("text", "reason"),
    [("0x00", "Invalid address length"), ("zz", "Invalid hex"), ("", "Invalid address length")],
)
def test_a_bad_address_has_the_official_words(text: str, reason: str) -> None:
    """Refuse a malformed address in the official words, and say in the data which parameter it is."""
    with pytest.raises(RpcError, match=reason) as caught:
        params.address_on("Ethereum", text, "destination_address")
    assert caught.value.code == -32020
    assert str(caught.value.data).startswith(f"destination_address: {text!r} is not an address of Ethereum: ")
