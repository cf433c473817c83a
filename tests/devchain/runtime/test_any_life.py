"""Whatever is played, in whatever order: blocks can be made and executed, requests end, no unit is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from tests.lengths import repeats
from tests.support.devchain.assets import ASSET_NAMES
from tests.support.devchain.player import EVM_ASSETS, TERMS, Player, chains_of, end

assets = st.sampled_from(ASSET_NAMES)
chains = st.sampled_from(chains_of(RELEASES[DEFAULT_RELEASE]))
dollars = st.sampled_from([5, 100, 3_000, 200_000])
pieces = st.none() | st.builds(
    lambda chunks, interval: {"number_of_chunks": chunks, "chunk_interval": interval},
    st.integers(1, 6),
    st.integers(1, 4),
)
terms = st.fixed_dictionaries(
    {
        "least": st.sampled_from([0.0, 0.98, 2.0]),
        "retry": st.sampled_from([0, 3, 20]),
        "dca": pieces,
        "with_message": st.booleans(),
        "boost": st.sampled_from([0, 5, 30]),
        "times": st.integers(0, 2),
        "in_another_asset": st.booleans(),
    }
)
swaps = st.tuples(st.just("swap"), assets, assets, dollars, terms)
prices = st.tuples(st.just("price"), assets, st.sampled_from([0.5, 0.97, 2]), st.sampled_from([0, 10**12]))
failures = st.tuples(st.just("fail"), st.sampled_from(EVM_ASSETS), st.booleans())
aborts = st.tuples(st.just("abort"), chains)
holds = st.tuples(st.just("hold"), chains, st.booleans())
attempts = st.tuples(st.just("attempt"), chains)
boosts = st.tuples(st.just("boost"), assets, dollars)
times = st.tuples(st.just("blocks"), st.integers(1, 7), st.booleans())
loans = st.tuples(st.just("lend"), assets, dollars)
epochs = st.tuples(st.sampled_from(["epoch", "rotate"]))
withdrawals = st.tuples(st.just("withdraw"))
steps = st.one_of(
    swaps, swaps, swaps, times, prices, failures, aborts, holds, attempts, boosts, loans, epochs, withdrawals
)


@given(st.lists(steps, min_size=6, max_size=12))
@settings(max_examples=repeats(5, 2))
def test_every_block_can_be_made_every_request_ends_and_every_unit_is_somewhere(
    life: list[tuple[Any, ...]],
) -> None:
    """Play random lives: every block can be made, every request ends, and no unit of an asset is lost."""
    player = Player()
    for step in life:
        player.play(step)
        assert player.ledger.missing() == {}
    end(player)


IN_TWO = {"number_of_chunks": 2, "chunk_interval": 4}
EVERYTHING: list[tuple[Any, ...]] = [
    ("boost", "Btc", 200_000),
    ("lend", "Btc", 200_000),
    ("swap", "Btc", "Eth", 3_000, TERMS | {"boost": 30}),
    ("rotate",),
    ("swap", "Btc", "Eth", 3_000, TERMS | {"boost": 30, "times": 0}),  # lost, or not yet final
    ("swap", "Eth", "Btc", 3_000_000, TERMS | {"boost": 5}),  # the boosters have put up less
    ("swap", "Usdt", "ArbEth", 3_000, TERMS | {"dca": {"number_of_chunks": 3, "chunk_interval": 1}}),
    ("swap", "Sol", "Trx", 3_000, TERMS | {"dca": {"number_of_chunks": 3, "chunk_interval": 2}}),
    ("swap", "HubDot", "Usdc", 3_000, TERMS | {"least": 2.0, "retry": 0}),
    ("swap", "Usdc", "Flip", 100, TERMS | {"times": 2, "in_another_asset": True}),
    ("swap", "Wbtc", "ArbEth", 3_000, TERMS | {"with_message": True}),
    ("swap", "Btc", "Usdc", 5, TERMS),  # less than the least deposit
    ("swap", "Usdc", "Btc", 11, TERMS | {"least": 2.0, "retry": 0}),
    ("blocks", 3, True),
    ("fail", "Usdc", True),
    ("fail", "Eth", True),
    ("swap", "ArbUsdc", "Usdc", 3_000, TERMS),
    ("swap", "ArbUsdc", "Eth", 3_000, TERMS | {"with_message": True}),
    (
        "swap",
        "Btc",
        "SolUsdc",
        3_000,
        TERMS | {"least": 0.98, "dca": {"number_of_chunks": 2, "chunk_interval": 4}},
    ),
    ("blocks", 2, True),
    ("price", "SolUsdc", 2, None),
    ("blocks", 5, True),
    ("hold", "Ethereum", True),
    ("withdraw",),
    ("blocks", 1, True),
    ("attempt", "Ethereum"),
    ("epoch",),
    ("blocks", 2, True),
    ("epoch",),
    ("swap", "Trx", "HubUsdc", 3_000, TERMS | {"retry": 20}),
    ("price", "HubUsdc", 1, 0),
    ("swap", "Eth", "Btc", 100, TERMS),  # to be fetched by a call that is never signed
    ("blocks", 12, False),
]
HAPPENED = {
    "AccountCredited",
    "BatchSwapFailed",
    "BroadcastAborted",
    "BroadcastSuccess",
    "CallResigned",
    "CcmBroadcastFailed",
    "CcmBroadcastRequested",
    "DepositBoosted",
    "DepositFailed",
    "DepositFinalised",
    "FailedForeignChainCallExpired",
    "FailedForeignChainCallResigned",
    "InsufficientBoostLiquidity",
    "LoanRepaid",
    "LoanSettled",
    "NewEpoch",
    "RefundEgressScheduled",
    "RetryRequested",
    "SwapAborted",
    "SwapEgressScheduled",
    "SwapExecuted",
    "SwapRescheduled",
    "TransferFallbackRequested",
    "WithdrawalRequested",
}


NEW_ASSETS: list[tuple[Any, ...]] = [("swap", "Bnb", "Cbbtc", 3_000, TERMS)]
"""Of 2.3.0."""
OTHERS = pytest.mark.world
"""The mark of lives with another release than a development chain has by default."""


@pytest.mark.parametrize(
    "release",
    [pytest.param(name, marks=[OTHERS] if name != DEFAULT_RELEASE else []) for name in RELEASES],
)
def test_a_life_with_everything_in_it(release: str) -> None:
    """Play a life with each kind of event in every release: no unit is lost, no kept value is stale."""
    player = Player(release)
    for step in EVERYTHING if release.startswith("2.2") else [*NEW_ASSETS, *EVERYTHING]:
        player.play(step)
        assert player.ledger.missing() == {}, step
    end(player)
    assert HAPPENED - player.ledger.emitted == set()
    assert player.ledger.actions == {"Swap", "BoostersCredited"}
    assert stored_values(player) > 200


def stored_values(player: Player) -> int:
    """Assert that no pallet has changed a value that the runtime keeps; return how many there are."""
    runtime, count = player.world.runtime.composition, 0
    assert len(runtime.kept) > 200
    with runtime.on(player.world.journal):
        for item in (stored for pallet in runtime.pallets for stored in pallet.stored().values()):
            for key in item._walk(item.prefix):
                encoded = runtime.host.get(key) or b""
                kept = runtime.kept.decoded(key, encoded, item.codec.decode)
                assert repr(kept) == repr(item.codec.decode(encoded))
                count += 1
    return count
