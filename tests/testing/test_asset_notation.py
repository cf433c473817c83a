"""One notation of assets and chains in SDK, test kit, commands and `dev_*` methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.cli.values import AssetName
from cfnode.core.assets import (
    ASSETS,
    CHAINS,
    ForeignAsset,
    UnknownAsset,
    UnknownChain,
    asset_in_text,
    asset_of,
    asset_on,
    chain_in_text,
)
from cfnode.devchain.methods import values
from cfnode.sdk import Assets, Chains, Options, ValidationError
from cfnode.sdk.assets import asset_given, asset_named, chain_named, symbol_named
from cfnode.sdk.assets import asset_given as order_asset
from cfnode.testing.dev_calls import asset_json

READERS: dict[str, Callable[[Any], ForeignAsset]] = {
    "core": asset_of,
    "SDK": lambda form: asset_given(form, "asset"),
    "orders": lambda form: order_asset(form, "asset"),
    "test kit": lambda form: asset_on(*(asset_json(form)[name] for name in ("chain", "asset"))),
    "commands": lambda form: AssetName().convert(form, None, None),
    "dev methods": lambda form: ASSETS[values.ASSET.read(form)],
}
readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())


def forms(asset: ForeignAsset) -> list[Any]:
    """Return all forms in which an asset may be written."""
    pair = f"{asset.chain}/{asset.symbol}"
    texts = [asset.name, pair, pair.replace("/", "."), pair.replace("/", ":")]
    cased = [case(text) for text in texts for case in (str, str.upper, str.lower, " {} ".format)]
    return [
        *cased,
        {"chain": asset.chain, "asset": asset.symbol},
        {"chain": asset.chain.lower(), "asset": asset.name},
    ]


@readers
@pytest.mark.parametrize("asset", ASSETS.values(), ids=ASSETS.keys())
def test_each_form_of_an_asset_is_read_everywhere(
    read: Callable[[Any], ForeignAsset], asset: ForeignAsset
) -> None:
    """Read each form of an asset by every reader: a form that one tool reads works in all."""
    assert {read(form).name for form in forms(asset)} == {asset.name}


WRONG = {
    "Bct": r"Unknown asset 'Bct'\. Did you mean BTC",
    "bitcon/btc": r"Unknown asset 'bitcon/btc'\. Did you mean BTC",
    "Doge": r"Unknown asset 'Doge'\. Choose from ETH, .*, Bsc/USDT, CBBTC",
    "": "Unknown asset ''. Choose from",
    "x" * 10_000: "Unknown asset '" + "x" * 40 + r"'\. Choose from",
    "Bitcoin/": "Unknown asset 'Bitcoin/'",
    "Bitcoin/BTC/": "Unknown asset 'Bitcoin/BTC/'",
    "Bitcoin.BTC.": "Unknown asset 'Bitcoin.BTC.'",
    "ETH/Ethereum": "Unknown asset 'ETH/Ethereum'",
}


@readers
@pytest.mark.parametrize("form", WRONG)
def test_a_mistyped_asset_is_answered_with_those_like_it_or_with_all(
    read: Callable[[Any], ForeignAsset], form: str
) -> None:
    """Answer a mistyped asset with those like it, or with all, and never with the whole text."""
    with pytest.raises((ValueError, click.BadParameter), match=WRONG[form]):
        read(form)


def test_chain_and_symbol_apart_name_what_is_wrong_of_both() -> None:
    """Name what is wrong of chain and symbol where they are given apart."""
    with pytest.raises(UnknownChain, match=r"Unknown chain 'Bitcon'\. Did you mean Bitcoin or Tron\?"):
        asset_of({"chain": "Bitcon", "asset": "BTC"})
    with pytest.raises(UnknownAsset, match=r"Unknown asset of Bitcoin 'USDC'\. Choose from BTC\."):
        asset_of({"chain": "bitcoin", "asset": "USDC"})
    with pytest.raises(UnknownAsset, match=r"Unknown asset \"\{'chain': 'Bitcoin'\}\"\. "):
        asset_of({"chain": "Bitcoin"})
    with pytest.raises(ValidationError, match="src_chain: unknown chain 'Bitcon'; did you mean Bitcoin"):
        asset_named("Bitcon", "BTC", "src")
    with pytest.raises(
        ValidationError, match="dest_asset: unknown asset of Arbitrum 'UDSC'; did you mean USDC"
    ):
        asset_named("arbitrum", "UDSC", "dest")
    with pytest.raises(ValidationError, match="src_asset: Required"):
        asset_named("Bitcoin", None, "src")
    with pytest.raises(ValidationError, match="src_chain: Required"):
        asset_named(None, "btc", "src")


def test_the_names_of_the_sdk_are_forms_too() -> None:
    """Read the names of the SDK as forms, too."""
    assert asset_of(Assets.USDC).name == "Usdc"
    assert asset_named(Chains.Arbitrum, Assets.USDC, "src").name == "ArbUsdc"
    assert asset_on("Arbitrum", "ArbUsdc").name == "ArbUsdc"


def test_a_chain_is_read_in_any_case_everywhere() -> None:
    """Read a chain in any case by every reader."""
    for name in CHAINS:
        for text in (name, name.upper(), name.lower(), f" {name}"):
            assert (chain_in_text(text).name, chain_named(text, "chain")) == (name, name)
        assert values.CHAIN.reader.read(name.lower()) == name
    with pytest.raises(ValueError, match=r"Unknown chain 'Etherium'\. Did you mean Ethereum\?"):
        values.CHAIN.reader.read("Etherium")
    options = Options(default_refund_addresses={"bitcoin": "bc1q"})
    assert options.refund_address_on("Bitcoin") == "bc1q"
    assert options.refund_address_on("Ethereum") is None


def test_a_symbol_is_read_in_any_case_on_a_chain_or_on_any() -> None:
    """Read a symbol in any case, on a chain or on any."""
    assert symbol_named("usdc", None, "asset") == symbol_named("ArbUsdc", "Arbitrum", "asset") == "USDC"
    with pytest.raises(ValidationError, match="asset: unknown asset 'USDX'; did you mean USDT"):
        symbol_named("USDX", None, "asset")
    with pytest.raises(ValidationError, match="asset: unknown asset of Bitcoin 'ETH'"):
        symbol_named("ETH", "Bitcoin", "asset")


@given(st.text(max_size=200))
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    """Raise nothing but UnknownAsset for a text, with a message of bounded length."""
    try:
        assert asset_in_text(text).name in ASSETS
    except UnknownAsset as error:
        assert error.name == text
        assert len(str(error)) < 1_000
