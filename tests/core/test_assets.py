"""The tables of chains and assets against the metadata's enums and the clients' own asset list."""

from __future__ import annotations

import json

import pytest

from cfnode.core.assets import ASSETS, CHAINS, asset_by_symbol, assets_of, assets_since, gas_asset
from tests.conftest import shared


def test_every_asset_has_the_number_decimals_and_symbol_that_clients_use() -> None:
    """Give every asset the number, decimals, symbol and chain that the clients' list has."""
    document = json.loads(shared("assets.json").read_text())
    theirs = {
        name: (row["contractId"], row["decimals"], row["symbol"], row["chain"])
        for name, row in document["assets"].items()
    }
    assert {a.name: (a.index, a.decimals, a.symbol, a.chain) for a in ASSETS.values()} == theirs


def test_every_chain_has_the_number_gas_asset_and_address_kind_that_clients_use() -> None:
    """Give every chain the number, gas asset and kind of address that the clients' list has."""
    document = json.loads(shared("assets.json").read_text())
    theirs = {n: (c["contractId"], c["gasAsset"], c["addressType"]) for n, c in document["chains"].items()}
    assert {c.name: (c.index, gas_asset(c.name).name, c.address) for c in CHAINS.values()} == theirs


def test_release_2_2_knows_eighteen_assets_and_2_3_three_more() -> None:
    """List 18 assets for release 2.2 and three more for 2.3: an unknown index could not be encoded."""
    assert [asset.index for asset in assets_since("2.2")] == list(range(1, 19))
    assert [asset.name for asset in assets_since("2.3")][18:] == ["Bnb", "BscUsdt", "Cbbtc"]


def test_the_assets_of_a_chain_come_in_the_order_of_its_own_enum() -> None:
    """List a chain's assets in the order of the chain's own enum, by which storage maps are laid out."""
    assert [asset.name for asset in assets_of("Ethereum")] == ["Eth", "Flip", "Usdc", "Usdt", "Wbtc", "Cbbtc"]
    assert [asset.name for asset in assets_of("Assethub")] == ["HubDot", "HubUsdt", "HubUsdc"]


def test_an_asset_is_found_by_chain_and_symbol_only_where_it_exists() -> None:
    """Find an asset by chain and symbol, and raise KeyError where the chain has none of that symbol."""
    assert asset_by_symbol("Arbitrum", "USDC").name == "ArbUsdc"
    with pytest.raises(KeyError):
        asset_by_symbol("Bitcoin", "USDC")
