"""Whatever is played, in whatever order: each block can be made and executed, and each request ends."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.assets import ASSETS, assets_since
from tests.runtime.dev.broker import address_on, ccm, refund, request
from tests.runtime.dev.swapper import Swapper

ASSET_NAMES = sorted(asset.name for asset in assets_since("2.2") if asset.chain != "Polkadot")
EVM_ASSETS = [name for name in ASSET_NAMES if ASSETS[name].chain in ("Ethereum", "Arbitrum", "Tron")]
assets = st.sampled_from(ASSET_NAMES)
units = st.sampled_from([0.01, 1.0, 37.5, 5_000.0])
pieces = st.none() | st.builds(
    lambda chunks, interval: {"number_of_chunks": chunks, "chunk_interval": interval},
    st.integers(1, 6),
    st.integers(1, 4),
)

swaps = st.tuples(
    st.just("swap"),
    assets,
    assets,
    units,
    st.sampled_from([0, 1 << 128, 1 << 200]),  # least prices
    st.sampled_from([0, 3, 20]),  # retries
    pieces,
    st.booleans(),  # with a message
    st.sampled_from([0, 5, 30]),  # boost
)
prices = st.tuples(st.just("price"), assets, st.sampled_from([1, 10**6, 10**9]), st.sampled_from([0, 10**12]))
failures = st.tuples(st.just("fail"), st.sampled_from(EVM_ASSETS), st.booleans())
aborts = st.tuples(st.just("abort"), st.sampled_from(["Ethereum", "Bitcoin", "Solana"]))
boosts = st.tuples(st.just("boost"), assets, units)
times = st.tuples(st.just("blocks"), st.integers(1, 7))
epochs = st.tuples(st.just("epoch"))
steps = st.one_of(swaps, swaps, times, prices, failures, aborts, boosts, epochs)


def atoms(asset: str, amount: float) -> int:
    return int(amount * 10 ** ASSETS[asset].decimals)


class Player(Swapper):
    """Does one step after the other."""

    def play(self, step: tuple[Any, ...]) -> None:
        getattr(self, f"on_{step[0]}")(*step[1:])

    def on_swap(
        self,
        source: str,
        destination: str,
        amount: float,
        least: int,
        retry: int,
        dca: Any,
        with_message: bool,
        boost: int,
    ) -> None:
        limits = refund(ASSETS[source].chain, min_price=least, retry_duration=retry)
        evm = ASSETS[destination].chain in ("Ethereum", "Arbitrum", "Tron")
        wanted = request(
            source,
            destination,
            refund_parameters=limits,
            dca_parameters=dca,
            boost_fee=boost,
            channel_metadata=ccm(b"hello") if with_message and evm else None,
        )
        address = self.opened(**wanted)["deposit_address"]
        if boost:
            self.announce(address, source, atoms(source, amount))
        self.pay(address, source, atoms(source, amount))

    def on_price(self, asset: str, price: int, depth: int) -> None:
        self.dev("set_pool", asset=asset, price=price, depth=depth)

    def on_fail(self, asset: str, fails: bool) -> None:
        address = address_on(ASSETS[asset].chain)
        assert self.dev("fail_receiver", address=address, asset=asset, fails=fails) == "Ok"

    def on_abort(self, chain: str) -> None:
        assert self.dev("abort_next_broadcast", chain=chain) == "Ok"

    def on_boost(self, asset: str, amount: float) -> None:
        assert self.dev("set_boost_depth", asset=asset, amount=atoms(asset, amount)) == "Ok"

    def on_blocks(self, count: int) -> None:
        self.blocks(count)

    def on_epoch(self) -> None:
        assert self.dev("as_governance", call=("Validator", "force_rotation")) == "Ok"


@given(st.lists(steps, min_size=3, max_size=14))
@settings(max_examples=15)
def test_every_block_can_be_made_and_every_request_ends(life: list[tuple[Any, ...]]) -> None:
    player = Player()
    for step in life:
        player.play(step)
    for asset in ASSET_NAMES:
        if asset != "Usdc":  # so that nothing waits for liquidity for ever
            player.dev("set_pool", asset=asset, price=10**6, depth=10**15)
    player.blocks(45)
    waiting = player.scheduled()
    kinds = {
        player.world.stored("Swapping", "SwapRequests", swap["swap_request_id"])["state"]
        for swap in waiting.values()
    }
    # Users' swaps have been carried out or refunded; the rest are fees that just came in.
    assert kinds <= {"NetworkFee", "IngressEgressFee"}
    for chain in ("Ethereum", "Arbitrum", "Tron"):
        pending = player.world.stored(f"{chain}Broadcaster", "PendingBroadcasts")
        assert len(pending) <= 2
