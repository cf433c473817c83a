"""The test kit takes an asset as the commands do."""

from __future__ import annotations

import pytest

from cfnode.testing.dev_calls import asset_json

BTC = {"chain": "Bitcoin", "asset": "BTC"}


@pytest.mark.parametrize("text", ["BTC", "Btc", "btc", "Bitcoin/BTC", "bitcoin.btc"])
def test_an_asset_in_any_notation(text: str) -> None:
    assert asset_json(text) == BTC == asset_json(dict(BTC))


def test_a_mistyped_asset_is_answered_with_those_like_it() -> None:
    with pytest.raises(ValueError, match=r"Unknown asset 'Bct'\. Did you mean Btc "):
        asset_json("Bct")
