"""One development node for the tests that only want a market; each begins without orders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sdk.lp.place import Market, market


@pytest.fixture(scope="package")
def shared_market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    """Yield the market that the tests of a session share."""
    with market(tmp_path_factory.mktemp("market")) as opened:
        yield opened


@pytest.fixture
def place(shared_market: Market) -> Market:
    """Return the market without an order."""
    shared_market.node.call("lp_cancel_all_orders", "InBlock")
    return shared_market
