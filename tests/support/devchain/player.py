"""A player of everything that may happen on a development chain, one step after the other."""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.core.extrinsic import bare_extrinsic
from cfnode.devchain.runtime.config import DOLLAR, USD_PRICES, DevGenesis
from cfnode.devchain.runtime.pallets.evm_signer import SILENT
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES, Release
from tests.devchain.runtime.broker import address_on, ccm, refund, request
from tests.devchain.runtime.ledger import Ledger
from tests.devchain.runtime.swapper import Swapper
from tests.devchain.runtime.world import BOB
from tests.support.devchain.assets import ASSET_NAMES, asset_names

EVM = ("Ethereum", "Arbitrum", "Tron", "Bsc")
EVM_ASSETS = [name for name in ASSET_NAMES if ASSETS[name].chain in EVM]
TERMS: dict[str, Any] = {
    "least": 0.0,
    "retry": 3,
    "dca": None,
    "with_message": False,
    "boost": 0,
    "times": 1,
    "in_another_asset": False,
}
"""What a user wants: of the fair price, so much at least; and deposits that are final, all in one block."""


def chains_of(release: Release) -> list[str]:
    """Return the chains that take deposits."""
    return [chain for chain in release.chains if chain not in release.left]


def atoms(asset: str, worth: float) -> int:
    """Return so many dollars' worth of an asset, at the price of genesis."""
    return int(worth * DOLLAR * 10 ** ASSETS[asset].decimals / USD_PRICES.get(asset, DOLLAR))


class Player(Swapper):
    """Does one step after the other, and notes all events."""

    def __init__(self, release: str = DEFAULT_RELEASE) -> None:
        super().__init__(config=DevGenesis(release=release))
        self.release = RELEASES[release]
        self.affiliate = BOB.account
        self.ledger, make = Ledger(self.world), self.world.block

        def noted(*extrinsics: bytes, **options: Any) -> list[Any]:
            outcomes = make(*extrinsics, **options)
            self.ledger.receive((pallet, name, fields) for _, pallet, name, fields in self.world.events())
            return outcomes

        self.world.block = noted  # type: ignore[method-assign]

    def play(self, step: tuple[Any, ...]) -> None:
        """Play a step of a story."""
        getattr(self, f"on_{step[0]}")(*step[1:])

    def on_swap(self, source: str, destination: str, worth: float, terms: dict[str, Any]) -> None:
        """Open a channel for a swap, and pay it."""
        fair = (atoms(destination, 10**6) << 128) // atoms(source, 10**6)
        least = fair * int(100 * terms["least"]) // 100
        limits = refund(ASSETS[source].chain, min_price=least, retry_duration=terms["retry"])
        takes_messages = terms["with_message"] and ASSETS[destination].chain in EVM
        opened = self.opened(
            **request(
                source,
                destination,
                refund_parameters=limits,
                dca_parameters=terms["dca"],
                boost_fee=terms["boost"],
                channel_metadata=ccm(b"hello") if takes_messages else None,
                affiliate_fees=[{"account": self.affiliate, "bps": 33}],
            )
        )
        paid = self.another_of(source) if terms["in_another_asset"] else source
        deposit = {
            "deposit_address": opened["deposit_address"],
            "asset": paid,
            "amount": atoms(paid, worth),
            "transaction": b"\x01" * 32,
        }
        if terms["boost"]:
            assert self.dev("prewitness_deposit", **deposit) == "Ok"
        deposits = [deposit, deposit | {"transaction": b"\x02" * 32}][: terms["times"]]
        calls = [self.world.call("Dev", "witness_deposit", **deposit) for deposit in deposits]
        outcomes = self.world.block(*map(bare_extrinsic, calls))
        assert outcomes == [("Ok", ("Ok", ()))] * len(deposits)

    def another_of(self, asset: str) -> str:
        """Return another asset of the same chain, if it has one."""
        same = (other_asset.name for other_asset in self.release.assets_of(ASSETS[asset].chain))
        return min((name for name in same if name != asset), default=asset)

    def on_price(self, asset: str, factor: float, depth: int | None) -> None:
        """Set the price of a pool."""
        price = int(USD_PRICES.get(asset, DOLLAR) * factor)
        self.dev("set_pool", asset=asset, price=price, depth=depth)

    def on_fail(self, asset: str, fails: bool) -> None:
        """Let a receiver fail, or take transfers again."""
        address = address_on(ASSETS[asset].chain)
        assert self.dev("fail_receiver", address=address, asset=asset, fails=fails) == "Ok"

    def on_abort(self, chain: str) -> None:
        """Abort the next broadcast of a chain."""
        assert self.dev("abort_next_broadcast", chain=chain) == "Ok"

    def on_hold(self, chain: str, held: bool) -> None:
        """Hold the broadcasts of a chain, or let them go."""
        assert self.dev("hold_broadcasts", chain=chain, held=held) == "Ok"

    def on_attempt(self, chain: str) -> None:
        """Let an attempt of a broadcast fail."""
        assert self.dev("fail_broadcast", chain=chain, broadcast_id=None) in ("Ok", "Dev.NobodyAsked")

    def on_boost(self, asset: str, worth: float) -> None:
        """Set how much boosts deposits of an asset."""
        before = self.balance(BOOSTER, asset)
        assert self.dev("set_boost_depth", asset=asset, amount=atoms(asset, worth)) == "Ok"
        self.ledger.put_up(asset, atoms(asset, worth) - before)

    def on_lend(self, asset: str, worth: float) -> None:
        """Lend an amount of an asset."""
        pools = {pool["asset"]: pool for pool in self.world.api("CustomRuntimeApi_cf_lending_pools", asset)}
        before = pools[asset]["available_amount"] if asset in pools else 0
        assert self.dev("set_lending_depth", asset=asset, amount=atoms(asset, worth)) == "Ok"
        self.ledger.put_up(asset, atoms(asset, worth) - before)

    def on_blocks(self, count: int, signed: bool) -> None:
        """Make blocks, with or without signatures."""
        for _ in range(count):
            self.world.block(extra=[] if signed else [(SILENT, b"")])

    def on_epoch(self) -> None:
        """End the epoch."""
        assert self.dev("end_epoch") in ("Ok", "Validator.RotationInProgress")

    def on_rotate(self) -> None:
        """Force a rotation."""
        forced = self.dev("as_governance", call=("Validator", "force_rotation"))
        assert forced in ("Ok", "Validator.RotationInProgress")

    def on_withdraw(self) -> None:
        """Withdraw what the broker has earned."""
        to = address_on("Ethereum")
        done = self.swapping("withdraw", asset="Usdc", destination_address=to)
        refusals = ("NoFundsAvailable", "BelowEgressDustLimit")
        assert done == "Ok" or done.partition(".")[2] in refusals

    def let_all_end(self) -> None:
        """Let nothing wait for liquidity or be held back any more, and give it time."""
        call, pools = self.world.call, [name for name in asset_names(self.release) if name != "Usdc"]
        fair = {name: USD_PRICES.get(name, DOLLAR) for name in pools}
        calls = [call("Dev", "set_pool", asset=name, price=fair[name], depth=10**15) for name in pools]
        calls += [
            call("Dev", "hold_broadcasts", chain=chain, held=False) for chain in chains_of(self.release)
        ]
        outcomes = self.world.block(*map(bare_extrinsic, calls))
        assert outcomes == [("Ok", ("Ok", ()))] * len(calls)
        self.blocks(45)


def end(player: Player) -> None:
    """Let all end, and see that all is right."""
    player.let_all_end()
    assert player.ledger.missing() == {}
    assert player.ledger.announced == dict.fromkeys(player.ledger.scheduled, 1)
    kinds = {
        player.world.stored("Swapping", "SwapRequests", swap["swap_request_id"])["state"]
        for swap in player.scheduled().values()
    }
    # Users' swaps have been carried out or refunded; the rest are fees that just came in.
    assert kinds <= {"NetworkFee", "IngressEgressFee"}
    for chain in chains_of(player.release):
        assert len(player.world.stored(f"{chain}Broadcaster", "PendingBroadcasts")) <= 2
